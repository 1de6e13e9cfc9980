// SPDX-License-Identifier: MIT
#include "merge/scope/window.h"

#include "merge/profile/profile_parts.h"
#include "merge/scope/scope.h"
#include "merge/table/cells.h"

uint64_t window_bin_start(const struct profile *p, uint32_t bin)
{
	// Signed: the first bin may begin before the run is said to.
	int64_t start = (int64_t)(profile_cells(p)->origin_ns + bin * profile_cells(p)->width_ns -
	                          profile_start_ns(p));

	return start > 0 ? (uint64_t)start : 0;
}

struct window_limits window_limits(const struct profile *p, uint64_t from_ns, uint64_t to_ns)
{
	const struct run *run = profile_run(p);

	return (struct window_limits){
		.from_ns = from_ns > run->recorded_from_ns ? from_ns : 0,
		.to_ns = run->recorded_to_ns && to_ns >= run->recorded_to_ns ? 0 : to_ns,
	};
}

struct window window_of(const struct profile *p, uint64_t from_ns, uint64_t to_ns)
{
	const struct window_limits limits = window_limits(p, from_ns, to_ns);
	uint64_t start = profile_start_ns(p);

	return (struct window){
		.first_bin =
			limits.from_ns ? scope_bin(profile_cells(p), start + limits.from_ns) : 0,
		.end_bin = limits.to_ns ? scope_bin(profile_cells(p), start + limits.to_ns)
		                        : CELLS_BINS,
	};
}

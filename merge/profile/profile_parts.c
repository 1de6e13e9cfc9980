// SPDX-License-Identifier: MIT
#include "merge/profile/profile_parts.h"

#include "merge/profile/profile_data.h"

#include <string.h>

// Names.

struct module_facts profile_module_facts(const struct profile *p, uint32_t id)
{
	return id && id <= p->fact_count ? p->facts[id - 1] : (struct module_facts){ 0 };
}

// Who ran.

const struct ranks *profile_ranks(const struct profile *p)
{
	return &p->ranks;
}

const char *profile_owner(const struct profile *p, uint32_t slot)
{
	const struct process_info *process = threads_process(&p->threads, slot);
	const char *name = process ? strings_get(p->strings, process->command) : NULL;

	return p->ranks.count > 1 && name ? name : "";
}

// Where.

static bool ends_with(const char *text, const char *end)
{
	size_t length = text ? strlen(text) : 0, wanted = strlen(end);

	return text && length >= wanted && strcmp(text + length - wanted, end) == 0;
}

bool profile_is_python(const struct profile *p, const struct location *location, const char *name,
                       const char *file)
{
	if (location->kind != FRAME_PYTHON || !location->place_count)
		return false;
	const struct place *place = locations_places(&p->locations, location);
	return ends_with(strings_get(p->strings, place->function), name) &&
	       ends_with(strings_get(p->strings, place->file), file);
}

// What the end of the run waited for.

const struct wall_time *profile_wall_time(const struct profile *p)
{
	return &p->wall_time;
}

// When.

const struct slices *profile_slices(const struct profile *p)
{
	return &p->slices;
}

uint64_t profile_start_ns(const struct profile *p)
{
	return p->run.start_ns ? p->run.start_ns : p->cells.origin_ns;
}

uint64_t profile_run_ns(const struct profile *p)
{
	uint64_t start = profile_start_ns(p);

	if (p->run.wall_ns)
		return p->run.wall_ns;
	return p->last_ns > start ? p->last_ns - start : 0;
}

uint64_t profile_since_start(const struct profile *p, uint64_t time_ns)
{
	uint64_t start = profile_start_ns(p);

	return time_ns > start ? time_ns - start : 0;
}

uint64_t profile_last_ns(const struct profile *p)
{
	return p->last_ns;
}

uint64_t profile_lost(const struct profile *p)
{
	return p->lost;
}

uint64_t profile_lost_ns(const struct profile *p)
{
	return p->lost_ns;
}

// Ops and calls.

const struct op_table *profile_op_table(const struct profile *p)
{
	return &p->op_table;
}

const struct series_table *profile_series(const struct profile *p)
{
	return &p->series;
}

const struct call_counts *profile_call_counts(const struct profile *p)
{
	return &p->call_counts;
}

const struct awaits *profile_awaits(const struct profile *p)
{
	return &p->awaits;
}

// GPUs and memory.

const struct gpu *profile_gpu(const struct profile *p)
{
	return &p->gpu;
}

const struct gpu_lines *profile_gpu_lines(const struct profile *p)
{
	return &p->gpu_lines;
}

const struct allocations *profile_allocations(const struct profile *p)
{
	return &p->allocations;
}

const struct counters *profile_counters(const struct profile *p)
{
	return &p->counters;
}

// Other ways to look at a run.

const struct repeats *profile_repeats(const struct profile *p)
{
	return &p->repeats;
}

const struct counts *profile_counts(const struct profile *p)
{
	return &p->counts;
}

// SPDX-License-Identifier: MIT
// Code of any kind, as the agent decodes and moves it: what is moved fits, and its rows are in
// order.
#include "base/x86.h"
#include "tracer/agent/trace/displace.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct displace_function f = { NULL, 0x400000, size / 2, size, false };
	struct displace d;
	struct x86 x;

	if (!size)
		return 0;
	// A copy of just that size, so that the sanitizer sees a read beyond it.
	uint8_t *copy = malloc(size);
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	f.code = copy;
	if (x86_decode(copy, size, &x) && (x.length > size || x.relative_at > x.length))
		abort();
	if (displace(&f, 0x500000, &d) == PATCH_DONE) {
		if (d.size > sizeof(d.code) || d.row_count > DISPLACE_ROWS || !d.row_count ||
		    d.entry + d.length > size)
			abort();
		for (uint32_t i = 1; i < d.row_count; i++)
			if (d.rows[i].at < d.rows[i - 1].at || d.rows[i].at > d.size)
				abort();
	}
	free(copy);
	return 0;
}

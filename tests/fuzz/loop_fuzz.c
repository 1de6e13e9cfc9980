// SPDX-License-Identifier: MIT
// Code of any kind, with a sample at every instruction or at some: what is found lies in the code.
#include "symbolize/loop/insn.h"
#include "symbolize/loop/loop.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t regs[16] = { 8, 4096, UINT64_MAX, 1 << 20, 0, INT64_MAX };
	static const uint64_t others[16] = { 8, 4100, 0, 1 << 20, 64, INT64_MAX };
	struct loop_fact parsed;
	struct insn insn;
	size_t count = 0;
	char text[200];

	if (size < 2 || size > LOOP_CODE_MAX)
		return 0;
	// The first byte chooses samples. A copy of just that size, so that the sanitizer sees a
	// read beyond it.
	uint8_t every = (uint8_t)(1 + data[0] % 4);
	size--;
	uint8_t *copy = malloc(size);
	struct loop_sample *samples = calloc(size, sizeof(*samples));
	struct loop_found *found = calloc(size, sizeof(*found));
	if (copy && samples && found) {
		memcpy(copy, data + 1, size);
		for (uint32_t at = 0; insn_decode(copy, size, at, &insn); at += insn.length) {
			if (!insn.length || insn.length > size - at)
				abort();
			if (at % every == 0)
				samples[count++] =
					(struct loop_sample){ at, 1 + at % 7, at % 3 ? regs : NULL,
					                      at % 2 ? others : NULL };
		}
		if (!loops_find((struct bytes){ copy, size }, samples, count, 32, found))
			abort();
		for (size_t i = 0; i < count; i++) {
			if (found[i].jump >= size || (unsigned)found[i].fact.kind >= LOOP_KINDS)
				abort();
			if (found[i].fact.kind != LOOP_NONE &&
			    (!loop_fact_print(&found[i].fact, text, sizeof(text)) ||
			     !loop_fact_parse(text, &parsed)))
				abort();
		}
	}
	free(copy);
	free(samples);
	free(found);
	return 0;
}

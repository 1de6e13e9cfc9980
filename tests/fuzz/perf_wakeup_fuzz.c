// SPDX-License-Identifier: MIT
// Up to a NUL the bytes are the text that says where in a record what is, behind it is the record.
#include "sampler/perf/perf_wakeup.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink; // what is read must not be optimized away

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perf_wakeup_format format;
	struct event_waking waking;
	const uint8_t *end = size ? memchr(data, '\0', size) : NULL;
	size_t length = end ? (size_t)(end - data) : size;
	size_t rest = end ? size - length - 1 : 0;
	uint8_t *raw = malloc(rest + !rest); // so that a byte too many is seen

	if (raw && rest)
		memcpy(raw, end + 1, rest);
	if (raw && perf_wakeup_parse((const char *)data, length, &format) &&
	    perf_wakeup_read(&format, raw, rest, &waking))
		sink = waking.tid + waking.by;
	(void)sink;
	free(raw);
	return 0;
}

// SPDX-License-Identifier: MIT
// Filters are the target's.
#include "tracer/agent/sample/seccomp.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t count = size / sizeof(struct sock_filter);
	struct sock_filter *program = malloc(count * sizeof(*program) + 1);

	if (!program)
		return 0;
	memcpy(program, data, count * sizeof(*program));
	seccomp_lets_us_be(program, count);
	free(program);
	return 0;
}

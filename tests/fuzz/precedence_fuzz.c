// SPDX-License-Identifier: MIT
#include "base/cleanup.h"
#include "tracer/agent/precedence.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct precedence_status status;
	// Of just that size: a byte behind it is an error.
	cleanup_free char *text = malloc(size ? size : 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	if (!precedence_parse(text, size, &status))
		return 0;
	if (precedence_is_due(&status, 0, UINT64_MAX) ||
	    precedence_is_due(&status, ~status.shared, UINT64_MAX))
		abort();
	return 0;
}

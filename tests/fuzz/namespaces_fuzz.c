// SPDX-License-Identifier: MIT
#include "base/cleanup.h"
#include "base/namespaces.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *text = malloc(size + 1);
	struct namespace_pids pids;
	int64_t ns;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (namespaces_parse_pids(text, &pids) &&
	    (!pids.depth || pids.depth > size / 2 || (pids.outer | pids.inner) >> 31))
		abort();
	namespaces_parse_offset(text, &ns);
	namespaces_parse_filters(text);
	return 0;
}

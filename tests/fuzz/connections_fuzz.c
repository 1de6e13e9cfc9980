// SPDX-License-Identifier: MIT
// The kernel's table of TCP connections, and who is connected to whom in it.
#include "sampler/wait/connections.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup(connections) struct connections *c = connections_new();
	char *text = malloc(size + 1);
	bool settled, still;

	if (c && text && size) {
		memcpy(text, data, size);
		text[size] = '\0';
		connections_add(c, text);
		for (uint64_t inode = 0; inode < 4; inode++) {
			uint64_t found = connections_find(c, inode, &settled);
			if (!inode && (found || settled))
				abort(); // it is nobody's
			if (found && !settled && !strpbrk(text, "Aa"))
				abort(); // state 0A: up to then it is whoever listens
			if (connections_find(c, inode, &still) != found || still != settled)
				abort();
		}
	}
	free(text);
	return 0;
}

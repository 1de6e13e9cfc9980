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
	bool settled;

	if (c && text && size) {
		memcpy(text, data, size);
		text[size] = '\0';
		connections_add(c, text);
		for (uint64_t inode = 0; inode < 4; inode++)
			if (connections_find(c, inode, &settled) && (!inode || !settled))
				abort(); // a socket that is found is somebody's
	}
	free(text);
	return 0;
}

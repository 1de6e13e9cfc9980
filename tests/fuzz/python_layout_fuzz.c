// SPDX-License-Identifier: MIT
// The first bytes of another process's _PyRuntime: what is taken for a layout must be usable.
#include "base/python_layout.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct python_layout l;

	if (!python_layout_read(data, size, &l))
		return 0;
	if (l.frame_owner < 0 || l.frame_owner >= l.frame_bytes || l.frame_bytes > 512 ||
	    l.thread_frame < 0 || l.thread_frame + 8 > l.thread_bytes || l.code_bytes < 8 ||
	    l.code_bytes > 1024 || l.text_ascii > 128 || l.runtime_interpreters < 0)
		abort();
	return 0;
}

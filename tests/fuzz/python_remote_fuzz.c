// SPDX-License-Identifier: MIT
// Another process's memory may be anything: the input is all of it, again and again, so that most
// pointers lead somewhere. Its first word says where _PyRuntime is, whose version and which thread.
#include "tests/fuzz/python_looks.h"

#include "base/python_layout.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data;
	size_t size;
};

static bool read_input(void *context, uint64_t address, void *to, size_t size)
{
	struct input *input = context;
	uint8_t *out = to;
	size_t at = address % input->size;

	if (address >= UINT64_C(1) << 20)
		return false;
	// In pieces: byte by byte, the hooks of coverage take nine tenths of the time.
	for (size_t have = 0, piece; have < size; have += piece, at = 0) {
		piece = size - have < input->size - at ? size - have : input->size - at;
		memcpy(out + have, input->data + at, piece);
	}
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, size };
	uint16_t head[4];

	if (size < 64)
		return 0;
	memcpy(head, data, sizeof(head));
	struct event_python event = {
		.version = PYTHON_VERSION(8 + head[0] % 8),
		.runtime = 8 + head[1],
		.code_type = head[2],
		// Next to the code's, so that short inputs have some of them.
		.types = { head[2] + 1u, head[2] + 2u, head[2] + 3u, head[2] + 4u, head[2] + 5u,
		           head[2] + 6u },
	};
	python_looks(&event, head[3], read_input, &input);
	return 0;
}

// SPDX-License-Identifier: MIT
// Another process's memory may be anything: the input is all of it, again and again, so that most
// pointers lead somewhere. Its first bytes say where the fields of a g are.
#include "sampler/go/go_remote.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data;
	size_t size;
};

static void read_input(void *context, struct go_read *reads, size_t count)
{
	const struct input *input = context;

	for (size_t i = 0; i < count; i++) {
		uint8_t *out = reads[i].to;
		reads[i].done = reads[i].address < UINT64_C(1) << 40;
		for (size_t k = 0; reads[i].done && k < reads[i].size; k++)
			out[k] = input->data[(reads[i].address + k) % input->size];
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, size };
	static struct go_room *room;
	size_t count;

	if (size < 32 || (!room && !(room = go_room_new())))
		return 0;
	const struct go_layout layout = {
		.all_pointer = data[0],
		.all_length = data[1],
		.reasons = data[2],
		.reason_count = data[3],
		.stack_high = data[4],
		.sp = data[5],
		.pc = data[6],
		.bp = data[7],
		.status = data[8],
		.reason = data[9],
		.goid = data[10],
		.start = data[11],
		.call_sp = data[12],
		.call_pc = data[13],
		.call_bp = data[14] % 2 ? -1 : data[15],
		.g_bytes = GO_G_BYTES_MAX,
	};
	struct go_remote *remote = go_remote_new(&layout, data[16], room);
	for (int pass = 0; remote && pass < 2; pass++) {
		const struct go_group *groups = go_remote_pass(remote, read_input, &input, &count);
		if (!groups)
			continue;
		if (count > GO_LOOKED_MAX)
			abort();
		for (size_t i = 0; i < count; i++)
			if (groups[i].count > GO_FRAMES_MAX || !groups[i].goroutines ||
			    strlen(groups[i].reason) >= GO_REASON_MAX)
				abort();
	}
	go_remote_free(remote);
	return 0;
}

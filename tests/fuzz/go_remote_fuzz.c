// SPDX-License-Identifier: MIT
// Another process's memory may be anything: the input is all of it, again and again, so that most
// pointers lead somewhere. Its first bytes say where the fields of a g are, and after how many
// reads which byte changes, as the process goes on while it is read, or all is gone, as it ends.
//
// A list of 1,000 goroutines takes a hundred times as long as a short one, and differs little from
// it: lists are shortened, but for those of one input in LONG_EVERY, which its hash draws. Were
// that up to a byte of the input, the fuzzer would keep it where it finds more.
#include "base/hash.h"
#include "sampler/go/go_remote.h"

#include <stdlib.h>
#include <string.h>

#define INPUT_MAX  4096
#define READ_MAX   (sizeof(uint64_t) * GO_LOOKED_MAX) // the longest read: a whole list
#define SHORT      40                                 // goroutines: more than are read together
#define LONG_EVERY 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct process {
	uint8_t memory[INPUT_MAX + READ_MAX];
	size_t size; // the bytes of the input, which come again
	uint8_t reads_left;
	size_t changes_at;
	uint8_t change; // 0: it ends
	bool ended;
};

static void read_memory(void *context, struct go_read *reads, size_t count)
{
	struct process *process = context;

	for (size_t i = 0; i < count; i++) {
		if (reads[i].size > READ_MAX)
			abort();
		reads[i].done = !process->ended && reads[i].address < UINT64_C(1) << 40;
		if (reads[i].done)
			memcpy(reads[i].to, process->memory + reads[i].address % process->size,
			       reads[i].size);
	}
	if (process->reads_left && !--process->reads_left) {
		process->memory[process->changes_at] ^= process->change;
		process->ended = !process->change;
	}
}

static void shorten(struct process *process, uint64_t length_at)
{
	uint8_t *at = process->memory + length_at % process->size;
	uint64_t length;

	memcpy(&length, at, sizeof(length));
	if (length > SHORT && length <= UINT32_MAX) {
		length = length % SHORT + 1;
		memcpy(at, &length, sizeof(length));
	}
}

static void start(struct process *process, const uint8_t *data, size_t size,
                  const struct go_layout *layout)
{
	*process = (struct process){ .size = size,
		                     .reads_left = data[18],
		                     .changes_at = (data[19] + 256u * data[20]) % size,
		                     .change = data[21] };
	memcpy(process->memory, data, size);
	for (size_t have = size, whole = size + READ_MAX; have < whole; have *= 2)
		memcpy(process->memory + have, process->memory,
		       have < whole - have ? have : whole - have);
	if (hash_bytes(data, size) % LONG_EVERY)
		shorten(process, layout->all_length + data[16]);
}

// As far as the fields reach, like go_layout_read().
static uint32_t reach(const struct go_layout *l)
{
	const int32_t fields[] = { l->stack_high, l->sp,      l->pc,     l->bp,
		                   l->status,     l->reason,  l->goid,   l->start,
		                   l->call_sp,    l->call_pc, l->call_bp };
	uint32_t bytes = 0;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (fields[i] >= 0 && (uint32_t)fields[i] + sizeof(uint64_t) > bytes)
			bytes = (uint32_t)fields[i] + sizeof(uint64_t);
	return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct process process;
	static struct go_room *room; // the kernel takes longer to map one than most inputs take
	size_t count;

	if (size < 32 || (!room && !(room = go_room_new())))
		return 0;
	if (size > INPUT_MAX)
		size = INPUT_MAX;
	const int32_t unit = data[17] % 8 == 7 ? 8 : 1; // 8: the last field ends at GO_G_BYTES_MAX
	struct go_layout layout = {
		.all_pointer = data[0],
		.all_length = data[1],
		.reasons = data[2],
		.reason_count = data[3],
		.stack_high = data[4] * unit,
		.sp = data[5] * unit,
		.pc = data[6] * unit,
		.bp = data[7] * unit,
		.status = data[8] * unit,
		.reason = data[9] * unit,
		.goid = data[10] * unit,
		.start = data[11] * unit,
		.call_sp = data[12] * unit,
		.call_pc = data[13] * unit,
		.call_bp = data[14] % 2 ? -1 : data[15] * unit,
	};
	layout.g_bytes = reach(&layout);
	start(&process, data, size, &layout);
	struct go_remote *remote = go_remote_new(&layout, data[16], room);
	for (int pass = 0; remote && pass < 2; pass++) {
		const struct go_group *groups =
			go_remote_pass(remote, read_memory, &process, &count);
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

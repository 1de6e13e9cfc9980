// SPDX-License-Identifier: MIT
/*
 * What a process's agent tells of ops, allocations, Python and PyTorch, or whoever scribbles in its
 * files: from there into a profile.
 *
 * The input: how long the names are, the names as their file has them behind its header, the
 * ring's head and tail, and its data.
 */
#include "base/cleanup.h"
#include "base/code.h"
#include "base/module.h"
#include "base/namespaces.h"
#include "base/op.h"
#include "base/record.h"
#include "base/record_gpu.h"
#include "base/ring.h"
#include "merge/profile/profile.h"
#include "sampler/agent/op_source.h"
#include "sampler/tracker/tracker.h"
#include "tracer/protocol.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DATA_BYTES  16384
#define NAMES_BYTES 8192
#define PID         0x7ffffff0 // no process has this one
#define IMAGE_NS    1
// Records have times of their own, up to any; an end of the run beyond them all would cost each
// input thousands of windows of time.
#define END_NS UINT64_C(10000000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);

static char directory[64];
static struct namespaces own; // else all descendants would be searched for PID, for each input

static void remove_directory(void)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/%s", directory, PROTOCOL_DOOR);
	unlink(path);
	rmdir(directory);
}

static bool make_directory(void)
{
	if (directory[0])
		return true;
	const char *shm = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	snprintf(directory, sizeof(directory), "%s/op_source_fuzz-XXXXXX", shm);
	if (!mkdtemp(directory))
		return false;
	namespaces_read(&own);
	atexit(remove_directory);
	return true;
}

// The next WANTED bytes of the input, or as many as there are.
static size_t take(const uint8_t **data, size_t *size, void *to, size_t wanted)
{
	size_t got = *size < wanted ? *size : wanted;

	memcpy(to, *data, got);
	*data += got;
	*size -= got;
	return got;
}

static bool write_file(const char *name, const void *bytes, size_t size, size_t whole)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	cleanup_close int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	// The rest of it is zeros.
	return fd >= 0 && write(fd, bytes, size) == (ssize_t)size &&
	       ftruncate(fd, (off_t)whole) == 0;
}

static bool write_names(const uint8_t **data, size_t *size)
{
	static union {
		struct protocol_names header;
		uint8_t bytes[NAMES_BYTES];
	} file;
	size_t room = sizeof(file) - sizeof(file.header);
	uint16_t length = 0;

	file.header = (struct protocol_names){ .magic = PROTOCOL_NAMES_MAGIC,
		                               .version = PROTOCOL_VERSION,
		                               .pid = PID,
		                               .pid_namespace = own.pid,
		                               .image_ns = IMAGE_NS };
	take(data, size, &length, sizeof(length));
	size_t got = take(data, size, &file.header + 1, length < room ? length : room);
	return write_file("names", &file, sizeof(file.header) + got, PROTOCOL_NAMES_BYTES);
}

static bool write_ring(const uint8_t **data, size_t *size)
{
	static union {
		struct protocol_file header;
		uint8_t bytes[PROTOCOL_FILE_BYTES + RING_HEADER_BYTES + DATA_BYTES];
	} file;
	uint16_t positions[2] = { 0, 0 };
	struct ring ring;

	file.header = (struct protocol_file){ .magic = PROTOCOL_MAGIC,
		                              .version = PROTOCOL_VERSION,
		                              .pid = PID,
		                              .image_ns = IMAGE_NS,
		                              .ring_count = 1,
		                              .data_bytes = DATA_BYTES,
		                              .made = 1,
		                              .pid_namespace = own.pid };
	ring_create(&ring, file.bytes + protocol_ring_offset(0, DATA_BYTES), DATA_BYTES, PID, 0);
	take(data, size, positions, sizeof(positions));
	ring.header->head = positions[0];
	ring.header->tail = positions[1];
	size_t got = take(data, size, ring.data, DATA_BYTES);
	return write_file("ring", &file, (size_t)(ring.data + got - file.bytes), sizeof(file));
}

static void take_into(void *profile, const struct sampled *what)
{
	profile_take(profile, what);
}

static void drain(struct op_source *source, struct tracker *tracker)
{
	const struct event *event;

	for (uint64_t round = 1; round <= 2; round++) {
		op_source_poll(source, round * UINT64_C(2000000000)); // also what was only counted
		while ((event = op_source_next(source, UINT64_MAX)))
			tracker_handle(tracker, event);
		if (round == 1)
			op_source_conclude(source, PID, UINT64_C(5000000000));
	}
}

static void follow(void)
{
	cleanup(modules) struct modules *modules = modules_new();
	cleanup(ops) struct ops *ops = ops_new();
	cleanup(codes) struct codes *codes = codes_new();
	cleanup(profile) struct profile *profile = profile_new(modules, NULL, NULL);
	struct sampler_sink sink = { .context = profile, .take = take_into };
	struct source_facts facts = { .frequency_hz = 999 };
	cleanup(tracker) struct tracker *tracker =
		tracker_new(modules, UNWINDER_TABLE, &sink, NULL);
	cleanup(op_source) struct op_source *source = op_source_new(directory, ops, NULL);

	if (!ops || !codes || !profile || !tracker || !source)
		return;
	profile_set_ops(profile, ops);
	profile_set_codes(profile, codes);
	tracker_set_ops(tracker, ops);
	tracker_set_codes(tracker, codes);
	if (tracker_start(tracker, &facts, false, NULL) < 0)
		return;
	drain(source, tracker);
	tracker_finish(tracker, END_NS);
	profile_end_gpu(profile);
	profile_end_wall(profile, END_NS);
}

static unsigned draw(unsigned *seed, unsigned below)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (unsigned)(((uint64_t)*seed * below) >> 32);
}

static uint64_t draw_word(unsigned *seed)
{
	switch (draw(seed, 8)) {
	case 0:
		return draw(seed, 4096);
	case 1:
		return draw(seed, UINT32_MAX);
	case 2:
		return UINT64_MAX >> draw(seed, 64);
	case 3:
		return (uint64_t)draw(seed, 8) << 32 | draw(seed, 8);
	default:
		return draw(seed, 4);
	}
}

#define BODY_WORDS 24

// A record of any type with a head that can be. Its size.
static size_t draw_record(unsigned *seed, uint64_t words[3 + BODY_WORDS])
{
	size_t body = draw(seed, BODY_WORDS + 1);
	unsigned type = draw(seed, RECORD_FOUND + RECORD_GPU_LAST - RECORD_GPU_KERNEL + 2);
	const struct record head = {
		.size = (uint32_t)(sizeof(head) + 8 * body),
		.type = (uint16_t)(type <= RECORD_FOUND
		                           ? type
		                           : type - RECORD_FOUND - 1 + RECORD_GPU_KERNEL),
		.flags = (uint16_t)(draw(seed, 2)   ? 0
		                    : draw(seed, 2) ? 1u << draw(seed, 16)
		                                    : draw(seed, 8)),
		.pid = PID,
		.tid = PID + draw(seed, 3),
		.time_ns = draw(seed, 1000000),
	};

	memcpy(words, &head, sizeof(head));
	for (size_t i = 0; i < body; i++)
		words[3 + i] = draw_word(seed);
	return head.size;
}

// One more record behind those that there are: to draw a head byte by byte takes long.
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	uint64_t words[3 + BODY_WORDS];
	uint16_t length = 0, positions[2];

	memcpy(&length, data, size < sizeof(length) ? size : sizeof(length));
	size_t at = sizeof(length) + (size_t)length, ring = at + sizeof(positions);
	if (ring > size || draw(&seed, 3) == 0)
		return LLVMFuzzerMutate(data, size, room);
	memcpy(positions, data + at, sizeof(positions));
	size_t head = positions[0] & ~7u, bytes = draw_record(&seed, words);
	head = head < size - ring ? head : (size - ring) & ~(size_t)7;
	if (ring + head + bytes > room || head + bytes > DATA_BYTES)
		return LLVMFuzzerMutate(data, size, room);
	memcpy(data + ring + head, words, bytes);
	positions[0] = (uint16_t)(head + bytes);
	memcpy(data + at, positions, sizeof(positions));
	return ring + head + bytes > size ? ring + head + bytes : size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (make_directory() && write_names(&data, &size) && write_ring(&data, &size))
		follow();
	return 0;
}

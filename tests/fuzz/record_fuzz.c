// SPDX-License-Identifier: MIT
// A file of rings as the agent, or whoever scribbles in it, may leave it: read to the end.
#include "base/ring.h"
#include "sampler/agent/follow.h"
#include "tracer/protocol.h"
#include "tracer/reader/reader.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DATA_BYTES 4096
#define RINGS      2

// The input: header fields, both ring headers' positions, then the data of the rings.
static void build(uint8_t *file, const uint8_t *data, size_t size)
{
	struct protocol_file *header = (struct protocol_file *)file;
	size_t at = 0;

	*header = (struct protocol_file){
		.magic = PROTOCOL_MAGIC,
		.version = PROTOCOL_VERSION,
		.pid = 1,
		.image_ns = 1,
		.ring_count = RINGS,
		.data_bytes = DATA_BYTES,
		.made = 3,
	};
	for (uint32_t i = 0; i < RINGS; i++) {
		uint8_t *memory = file + protocol_ring_offset(i, DATA_BYTES);
		struct ring ring;
		ring_create(&ring, memory, DATA_BYTES, 1, i);
		uint16_t positions[2] = { 0, 0 };
		if (at + sizeof(positions) > size)
			return;
		memcpy(positions, data + at, sizeof(positions));
		at += sizeof(positions);
		ring.header->head = positions[0];
		ring.header->tail = positions[1];
		size_t part = size - at < DATA_BYTES ? size - at : DATA_BYTES;
		if (i == 0 && part > (size - at + 1) / 2)
			part = (size - at + 1) / 2;
		memcpy(ring.data, data + at, part);
		at += part;
	}
}

static unsigned touch(const struct event *event)
{
	unsigned sum = event->pid + event->tid;

	if (event->type == RECORD_SAMPLE)
		for (uint32_t i = 0; i < event->sample.stack_bytes; i++)
			sum += event->sample.stack[i];
	if (event->type == RECORD_MAP)
		sum += (unsigned)strlen(event->map.path);
	if (event->type == RECORD_EXEC || event->type == RECORD_THREAD)
		sum += (unsigned)strlen(event->name);
	return sum;
}

static void drain(const char *directory)
{
	cleanup(reader) struct reader *reader = reader_new(directory, NULL);
	cleanup(follow) struct follow *follow = follow_new((uint32_t)getpid(), NULL);
	static volatile unsigned sink;
	unsigned sum = 0;

	if (!reader || !follow)
		return;
	for (int round = 0; round < 2; round++) {
		reader_poll(reader);
		for (const struct record *r; (r = reader_next(reader, UINT64_MAX, NULL));) {
			follow_record(follow, r);
			for (const struct event *e; (e = follow_next(follow));)
				sum += touch(e);
		}
	}
	sink = sum;
	(void)sink;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char directory[64];

static void remove_directory(void)
{
	rmdir(directory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint64_t
		memory[(PROTOCOL_FILE_BYTES + RINGS * (RING_HEADER_BYTES + DATA_BYTES)) / 8];
	static char path[96];

	if (!directory[0]) {
		const char *shm = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
		snprintf(directory, sizeof(directory), "%s/record_fuzz-XXXXXX", shm);
		if (!mkdtemp(directory))
			return 0;
		atexit(remove_directory);
	}
	memset(memory, 0, sizeof(memory));
	build((uint8_t *)memory, data, size);
	snprintf(path, sizeof(path), "%s/1-1-0", directory);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0)
		return 0;
	if (write(fd, memory, sizeof(memory)) == (ssize_t)sizeof(memory))
		drain(directory);
	close(fd);
	unlink(path);
	return 0;
}

// SPDX-License-Identifier: MIT
#include "tracer/reader/ring_file.h"

#include "tracer/reader/op_names.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DATA_BYTES_MAX  (64u << 20)
#define HANDLERS_NS_MAX (UINT64_C(1) << 60)

static bool take_names(struct ring_file *file)
{
	file->names = op_names_new(file->map.data, file->map.size);
	if (!file->names)
		return false;
	op_names_claim(file->names, &file->claim);
	return true;
}

// Takes what the header says, once, if it agrees with the file.
static bool take_header(struct ring_file *file)
{
	struct protocol_file header;

	file->header = (const struct protocol_file *)file->map.data;
	if (__atomic_load_n(&file->header->magic, __ATOMIC_ACQUIRE) != PROTOCOL_MAGIC)
		return false;
	memcpy(&header, file->header, sizeof(header));
	if (header.version != PROTOCOL_VERSION || header.ring_count == 0 ||
	    header.ring_count > PROTOCOL_RINGS_MAX || header.data_bytes == 0 ||
	    header.data_bytes > DATA_BYTES_MAX ||
	    protocol_ring_offset(header.ring_count, header.data_bytes) != file->map.size)
		return false;
	file->claim = (struct owner_claim){
		.pid = header.pid,
		.image_ns = header.image_ns,
		.namespaces = { header.pid_namespace, header.monotonic_ns },
	};
	file->ring_count = header.ring_count;
	file->data_bytes = header.data_bytes;
	return true;
}

// Ordinary, and of a size that a file of rings can have. Not yet, if it is still empty.
static bool is_acceptable(int fd, size_t *size, uid_t *user)
{
	struct stat status;

	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_nlink != 1 ||
	    (status.st_mode & 077) != 0 || (size_t)status.st_size < protocol_ring_offset(1, 4096) ||
	    (size_t)status.st_size > protocol_ring_offset(PROTOCOL_RINGS_MAX, DATA_BYTES_MAX))
		return false;
	*size = (size_t)status.st_size;
	*user = status.st_uid;
	return true;
}

struct ring_file *ring_file_open(int directory, const char *name)
{
	cleanup_close int fd =
		openat(directory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	size_t size;
	uid_t user;

	if (fd < 0 || !is_acceptable(fd, &size, &user))
		return NULL;
	struct ring_file *file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	if (mapped_open(&file->map, fd, size, MAPPED_SHARED, NULL) == 0 &&
	    (take_names(file) || take_header(file))) {
		size_t length = strlen(name);
		file->first = length > 2 && strcmp(name + length - 2, "-0") == 0;
		file->pid = file->claim.pid;
		file->user = user;
		return file;
	}
	ring_file_free(file);
	return NULL;
}

void ring_file_free(struct ring_file *file)
{
	op_names_free(file->names);
	owner_release(file->owner);
	mapped_close(&file->map);
	free(file);
}

// Returns whether it can be read.
static bool open_ring(struct ring_file *file, uint32_t index)
{
	void *memory = (char *)file->header + protocol_ring_offset(index, file->data_bytes);
	struct ring *ring = &file->rings[index];

	// Nobody but us reads it, so it begins at its beginning.
	if (ring_open(ring, memory, protocol_ring_bytes(file->data_bytes)) && ring->position == 0) {
		file->open_mask |= UINT32_C(1) << index;
		return true;
	}
	file->refused_mask |= UINT32_C(1) << index;
	return false;
}

uint32_t ring_file_open_rings(struct ring_file *file)
{
	uint32_t made = __atomic_load_n(&file->header->made, __ATOMIC_ACQUIRE) &
	                ~(file->open_mask | file->refused_mask);
	uint32_t damaged = 0;

	for (uint32_t i = 0; made && i < file->ring_count; i++)
		if (made & UINT32_C(1) << i)
			damaged += !open_ring(file, i);
	return damaged;
}

uint64_t ring_file_dropped(const struct ring_file *file)
{
	uint64_t dropped = file->names ? op_names_refused(file->names) : 0;

	for (uint32_t i = 0; i < file->ring_count; i++)
		if (file->open_mask & UINT32_C(1) << i)
			dropped += ring_dropped(&file->rings[i]);
	return dropped;
}

// The target may write there what it likes: that it has done more than there was time for is not
// believed.
uint64_t ring_file_handlers_ns(const struct ring_file *file)
{
	uint64_t ns =
		file->header ? __atomic_load_n(&file->header->handlers_ns, __ATOMIC_RELAXED) : 0;

	return ns < HANDLERS_NS_MAX ? ns : 0;
}

uint64_t ring_file_unsampled(const struct ring_file *file)
{
	return file->header ? file->header->unsampled : 0;
}

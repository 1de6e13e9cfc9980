// SPDX-License-Identifier: MIT
#include "tests/gpu/fake_memory.h"

#include "base/array.h"
#include "tests/gpu/fake_device.h"
#include "tests/gpu/fake_settings.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fake_block *blocks; // by address
static size_t count, capacity;
static uint64_t used[FAKE_DEVICES_MAX];

static bool is_on_device(uint32_t kind)
{
	return kind == CUPTI_MEMORY_DEVICE || fake_memory_is_managed(kind);
}

static bool is_in(const struct fake_block *b, const void *address)
{
	const uint8_t *a = address;

	return a >= b->data && a < b->data + b->bytes;
}

static void protect(const struct fake_block *b, bool closed)
{
	mprotect(b->data, b->bytes, closed ? PROT_NONE : PROT_READ | PROT_WRITE);
}

static bool insert(const struct fake_block *b)
{
	size_t at = array_search(count, i, blocks[i].data < b->data);

	if (is_on_device(b->kind) && used[b->device] + b->bytes > fake_settings()->memory_bytes)
		return false;
	if (!array_reserve(&blocks, &capacity, count + 1))
		return false;
	memmove(&blocks[at + 1], &blocks[at], (count++ - at) * sizeof(*blocks));
	blocks[at] = *b;
	if (is_on_device(b->kind))
		used[b->device] += b->bytes;
	return true;
}

void *fake_memory_new(size_t bytes, enum cupti_memory_kind kind, uint32_t device)
{
	struct fake_block b = { .bytes = bytes ? bytes : 1, .kind = kind, .device = device };

	b.data = mmap(NULL, b.bytes, PROT_READ | PROT_WRITE,
	              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (b.data == MAP_FAILED)
		return NULL;
	pthread_mutex_lock(&lock);
	bool has_room = insert(&b);
	pthread_mutex_unlock(&lock);
	if (has_room)
		return b.data;
	munmap(b.data, b.bytes);
	return NULL;
}

bool fake_memory_free(void *data, struct fake_block *was)
{
	pthread_mutex_lock(&lock);
	size_t at = array_search(count, i, blocks[i].data < (uint8_t *)data);
	bool is_there = at < count && blocks[at].data == data;
	if (is_there) {
		*was = blocks[at];
		memmove(&blocks[at], &blocks[at + 1], (--count - at) * sizeof(*blocks));
		if (is_on_device(was->kind))
			used[was->device] -= was->bytes;
	}
	pthread_mutex_unlock(&lock);
	if (is_there)
		munmap(was->data, was->bytes);
	return is_there;
}

struct fake_block fake_memory_find(const void *address)
{
	struct fake_block found = { .kind = CUPTI_MEMORY_PAGEABLE };
	const uint8_t *a = address;

	pthread_mutex_lock(&lock);
	size_t at = array_search(count, i, blocks[i].data <= a);
	if (at && is_in(&blocks[at - 1], a))
		found = blocks[at - 1];
	pthread_mutex_unlock(&lock);
	return found;
}

void fake_memory_move(const void *address, bool to_device, void *context,
                      void (*moved)(void *context, struct fake_block *block))
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < count; i++) {
		struct fake_block *b = &blocks[i];
		if (!fake_memory_is_managed(b->kind) || b->is_there == to_device ||
		    (address && !is_in(b, address)))
			continue;
		b->is_there = to_device;
		protect(b, to_device);
		moved(context, b);
	}
	pthread_mutex_unlock(&lock);
}

// Opens what TO and FROM are in, or closes it again.
static void open_for_device(const void *to, const void *from, bool closed)
{
	for (size_t i = 0; i < count; i++)
		if (blocks[i].is_there && (is_in(&blocks[i], to) || is_in(&blocks[i], from)))
			protect(&blocks[i], closed);
}

void fake_memory_copy(uint8_t *to, const uint8_t *from, size_t bytes)
{
	pthread_mutex_lock(&lock);
	open_for_device(to, from, false);
	memmove(to, from, bytes);
	open_for_device(to, from, true);
	pthread_mutex_unlock(&lock);
}

void fake_memory_set(uint8_t *memory, int value, size_t bytes)
{
	pthread_mutex_lock(&lock);
	open_for_device(memory, memory, false);
	memset(memory, value, bytes);
	open_for_device(memory, memory, true);
	pthread_mutex_unlock(&lock);
}

uint64_t fake_memory_used(uint32_t device)
{
	return used[device];
}

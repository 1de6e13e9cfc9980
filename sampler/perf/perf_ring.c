// SPDX-License-Identifier: MIT
#include "sampler/perf/perf_ring.h"

#include "base/array.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEPT_MAX ((size_t)64 << 20) // of all rings

void perf_ring_init(struct perf_ring *ring, struct perf_event_mmap_page *page, uint64_t data_bytes)
{
	*ring = (struct perf_ring){
		.page = page,
		.data = (const uint8_t *)page + sysconf(_SC_PAGESIZE),
		.mask = data_bytes - 1,
		.head = page->data_tail,
		.tail = page->data_tail,
		.next_ns = UINT64_MAX,
	};
}

void perf_ring_fini(struct perf_ring *ring)
{
	free(ring->kept);
	ring->kept = NULL;
	ring->kept_from = ring->kept_to = ring->kept_capacity = 0;
}

static void copy_out(const struct perf_ring *ring, uint64_t from, void *to, size_t size)
{
	uint64_t at = from & ring->mask;
	size_t to_end = ring->mask + 1 - at;
	size_t first = size < to_end ? size : to_end;

	memcpy(to, ring->data + at, first);
	memcpy((uint8_t *)to + first, ring->data, size - first);
}

static bool has_kept(const struct perf_ring *ring)
{
	return ring->kept_from < ring->kept_to;
}

static int damaged(struct perf_ring *ring, struct error *err, const char *what)
{
	ring->tail = ring->head;
	ring->next_ns = UINT64_MAX;
	return error_set(err, 0, "a ring of the kernel holds %s", what);
}

// The header of the record at tail, which must be there. False if it cannot be one.
static bool read_header(const struct perf_ring *ring, struct perf_event_header *header)
{
	uint64_t there = ring->head - ring->tail;

	if (there > ring->mask + 1 || there < sizeof(*header))
		return false;
	copy_out(ring, ring->tail, header, sizeof(*header));
	return header->size >= sizeof(*header) && header->size <= there && header->size % 8 == 0;
}

static void peek_kept(struct perf_ring *ring)
{
	const uint8_t *record = ring->kept + ring->kept_from;
	struct perf_event_header header;

	memcpy(&header, record, sizeof(header));
	memcpy(&ring->next_ns, record + perf_record_time_offset(&header), sizeof(ring->next_ns));
}

static int peek_time(struct perf_ring *ring, struct error *err)
{
	struct perf_event_header header;

	if (has_kept(ring)) {
		peek_kept(ring);
		return 0;
	}
	ring->next_ns = UINT64_MAX;
	if (ring->tail == ring->head)
		return 0;
	if (ring->head - ring->tail > ring->mask + 1 || ring->head - ring->tail < sizeof(header))
		return damaged(ring, err, "more than fits in");
	size_t offset = read_header(ring, &header) ? perf_record_time_offset(&header) : 0;
	if (!offset)
		return damaged(ring, err, "a record of impossible size");
	copy_out(ring, ring->tail + offset, &ring->next_ns, sizeof(ring->next_ns));
	if (ring->next_ns == UINT64_MAX)
		return damaged(ring, err, "a record of impossible time");
	return 0;
}

int perf_rings_look(struct perf_rings *set, struct error *err)
{
	int result = 0;

	pthread_mutex_lock(&set->lock);
	for (size_t i = 0; i < set->count; i++) {
		struct perf_ring *ring = &set->rings[i];
		ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
		if (ring->next_ns == UINT64_MAX && ring != set->given && peek_time(ring, err) < 0)
			result = -1;
	}
	pthread_mutex_unlock(&set->lock);
	return result;
}

static int give_back(struct perf_rings *set, struct error *err)
{
	struct perf_ring *ring = set->given;

	if (!ring)
		return 0;
	set->given = NULL;
	if (set->given_kept) {
		ring->kept_from += set->given_bytes;
	} else {
		ring->tail += set->given_bytes;
		__atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
	}
	return peek_time(ring, err);
}

// Room behind what is kept, for a record of any size.
static bool make_room(struct perf_ring *ring, size_t most)
{
	if (!has_kept(ring))
		ring->kept_from = ring->kept_to = 0;
	if (ring->kept_from > ring->kept_capacity / 2) {
		ring->kept_to -= ring->kept_from;
		memmove(ring->kept, ring->kept + ring->kept_from, ring->kept_to);
		ring->kept_from = 0;
	}
	return ring->kept_to < most && array_reserve(&ring->kept, &ring->kept_capacity,
	                                             ring->kept_to + PERF_RECORD_MAX_BYTES);
}

// What is damaged stays: it is told when its turn comes.
static bool keep_record(struct perf_ring *ring, size_t most)
{
	struct perf_event_header header;
	uint64_t time_ns;

	if (!read_header(ring, &header) || !perf_record_time_offset(&header) ||
	    !make_room(ring, most))
		return false;
	uint8_t *record = ring->kept + ring->kept_to;
	copy_out(ring, ring->tail, record, header.size);
	memcpy(&time_ns, record + perf_record_time_offset(&header), sizeof(time_ns));
	if (time_ns == UINT64_MAX)
		return false;
	ring->kept_to += perf_record_shorten(&ring->format, record);
	ring->tail += header.size;
	return true;
}

// No record of it is out. What samples of switches and wakeups may cost is what their rings hold.
static void relieve(struct perf_ring *ring, size_t most)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);

	if (head - ring->tail <= ring->mask / 2 || ring->format.switches || ring->format.wakeup)
		return;
	ring->head = head;
	while (ring->tail != ring->head && keep_record(ring, most))
		__atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
	if (has_kept(ring))
		peek_kept(ring);
}

static void relieve_all(struct perf_rings *set)
{
	for (size_t i = 0; i < set->count; i++)
		if (&set->rings[i] != set->given)
			relieve(&set->rings[i], KEPT_MAX / set->count);
}

void perf_rings_relieve(struct perf_rings *set)
{
	pthread_mutex_lock(&set->lock);
	relieve_all(set);
	pthread_mutex_unlock(&set->lock);
}

static struct perf_ring *oldest(const struct perf_rings *set)
{
	struct perf_ring *best = NULL;

	for (size_t i = 0; i < set->count; i++)
		if (!best || set->rings[i].next_ns < best->next_ns)
			best = &set->rings[i];
	return best;
}

static const struct perf_event_header *give_kept(struct perf_rings *set, struct perf_ring *ring)
{
	const struct perf_event_header *record = (const void *)(ring->kept + ring->kept_from);

	ring->next_ns = UINT64_MAX;
	set->given = ring;
	set->given_bytes = record->size;
	return record;
}

static const struct perf_event_header *next(struct perf_rings *set, uint64_t until_ns,
                                            struct perf_ring **from, struct error *err)
{
	if (give_back(set, err) < 0)
		return NULL;
	relieve_all(set);

	struct perf_ring *ring = oldest(set);
	if (!ring || ring->next_ns == UINT64_MAX || ring->next_ns > until_ns)
		return NULL;
	*from = ring;
	set->given_kept = has_kept(ring);
	if (set->given_kept)
		return give_kept(set, ring);

	const uint8_t *record = ring->data + (ring->tail & ring->mask);
	struct perf_event_header header;
	copy_out(ring, ring->tail, &header, sizeof(header));
	if ((ring->tail & ring->mask) + header.size > ring->mask + 1) {
		copy_out(ring, ring->tail, set->wrapped, header.size);
		record = set->wrapped;
	}
	ring->next_ns = UINT64_MAX;
	set->given = ring;
	set->given_bytes = header.size;
	return (const struct perf_event_header *)(const void *)record;
}

const struct perf_event_header *perf_rings_next(struct perf_rings *set, uint64_t until_ns,
                                                struct perf_ring **from, struct error *err)
{
	pthread_mutex_lock(&set->lock);
	const struct perf_event_header *record = next(set, until_ns, from, err);
	pthread_mutex_unlock(&set->lock);
	return record;
}

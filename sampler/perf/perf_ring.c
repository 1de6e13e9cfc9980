// SPDX-License-Identifier: MIT
#include "sampler/perf/perf_ring.h"

#include "base/error.h"

#include <string.h>
#include <unistd.h>

void perf_ring_init(struct perf_ring *ring, struct perf_event_mmap_page *page, uint64_t data_bytes)
{
	ring->page = page;
	ring->data = (const uint8_t *)page + sysconf(_SC_PAGESIZE);
	ring->mask = data_bytes - 1;
	ring->head = ring->tail = page->data_tail;
	ring->next_ns = UINT64_MAX;
}

static void copy_out(const struct perf_ring *ring, uint64_t from, void *to, size_t size)
{
	uint64_t at = from & ring->mask;
	size_t to_end = ring->mask + 1 - at;
	size_t first = size < to_end ? size : to_end;

	memcpy(to, ring->data + at, first);
	memcpy((uint8_t *)to + first, ring->data, size - first);
}

static int damaged(struct perf_ring *ring, struct error *err, const char *what)
{
	ring->tail = ring->head;
	ring->next_ns = UINT64_MAX;
	return error_set(err, 0, "a ring of the kernel holds %s", what);
}

static int peek_time(struct perf_ring *ring, struct error *err)
{
	struct perf_event_header header;

	ring->next_ns = UINT64_MAX;
	if (ring->tail == ring->head)
		return 0;
	if (ring->head - ring->tail > ring->mask + 1 || ring->head - ring->tail < sizeof(header))
		return damaged(ring, err, "more than fits in");
	copy_out(ring, ring->tail, &header, sizeof(header));
	size_t offset = perf_record_time_offset(&header);
	if (header.size > ring->head - ring->tail || header.size % 8 || !offset)
		return damaged(ring, err, "a record of impossible size");
	copy_out(ring, ring->tail + offset, &ring->next_ns, sizeof(ring->next_ns));
	if (ring->next_ns == UINT64_MAX)
		return damaged(ring, err, "a record of impossible time");
	return 0;
}

int perf_rings_look(struct perf_rings *set, struct error *err)
{
	int result = 0;

	for (size_t i = 0; i < set->count; i++) {
		struct perf_ring *ring = &set->rings[i];
		ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
		if (ring->next_ns == UINT64_MAX && ring != set->given && peek_time(ring, err) < 0)
			result = -1;
	}
	return result;
}

static int give_back(struct perf_rings *set, struct error *err)
{
	struct perf_ring *ring = set->given;

	if (!ring)
		return 0;
	set->given = NULL;
	ring->tail += set->given_bytes;
	__atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
	return peek_time(ring, err);
}

static struct perf_ring *oldest(const struct perf_rings *set)
{
	struct perf_ring *best = NULL;

	for (size_t i = 0; i < set->count; i++)
		if (!best || set->rings[i].next_ns < best->next_ns)
			best = &set->rings[i];
	return best;
}

const struct perf_event_header *perf_rings_next(struct perf_rings *set, uint64_t until_ns,
                                                struct perf_ring **from, struct error *err)
{
	if (give_back(set, err) < 0)
		return NULL;

	struct perf_ring *ring = oldest(set);
	if (!ring || ring->next_ns == UINT64_MAX || ring->next_ns > until_ns)
		return NULL;

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
	*from = ring;
	return (const struct perf_event_header *)(const void *)record;
}

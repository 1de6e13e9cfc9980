// SPDX-License-Identifier: MIT
// The records of small rings come out whole and in order while a kernel writes them, several
// threads keep them and one reads. Built with the thread sanitizer.
#include "base/error.h"
#include "sampler/perf/perf_keeper.h"
#include "sampler/perf/perf_ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RING_BYTES 32768
#define RECORDS    60000
#define RINGS      2

struct ring {
	struct perf_event_mmap_page *page;
	uint64_t head;
};

static struct ring rings[RINGS];
static struct perf_ring read_rings[RINGS];
static struct perf_rings set;
static uint64_t clock_now; // of the last record

struct named {
	struct perf_event_header header;
	uint64_t filler[12]; // as many of them as its number says
};

// A name: it ends in pid, tid, time and identifier.
static size_t make_record(struct named *r, uint32_t number, uint64_t time)
{
	size_t words = 1 + number % 9;
	uint64_t trailer[3] = { (uint64_t)number << 32 | 1, time, 1 };

	r->header = (struct perf_event_header){ .type = PERF_RECORD_COMM };
	for (size_t i = 0; i < words; i++)
		r->filler[i] = number;
	memcpy(r->filler + words, trailer, sizeof(trailer));
	r->header.size = (uint16_t)(sizeof(r->header) + words * 8 + sizeof(trailer));
	return r->header.size;
}

// As the kernel writes: nobody sees it, and who reads what has been read already gets anything.
__attribute__((no_sanitize("thread"))) static void store(volatile uint8_t *data, uint64_t at,
                                                         const volatile uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		data[(at + i) % RING_BYTES] = bytes[i];
}

static void put(struct ring *ring, const struct named *record, size_t size)
{
	uint8_t *data = (uint8_t *)ring->page + sysconf(_SC_PAGESIZE);

	while (ring->head + size - __atomic_load_n(&ring->page->data_tail, __ATOMIC_ACQUIRE) >
	       RING_BYTES)
		usleep(100);
	store(data, ring->head, (const uint8_t *)record, size);
	ring->head += size;
	__atomic_store_n(&ring->page->data_head, ring->head, __ATOMIC_RELEASE);
}

static void *write_all(void *context)
{
	(void)context;
	for (uint32_t number = 1; number <= RECORDS; number++) {
		struct named record;
		put(&rings[number % RINGS], &record, make_record(&record, number, number));
		__atomic_store_n(&clock_now, number, __ATOMIC_RELEASE);
	}
	return NULL;
}

static bool is_right(const struct perf_event_header *header, uint32_t number)
{
	struct named wanted;
	size_t size = make_record(&wanted, number, number);

	return header->size == size && memcmp(header, &wanted, size) == 0;
}

static int read_all(void)
{
	const struct perf_event_header *record;
	struct perf_ring *from;
	struct error err = { 0 };

	for (uint32_t number = 0; number < RECORDS;) {
		uint64_t until = __atomic_load_n(&clock_now, __ATOMIC_ACQUIRE);
		perf_rings_look(&set, &err);
		while ((record = perf_rings_next(&set, until, &from, &err)))
			if (!is_right(record, ++number)) {
				fprintf(stderr, "record %u is another one\n", number);
				return 1;
			}
		if (err.text[0]) {
			fprintf(stderr, "after record %u: %s\n", number, err.text);
			return 1;
		}
		usleep(number % 7 ? 200 : 30000); // now and then the keepers have their turn
	}
	return 0;
}

int main(void)
{
	struct perf_keeper keeper = { 0 };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	pthread_t writer;

	for (int i = 0; i < RINGS; i++) {
		rings[i].page = aligned_alloc(page, page + RING_BYTES);
		if (!rings[i].page)
			return 1;
		memset(rings[i].page, 0, page + RING_BYTES);
		perf_ring_init(&read_rings[i], rings[i].page, RING_BYTES);
	}
	set = (struct perf_rings){ .rings = read_rings, .count = RINGS, .small = true };
	perf_keeper_start(&keeper, &set);
	if (pthread_create(&writer, NULL, write_all, NULL))
		return 1;
	int result = read_all();
	if (result == 0)
		pthread_join(writer, NULL);
	perf_keeper_stop(&keeper);
	for (int i = 0; result == 0 && i < RINGS; i++) {
		perf_ring_fini(&read_rings[i]);
		free(rings[i].page);
	}
	return result;
}

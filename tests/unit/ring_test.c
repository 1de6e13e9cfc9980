// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "base/ring.h"
#include "tests/support/expect.h"

#include <string.h>

#define DATA_BYTES 1024

static uint64_t memory[(RING_HEADER_BYTES + DATA_BYTES) / 8];

static void open_pair(struct ring *producer, struct ring *consumer)
{
	ring_create(producer, memory, DATA_BYTES, 1, 2);
	cr_assert(ring_open(consumer, memory, sizeof(memory)));
}

static bool put(struct ring *ring, uint16_t type, size_t size)
{
	struct record *record = ring_reserve(ring, size);

	if (!record)
		return false;
	memset(record, 0, size);
	record->type = type;
	ring_commit(ring, record, size);
	return true;
}

Test(ring, records_come_out_whole_and_in_order_across_many_wraps)
{
	struct ring producer, consumer;
	uint16_t next = 1;

	open_pair(&producer, &consumer);
	for (uint16_t i = 1; i < 2000; i++) {
		size_t size = sizeof(struct record) + 8 * (size_t)(i % 40);
		while (!put(&producer, i, size)) {
			const struct record *record = ring_peek(&consumer, NULL);
			cr_assert(record != NULL, "a full ring has something to read");
			cr_assert(eq(u16, record->type, next));
			next++;
			ring_advance(&consumer);
		}
	}
	for (const struct record *record; (record = ring_peek(&consumer, NULL)); next++) {
		cr_assert(eq(u16, record->type, next));
		ring_advance(&consumer);
	}
	cr_expect(eq(u16, next, 2000));
}

Test(ring, a_full_ring_drops_and_counts)
{
	struct ring producer, consumer;
	int kept = 0;

	open_pair(&producer, &consumer);
	for (int i = 0; i < 100; i++)
		kept += put(&producer, 1, 64);
	cr_expect(eq(int, kept, DATA_BYTES / 64));
	cr_expect(eq(u64, ring_dropped(&consumer), (uint64_t)(100 - kept)));
}

Test(ring, a_record_may_shrink_before_it_is_committed)
{
	struct ring producer, consumer;

	open_pair(&producer, &consumer);
	struct record *record = ring_reserve(&producer, 512);
	*record = (struct record){ .type = 7 };
	ring_commit(&producer, record, 24);
	cr_expect(put(&producer, 8, 24));
	cr_expect(eq(u16, ring_peek(&consumer, NULL)->type, 7));
	ring_advance(&consumer);
	cr_expect(eq(u16, ring_peek(&consumer, NULL)->type, 8));
}

Test(ring, a_record_larger_than_the_ring_is_dropped)
{
	struct ring producer, consumer;

	open_pair(&producer, &consumer);
	cr_expect(not(put(&producer, 1, DATA_BYTES + 8)));
	cr_expect(eq(u64, ring_dropped(&consumer), 1));
}

Test(ring, what_is_not_committed_is_not_seen)
{
	struct ring producer, consumer;

	open_pair(&producer, &consumer);
	cr_assert(ring_reserve(&producer, 64) != NULL);
	cr_expect(eq(ptr, (void *)ring_peek(&consumer, NULL), NULL));
}

Test(ring, scribbled_sizes_are_an_error_and_never_followed)
{
	static const uint32_t sizes[] = { 0, 7, 12, 16, 2048, UINT32_MAX };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct ring producer, consumer;
		struct error err = { 0 };

		open_pair(&producer, &consumer);
		put(&producer, 1, 64);
		memcpy((char *)memory + RING_HEADER_BYTES, &sizes[i], 4);
		cr_expect(eq(ptr, (void *)ring_peek(&consumer, &err), NULL), "size %u", sizes[i]);
		cr_expect(ne(str, err.text, ""), "size %u", sizes[i]);
		cr_expect(eq(ptr, (void *)ring_peek(&consumer, NULL), NULL), "size %u", sizes[i]);
	}
}

Test(ring, a_head_beyond_the_ring_is_an_error)
{
	struct ring producer, consumer;
	struct error err = { 0 };

	open_pair(&producer, &consumer);
	put(&producer, 1, 64);
	producer.header->head = UINT64_MAX - 8;
	cr_expect(eq(ptr, (void *)ring_peek(&consumer, &err), NULL));
	cr_expect(ne(str, err.text, ""));
}

Test(ring, memory_that_holds_no_ring_is_refused)
{
	struct ring ring;

	memset(memory, 0, sizeof(memory));
	cr_expect(not(ring_open(&ring, memory, sizeof(memory))));
	ring_create(&ring, memory, DATA_BYTES, 1, 2);
	cr_expect(not(ring_open(&ring, memory, sizeof(memory) - 8)));
	cr_expect(not(ring_open(&ring, memory, 100)));
}

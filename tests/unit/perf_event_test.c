// SPDX-License-Identifier: MIT
#include "base/cleanup.h"
#include "base/error.h"
#include "base/perf_refused.h"
#include "sampler/perf/perf_event.h"
#include "sampler/perf/perf_keeper.h"
#include "sampler/perf/perf_ring.h"
#include "tests/support/expect.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE      4096
#define RING_DATA 4096

// A record as the kernel lays it out, in the making.
struct maker {
	uint8_t bytes[8192];
	size_t size;
};

static void put(struct maker *m, const void *bytes, size_t size)
{
	cr_assert(m->size + size <= sizeof(m->bytes));
	if (size)
		memcpy(m->bytes + m->size, bytes, size);
	m->size += size;
}

static void put32(struct maker *m, uint32_t value)
{
	put(m, &value, 4);
}

static void put64(struct maker *m, uint64_t value)
{
	put(m, &value, 8);
}

static void start(struct maker *m, uint32_t type, uint16_t misc)
{
	struct perf_event_header header = { .type = type, .misc = misc };

	m->size = 0;
	put(m, &header, sizeof(header));
}

static void finish(struct maker *m)
{
	((struct perf_event_header *)(void *)m->bytes)->size = (uint16_t)m->size;
}

static void finish_with_trailer(struct maker *m, uint32_t pid, uint32_t tid, uint64_t time)
{
	put32(m, pid);
	put32(m, tid);
	put64(m, time);
	put64(m, 1);
	finish(m);
}

static void make_sample(struct maker *m, uint64_t id, uint64_t time, const uint64_t *chain,
                        size_t chain_count, size_t stack_room, size_t stack_used)
{
	static const uint8_t zeros[4096];

	start(m, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	put64(m, id);
	put32(m, 10);
	put32(m, 11);
	put64(m, time);
	put64(m, 1001001);
	put64(m, chain_count);
	put(m, chain, chain_count * 8);
	put64(m, PERF_SAMPLE_REGS_ABI_64);
	for (uint64_t i = 0; i < DWARF_REGISTERS; i++)
		put64(m, 100 + i);
	put64(m, stack_room);
	if (stack_room) {
		put(m, zeros, stack_room);
		put64(m, stack_used);
	}
	finish(m);
}

static enum perf_verdict decode(const struct maker *m, struct event *event)
{
	struct perf_format format = { .kernel = true };

	return perf_record_decode(&format, m->bytes, m->size, event);
}

Test(perf_record, a_sample_has_registers_in_dwarf_order_and_its_stack_in_place)
{
	struct maker m;
	struct event e;

	make_sample(&m, 1, 500, NULL, 0, 64, 48);
	cr_assert(eq(int, decode(&m, &e), PERF_RECORD_EVENT));
	cr_expect(eq(int, (int)e.type, RECORD_SAMPLE));
	cr_expect(eq(int, (int)e.sample.kind, SAMPLE_ON_CPU));
	cr_expect(eq(u32, e.pid, 10));
	cr_expect(eq(u32, e.tid, 11));
	cr_expect(eq(u64, e.time_ns, 500));
	cr_expect(eq(u64, e.sample.weight_ns, 1001001));
	cr_expect(e.sample.has_user && e.sample.has_rbp);
	// perf: AX BX CX DX SI DI BP SP IP R8 ..
	cr_expect(eq(u64, e.sample.regs[DWARF_RAX], 100));
	cr_expect(eq(u64, e.sample.regs[DWARF_RBX], 101));
	cr_expect(eq(u64, e.sample.regs[DWARF_RBP], 106));
	cr_expect(eq(u64, e.sample.regs[DWARF_RSP], 107));
	cr_expect(eq(u64, e.sample.regs[DWARF_RIP], 108));
	cr_expect(eq(u64, e.sample.regs[DWARF_R15], 116));
	cr_expect(eq(u32, e.sample.stack_bytes, 48));
	cr_expect(e.sample.stack > m.bytes && e.sample.stack < m.bytes + m.size);
}

Test(perf_record, the_kernel_chain_is_what_lies_between_the_marks)
{
	static const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000010,
		                          0xffffffff81000020, (uint64_t)PERF_CONTEXT_USER, 0x1234 };
	struct maker m;
	struct event e;
	uint64_t address;

	make_sample(&m, 1, 500, chain, 5, 64, 64);
	cr_assert(eq(int, decode(&m, &e), PERF_RECORD_EVENT));
	cr_assert(eq(u32, e.sample.kernel_count, 2));
	memcpy(&address, e.sample.kernel, 8);
	cr_expect(eq(u64, address, 0xffffffff81000010));

	make_sample(&m, 1, 500, chain, 1, 64, 64);
	cr_assert(eq(int, decode(&m, &e), PERF_RECORD_EVENT));
	cr_expect(eq(u32, e.sample.kernel_count, 0), "a mark alone is no frame");
}

Test(perf_record, samples_in_the_ring_of_switches_weigh_nothing)
{
	const struct perf_format format = { .kernel = true, .switches = true };
	struct maker m;
	struct event e;

	make_sample(&m, 77, 500, NULL, 0, 64, 64);
	cr_assert(eq(int, perf_record_decode(&format, m.bytes, m.size, &e), PERF_RECORD_EVENT));
	cr_expect(eq(int, (int)e.sample.kind, SAMPLE_SWITCH));
	cr_expect(eq(u64, e.sample.weight_ns, 0));
}

Test(perf_record, a_kernel_sample_without_stack_has_no_user_part)
{
	static const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000010 };
	struct maker m;
	struct event e;

	make_sample(&m, 1, 500, chain, 2, 64, 0);
	cr_assert(eq(int, decode(&m, &e), PERF_RECORD_EVENT));
	cr_expect(not(e.sample.has_user));
}

Test(perf_record, a_mapping_has_its_file_and_a_terminated_path)
{
	struct maker m;
	struct event e;

	start(&m, PERF_RECORD_MMAP2, 0);
	put32(&m, 10);
	put32(&m, 11);
	put64(&m, 0x7000);
	put64(&m, 0x2000);
	put64(&m, 0x1000);
	put32(&m, 8);
	put32(&m, 1);
	put64(&m, 1234);
	put64(&m, 0);
	put32(&m, PROT_READ | PROT_EXEC);
	put32(&m, 2);
	put(&m, "/lib/x.so\0\0\0\0\0\0", 16);
	finish_with_trailer(&m, 10, 11, 900);
	cr_assert(eq(int, decode(&m, &e), PERF_RECORD_EVENT));
	cr_expect(eq(int, (int)e.type, RECORD_MAP));
	cr_expect(eq(u64, e.time_ns, 900));
	cr_expect(eq(u64, e.map.start, 0x7000));
	cr_expect(eq(u64, e.map.length, 0x2000));
	cr_expect(eq(u64, e.map.file_offset, 0x1000));
	cr_expect(eq(u32, e.map.device_major, 8));
	cr_expect(eq(u64, e.map.inode, 1234));
	cr_expect(eq(str, (char *)e.map.path, "/lib/x.so"));
}

Test(perf_record, a_path_without_its_end_is_damage)
{
	struct maker m;
	struct event e;

	start(&m, PERF_RECORD_COMM, 0);
	put32(&m, 10);
	put32(&m, 11);
	put(&m, "unending", 8);
	finish_with_trailer(&m, 10, 11, 900);
	cr_expect(eq(int, decode(&m, &e), PERF_RECORD_DAMAGED));
}

static void make_task(struct maker *m, uint32_t type)
{
	start(m, type, 0);
	put32(m, 20);
	put32(m, 10);
	put32(m, 21);
	put32(m, 11);
	put64(m, 899);
	finish_with_trailer(m, 10, 11, 900);
}

Test(perf_record, forks_execs_names_exits_switches_and_losses)
{
	struct maker m;
	struct event e;

	make_task(&m, PERF_RECORD_FORK);
	cr_assert(eq(int, decode(&m, &e), PERF_RECORD_EVENT));
	cr_expect(eq(int, (int)e.type, RECORD_FORK));
	cr_expect(e.pid == 20 && e.tid == 21 && e.fork.parent_pid == 10 && e.fork.parent_tid == 11);
	make_task(&m, PERF_RECORD_EXIT);
	cr_assert(eq(int, decode(&m, &e), PERF_RECORD_EVENT));
	cr_expect(eq(int, (int)e.type, RECORD_EXIT));

	for (int exec = 0; exec < 2; exec++) {
		start(&m, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
		put32(&m, 20);
		put32(&m, 20);
		put(&m, "sh\0\0\0\0\0", 8);
		finish_with_trailer(&m, 20, 20, 900);
		cr_assert(eq(int, decode(&m, &e), PERF_RECORD_EVENT));
		cr_expect(eq(int, (int)e.type, exec ? RECORD_EXEC : RECORD_THREAD));
		cr_expect(eq(str, (char *)e.name, "sh"));
	}

	start(&m, PERF_RECORD_SWITCH,
	      PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
	finish_with_trailer(&m, 20, 21, 900);
	memset(&e, 0x55, sizeof(e));
	cr_assert(eq(int, decode(&m, &e), PERF_RECORD_EVENT));
	cr_expect(e.type == RECORD_SWITCH && e.tid == 21 && !e.sched.in && e.sched.preempted);
	cr_expect(eq(int, (int)e.sched.cause, METRIC_ON_CPU), "the kernel does not say it");

	start(&m, PERF_RECORD_LOST, 0);
	put64(&m, 1);
	put64(&m, 33);
	finish_with_trailer(&m, 0, 0, 900);
	cr_assert(eq(int, decode(&m, &e), PERF_RECORD_EVENT));
	cr_expect(e.type == RECORD_LOST && e.lost == 33);
}

Test(perf_record, what_nobody_asked_for_is_skipped)
{
	struct maker m;
	struct event e;

	start(&m, PERF_RECORD_THROTTLE, 0);
	put64(&m, 1);
	put64(&m, 1);
	put64(&m, 1);
	finish_with_trailer(&m, 10, 11, 900);
	cr_expect(eq(int, decode(&m, &e), PERF_RECORD_SKIP));

	start(&m, PERF_RECORD_SWITCH, 0);
	finish_with_trailer(&m, UINT32_MAX, UINT32_MAX, 900);
	cr_expect(eq(int, decode(&m, &e), PERF_RECORD_SKIP), "a task that is already gone");
}

Test(perf_record, every_cut_of_a_record_is_damage_and_never_read_beyond)
{
	static const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000010 };
	struct maker m;
	struct event e;

	make_sample(&m, 1, 500, chain, 2, 64, 64);
	for (size_t size = 0; size < m.size; size++) {
		// Exactly SIZE bytes on the heap: the sanitizer sees what is read beyond them.
		cleanup_free uint8_t *cut = malloc(size ? size : 1);
		struct perf_format format = { .kernel = true };
		memcpy(cut, m.bytes, size);
		if (size >= sizeof(struct perf_event_header))
			((struct perf_event_header *)(void *)cut)->size = (uint16_t)size;
		cr_expect(eq(int, perf_record_decode(&format, cut, size, &e), PERF_RECORD_DAMAGED),
		          "%zu bytes", size);
	}
}

Test(perf_record, counts_that_cannot_be_are_damage)
{
	static const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_KERNEL };
	static const uint64_t counts[] = { 2000, UINT64_MAX, UINT64_C(1) << 61,
		                           UINT64_MAX / 8 + 1 };
	struct maker m;
	struct event e;

	for (size_t i = 0; i < 4; i++) {
		make_sample(&m, 1, 500, chain, 1, 64, 64);
		memcpy(m.bytes + 40, &counts[i], 8); // of the chain
		cr_expect(eq(int, decode(&m, &e), PERF_RECORD_DAMAGED), "chain of %zx",
		          (size_t)counts[i]);
		make_sample(&m, 1, 500, chain, 1, 64, 64);
		memcpy(m.bytes + m.size - 80, &counts[i], 8); // of the stack
		cr_expect(eq(int, decode(&m, &e), PERF_RECORD_DAMAGED), "stack of %zx",
		          (size_t)counts[i]);
	}
	make_sample(&m, 1, 500, chain, 1, 64, 65);
	cr_expect(eq(int, decode(&m, &e), PERF_RECORD_DAMAGED), "more used than there is");
}

// Rings in plain memory.

struct fake_ring {
	struct perf_event_mmap_page *page;
	uint8_t *data;
	uint64_t head;
};

static void ring_init(struct fake_ring *fake, struct perf_ring *ring, uint64_t position)
{
	fake->page = aligned_alloc(PAGE, PAGE + RING_DATA);
	memset(fake->page, 0, PAGE + RING_DATA);
	fake->data = (uint8_t *)fake->page + PAGE;
	fake->head = fake->page->data_head = fake->page->data_tail = position;
	perf_ring_init(ring, fake->page, RING_DATA);
}

static void ring_put(struct fake_ring *fake, uint32_t tid, uint64_t time, size_t padding)
{
	struct maker m;

	start(&m, PERF_RECORD_COMM, 0);
	put32(&m, 1);
	put32(&m, tid);
	m.bytes[m.size] = 0;
	memset(m.bytes + m.size, 0, 8 + padding);
	m.bytes[m.size] = 'x';
	m.size += 8 + padding;
	finish_with_trailer(&m, 1, tid, time);
	for (size_t i = 0; i < m.size; i++)
		fake->data[(fake->head + i) % RING_DATA] = m.bytes[i];
	fake->head += m.size;
	fake->page->data_head = fake->head;
}

struct two_rings {
	struct fake_ring fake[2];
	struct perf_ring rings[2];
	struct perf_rings set;
};

static void open_two(struct two_rings *t, uint64_t position)
{
	memset(t, 0, sizeof(*t));
	for (int i = 0; i < 2; i++)
		ring_init(&t->fake[i], &t->rings[i], position);
	t->set.rings = t->rings;
	t->set.count = 2;
}

static void close_two(struct two_rings *t)
{
	perf_ring_fini(&t->rings[0]);
	perf_ring_fini(&t->rings[1]);
	free(t->fake[0].page);
	free(t->fake[1].page);
}

// 0 if there is no record.
static uint32_t next_tid(struct two_rings *t, uint64_t until)
{
	struct perf_format format = { 0 };
	struct perf_ring *from;
	struct error err = { 0 };
	struct event event = { 0 };
	const struct perf_event_header *record = perf_rings_next(&t->set, until, &from, &err);

	cr_expect(eq(str, err.text, ""));
	if (!record)
		return 0;
	cr_assert(eq(int, perf_record_decode(&format, record, record->size, &event),
	             PERF_RECORD_EVENT));
	return event.tid;
}

Test(perf_ring, two_rings_come_out_in_order_of_time)
{
	static struct two_rings t;

	open_two(&t, 0);
	ring_put(&t.fake[0], 1, 10, 0);
	ring_put(&t.fake[0], 4, 40, 0);
	ring_put(&t.fake[1], 2, 20, 0);
	ring_put(&t.fake[1], 3, 30, 0);
	ring_put(&t.fake[1], 5, 50, 0);
	cr_assert(eq(int, perf_rings_look(&t.set, NULL), 0));
	for (uint32_t tid = 1; tid <= 5; tid++)
		cr_expect(eq(u32, next_tid(&t, 100), tid));
	cr_expect(eq(u32, next_tid(&t, 100), 0));
	close_two(&t);
}

Test(perf_ring, what_is_younger_than_asked_for_waits)
{
	static struct two_rings t;

	open_two(&t, 0);
	ring_put(&t.fake[0], 1, 10, 0);
	ring_put(&t.fake[1], 2, 20, 0);
	perf_rings_look(&t.set, NULL);
	cr_expect(eq(u32, next_tid(&t, 19), 1));
	cr_expect(eq(u32, next_tid(&t, 19), 0));
	cr_expect(eq(u32, next_tid(&t, 20), 2));
	close_two(&t);
}

Test(perf_ring, what_comes_after_the_look_is_not_seen_before_the_next)
{
	static struct two_rings t;

	open_two(&t, 0);
	ring_put(&t.fake[0], 1, 10, 0);
	perf_rings_look(&t.set, NULL);
	ring_put(&t.fake[0], 2, 20, 0);
	cr_expect(eq(u32, next_tid(&t, 100), 1));
	cr_expect(eq(u32, next_tid(&t, 100), 0));
	perf_rings_look(&t.set, NULL);
	cr_expect(eq(u32, next_tid(&t, 100), 2));
	close_two(&t);
}

Test(perf_ring, a_record_is_given_back_by_the_next_call)
{
	static struct two_rings t;

	open_two(&t, 0);
	ring_put(&t.fake[0], 1, 10, 0);
	perf_rings_look(&t.set, NULL);
	next_tid(&t, 100);
	cr_expect(eq(u64, t.fake[0].page->data_tail, 0), "still borrowed");
	next_tid(&t, 100);
	cr_expect(eq(u64, t.fake[0].page->data_tail, t.fake[0].head));
	close_two(&t);
}

Test(perf_ring, records_that_wrap_come_out_whole_at_every_position)
{
	static struct two_rings t;

	for (uint64_t position = 0; position < RING_DATA; position += 8) {
		open_two(&t, position);
		for (uint32_t tid = 1; tid <= 9; tid++)
			ring_put(&t.fake[tid % 2], tid, tid * 10, tid * 40);
		perf_rings_look(&t.set, NULL);
		for (uint32_t tid = 1; tid <= 9; tid++)
			cr_assert(eq(u32, next_tid(&t, 1000), tid), "at %zu", (size_t)position);
		close_two(&t);
	}
}

Test(perf_ring, a_ring_that_is_half_full_is_emptied_and_its_records_keep_their_turn)
{
	static struct two_rings t;

	open_two(&t, 0);
	for (uint32_t tid = 1; t.fake[0].head <= RING_DATA / 2; tid += 2)
		ring_put(&t.fake[0], tid, tid * 10, 40);
	ring_put(&t.fake[1], 2, 20, 0);
	uint64_t full = t.fake[0].head;
	perf_rings_look(&t.set, NULL);
	cr_expect(eq(u32, next_tid(&t, 1000), 1));
	cr_expect(eq(u64, t.fake[0].page->data_tail, full), "the kernel has it back");
	cr_expect(eq(u64, t.fake[1].page->data_tail, 0));
	ring_put(&t.fake[0], 99, 990, 0);
	perf_rings_look(&t.set, NULL);
	cr_expect(eq(u32, next_tid(&t, 1000), 2));
	cr_expect(eq(u32, next_tid(&t, 1000), 3));
	uint32_t last = 0, tid;
	while ((tid = next_tid(&t, 1000)))
		last = tid;
	cr_expect(eq(u32, last, 99), "what is in the ring comes after them");
	cr_expect(eq(u64, t.fake[0].page->data_tail, t.fake[0].head));
	close_two(&t);
}

static void fill_half(struct two_rings *t, size_t ring)
{
	for (uint32_t tid = 1; t->fake[ring].head <= RING_DATA / 2; tid++)
		ring_put(&t->fake[ring], tid, tid * 10, 40);
}

Test(perf_ring, a_ring_that_is_half_full_is_emptied_for_a_reader_that_does_not_come)
{
	static struct two_rings t;

	open_two(&t, 0);
	fill_half(&t, 0);
	perf_rings_relieve(&t.set);
	cr_expect(eq(u64, t.fake[0].page->data_tail, t.fake[0].head));
	perf_rings_look(&t.set, NULL);
	cr_expect(eq(u32, next_tid(&t, 1000), 1));
	fill_half(&t, 1);
	perf_rings_relieve(&t.set);
	cr_expect(eq(u64, t.fake[1].page->data_tail, t.fake[1].head));
	perf_rings_look(&t.set, NULL);
	cr_expect(eq(u32, next_tid(&t, 1000), 1), "the first of the other ring");
	close_two(&t);
}

Test(perf_ring, a_ring_whose_record_is_out_is_not_emptied)
{
	static struct two_rings t;

	open_two(&t, 0);
	ring_put(&t.fake[0], 1, 10, 40);
	perf_rings_look(&t.set, NULL);
	next_tid(&t, 1000);
	fill_half(&t, 0);
	perf_rings_relieve(&t.set);
	cr_expect(eq(u64, t.fake[0].page->data_tail, 0));
	close_two(&t);
}

Test(perf_ring, small_rings_are_read_in_order_and_emptied_while_a_record_is_out)
{
	static struct two_rings t;

	open_two(&t, 0);
	t.set.small = true;
	ring_put(&t.fake[0], 1, 10, 0);
	ring_put(&t.fake[1], 2, 20, 0);
	ring_put(&t.fake[0], 3, 30, 0);
	ring_put(&t.fake[1], 4, 200, 0);
	cr_assert(eq(int, perf_rings_look(&t.set, NULL), 0));
	cr_expect(eq(u32, next_tid(&t, 100), 1));
	cr_expect(eq(u64, t.fake[0].page->data_tail, t.fake[0].head), "the kernel has its ring");
	for (uint32_t i = 0; i < 20; i++)
		ring_put(&t.fake[0], 5 + i, 40 + i, 40);
	perf_rings_relieve(&t.set);
	cr_expect(eq(u64, t.fake[0].page->data_tail, t.fake[0].head), "a record of it is out");
	cr_expect(perf_rings_kept(&t.set) > 0 && perf_rings_kept(&t.set) < 0.01);
	cr_expect(eq(u32, next_tid(&t, 100), 2));
	cr_expect(eq(u32, next_tid(&t, 100), 3));
	for (uint32_t i = 0; i < 20; i++)
		cr_expect(eq(u32, next_tid(&t, 100), 5 + i), "kept meanwhile");
	cr_expect(eq(u32, next_tid(&t, 1000), 4));
	cr_expect(eq(u32, next_tid(&t, 1000), 0));
	cr_expect(eq(dbl, perf_rings_kept(&t.set), 0));
	close_two(&t);
}

// More than a piece of memory holds, with records that fill it to its end or not.
Test(perf_ring, what_is_kept_of_a_small_ring_comes_out_whole)
{
	static struct two_rings t;
	uint32_t put = 0, taken = 0;

	open_two(&t, 0);
	t.set.small = true;
	for (int round = 0; round < 400; round++) {
		for (int i = 0; i < 12; i++, put++)
			ring_put(&t.fake[0], 1 + put, 1 + put, 64 + (put % 17) * 8);
		perf_rings_relieve(&t.set);
		cr_assert(eq(u64, t.fake[0].page->data_tail, t.fake[0].head));
		for (int i = 0; round % 3 == 2 && i < 20; i++)
			cr_assert(eq(u32, next_tid(&t, UINT32_MAX), ++taken));
	}
	for (uint32_t tid; (tid = next_tid(&t, UINT32_MAX));)
		cr_assert(eq(u32, tid, ++taken));
	cr_expect(eq(u32, taken, put));
	close_two(&t);
}

Test(perf_ring, damage_in_a_small_ring_is_an_error)
{
	static struct two_rings t;
	struct perf_ring *from;
	struct error err = { 0 };

	open_two(&t, 0);
	t.set.small = true;
	ring_put(&t.fake[0], 1, 10, 0);
	((struct perf_event_header *)(void *)t.fake[0].data)->size = 4;
	cr_expect(perf_rings_next(&t.set, 100, &from, &err) == NULL);
	cr_expect(strstr(err.text, "impossible size") != NULL, "%s", err.text);
	close_two(&t);
}

Test(perf_keeper, it_empties_rings_while_nobody_reads)
{
	static struct two_rings t;
	struct perf_keeper keeper = { 0 };

	open_two(&t, 0);
	perf_keeper_start(&keeper, &t.set);
	for (int round = 0; round < 3; round++) {
		fill_half(&t, 0);
		for (int ms = 0; ms < 10000; ms++) {
			if (__atomic_load_n(&t.fake[0].page->data_tail, __ATOMIC_ACQUIRE) ==
			    t.fake[0].head) // it moves with each record
				break;
			usleep(1000);
		}
		cr_expect(eq(u64, t.fake[0].page->data_tail, t.fake[0].head));
		perf_rings_look(&t.set, NULL);
		for (uint32_t tid = 1, got; (got = next_tid(&t, 1000)); tid++)
			cr_assert(eq(u32, got, tid));
		perf_keeper_stop(&keeper);
		close_two(&t);
		open_two(&t, 0);
		t.set.small = round % 2 == 0; // which have several
		perf_keeper_start(&keeper, &t.set);
	}
	perf_keeper_stop(&keeper);
	perf_keeper_stop(&keeper); // no more than once
	close_two(&t);
}

Test(perf_ring, what_a_storm_of_switches_costs_is_what_its_ring_holds)
{
	static struct two_rings t;

	open_two(&t, 0);
	t.rings[0].format.switches = true;
	for (uint32_t tid = 1; t.fake[0].head <= RING_DATA / 2; tid++)
		ring_put(&t.fake[0], tid, tid * 10, 40);
	perf_rings_look(&t.set, NULL);
	next_tid(&t, 1000);
	cr_expect(eq(u64, t.fake[0].page->data_tail, 0));
	close_two(&t);
}

Test(perf_record, a_sample_without_the_room_that_its_stack_did_not_need_is_the_same)
{
	static const uint64_t chain[] = { PERF_CONTEXT_KERNEL, 0xffffffff81000000 };
	static const uint32_t used[] = { 0, 1, 8, 13, 56, 64 };

	for (size_t i = 0; i < sizeof(used) / sizeof(used[0]); i++) {
		struct maker m;
		struct event before = { 0 }, after = { 0 };
		make_sample(&m, 1, 500, chain, 2, 64, used[i]);
		cr_assert(eq(int, decode(&m, &before), PERF_RECORD_EVENT));
		size_t size = m.size;
		struct perf_format format = { .kernel = true };
		m.size = perf_record_shorten(&format, m.bytes);
		size_t dropped = used[i] ? 64 - (used[i] + 7) / 8 * 8 : 0;
		cr_expect(eq(sz, m.size, size - dropped), "%u used", used[i]);
		uint8_t first = before.sample.stack[0];
		cr_assert(eq(int, decode(&m, &after), PERF_RECORD_EVENT));
		cr_expect(eq(u32, after.sample.stack_bytes, used[i]));
		cr_expect(eq(u64, after.time_ns, before.time_ns));
		cr_expect(eq(u64, after.sample.regs[DWARF_RSP], before.sample.regs[DWARF_RSP]));
		cr_expect(eq(u32, after.sample.kernel_count, 1));
		cr_expect(eq(u8, after.sample.stack[0], first));
	}
}

Test(perf_record, a_sample_is_cut_to_less_of_its_stack)
{
	const struct perf_format format = { .kernel = true };
	static const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000010 };
	struct maker m;
	struct event e;

	make_sample(&m, 1, 500, chain, 2, 4096, 3000);
	size_t size = m.size;
	cr_expect(eq(sz, perf_record_cut(&format, m.bytes, 1200, size, 3000, 1024), 0),
	          "so much is not there");
	cr_expect(eq(sz, perf_record_cut(&format, m.bytes, 2048, size, 5000, 1024), 0),
	          "more than there is room for");
	cr_expect(eq(sz, perf_record_cut(&format, m.bytes, 2048, size, 1024, 1024), 0),
	          "there is nothing to be cut");
	cr_expect(eq(sz, perf_record_cut(&format, m.bytes, 2048, size - 8, 3000, 1024), 0));
	cr_expect(eq(sz, m.size, size), "as it was");
	size_t cut = perf_record_cut(&format, m.bytes, 2048, size, 3000, 1024);
	cr_assert(eq(sz, cut, size - 4096 + 1024));
	m.size = cut;
	cr_assert(eq(int, decode(&m, &e), PERF_RECORD_EVENT));
	cr_expect(eq(u32, e.sample.stack_bytes, 1024));
	cr_expect(eq(u32, e.sample.kernel_count, 1));
	cr_expect(eq(u64, e.sample.regs[DWARF_RSP], 107));
	cr_expect(eq(u64, e.time_ns, 500));
}

Test(perf_record, of_a_sample_that_does_not_hold_together_nothing_is_dropped)
{
	struct perf_format format = { .kernel = true };
	static const uint64_t chain[] = { PERF_CONTEXT_KERNEL, 0xffffffff81000000 };
	static const uint64_t counts[] = { 1000, UINT64_MAX / 8 + 1, UINT64_MAX };
	struct maker m;

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		make_sample(&m, 1, 500, chain, 1, 64, 8);
		memcpy(m.bytes + 40, &counts[i], 8); // of the chain
		cr_expect(eq(sz, perf_record_shorten(&format, m.bytes), m.size));
		make_sample(&m, 1, 500, chain, 1, 64, 8);
		memcpy(m.bytes + m.size - 80, &counts[i], 8); // of the stack
		cr_expect(eq(sz, perf_record_shorten(&format, m.bytes), m.size));
	}
	make_sample(&m, 1, 500, chain, 1, 64, 65);
	cr_expect(eq(sz, perf_record_shorten(&format, m.bytes), m.size));
}

Test(perf_ring, a_size_that_cannot_be_is_an_error_and_is_not_followed)
{
	static const uint16_t sizes[] = { 0, 4, 8, 31, 4000, UINT16_MAX };
	static struct two_rings t;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct error err = { 0 };
		open_two(&t, 0);
		ring_put(&t.fake[0], 1, 10, 0);
		memcpy(t.fake[0].data + 6, &sizes[i], 2);
		cr_expect(lt(int, perf_rings_look(&t.set, &err), 0), "size %u", sizes[i]);
		cr_expect(ne(str, err.text, ""), "size %u", sizes[i]);
		cr_expect(eq(u32, next_tid(&t, 100), 0), "size %u", sizes[i]);
		close_two(&t);
	}
}

Test(perf_event, a_ring_holds_fifty_milliseconds)
{
	cr_expect(eq(sz, perf_event_ring_bytes(999, 32768), (size_t)2 << 20));
	cr_expect(eq(sz, perf_event_ring_bytes(4999, 8192), (size_t)4 << 20));
	cr_expect(eq(sz, perf_event_ring_bytes(49, 512), (size_t)256 << 10), "the smallest");
	cr_expect(eq(sz, perf_event_ring_bytes(10000, 65528), (size_t)32 << 20), "the largest");
}

Test(perf_event, small_rings_hold_two_hundred_milliseconds_of_shorter_stacks)
{
	cr_expect(eq(u32, perf_event_stack_bytes(8 << 20, 999, 32768, false), 32768));
	cr_expect(eq(u32, perf_event_stack_bytes(4 << 20, 999, 32768, false), 16384));
	cr_expect(eq(u32, perf_event_stack_bytes(1 << 20, 999, 32768, true), 4096));
	cr_expect(eq(u32, perf_event_stack_bytes(512 << 10, 999, 32768, false), 2048));
	cr_expect(eq(u32, perf_event_stack_bytes(64 << 10, 999, 32768, false), 2048), "the least");
	cr_expect(eq(u32, perf_event_stack_bytes(64 << 10, 99, 32768, false), 2048));
	cr_expect(eq(u32, perf_event_stack_bytes(64 << 10, 999, 3000, false), 3000), "as it was");
}

static uint64_t bytes_in_200_ms(const struct perf_event_plan *plan, uint64_t whole_bytes,
                                uint64_t beside)
{
	return (plan->short_hz * (plan->short_bytes + beside) +
	        plan->whole_hz * (whole_bytes + beside)) /
	       5;
}

Test(perf_event, small_rings_hold_a_few_whole_stacks_beside_short_ones)
{
	for (size_t kb = 512; kb <= 2048; kb *= 2) {
		struct perf_event_plan plan = perf_event_plan(kb << 10, 999, 32768, false, true);
		cr_expect(eq(u32, plan.short_bytes,
		             perf_event_stack_bytes(kb << 10, 999, 32768, false)));
		cr_expect(ge(u32, plan.whole_hz, 39), "%zu KB", kb);
		cr_expect(ge(u32, plan.short_hz + plan.whole_hz, 600), "%zu KB", kb);
		cr_expect(le(u32, plan.short_hz + plan.whole_hz, 999), "%zu KB", kb);
		cr_expect(le(u64, bytes_in_200_ms(&plan, 32768, 256), kb << 10), "%zu KB", kb);
	}
	struct perf_event_plan half = perf_event_plan(4 << 20, 999, 32768, false, true);
	cr_expect(eq(u32, half.short_bytes, perf_event_stack_bytes(4 << 20, 999, 32768, false)));
	cr_expect(lt(u32, half.short_bytes, 32768));
	cr_expect(eq(u32, half.short_hz, 999), "threads that end soon have all of their samples");
	cr_expect(eq(u32, half.whole_hz, 0));
	cr_expect(le(u64, bytes_in_200_ms(&half, 32768, 256), 4 << 20));
	struct perf_event_plan large = perf_event_plan(8 << 20, 999, 32768, false, true);
	cr_expect(eq(u32, large.whole_hz, 0), "all of them are whole");
	cr_expect(eq(u32, large.short_hz, 999));
	struct perf_event_plan tiny = perf_event_plan(64 << 10, 999, 32768, false, true);
	cr_expect(eq(u32, tiny.whole_hz, 0), "there is no room");
	cr_expect(eq(u32, tiny.short_hz, 999));
	struct perf_event_plan asked = perf_event_plan(512 << 10, 4999, 32768, true, false);
	cr_expect(eq(u32, asked.short_hz + asked.whole_hz, 4999), "the rate was asked for");
	cr_expect(gt(u32, asked.whole_hz, 0));
}

Test(perf_event, a_refusal_names_the_remedy)
{
	static const struct {
		int errnum;
		bool kernel;
		int paranoid;
		const char *text, *hint;
	} rows[] = {
		{ EACCES, true, 2, "perf_event_paranoid is 2",
		  "sysctl kernel.perf_event_paranoid=1" },
		{ EACCES, false, 4, "perf_event_paranoid is 4",
		  "sysctl kernel.perf_event_paranoid=2" },
		{ EACCES, false, 2, "security module", "seccomp profile" },
		{ EPERM, false, 4, "seccomp", "--cap-add PERFMON" },
		{ EPERM, true, INT_MIN, "seccomp", "--cap-add PERFMON" },
		{ ENOSYS, true, 2, "kernel or sandbox", "CONFIG_PERF_EVENTS" },
		{ EMFILE, true, 2, "refused", "ulimit -n" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct error err = { 0 };
		cr_expect(eq(int,
		             perf_refused(&err, rows[i].errnum, rows[i].kernel, rows[i].paranoid),
		             -1));
		cr_expect(strstr(err.text, rows[i].text) != NULL, "row %zu: %s", i, err.text);
		cr_expect(strstr(err.hint, rows[i].hint) != NULL, "row %zu: %s", i, err.hint);
		cr_expect(eq(int, err.errnum, rows[i].errnum), "row %zu", i);
	}
}

static unsigned count_events(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 256; fd++) {
		char path[64], target[64] = "";
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (readlink(path, target, sizeof(target) - 1) > 0)
			count += strcmp(target, "anon_inode:[perf_event]") == 0;
	}
	return count;
}

Test(perf_event, a_source_closes_its_events_once_it_is_finished)
{
	struct source_request request = {
		.child = getpid(), .frequency_hz = 99, .stack_bytes = 512, .off_cpu = true
	};
	struct error err = { 0 };
	struct source *source = perf_user_source.open(&request, &err);

	if (!source)
		cr_skip("no perf events: %s", err.text);
	cr_expect(gt(u32, count_events(), 0));
	source->ops->next(source, 0, &err);
	source->ops->finish(source);
	for (int i = 0; i < 10000 && count_events(); i++)
		usleep(1000);
	cr_expect(eq(u32, count_events(), 0), "without close()");
	source->ops->close(source);
}

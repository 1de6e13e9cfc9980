// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "tests/support/agent_signal.h"
#include "tests/support/expect.h"
#include "tests/support/temporary.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/sample/sample.h"
#include "tracer/agent/sample/tick.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE ((size_t)4096)

static char directory[64];
static struct rings *rings;
static struct lane *lane;

static void open_rings(void)
{
	temporary_make(directory, sizeof(directory));
	rings = calloc(1, sizeof(*rings));
	cr_assert(rings_start(rings, directory, 77, 5));
	lane = rings_claim(rings, 78);
	cr_assert(lane != NULL);
}

static void close_rings(void)
{
	rings_abandon(rings);
	free(rings);
	temporary_remove(directory);
}

TestSuite(agent_sample, .init = open_rings, .fini = close_rings);

static const struct record_sample *written(struct ring *ring)
{
	cr_assert(ring_open(ring, lane->ring.header, RING_HEADER_BYTES + lane->ring.mask + 1));
	const struct record *record = ring_peek(ring, NULL);
	cr_assert(record != NULL);
	cr_assert(eq(u16, record->type, RECORD_SAMPLE));
	return (const struct record_sample *)record;
}

// Three pages of which the last cannot be read, filled with a pattern.
static unsigned char *make_stack(void)
{
	unsigned char *pages =
		mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert(pages != MAP_FAILED);
	for (size_t i = 0; i < 2 * PAGE; i++)
		pages[i] = (unsigned char)(i * 7 + i / 256);
	mprotect(pages + 2 * PAGE, PAGE, PROT_NONE);
	return pages;
}

Test(agent_sample, a_stack_of_unknown_bounds_is_copied_as_far_as_it_is_mapped)
{
	unsigned char *stack = make_stack();
	unsigned char copy[4 * PAGE];

	for (size_t from = 0; from < 2 * PAGE; from += 520) {
		size_t count = sample_copy_unknown(copy, (uintptr_t)stack + from, sizeof(copy));
		cr_expect(eq(ulong, count, 2 * PAGE - from), "from %zu", from);
		cr_expect(eq(int, memcmp(copy, stack + from, count), 0), "from %zu", from);
	}
	cr_expect(eq(ulong, sample_copy_unknown(copy, (uintptr_t)stack + 2 * PAGE, 64), 0));
	cr_expect(eq(ulong, sample_copy_unknown(copy, 0, 64), 0));
	cr_expect(eq(ulong, sample_copy_unknown(copy, UINTPTR_MAX - 15, 64), 0));
	munmap(stack, 3 * PAGE);
}

static struct {
	uint32_t stack_bytes;
	bool written;
	uintptr_t local;
} at_signal;

static void take(const void *context)
{
	at_signal.written = sample_write(rings, lane, context, at_signal.stack_bytes, 123, 45,
	                                 SAMPLE_KERNEL, NULL);
}

// Sanitized, gcc 13 and newer keep what is local to a function elsewhere than on the stack.
__attribute__((no_sanitize_address)) static void take_one(uint32_t stack_bytes)
{
	volatile uint64_t marker = UINT64_C(0x1122334455667788);

	at_signal.stack_bytes = stack_bytes;
	at_signal.local = (uintptr_t)&marker;
	agent_signal_raise(take);
	cr_assert(at_signal.written);
	cr_assert(marker == UINT64_C(0x1122334455667788));
}

Test(agent_sample, registers_and_stack_are_those_of_the_interrupted_function)
{
	struct ring ring;
	uint64_t found;

	take_one(32768);
	const struct record_sample *sample = written(&ring);
	uint64_t sp = sample->regs[DWARF_RSP];
	cr_expect(eq(u64, sample->weight_ns, 45));
	cr_expect(eq(u64, sample->cpu_time_ns, 123));
	cr_expect(eq(u32, sample->head.tid, 78));
	cr_assert(lt(u64, sp, at_signal.local));
	cr_assert(lt(u64, at_signal.local + 8 - sp, sample->stack_bytes));
	memcpy(&found, (const char *)(sample + 1) + (at_signal.local - sp), 8);
	cr_expect(eq(u64, found, UINT64_C(0x1122334455667788)));
}

#ifdef __x86_64__
// A subnormal number in a register: MXCSR says whether the thread has computed with such.
static uint32_t look_at_subnormal(uint32_t mxcsr)
{
	static const uint64_t subnormal = 12345;
	uint32_t before = __builtin_ia32_stmxcsr();
	struct ring ring;

	at_signal.stack_bytes = 1024;
	__builtin_ia32_ldmxcsr(mxcsr);
	__asm__ volatile("movq %0, %%xmm15" : : "m"(subnormal) : "xmm15");
	agent_signal_raise(take);
	__builtin_ia32_ldmxcsr(before);
	cr_assert(at_signal.written);
	const struct record_sample *sample = written(&ring);
	uint32_t found = sample->subnormal;
	cr_expect(sample->head.flags & SAMPLE_VECTORS);
	ring_advance(&ring);
	return found;
}

Test(agent_sample, subnormal_numbers_count_where_the_thread_has_computed_with_them)
{
	static const struct {
		const char *name;
		uint32_t mxcsr;
		bool found;
	} table[] = {
		{ "no such number was computed with", 0x1f80, false },
		{ "an operand was one", 0x1f82, true },
		{ "a result was one", 0x1f90, true },
		{ "operands are taken for zero, results are not", 0x1fd0, true },
		{ "they cost nothing: FTZ and DAZ", 0x9fd2, false },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		uint32_t found = look_at_subnormal(table[i].mxcsr);
		cr_expect_eq(found >> 15 & 1, table[i].found, "%s: %x", table[i].name, found);
		cr_expect_eq(found >> 31, table[i].found, "%s: %x", table[i].name, found);
	}
}
#endif

Test(agent_sample, no_more_stack_is_copied_than_asked_for_or_than_there_is)
{
	struct ring ring;

	take_one(1024);
	cr_expect(eq(u32, written(&ring)->stack_bytes, 1024));
	ring_advance(&ring);

	lane->stack_low = (uintptr_t)__builtin_frame_address(0) - 65536;
	lane->stack_high = (uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)7;
	take_one(32768);
	const struct record_sample *sample = written(&ring);
	cr_expect(eq(u64, sample->regs[DWARF_RSP] + sample->stack_bytes, lane->stack_high));
}

Test(agent_sample, time_without_a_stack_is_told_once)
{
	struct ring ring;

	lane->cpu_ns = 100;
	rings_write_rest(rings, lane, 350);
	const struct record_sample *sample = written(&ring);
	cr_expect(eq(u64, sample->weight_ns, 250));
	cr_expect(eq(u16, sample->head.flags, SAMPLE_NO_USER));
	cr_expect(eq(u64, lane->cpu_ns, 350));
}

Test(agent_sample, a_tick_that_finds_no_room_adds_its_weight_to_the_next)
{
	struct agent *agent = calloc(1, sizeof(*agent));
	struct ring ring;
	struct record *filler;

	agent->config = config_parse(NULL);
	agent->rings = *rings;
	while ((filler = lane_reserve(lane, rings->by_populate, 65536))) {
		filler->type = RECORD_EXIT;
		lane_commit(lane, filler, 65536);
	}
	agent_signal_tick(agent, lane);
	cr_expect(eq(u64, lane->cpu_ns, 0), "it was dropped");

	cr_assert(ring_open(&ring, lane->ring.header, RING_HEADER_BYTES + lane->ring.mask + 1));
	while (ring_peek(&ring, NULL))
		ring_advance(&ring);
	agent_signal_tick(agent, lane);
	cr_expect(gt(u64, lane->cpu_ns, 0));
	const struct record_sample *sample = (const struct record_sample *)ring_peek(&ring, NULL);
	cr_assert(sample != NULL);
	cr_expect(eq(u64, sample->weight_ns, sample->cpu_time_ns));
	free(agent);
}

static struct agent trapped;

static void trap_twice(const void *context)
{
	tick_by_trap(&trapped, lane, context, false);
	tick_by_trap(&trapped, lane, context, false);
}

static void trap_once(const void *context)
{
	tick_by_trap(&trapped, lane, context, false);
}

static void rest(void)
{
	uint64_t end = lane->rest_from_ns + lane->rest_for_ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

// With a period of a nanosecond, each sample takes longer.
Test(agent_sample, the_program_gets_on_between_samples_that_take_a_whole_period)
{
	struct ring ring;

	trapped = (struct agent){ .rings = *rings, .period_ns = 1, .config.stack_bytes = 32768 };
	agent_signal_raise(trap_twice);
	const struct record_sample *first = written(&ring);
	cr_expect(gt(u64, lane->rest_for_ns, 0));
	cr_expect(eq(u64, first->weight_ns, 1));
	ring_advance(&ring);
	cr_expect(ring_peek(&ring, NULL) == NULL, "it rests");
	rest();
	agent_signal_raise(trap_once);
	const struct record *second = ring_peek(&ring, NULL);
	cr_assert(second != NULL);
	cr_expect(eq(u64, ((const struct record_sample *)second)->weight_ns, 2),
	          "the tick that was left out is this one's");
}

// SPDX-License-Identifier: MIT
#include "tracer/agent/sample/sample.h"

#include "base/clock.h"
#include "tracer/agent/modes.h"
#include "tracer/agent/sample/context.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE          ((uintptr_t)4096)
#define PAGES_AT_ONCE 17 // CONFIG_STACK_MAX, not aligned

_Static_assert(CONTEXT_REGISTERS == DWARF_REGISTERS, "the same registers in the same order");

// Not memcpy(): a sanitizer would object to what lies between the frames' variables.
static void copy(void *to, const void *from, size_t size)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

static size_t to_page_end(uintptr_t address)
{
	return PAGE - address % PAGE;
}

size_t sample_copy_unknown(void *to, uintptr_t sp, size_t size)
{
	struct iovec local = { to, size };
	struct iovec pages[PAGES_AT_ONCE];
	size_t count = 0, listed = 0;

	// Partial reads stop between two iovecs, so each page is one.
	for (; listed < size && count < PAGES_AT_ONCE; count++) {
		size_t part = to_page_end(sp + listed);
		if (part > size - listed)
			part = size - listed;
		pages[count] = (struct iovec){ (void *)(sp + listed), part };
		listed += part;
	}
	ssize_t got = process_vm_readv(getpid(), &local, 1, pages, count, 0);
	if (got >= 0)
		return (size_t)got & ~(size_t)7;

	if (errno == EFAULT)
		return 0;
	// Forbidden by a seccomp filter. The thread runs on this page.
	size_t page = to_page_end(sp) < size ? to_page_end(sp) : size;
	copy(to, (const void *)sp, page);
	return page;
}

static bool within(uintptr_t address, uintptr_t low, uintptr_t high)
{
	return address >= low && address < high;
}

static size_t at_most(size_t size, uintptr_t from, uintptr_t end)
{
	return end - from < size ? end - from : size;
}

size_t sample_copy_stack(void *to, const struct lane *lane, uintptr_t sp, size_t size)
{
	if (!within(sp, lane->stack_low, lane->stack_high))
		return sample_copy_unknown(to, sp, size);
	size = at_most(size, sp, lane->stack_high);
	copy(to, (const void *)sp, size);
	return size & ~(size_t)7;
}

static size_t copy_stack(void *to, const struct lane *lane, const void *context, uintptr_t sp,
                         size_t size)
{
	uintptr_t base;
	size_t alternate;

	if (within(sp, lane->stack_low, lane->stack_high))
		return sample_copy_stack(to, lane, sp, size);
	context_alternate_stack(context, &base, &alternate);
	if (within(sp, base, base + alternate))
		size = at_most(size, sp, base + alternate);
	return sample_copy_unknown(to, sp, size);
}

static void head(struct record *record, uint16_t type, const struct rings *rings,
                 const struct lane *lane)
{
	record->type = type;
	record->flags = 0;
	record->pid = rings->pid;
	record->tid = lane->tid ? lane->tid : rings->pid; // the process has a lane of its own
	record->time_ns = clock_now_ns();
}

static void fill(struct record_sample *sample, uint64_t cpu_ns, uint64_t weight_ns)
{
	sample->weight_ns = weight_ns;
	sample->cpu_time_ns = cpu_ns;
	sample->kind = SAMPLE_ON_CPU;
	sample->kernel_count = 0;
	sample->stack_bytes = 0;
	sample->syscall = -1;
	sample->subnormal = 0;
	sample->sleeps = modes_sleeps();
}

bool sample_write(struct rings *rings, struct lane *lane, const void *context, uint32_t stack_bytes,
                  uint64_t cpu_ns, uint64_t weight_ns, uint16_t flags,
                  const struct python_chain *python)
{
	size_t chain_bytes = python_bytes(python);
	size_t size = sizeof(struct record_sample) + stack_bytes;
	uintptr_t sp = context_stack_pointer(context);

	// What is known to be the rest of the stack is all that is asked for.
	if (within(sp, lane->stack_low, lane->stack_high))
		size = sizeof(struct record_sample) + at_most(stack_bytes, sp, lane->stack_high);
	size = record_align(size);

	struct record_sample *sample =
		(struct record_sample *)lane_reserve(lane, rings->by_populate, size + chain_bytes);
	if (!sample)
		return false;
	head(&sample->head, RECORD_SAMPLE, rings, lane);
	sample->head.flags = flags;
	fill(sample, cpu_ns, weight_ns);
	context_registers(context, sample->regs);
	if (context_subnormal(context, &sample->subnormal))
		sample->head.flags |= SAMPLE_VECTORS;
	sample->stack_bytes =
		(uint32_t)copy_stack(sample + 1, lane, context, sp, size - sizeof(*sample));
	size = record_align(sizeof(*sample) + sample->stack_bytes);
	if (python) {
		sample->head.flags |= SAMPLE_PYTHON;
		memcpy((char *)sample + size, python, chain_bytes);
	}
	lane_commit(lane, &sample->head, size + chain_bytes);
	return true;
}

void sample_write_look(struct rings *rings, struct lane *lane, const void *context)
{
	uint32_t subnormal;

	// Until a thread has computed with such numbers, there is nothing to write.
	if (!context_computes_subnormal(context) || !context_subnormal(context, &subnormal))
		return;
	struct record_sample *sample = (struct record_sample *)lane_reserve(
		lane, rings->by_populate, record_align(sizeof(*sample)));
	if (!sample)
		return;
	head(&sample->head, RECORD_SAMPLE, rings, lane);
	fill(sample, 0, 0);
	sample->head.flags = SAMPLE_VECTORS;
	sample->kind = SAMPLE_LOOK;
	sample->subnormal = subnormal;
	context_registers(context, sample->regs);
	lane_commit(lane, &sample->head, record_align(sizeof(*sample)));
}

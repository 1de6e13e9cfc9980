// SPDX-License-Identifier: MIT
#include "sampler/unwind/stack_memory.h"

#include "base/clock.h"

#include <stdlib.h>
#include <sys/uio.h>

void stack_memory_fini(struct stack_memory *memory)
{
	free(memory->window);
	*memory = (struct stack_memory){ 0 };
}

void stack_memory_set(struct stack_memory *memory, const uint8_t *copy, uint64_t start,
                      uint64_t size, int pid)
{
	memory->copy = copy;
	memory->start = start;
	memory->size = size;
	memory->pid = pid;
	memory->joined = memory->short_of = false;
	memory->read_ns = 0;
	memory->window_size = 0;
	memory->windows = 0;
}

/* Fills the window with SIZE bytes from ADDRESS up, as far as memory is mapped. */
static bool move_window(struct stack_memory *memory, uint64_t address, size_t size)
{
	if (memory->windows++ == STACK_WINDOWS_MAX)
		return false;
	if (!memory->window && !(memory->window = malloc(STACK_WINDOW_BYTES)))
		return false;

	struct iovec local = { memory->window, size };
	struct iovec remote = { (void *)address, size };
	uint64_t start_ns = clock_now_ns();
	ssize_t got = process_vm_readv(memory->pid, &local, 1, &remote, 1, 0);
	uint64_t took_ns = clock_now_ns() - start_ns;
	if (took_ns > memory->read_ns)
		memory->read_ns = took_ns;
	memory->window_start = address;
	memory->window_size = got > 0 ? (uint64_t)got : 0;
	return got > 0;
}

static bool read_process(const struct stack_memory *memory, uint64_t address, void *to, size_t size)
{
	struct iovec local = { to, size };
	struct iovec remote = { (void *)address, size };

	return process_vm_readv(memory->pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/*
 * A call that was only counted, as its ring was full, is no open op; but the agent's slot for it
 * leads to what it stands for, if that still is a call whose frame ends at STACK.
 *
 *	slot     … 12 bytes │ distance from here (i32) ──► call  │ return address │ STACK │ …
 */
static bool ask_slot(struct stack_memory *memory, uint64_t slot, uint64_t stack, uint64_t *word)
{
	int32_t distance;
	uint64_t call[2];

	if (!memory->pid || (slot - memory->patched.patches->slots) % PATCH_SLOT_BYTES)
		return false;
	uint64_t at = slot + PATCH_SLOT_BYTES - sizeof(distance);
	if (!read_process(memory, at, &distance, sizeof(distance)) ||
	    !read_process(memory, at + (uint64_t)(int64_t)distance, call, sizeof(call)) ||
	    call[1] != stack)
		return false;
	*word = call[0];
	memory->joined = true;
	return true;
}

bool stack_memory_return(struct stack_memory *memory, uint64_t address, uint64_t *word)
{
	uint64_t slot = *word, stack = address + sizeof(*word);

	*word = patched_return(&memory->patched, stack);
	return *word || ask_slot(memory, slot, stack, word);
}

static bool join(struct stack_memory *memory, uint64_t address, uint64_t *word)
{
	uint64_t into = address - memory->window_start;

	if (!memory->pid)
		return false;
	if (into >= memory->window_size || memory->window_size - into < sizeof(*word)) {
		if (!move_window(memory, address, STACK_WINDOW_BYTES))
			return false;
		into = 0;
	}
	if (memory->window_size - into < sizeof(*word))
		return false;
	memcpy(word, memory->window + into, sizeof(*word));
	memory->joined = true;
	return true;
}

bool stack_memory_fetch(struct stack_memory *memory, uint64_t address, void *to, size_t size)
{
	if (!memory->pid || memory->windows++ >= STACK_WINDOWS_MAX) {
		memory->short_of = true;
		return false;
	}
	memory->joined = true;
	return read_process(memory, address, to, size);
}

bool stack_memory_turn(struct stack_memory *memory, uint64_t address, uint64_t size)
{
	return memory->pid &&
	       move_window(memory, address,
	                   size < STACK_WINDOW_BYTES ? (size_t)size : STACK_WINDOW_BYTES);
}

bool stack_memory_join(struct stack_memory *memory, uint64_t address, uint64_t *word)
{
	if (join(memory, address, word))
		return true;
	memory->short_of |= address - memory->start >= memory->size;
	return false;
}

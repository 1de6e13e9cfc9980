// SPDX-License-Identifier: MIT
#include "sampler/stack_memory.h"

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
	memory->joined = false;
	memory->window_size = 0;
	memory->windows = 0;
}

/* Fills the window from ADDRESS up, as far as memory is mapped. */
static bool move_window(struct stack_memory *memory, uint64_t address)
{
	if (memory->windows++ == STACK_WINDOWS_MAX)
		return false;
	if (!memory->window && !(memory->window = malloc(STACK_WINDOW_BYTES)))
		return false;

	struct iovec local = { memory->window, STACK_WINDOW_BYTES };
	struct iovec remote = { (void *)address, STACK_WINDOW_BYTES };
	ssize_t got = process_vm_readv(memory->pid, &local, 1, &remote, 1, 0);
	memory->window_start = address;
	memory->window_size = got > 0 ? (uint64_t)got : 0;
	return got > 0;
}

bool stack_memory_return(struct stack_memory *memory, uint64_t address, uint64_t *word)
{
	*word = patched_return(&memory->patched, address + sizeof(*word));
	return *word != 0;
}

bool stack_memory_join(struct stack_memory *memory, uint64_t address, uint64_t *word)
{
	uint64_t into = address - memory->window_start;

	if (into >= memory->window_size || memory->window_size - into < sizeof(*word)) {
		if (!move_window(memory, address))
			return false;
		into = 0;
	}
	if (memory->window_size - into < sizeof(*word))
		return false;
	memcpy(word, memory->window + into, sizeof(*word));
	memory->joined = true;
	return true;
}

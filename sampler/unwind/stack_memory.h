/* SPDX-License-Identifier: MIT */
/*
 * The memory that one stack walk may read: the copy that came with the sample
 * and, if the process still lives, what lies beyond it.
 *
 * What is read from the process is a little younger than the sample. Older
 * frames seldom change in that time, but they may: see stack_memory.joined.
 *
 * One thread at a time.
 */
#pragma once

#include "sampler/unwind/patches.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* How much is read from the process at a time, and how often for one stack. */
#define STACK_WINDOW_BYTES (64u << 10)
#define STACK_WINDOWS_MAX  64

/* Keeps its window's memory from stack to stack. */
struct stack_memory {
	const uint8_t *copy; /* of [START, START + SIZE) */
	uint64_t start, size;
	int pid;          /* 0: the copy is all there is */
	bool joined;      /* the process has been read */
	bool short_of;    /* something beyond the copy was wanted and could not be had */
	uint64_t read_ns; /* the longest read of the process */
	uint8_t *window;  /* of [WINDOW_START, WINDOW_START + WINDOW_SIZE) */
	uint64_t window_start, window_size;
	unsigned windows;
	struct patched patched; /* stays from stack to stack */
};

void stack_memory_fini(struct stack_memory *memory);

/* Turns to another stack. */
void stack_memory_set(struct stack_memory *memory, const uint8_t *copy, uint64_t start,
                      uint64_t size, int pid);

/* WORD, read at ADDRESS, is a return slot: gets the true return address. False if it is unknown. */
bool stack_memory_return(struct stack_memory *memory, uint64_t address, uint64_t *word);

/* What lies outside the copy. */
bool stack_memory_join(struct stack_memory *memory, uint64_t address, uint64_t *word);

/* SIZE bytes at ADDRESS of the process, and not of its stack. False if they cannot all be had. */
bool stack_memory_fetch(struct stack_memory *memory, uint64_t address, void *to, size_t size);

/* The rest of the walk is on another stack, of which SIZE bytes from ADDRESS up are wanted. */
bool stack_memory_turn(struct stack_memory *memory, uint64_t address, uint64_t size);

/* The 8 bytes at ADDRESS as the program has put them there; false if they cannot be had. */
static inline bool stack_memory_read(struct stack_memory *memory, uint64_t address, uint64_t *word)
{
	uint64_t into = address - memory->start;

	if (into < memory->size && memory->size - into >= sizeof(*word))
		memcpy(word, memory->copy + into, sizeof(*word));
	else if (!stack_memory_join(memory, address, word))
		return false;
	return !patched_is_slot(&memory->patched, *word) ||
	       stack_memory_return(memory, address, word);
}

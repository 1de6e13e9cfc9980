/* SPDX-License-Identifier: MIT */
/*
 * What many small reads of another process's memory find, by few system calls.
 *
 * Pages that were read are kept until remote_memory_begin(), so what one look
 * finds in a page belongs to one moment. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REMOTE_PAGE  4096u
#define REMOTE_PAGES 64u /* that are kept */

/* System calls in one look; then nothing can be read any more. */
#define REMOTE_READS_MAX 4096u

/* All SIZE bytes at ADDRESS, or false. */
typedef bool remote_read_function(void *context, uint64_t address, void *to, size_t size);

struct remote_memory {
	remote_read_function *read;
	void *context;
	uint64_t look; /* pages of earlier ones are not looked at */
	unsigned reads;
	uint64_t numbers[REMOTE_PAGES], looks[REMOTE_PAGES];
	uint8_t pages[REMOTE_PAGES][REMOTE_PAGE];
};

/* Forgets what was read; from now on READ is asked. */
void remote_memory_begin(struct remote_memory *m, remote_read_function *read, void *context);

/* False if they cannot all be read; then TO has anything. */
bool remote_memory_read(struct remote_memory *m, uint64_t address, void *to, size_t size);

/* The 8 bytes at ADDRESS; 0 if they cannot be read. */
uint64_t remote_memory_word(struct remote_memory *m, uint64_t address);

/* A remote_read_function: CONTEXT is the process's number, a pid_t. */
bool remote_memory_of_process(void *context, uint64_t address, void *to, size_t size);

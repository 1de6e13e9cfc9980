/* SPDX-License-Identifier: MIT */
/*
 * The threads of the process, as the kernel lists them.
 *
 * For any thread, and for handlers: no memory is allocated, no stream opened. Threads come and go
 * meanwhile, so an answer is of a moment that has passed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* How many there are, at the price of one system call. False if the kernel does not tell. */
bool task_list_count(uint32_t *count);

/* VISIT gets each of them; *SUM is that of what it returns. False if the kernel does not tell. */
bool task_list_each(uint32_t visit(uint32_t tid), uint32_t *sum);

/* Whether process PID, which is the caller's own, has no thread TID any more. May set errno. */
bool task_list_lacks(uint32_t pid, uint32_t tid);

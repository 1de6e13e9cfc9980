/* SPDX-License-Identifier: MIT */
/*
 * Which semaphores are used as locks: who posts such a one has taken it before.
 *
 * A semaphore has no owner. That lets the next thread in, and that counts the items of a queue are
 * the same kind of object, but who is waited for is another: who holds a lock, or who makes items.
 * What threads do tells them apart.
 *
 *	A   ░░░░░░░░░░░████
 *	B   ░░░███████▲░░░░   ░ waits for it  █ works  ▲ posts it
 *	C   ███▲░░░░░░░░░░░
 *
 * B has waited for it, and posts it: a lock, which B held for as long as it worked. C posts what it
 * was not seen to take: if it is seen to take it at other times, and to hold it for about as long,
 * it has found it free here; else it makes items, or is the last one at a barrier. A post that ends
 * nobody's wait was of no use but to who took the semaphore at once, and posts it next.
 *
 * The first waits for each decide: of those to come nothing is kept. One thread at a time.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>

struct semaphores;
struct wall_wait;

/* NULL if there is no memory. */
struct semaphores *semaphores_new(void);
void semaphores_free(struct semaphores *s); /* NULL is fine */

CLEANUP(semaphores, struct semaphores *, semaphores_free)

/* WAIT was for the semaphore that its OBJECT stands for; waits come in the order in which they
   ended. Returns the semaphore's number, from 1; 0: there is no room for more. */
uint32_t semaphores_add(struct semaphores *s, const struct wall_wait *wait);

/* As far as is known by now. */
bool semaphores_is_lock(const struct semaphores *s, uint32_t number);

/* SPDX-License-Identifier: MIT */
/*
 * Where the holder of a lock was seen may be behind its critical section: others that take an
 * unfair lock again and again keep a thread waiting while they work without it, too.
 */
#pragma once

#include <stdbool.h>

struct profile;
struct wait_side;

/* Whether HOLDER's function is no part of the section that begins where WAITER waits for the lock.
 * That is so if all threads in HOLDER's function take the lock in WAITER's function, which does
 * other work in those threads, and neither function is called below the other, and HOLDER's takes
 * no lock itself. */
bool section_is_elsewhere(const struct profile *p, const struct wait_side *waiter,
                          const struct wait_side *holder);

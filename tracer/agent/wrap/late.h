/* SPDX-License-Identifier: MIT */
/*
 * Functions that the agent stands in front of in a process that has loaded it late.
 *
 * Nobody is bound to us there. While the agent is at work, the places where loaded objects hold the
 * addresses of those functions hold ours:
 *
 *	call ──► place of an object ──► the function          before, and afterwards
 *	                            └─► ours ──► the function  from late_bind() to late_unbind()
 *
 * A place is changed if it holds the very address that our function forwards to, or is not bound
 * yet and can only be bound to that; all others stay as they are, and are counted. The loader, the
 * C library and the agent are left out. Ours may be called for ever: by threads that are in the
 * middle of it, and by who has copied the address. Objects that come later are looked at when the
 * program next opens one or looks up a symbol. The loader's locks are held meanwhile. Pages that
 * are read-only are writable for that moment.
 *
 * Routines of BLAS and FFTW are known by their stubs (op/detour.h), which lead to what each place
 *held. Where the agent was there from the start none of these does anything.
 */
#pragma once

#include <stdbool.h>

/* The agent joins, for the first time or again: what was added before is not wanted any more. */
void late_begin(void);

/* Whether it has, in a process that had loaded it for that. No loader is asked: a sanitizer that
   starts comes by here before its own functions work. */
bool late_has_begun(void);

/*
 * What the loader finds first under NAME, in an object that the program had from its start: libc's
 * own, or libpthread's; NULL if it is another's. Not for handlers.
 */
void *late_find(const char *name);

/* Calls of NAME, as far as they lead to REAL, come to our function of that name from the next
   late_bind() on. That forwards to REAL. NAME is kept. */
void late_add(const char *name, const void *real);

/* The same, by a function of another name, OURS. */
void late_add_as(const char *name, const void *ours, const void *real);

/* Binds what is there, and what comes. */
void late_bind(void);

/* Binds all as it was. False: the loader is busy, and nothing is done. */
bool late_unbind(void);

/* In a forked child, which nobody has told that the agent is there. Async-signal-safe. */
void late_fork(void);

/* SPDX-License-Identifier: MIT */
/*
 * A stack for our handlers, in each thread that has no alternate signal stack of the target's.
 *
 * The stack pointer need not point to a stack: oneDNN's kernels for products of matrices, which JAX
 * and TensorFlow hold too, let it walk through a buffer of malloc()'s. What the kernel writes there
 * for a handler destroys what lies before that buffer.
 *
 * The target, which asks by sigaltstack(), hears of no stack of ours, and its own comes before it,
 * unless that is too small for a handler of ours.
 */
#pragma once

#include <signal.h>

typedef int own_stack_function(const stack_t *stack, stack_t *old);

/* Gives the calling thread one, and takes it back before the thread ends. For no handler. */
void own_stack_take(void);
void own_stack_release(void);

/* The same for the thread that CONTEXT, a handler's third argument, is of: from its end on. */
void own_stack_take_later(void *context);

/* As sigaltstack(); REAL is libc's own. */
int own_stack_alternate(own_stack_function *real, const stack_t *stack, stack_t *old);

/* SPDX-License-Identifier: MIT */
/*
 * Where PyTorch keeps what an op is done on, from the op's at::RecordFunction to the dimensions of
 * its tensors.
 *
 *	at::RecordFunction ── inputs ──► c10::IValue[] ── payload ──► c10::TensorImpl ── sizes
 *
 * No function of PyTorch's tells this to C (those of torch/csrc/inductor/aoti_torch/c/shim.h print
 * an error for some tensors). The layouts of 1.13 and 2.15 were read with offsetof() in their
 * headers; which one a process has is learnt from its first ops, and each tensor is checked: what
 * makes no sense is unknown. Nothing here is PyTorch's: bytes are read where live objects lie.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct torch_layout {
	uint32_t inputs; /* atomic: offset in RecordFunction; 0: not known yet */
	uint32_t sizes;  /* atomic: in TensorImpl; 0: not known yet */
	uint32_t tries;  /* ops that told nothing */
	bool failed;     /* it is like no version that is known */
};

#define TORCH_TRIES 10000

/*
 * FUNCTION is an at::RecordFunction whose num_inputs() is COUNT, in its start callback. Writes its
 * inputs as base/tensors.h says, at most MAX words; how many. Of a
 * CONVOLUTION, which aten::convNd is, the lists of numbers, too.
 */
size_t torch_layout_inputs(const struct torch_layout *l, const void *function, uint64_t *values,
                           size_t max, bool convolution);

/* Learns from one more op; one thread at a time. */
void torch_layout_learn(struct torch_layout *l, const void *function, size_t count);

/* Whether inputs can be determined. */
static inline bool torch_layout_is_known(const struct torch_layout *l)
{
	return __atomic_load_n(&l->sizes, __ATOMIC_ACQUIRE) != 0;
}

/*
 * Autograd's number, in its thread, of what FUNCTION makes or is the derivative of; -1: none, or
 * not known where it stands. Right before the inputs in all versions from 1.13 to 2.15.
 */
static inline int64_t torch_layout_sequence(const struct torch_layout *l, const void *function)
{
	uint32_t inputs = __atomic_load_n(&l->inputs, __ATOMIC_RELAXED);
	int64_t number = inputs ? *(const int64_t *)((const char *)function + inputs - 8) : -1;

	return number >> 48 ? -1 : number;
}

/* What may be the number of the forward pass's thread: AFTER bytes behind the inputs. */
static inline uint64_t torch_layout_forward(const struct torch_layout *l, const void *function,
                                            uint32_t after)
{
	uint32_t inputs = __atomic_load_n(&l->inputs, __ATOMIC_RELAXED);

	return *(const uint64_t *)((const char *)function + inputs + after);
}

/* The number that PyTorch gives to the thread which began FUNCTION. */
static inline uint64_t torch_layout_thread(const void *function)
{
	return *(const uint64_t *)((const char *)function + 88);
}

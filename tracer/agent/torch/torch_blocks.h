/* SPDX-License-Identifier: MIT */
/*
 * How many bytes were asked for of each block that PyTorch's allocator has given out: it is not
 * told when the block goes.
 *
 * Any thread at any time, also in a forked child; nothing is waited for. Nobody else has the
 * address between put and take, so that a block's word is written by who puts it and cleared by
 * who takes it. In each bucket half of the words are the first thread's alone: it fills them
 * without an atomic exchange, which costs more than all the rest; other threads take turns for
 * the other half.
 */
#pragma once

#include <stdint.h>

/* BLOCK may be forgotten for want of room. */
void torch_blocks_put(const void *block, uint64_t bytes);

/* 0: not known. */
uint64_t torch_blocks_take(const void *block);

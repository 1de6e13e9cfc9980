/* SPDX-License-Identifier: MIT */
/*
 * Where a label stands in the stack: record_function() in Python begins it in functions that have
 * returned when it is open. The one that is still there is the first that is not PyTorch's own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct lane;

/*
 * An address in the machine's stack that the interpreter's call holds which runs that function.
 * SP: of the calling thread, whose lane this is. False: it is called by no Python, or by one that
 * keeps nothing there (up to 3.10).
 */
bool torch_label_place(const struct lane *lane, uint64_t sp, uint64_t *address);

/* SPDX-License-Identifier: MIT */
/*
 * Where the runtime of a Go program without debug information keeps its goroutines.
 *
 *	.go.buildinfo       the version of Go, and by that the offsets in a runtime.g
 *	.gopclntab          the function that walks through all goroutines: its code has the
 *addresses data                the runtime's words for waits, by their lengths
 *
 * For x86-64, and versions whose debug information was looked at. No state; the file is read as
 * foreign bytes are.
 */
#pragma once

#include "sampler/go/go_layout.h"

#include <libelf.h>
#include <stdbool.h>

/* Fills what is said above of OUT. False: the version is not known, or the code is another. */
bool go_stripped_read(Elf *elf, struct go_layout *out);

/* SPDX-License-Identifier: MIT */
/*
 * Names of functions without what tells overloads apart.
 */
#pragma once

#include <stddef.h>

/*
 * The short form of a readable name, in BUFFER: without the type that it returns and its
 * parameters. "void gemm<float, 128>(float*, int)" is "gemm<float, 128>".
 */
void short_name(const char *name, char *buffer, size_t size);

/* SPDX-License-Identifier: MIT */
/*
 * Where functions begin, by the unwind information of their file: stripped files have that, too.
 *
 * The table of .eh_frame_hdr is foreign bytes: it is only read within its bounds, and what it says
 * wrongly is only a wrong answer.
 *
 * What is returned is a number and outlives the file, but for code. One thread at a time.
 */
#pragma once

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/module.h"

#include <stdbool.h>
#include <stdint.h>

struct elf_file;
struct function_starts;

/* NULL if MODULE's file is not to be had, or has no such table. */
struct function_starts *function_starts_open(const struct module *module);

/* The same of a file that is open already and stays the caller's, for longer than the result. */
struct function_starts *function_starts_of(struct elf_file *elf);
void function_starts_close(struct function_starts *f);

CLEANUP(function_starts, struct function_starts *, function_starts_close)

/* What function_starts_jumps_to() finds out is kept in DIRECTORY from run to run, see
   section_cache.h. It must outlive F; NULL: it is not. */
void function_starts_keep_in(struct function_starts *f, const char *directory);

/* The address in the module of what lies at OFFSET of the file, among its code; 0 if unknown. */
uint64_t function_starts_address(const struct function_starts *f, uint64_t offset);

/*
 * Calls VISIT for each function, or part of one, that the function which begins at START may jump
 * to: by the bytes of its code, without telling instructions from one another. What looks like a
 * jump and is none hardly ever leads to where a function begins.
 */
void function_starts_jumps(const struct function_starts *f, uint64_t start,
                           bool (*visit)(void *context, uint64_t to), void *context);

/* Calls VISIT for each such jump of any function, FROM where that begins, TO one of the COUNT
   beginnings of functions at WANTED, which are sorted: much faster than to ask one by one. */
void function_starts_jumps_to(const struct function_starts *f, const uint64_t *wanted, size_t count,
                              void (*visit)(void *context, uint64_t from, uint64_t to),
                              void *context);

/*
 * Calls VISIT for each function whose address the function that begins at START compares with a
 * register, by its bytes as above. Compilers that know from a profile which function a pointer
 * mostly leads to compare it with that one's address, and have put its code where they are equal.
 */
void function_starts_compares(const struct function_starts *f, uint64_t start,
                              bool (*visit)(void *context, uint64_t with), void *context);

/* The code from START on, where a function begins: up to the next one or the end of its section,
   and at most MAX bytes. Lives until the file is closed; empty if there is none. */
struct bytes function_starts_code(const struct function_starts *f, uint64_t start, size_t max);

/* Where the code at START leads that is nothing but a jump, perhaps behind endbr64; 0: it is more.
 */
uint64_t function_starts_jump(const struct function_starts *f, uint64_t start);

/* Whether the function that begins at START is one that other files may call by its name. */
bool function_starts_exported(const struct function_starts *f, uint64_t start);

/* The start of the function that holds ADDRESS; 0 if unknown. */
uint64_t function_starts_find(const struct function_starts *f, uint64_t address);

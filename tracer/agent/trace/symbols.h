/* SPDX-License-Identifier: MIT */
/*
 * The functions of an ELF file that is in memory as it is on the disk: foreign bytes, which may
 * hold anything. What is borrowed from there lives as long as they do. Functions without state;
 * nothing is allocated.
 */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbols {
	const uint8_t *file;
	size_t file_bytes;
	const Elf64_Sym *symbols;
	size_t count;
	const char *strings; /* ends with a NUL */
	size_t string_bytes;
	bool all; /* of .symtab; else only what others may use */
};

struct symbol {
	const char *name;
	uint64_t address, size; /* as the file has it; 0: it does not say */
};

/* False if there are none, or it is no file of this machine. FILE is aligned to 8 bytes. */
bool symbols_open(struct symbols *s, const void *file, size_t bytes);

/* Whether number INDEX is a function of this file's own. */
bool symbols_function(const struct symbols *s, size_t index, struct symbol *out);

/* The lowest address above ADDRESS that has a name; UINT64_MAX if there is none. */
uint64_t symbols_next(const struct symbols *s, uint64_t address);

/* Whether FILE has a section of this name. */
bool symbols_section(const void *file, size_t bytes, const char *name);

/* SIZE bytes of code that FILE has for ADDRESS; NULL if it has none. */
const uint8_t *symbols_code(const void *file, size_t bytes, uint64_t address, size_t size);

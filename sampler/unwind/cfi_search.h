/* SPDX-License-Identifier: MIT */
/*
 * Where in a section of call frame information the entry for an address stands: the search table
 * that linkers write into .eh_frame_hdr, or one of the same form that we make.
 *
 * Foreign bytes: an entry may name anything. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cfi_section;

struct cfi_search {
	const uint8_t *entries; /* {function, FDE} by function: 4 bytes each, relative to BASE */
	size_t count;
	uint64_t base;    /* address in the module */
	uint64_t address; /* of the entries in the module; 0: we have made them */
	uint8_t *made;    /* owned */
};

/* Takes the table in the .eh_frame_hdr at ADDRESS, borrowed. False if it has none that can be
   used: of another form than all linkers write, or not sorted. */
bool cfi_search_take(struct cfi_search *search, const uint8_t *hdr, size_t size, uint64_t address);

/* Makes one of what SECTION holds from its next entry on. False if there is no memory. */
bool cfi_search_make(struct cfi_search *search, struct cfi_section *section);
void cfi_search_fini(struct cfi_search *search);

/* How many functions begin at or below ADDRESS. */
size_t cfi_search_up_to(const struct cfi_search *search, uint64_t address);

/* Where function I begins, and where its FDE does. */
uint64_t cfi_search_function(const struct cfi_search *search, size_t i);
uint64_t cfi_search_fde(const struct cfi_search *search, size_t i);

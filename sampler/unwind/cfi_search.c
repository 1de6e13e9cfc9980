// SPDX-License-Identifier: MIT
#include "sampler/unwind/cfi_search.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "sampler/unwind/cfi_section.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* Version, encodings of a pointer, of the count and of the table; then the first two. */
#define HEAD_BYTES 12

struct entry {
	int32_t function, fde;
};

static struct entry entry_at(const struct cfi_search *search, size_t i)
{
	struct entry entry;

	memcpy(&entry, search->entries + i * sizeof(entry), sizeof(entry));
	return entry;
}

static bool is_sorted(const struct cfi_search *search)
{
	for (size_t i = 1; i < search->count; i++)
		if (entry_at(search, i - 1).function > entry_at(search, i).function)
			return false;
	return true;
}

bool cfi_search_take(struct cfi_search *search, const uint8_t *hdr, size_t size, uint64_t address)
{
	uint32_t count;

	if (size < HEAD_BYTES || hdr[0] != 1 || (hdr[1] & 0x0f) != DW_EH_PE_sdata4 ||
	    hdr[2] != DW_EH_PE_udata4 || hdr[3] != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
		return false;
	memcpy(&count, hdr + 8, sizeof(count));
	if (!count || count > (size - HEAD_BYTES) / sizeof(struct entry))
		return false;
	struct cfi_search taken = { .entries = hdr + HEAD_BYTES,
		                    .count = count,
		                    .base = address,
		                    .address = address + HEAD_BYTES };
	if (!is_sorted(&taken))
		return false;
	*search = taken;
	return true;
}

static int compare_entries(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	return a->fde < b->fde ? -1 : a->fde > b->fde;
}

bool cfi_search_make(struct cfi_search *search, struct cfi_section *section)
{
	cleanup_free struct entry *entries = NULL;
	size_t count = 0, capacity = 0;
	struct cfi_fde fde;

	while (cfi_section_next(section, &fde)) {
		int64_t function = (int64_t)(fde.start - section->address);
		if (function != (int32_t)function || fde.offset > INT32_MAX)
			continue; // no code of this module
		if (!array_reserve(&entries, &capacity, count + 1))
			return false;
		entries[count++] = (struct entry){ (int32_t)function, (int32_t)fde.offset };
	}
	if (count)
		qsort(entries, count, sizeof(*entries), compare_entries);
	search->made = (uint8_t *)steal(entries);
	search->entries = search->made;
	search->count = count;
	search->base = section->address;
	return true;
}

void cfi_search_fini(struct cfi_search *search)
{
	free(search->made);
	*search = (struct cfi_search){ 0 };
}

size_t cfi_search_up_to(const struct cfi_search *search, uint64_t address)
{
	int64_t wanted = (int64_t)(address - search->base);

	return array_search(search->count, i, entry_at(search, i).function <= wanted);
}

uint64_t cfi_search_function(const struct cfi_search *search, size_t i)
{
	return search->base + (uint64_t)(int64_t)entry_at(search, i).function;
}

uint64_t cfi_search_fde(const struct cfi_search *search, size_t i)
{
	return search->base + (uint64_t)(int64_t)entry_at(search, i).fde;
}

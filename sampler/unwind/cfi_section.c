// SPDX-License-Identifier: MIT
#include "sampler/unwind/cfi_section.h"

#include "base/array.h"

#include <dwarf.h>
#include <stdlib.h>

bool cfi_section_init(struct cfi_section *section, const uint8_t *bytes, size_t size,
                      uint64_t address, bool debug_frame)
{
	*section = (struct cfi_section){
		.bytes = bytes,
		.size = size < UINT32_MAX ? size : UINT32_MAX,
		.address = address,
		.debug_frame = debug_frame,
		.last_offset = UINT32_MAX,
	};
	return hash_init(&section->index, 16);
}

void cfi_section_fini(struct cfi_section *section)
{
	free(section->cies);
	free(section->cie_offsets);
	hash_fini(&section->index);
	cfi_search_fini(&section->search);
	*section = (struct cfi_section){ 0 };
}

static struct cursor cursor_between(const struct cfi_section *section, size_t start, size_t end)
{
	return cursor_of(section->bytes + start, end - start);
}

uint64_t cfi_section_pointer(const struct cfi_section *section, struct cursor *b, uint8_t encoding)
{
	uint64_t here = section->address + (uint64_t)(b->at - section->bytes);
	uint64_t value;

	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		value = cursor_u64(b);
		break;
	case DW_EH_PE_udata4:
		value = cursor_u32(b);
		break;
	case DW_EH_PE_sdata4:
		value = (uint64_t)(int64_t)(int32_t)cursor_u32(b);
		break;
	case DW_EH_PE_udata2:
		value = cursor_u16(b);
		break;
	case DW_EH_PE_sdata2:
		value = (uint64_t)(int64_t)(int16_t)cursor_u16(b);
		break;
	case DW_EH_PE_uleb128:
		value = cursor_uleb(b);
		break;
	case DW_EH_PE_sleb128:
		value = (uint64_t)cursor_sleb(b);
		break;
	default:
		value = 0;
		b->bad = true;
	}

	if ((encoding & 0xf0) == DW_EH_PE_pcrel)
		value += here;
	else if ((encoding & 0xf0) != DW_EH_PE_absptr)
		b->bad = true; // relative to something that no x86-64 compiler uses, or indirect
	return value;
}

struct entry {
	size_t start, end; // END is the first byte beyond
	size_t id_at;      // where the CIE pointer or id stands
	uint64_t id;
	bool is_cie;
	struct cursor rest; // behind the id
};

/* Reads the head of the entry at OFFSET. False if there is none; a terminator has END behind it
   and an empty rest. */
static bool read_entry(const struct cfi_section *section, size_t offset, struct entry *entry)
{
	struct cursor b = cursor_between(section, offset, section->size);
	uint64_t length = cursor_u32(&b);
	bool wide = length == UINT32_MAX;

	if (wide)
		length = cursor_u64(&b);
	const uint8_t *start = b.at;
	if (b.bad || !cursor_take(&b, length))
		return false;

	entry->start = offset;
	entry->end = (size_t)(b.at - section->bytes);
	entry->id_at = (size_t)(start - section->bytes);
	entry->rest = cursor_of(start, length);
	if (!length)
		return true;
	if (section->debug_frame && wide) {
		entry->id = cursor_u64(&entry->rest);
		entry->is_cie = entry->id == UINT64_MAX;
	} else {
		entry->id = cursor_u32(&entry->rest);
		entry->is_cie = entry->id == (section->debug_frame ? UINT32_MAX : 0);
	}
	return !entry->rest.bad;
}

/* The letters after 'z' and their data. */
static void read_augmentation(const struct cfi_section *section, struct cursor *b,
                              const char *letters, struct cfi_cie *cie)
{
	uint64_t size = cursor_uleb(b);
	const uint8_t *data = cursor_take(b, size);

	if (!data)
		return;
	struct cursor rest = cursor_of(data, size);
	cie->augmented = true;
	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			cie->pointer_encoding = cursor_u8(&rest);
			break;
		case 'L':
			cursor_u8(&rest);
			break;
		case 'P': {
			uint8_t encoding = cursor_u8(&rest);
			bool failed = rest.bad;
			cfi_section_pointer(section, &rest,
			                    encoding & 0x0f); // only its length matters
			rest.bad = failed;
			break;
		}
		case 'S':
			cie->signal = true;
			break;
		case 'B':
			break;
		default:
			return; // unknown, but its size is known: skipped
		}
	}
}

static void ignore_row(void *context, uint64_t address, const struct cfi_state *state)
{
	(void)context, (void)address, (void)state;
}

/* Everything up to the instructions. */
static bool read_cie_head(const struct cfi_section *section, struct cursor *b, struct cfi_cie *cie)
{
	uint8_t version = cursor_u8(b);
	const char *letters = cursor_string(b);

	if (!letters || !(version == 1 || version == 3 || version == 4))
		return false;
	if (version == 4 && (cursor_u8(b) != 8 || cursor_u8(b) != 0))
		return false; // other sizes of addresses, or segments
	if (strcmp(letters, "eh") == 0)
		cursor_u64(b); // g++ 2
	cie->code_alignment = cursor_uleb(b);
	cie->data_alignment = cursor_sleb(b);
	cie->return_column = version == 1 ? cursor_u8(b) : (uint32_t)cursor_uleb(b);
	if (*letters == 'z')
		read_augmentation(section, b, letters + 1, cie);
	else if (*letters && strcmp(letters, "eh") != 0)
		return false;
	return !b->bad;
}

static void read_cie(const struct cfi_section *section, size_t offset, struct cfi_cie *cie)
{
	struct entry entry = { 0 };

	*cie = (struct cfi_cie){ .pointer_encoding = DW_EH_PE_absptr };
	if (!read_entry(section, offset, &entry) || !entry.is_cie)
		return;
	if (!read_cie_head(section, &entry.rest, cie))
		return;

	struct cfi_state initial = { 0 };
	cie->usable = cfi_program_run(section, cie, entry.rest, 0, UINT64_MAX, &initial, ignore_row,
	                              NULL);
	cie->initial = initial;
}

/* The index of the CIE at OFFSET, read at its first use; -1 if there is no memory. */
static int64_t find_cie(struct cfi_section *s, uint32_t offset)
{
	if (offset == s->last_offset)
		return s->last_cie;
	if (!hash_make_room(&s->index))
		return -1;

	uint32_t at;
	for (at = hash_start(&s->index, hash_mix(offset)); s->index.slots[at];
	     at = hash_next(&s->index, at))
		if (s->cie_offsets[s->index.slots[at] - 1] == offset)
			break;
	if (!s->index.slots[at]) {
		if (!array_reserve(&s->cies, &s->cie_capacity, s->cie_count + 1) ||
		    !array_reserve(&s->cie_offsets, &s->offset_capacity, s->cie_count + 1))
			return -1;
		read_cie(s, offset, &s->cies[s->cie_count]);
		s->cie_offsets[s->cie_count++] = offset;
		hash_insert(&s->index, at, hash_mix(offset), (uint32_t)s->cie_count);
	}
	s->last_offset = offset;
	s->last_cie = s->index.slots[at] - 1;
	return s->last_cie;
}

/* False if ENTRY is a terminator, a CIE, or cannot be read. */
static bool read_fde(struct cfi_section *section, struct entry *entry, struct cfi_fde *fde)
{
	struct cursor *b = &entry->rest;
	uint64_t cie_at = section->debug_frame ? entry->id : entry->id_at - entry->id;

	if (!cursor_left(b) || entry->is_cie || cie_at >= section->size)
		return false;
	int64_t index = find_cie(section, (uint32_t)cie_at);
	if (index < 0 || !section->cies[index].usable)
		return false;

	const struct cfi_cie *cie = &section->cies[index];
	fde->start = cfi_section_pointer(section, b, cie->pointer_encoding);
	fde->size = cfi_section_pointer(section, b, cie->pointer_encoding & 0x0f);
	if (cie->augmented)
		cursor_take(b, cursor_uleb(b));
	fde->offset = (uint32_t)entry->start;
	fde->program = (uint32_t)(b->at - section->bytes);
	fde->program_end = (uint32_t)entry->end;
	fde->cie = (uint32_t)index;
	return !b->bad && fde->size && fde->start + fde->size > fde->start;
}

bool cfi_section_next(struct cfi_section *section, struct cfi_fde *fde)
{
	while (section->next < section->size) {
		struct entry entry = { 0 };
		// A terminator (length 0) ends what one object file brought, not the section.
		if (!read_entry(section, section->next, &entry))
			break;
		section->next = entry.end;
		if (read_fde(section, &entry, fde))
			return true;
	}
	section->next = section->size;
	return false;
}

bool cfi_section_at(struct cfi_section *section, uint64_t offset, struct cfi_fde *fde)
{
	struct entry entry = { 0 };

	return offset < section->size && read_entry(section, offset, &entry) &&
	       read_fde(section, &entry, fde);
}

const struct cfi_cie *cfi_section_cie(const struct cfi_section *section, const struct cfi_fde *fde)
{
	return &section->cies[fde->cie];
}

void cfi_section_run(const struct cfi_section *section, const struct cfi_fde *fde, cfi_row *row,
                     void *context)
{
	const struct cfi_cie *cie = &section->cies[fde->cie];
	struct cfi_state state = cie->initial;

	cfi_program_run(section, cie, cursor_between(section, fde->program, fde->program_end),
	                fde->start, fde->start + fde->size, &state, row, context);
}

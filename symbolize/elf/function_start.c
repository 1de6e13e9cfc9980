// SPDX-License-Identifier: MIT
#include "symbolize/elf/function_start.h"

#include "base/array.h"
#include "base/error.h"
#include "symbolize/elf/elf_file.h"
#include "symbolize/elf/mapped_file.h"

#include <dwarf.h>
#include <elf.h>
#include <emmintrin.h>
#include <stdlib.h>
#include <string.h>

// .eh_frame_hdr: version, encodings of a pointer, of the count and of the table; then those.
#define VERSION     1
#define HEAD_BYTES  12
#define ENTRY_BYTES 8
#define FAR_BYTES   5 // of a jump
#define NEAR_BYTES  2
#define CODE_MAX    8192 // of one function, to look for jumps in

struct function_starts {
	struct elf_file *elf;
	bool borrowed;          // the caller closes it
	const uint8_t *entries; // {start, description}, sorted by start, from BASE
	size_t count;
	uint64_t base;
};

static int32_t read_i32(const uint8_t *at)
{
	int32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

// All compilers' linkers write it so; whoever does not has no table for us.
static bool find_table(struct function_starts *f)
{
	const struct elf_section *section = elf_file_find(f->elf, ".eh_frame_hdr");
	struct bytes bytes =
		section ? elf_file_contents(f->elf, section) : (struct bytes){ NULL, 0 };

	if (bytes.size < HEAD_BYTES || bytes.data[0] != VERSION ||
	    bytes.data[1] != (DW_EH_PE_pcrel | DW_EH_PE_sdata4) ||
	    bytes.data[2] != DW_EH_PE_udata4 ||
	    bytes.data[3] != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
		return false;
	f->count = (uint32_t)read_i32(bytes.data + 8);
	f->entries = bytes.data + HEAD_BYTES;
	f->base = section->address;
	return f->count && f->count <= (bytes.size - HEAD_BYTES) / ENTRY_BYTES;
}

struct function_starts *function_starts_open(const struct module *module)
{
	cleanup(function_starts) struct function_starts *f = calloc(1, sizeof(*f));
	char root[MAPPED_ROOT_BYTES];
	struct error ignored;

	if (!f || module->kind != MODULE_ELF)
		return NULL;
	f->elf = mapped_file_open(module, root, &ignored);
	return f->elf && find_table(f) ? steal(f) : NULL;
}

struct function_starts *function_starts_of(struct elf_file *elf)
{
	cleanup(function_starts) struct function_starts *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->elf = elf;
	f->borrowed = true;
	return find_table(f) ? steal(f) : NULL;
}

void function_starts_close(struct function_starts *f)
{
	if (!f)
		return;
	if (!f->borrowed)
		elf_file_close(f->elf);
	free(f);
}

uint64_t function_starts_address(const struct function_starts *f, uint64_t offset)
{
	for (size_t i = 0; i < elf_file_section_count(f->elf); i++) {
		const struct elf_section *section = elf_file_section(f->elf, i);
		if (section->flags & SHF_EXECINSTR && offset >= section->offset &&
		    offset - section->offset < section->size)
			return section->address + (offset - section->offset);
	}
	return 0;
}

static uint64_t start_at(const struct function_starts *f, size_t index)
{
	return f->base + (uint64_t)(int64_t)read_i32(f->entries + index * ENTRY_BYTES);
}

// How many begin at or before ADDRESS.
static size_t count_before(const struct function_starts *f, uint64_t address)
{
	return array_search(f->count, i, start_at(f, i) <= address);
}

uint64_t function_starts_find(const struct function_starts *f, uint64_t address)
{
	size_t before = count_before(f, address);

	return before ? start_at(f, before - 1) : 0;
}

bool function_starts_exported(const struct function_starts *f, uint64_t start)
{
	const struct elf_section *section = elf_file_find(f->elf, ".dynsym");
	struct bytes bytes =
		section ? elf_file_contents(f->elf, section) : (struct bytes){ NULL, 0 };
	Elf64_Sym symbol;

	for (size_t at = 0; bytes.size - at >= sizeof(symbol); at += sizeof(symbol)) {
		memcpy(&symbol, bytes.data + at, sizeof(symbol));
		if (symbol.st_shndx != SHN_UNDEF && symbol.st_value == start)
			return true;
	}
	return false;
}

struct bytes function_starts_code(const struct function_starts *f, uint64_t start, size_t max)
{
	size_t next = count_before(f, start);

	for (size_t i = 0; i < elf_file_section_count(f->elf); i++) {
		const struct elf_section *section = elf_file_section(f->elf, i);
		if (!(section->flags & SHF_EXECINSTR) || start < section->address ||
		    start - section->address >= section->size)
			continue;
		struct bytes bytes = elf_file_contents(f->elf, section);
		uint64_t offset = start - section->address;
		if (offset >= bytes.size)
			break;
		uint64_t size = bytes.size - offset;
		if (next < f->count && start_at(f, next) - start < size)
			size = start_at(f, next) - start;
		return (struct bytes){ bytes.data + offset, size < max ? size : max };
	}
	return (struct bytes){ NULL, 0 };
}

#define JUMP      0xe9 // jmp rel32
#define JUMP_NEAR 0xeb // jmp rel8
#define TWO_BYTES 0x0f // of the conditional ones with rel32, the second is 0x80 to 0x8f

// Where the jump leads to whose operation is the byte at AT, from the start of CODE; 0: there is
// none.
static int64_t read_jump(struct bytes code, size_t at)
{
	const uint8_t *bytes = code.data;
	size_t conditional = bytes[at] == TWO_BYTES, left = code.size - at - conditional;

	if (conditional && (!left || (bytes[at + 1] & 0xf0) != 0x80))
		return 0;
	if (bytes[at] == JUMP_NEAR)
		return left >= NEAR_BYTES ? (int64_t)(at + NEAR_BYTES) + (int8_t)bytes[at + 1] : 0;
	at += conditional;
	return left >= FAR_BYTES ? (int64_t)(at + FAR_BYTES) + read_i32(bytes + at + 1) : 0;
}

uint64_t function_starts_jump(const struct function_starts *f, uint64_t start)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	struct bytes code = function_starts_code(f, start, sizeof(endbr64) + FAR_BYTES);
	bool marked =
		code.size > sizeof(endbr64) && memcmp(code.data, endbr64, sizeof(endbr64)) == 0;
	size_t at = marked ? sizeof(endbr64) : 0;

	if (!code.size || (code.data[at] != JUMP && code.data[at] != JUMP_NEAR))
		return 0;
	int64_t to = read_jump(code, at);
	return to ? start + (uint64_t)to : 0;
}

// Whether OPERATION stands at BYTES, followed by what makes it a jump.
static bool is_operation(const uint8_t *bytes, size_t left, uint8_t operation)
{
	return bytes[0] == operation &&
	       (operation != TWO_BYTES || (left > 1 && (bytes[1] & 0xf0) == 0x80));
}

#define LANES 16

// The same for each of the LANES first BYTES, a bit each; the byte behind them is read, too.
static unsigned int find_operations(const uint8_t *bytes, uint8_t operation)
{
	const __m128i high = _mm_set1_epi8((char)0xf0), set = _mm_set1_epi8((char)0x80);
	__m128i here = _mm_loadu_si128((const __m128i *)bytes);
	__m128i found = _mm_cmpeq_epi8(here, _mm_set1_epi8((char)operation));

	if (operation == TWO_BYTES) {
		__m128i next = _mm_loadu_si128((const __m128i *)(bytes + 1));
		found = _mm_and_si128(found, _mm_cmpeq_epi8(_mm_and_si128(next, high), set));
	}
	return (unsigned int)_mm_movemask_epi8(found);
}

// Moves *AT to where OPERATION stands next, from there on. Most bytes are no jump, and a library
// has millions: 16 are looked at at once.
static bool next_operation(struct bytes code, uint8_t operation, size_t *at)
{
	if (!code.data)
		return false;
	for (; *at < code.size && code.size - *at > LANES; *at += LANES) {
		unsigned int found = find_operations(code.data + *at, operation);
		if (found) {
			*at += (size_t)__builtin_ctz(found);
			return true;
		}
	}
	for (; *at < code.size; ++*at)
		if (is_operation(code.data + *at, code.size - *at, operation))
			return true;
	return false;
}

static const uint8_t operations[] = { JUMP, JUMP_NEAR, TWO_BYTES };
#define OPERATIONS (sizeof(operations) / sizeof(*operations))

void function_starts_jumps(const struct function_starts *f, uint64_t start,
                           bool (*visit)(void *context, uint64_t to), void *context)
{
	struct bytes code = function_starts_code(f, start, CODE_MAX);

	for (size_t i = 0; i < OPERATIONS; i++)
		for (size_t at = 0; next_operation(code, operations[i], &at); at++) {
			uint64_t to = start + (uint64_t)read_jump(code, at);
			// Within the function no other one begins.
			if (to - start >= code.size && function_starts_find(f, to) == to &&
			    !visit(context, to))
				return;
		}
}

#define LOAD         0x8d // lea r64, m
#define LOAD_BYTES   6    // with a displacement from where it ends, behind REX.W
#define COMPARE_TO   0x39 // cmp r64, r64
#define COMPARE_FROM 0x3b
#define COMPARE_RAX  0x3d // cmp rax, imm32
#define COMPARE_IMM  0x81 // and another register
#define COMPARE_NEAR 24   // bytes at most between lea and cmp
#define REX_W        0x48
#define REX_R        0x04
#define REX_B        0x01

static bool is_wide(uint8_t rex)
{
	return (rex & 0xf8) == REX_W;
}

// One of the two registers of MODRM, with REX in front of the operation, is R.
static bool is_of(uint8_t rex, uint8_t modrm, unsigned r)
{
	unsigned reg = (modrm >> 3 & 7u) + (rex & REX_R ? 8u : 0);
	unsigned rm = (modrm & 7u) + (rex & REX_B ? 8u : 0);

	return modrm >= 0xc0 && (reg == r || rm == r);
}

// Whether register R is compared soon after AT.
static bool is_compared(struct bytes code, size_t at, unsigned r)
{
	for (size_t end = at + COMPARE_NEAR; at < end && at + 2 < code.size; at++)
		if (is_wide(code.data[at]) &&
		    (code.data[at + 1] == COMPARE_TO || code.data[at + 1] == COMPARE_FROM) &&
		    is_of(code.data[at], code.data[at + 2], r))
			return true;
	return false;
}

// What is compared with the address that the operation at AT has, of code that begins at START; 0:
// nothing.
static uint64_t read_compare(struct bytes code, uint64_t start, size_t at)
{
	const uint8_t *bytes = code.data;
	size_t left = code.size - at;

	if (!bytes || !at || !is_wide(bytes[at - 1]) || left < LOAD_BYTES)
		return 0;
	if (bytes[at] == COMPARE_RAX)
		return (uint32_t)read_i32(bytes + at + 1);
	uint8_t modrm = bytes[at + 1];
	if (bytes[at] == COMPARE_IMM)
		return (modrm & 0xf8) == 0xf8 ? (uint32_t)read_i32(bytes + at + 2) : 0;
	unsigned r = (modrm >> 3 & 7u) + (bytes[at - 1] & REX_R ? 8u : 0);
	if ((modrm & 0xc7) != 0x05 || !is_compared(code, at + LOAD_BYTES, r))
		return 0;
	return start + at + LOAD_BYTES + (uint64_t)(int64_t)read_i32(bytes + at + 2);
}

void function_starts_compares(const struct function_starts *f, uint64_t start,
                              bool (*visit)(void *context, uint64_t with), void *context)
{
	static const uint8_t all[] = { LOAD, COMPARE_RAX, COMPARE_IMM };
	struct bytes code = function_starts_code(f, start, CODE_MAX);

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		for (size_t at = 0; next_operation(code, all[i], &at); at++) {
			uint64_t with = read_compare(code, start, at);
			if (with && function_starts_find(f, with) == with && !visit(context, with))
				return;
		}
}

// Addresses to look for. Most jumps lead elsewhere within their range, which one bit says.
struct wanted {
	const uint64_t *addresses; // sorted
	size_t count;
	uint64_t filter[64]; // a bit for each remainder that one of them has
};

#define FILTER_BITS ((size_t)64 * 64)

static struct wanted wanted_of(const uint64_t *addresses, size_t count)
{
	struct wanted w = { .addresses = addresses, .count = count };

	for (size_t i = 0; i < count; i++) {
		size_t bit = addresses[i] / 16 % FILTER_BITS; // functions begin at multiples of 16
		w.filter[bit / 64] |= UINT64_C(1) << bit % 64;
	}
	return w;
}

static bool is_wanted(const struct wanted *w, uint64_t to)
{
	size_t bit = to / 16 % FILTER_BITS;

	if (!(w->filter[bit / 64] >> bit % 64 & 1))
		return false;
	size_t at = array_search(w->count, i, w->addresses[i] < to);
	return at < w->count && w->addresses[at] == to;
}

typedef bool visit_jump(void *context, uint64_t address, uint64_t to);

// Calls VISIT for all that look like jumps, from ADDRESS, until it returns false.
static bool each_jump(const struct function_starts *f, visit_jump *visit, void *context)
{
	for (size_t i = 0; i < elf_file_section_count(f->elf); i++) {
		const struct elf_section *section = elf_file_section(f->elf, i);
		if (!(section->flags & SHF_EXECINSTR))
			continue;
		struct bytes code = elf_file_contents(f->elf, section);
		for (size_t j = 0; j < OPERATIONS; j++)
			for (size_t at = 0; next_operation(code, operations[j], &at); at++) {
				int64_t jump = read_jump(code, at);
				if (jump && !visit(context, section->address + at,
				                   section->address + (uint64_t)jump))
					return false;
			}
	}
	return true;
}

// All jumps from one function to the start of another, for the next run: numbers in the table of
// starts, in the order in which they are found.
struct jump_table {
	uint32_t count, unused;
	struct {
		uint32_t from, to;
	} jumps[];
};

// Few functions end with a jump. A file in which they have more is looked through each time.
static size_t most_jumps(const struct function_starts *f)
{
	return 2 * f->count;
}

static size_t jump_table_bytes(const struct function_starts *f)
{
	return sizeof(struct jump_table) +
	       most_jumps(f) * sizeof(((struct jump_table *)NULL)->jumps[0]);
}

struct making {
	const struct function_starts *starts;
	struct jump_table *table;
};

static bool add_to_table(void *context, uint64_t address, uint64_t to)
{
	const struct making *m = context;
	const struct function_starts *f = m->starts;
	size_t there = count_before(f, to);

	if (!there || start_at(f, there - 1) != to)
		return true;
	size_t here = count_before(f, address);
	uint64_t from = here ? start_at(f, here - 1) : 0;
	if (!from || from == to || address - from >= CODE_MAX)
		return true;
	if (m->table->count == most_jumps(f))
		return false;
	m->table->jumps[m->table->count].from = (uint32_t)here - 1;
	m->table->jumps[m->table->count++].to = (uint32_t)there - 1;
	return true;
}

static bool make_jump_table(struct elf_file *elf, const struct elf_section *section, void *out)
{
	struct function_starts f = { .elf = elf };
	struct making making = { .starts = &f, .table = out };

	(void)section;
	if (!find_table(&f))
		return false;
	memset(out, 0, jump_table_bytes(&f));
	return each_jump(&f, add_to_table, &making);
}

// NULL if it is not to be kept, or holds too much.
static const struct jump_table *jump_table_of(const struct function_starts *f)
{
	if (!elf_file_is_kept(f->elf))
		return NULL;
	struct bytes bytes = elf_file_derived(f->elf, elf_file_find(f->elf, ".eh_frame_hdr"),
	                                      ".jumps", jump_table_bytes(f), make_jump_table);
	const struct jump_table *table = (const void *)bytes.data;
	return table && table->count <= most_jumps(f) ? table : NULL;
}

struct looking {
	const struct function_starts *starts;
	struct wanted wanted;
	void (*visit)(void *context, uint64_t from, uint64_t to);
	void *context;
};

static bool visit_wanted(void *context, uint64_t address, uint64_t to)
{
	const struct looking *l = context;

	if (!is_wanted(&l->wanted, to))
		return true;
	uint64_t from = function_starts_find(l->starts, address);
	if (from && from != to && address - from < CODE_MAX)
		l->visit(l->context, from, to);
	return true;
}

void function_starts_jumps_to(const struct function_starts *f, const uint64_t *wanted, size_t count,
                              void (*visit)(void *context, uint64_t from, uint64_t to),
                              void *context)
{
	struct looking looking = { f, wanted_of(wanted, count), visit, context };
	const struct jump_table *table = count ? jump_table_of(f) : NULL;

	if (!count)
		return;
	if (!table) {
		each_jump(f, visit_wanted, &looking);
		return;
	}
	for (uint32_t i = 0; i < table->count; i++) {
		uint32_t from = table->jumps[i].from, to = table->jumps[i].to;
		if (from < f->count && to < f->count && is_wanted(&looking.wanted, start_at(f, to)))
			visit(context, start_at(f, from), start_at(f, to));
	}
}

void function_starts_keep_in(struct function_starts *f, const char *directory)
{
	elf_file_keep_in(f->elf, directory);
}

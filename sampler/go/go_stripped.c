// SPDX-License-Identifier: MIT
#include "sampler/go/go_stripped.h"

#include "base/bytes.h"
#include "base/go_module.h"
#include "base/go_table.h"
#include "base/x86.h"
#include "sampler/elf/elf_section.h"

#include <gelf.h>
#include <stdio.h>
#include <string.h>

#define INFO_MAGIC    "\xff Go buildinf:"
#define INFO_HEADER   32 // bytes; its texts stand behind it
#define INFO_FLAGS    15 // which byte these are
#define INFO_INLINE   2  // a flag: the texts are there, since Go 1.18
#define VERSION_BYTES 64
#define REASONS_MAX   255
#define REASON_BYTES  48
#define FIRST_REASONS 9
#define CODE_BYTES    4096 // of one function

// Offsets in a runtime.g, as the debug information of each version has them.
static const struct go_version {
	unsigned minor;
	int16_t bp, status, reason, goid, start, call_sp, call_pc, call_bp, g_bytes;
} versions[] = {
	{ 19, 104, 144, 176, 152, 312, 112, 120, -1, 320 },
	{ 21, 104, 144, 176, 152, 296, 112, 120, -1, 304 },
	{ 22, 104, 144, 176, 152, 296, 112, 120, -1, 304 },
	{ 23, 104, 152, 184, 160, 304, 112, 120, 128, 312 },
	{ 24, 104, 152, 184, 160, 304, 112, 120, 128, 312 },
	{ 25, 96, 144, 176, 152, 296, 104, 112, 120, 304 },
	{ 26, 96, 144, 176, 152, 304, 104, 112, 120, 312 },
	{ 27, 96, 144, 176, 152, 304, 104, 112, 120, 312 },
};

// "go1.24.4 X:nocoverageredesign": 24; 0: it is none that is released.
static unsigned minor_of(Elf *elf)
{
	const Elf_Data *data = elf_section_data(elf_section_find(elf, ".go.buildinfo"), NULL);
	char version[VERSION_BYTES] = "";
	unsigned minor;

	if (!data || data->d_size < INFO_HEADER ||
	    memcmp(data->d_buf, INFO_MAGIC, strlen(INFO_MAGIC)) != 0 ||
	    !(((const uint8_t *)data->d_buf)[INFO_FLAGS] & INFO_INLINE))
		return 0;
	const struct bytes info = { data->d_buf, data->d_size };
	struct cursor c = cursor_at(info, INFO_HEADER);
	uint64_t length = cursor_uleb(&c);
	const uint8_t *text = length < sizeof(version) ? cursor_take(&c, length) : NULL;
	if (!text)
		return 0;
	memcpy(version, text, length);
	return sscanf(version, "go1.%3u", &minor) == 1 ? minor : 0;
}

static const struct go_version *version_of(Elf *elf)
{
	unsigned minor = minor_of(elf);

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		if (minor == versions[i].minor)
			return &versions[i];
	return NULL;
}

static void find_go(Elf *elf, struct go_module *go)
{
	struct go_section sections[GO_SECTIONS_MAX];
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names, count = 0;

	*go = (struct go_module){ 0 };
	if (elf_getshdrstrndx(elf, &names) < 0)
		return;
	while ((section = elf_nextscn(elf, section)) && count < GO_SECTIONS_MAX) {
		if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_ALLOC) ||
		    (header.sh_type != SHT_PROGBITS && header.sh_type != SHT_RELA))
			continue;
		const char *name = elf_strptr(elf, names, header.sh_name);
		const Elf_Data *data = name ? elf_rawdata(section, NULL) : NULL;
		if (data && data->d_buf)
			sections[count++] = (struct go_section){ name,
				                                 header.sh_addr,
				                                 { data->d_buf, data->d_size },
				                                 header.sh_flags & SHF_WRITE };
	}
	go_module_find_table(sections, count, go);
	go_module_find_rest(sections, count, go);
}

// The code of the runtime's function NAME, which begins at *START.
static struct bytes code_of(Elf *elf, const struct go_module *go, const char *name, uint64_t *start)
{
	uint64_t address, end;
	const Elf_Data *text = elf_section_data(elf_section_find(elf, ".text"), &address);

	if (!text || !go_table_function(go->table, go->text, name, start, &end) ||
	    *start < address || end - *start > CODE_BYTES)
		return (struct bytes){ 0 };
	return bytes_slice((struct bytes){ text->d_buf, text->d_size }, *start - address,
	                   end - *start);
}

// Whether the instruction loads 8 bytes (OPCODE 0x8b), or compares them (0x39), at a fixed address.
static bool is_of_memory(const struct x86 *x, const uint8_t *code, uint8_t opcode)
{
	return x->memory && x->relative_at && x->opcode && code[x->opcode] == opcode &&
	       (code[x->opcode - 1] & 0xf8) == 0x48;
}

// Up to COUNT addresses of memory that instructions of CODE, which begins at START, use so.
static size_t find_memory(struct bytes code, uint64_t start, uint8_t opcode, uint64_t *to,
                          size_t count)
{
	size_t found = 0;
	struct x86 x;

	for (size_t at = 0; at < code.size && found < count; at += x.length) {
		if (!x86_decode(code.data + at, code.size - at, &x))
			break;
		if (is_of_memory(&x, code.data + at, opcode))
			to[found++] = x86_target(&x, code.data + at, start + at);
	}
	return found;
}

/*
 * forEachGRace() begins with atomicAllG(), which loads the length before the list; and allgadd()
 * compares the list with the one that it publishes.
 */
static bool find_list(Elf *elf, struct go_layout *out)
{
	uint64_t start = 0, loads[2], compared;
	struct go_module go;

	find_go(elf, &go);
	struct bytes code = code_of(elf, &go, "runtime.forEachGRace", &start);

	if (find_memory(code, start, 0x8b, loads, 2) != 2)
		return false;
	code = code_of(elf, &go, "runtime.allgadd", &start);
	if (find_memory(code, start, 0x39, &compared, 1) != 1 || compared != loads[1] ||
	    loads[0] == loads[1])
		return false;
	out->all_length = loads[0];
	out->all_pointer = loads[1];
	return true;
}

// How many strings, each an address and a length, stand at the beginning of WORDS: the runtime's
// for reasons to wait; 0: it is something else. Addresses may be left to the loader.
static uint32_t count_reasons(struct bytes words)
{
	// "", "GC assist marking", "IO wait", then "chan receive (nil chan)", or since 1.26
	// "dumping heap" ...
	static const uint8_t begins[][FIRST_REASONS] = {
		{ 0, 17, 7, 23, 20, 12, 18, 23, 9 },
		{ 0, 17, 7, 12, 18, 23, 9, 14, 13 },
	};
	uint8_t lengths[REASONS_MAX];
	struct cursor c = cursor_at(words, 0);
	uint32_t count = 0;

	for (; count < REASONS_MAX; count++) {
		cursor_u64(&c);
		uint64_t length = cursor_u64(&c);
		if (c.bad || length >= REASON_BYTES || (count && !length))
			break;
		lengths[count] = (uint8_t)length;
	}
	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (count >= FIRST_REASONS && memcmp(lengths, begins[i], FIRST_REASONS) == 0)
			return count;
	return 0;
}

static void find_reasons(Elf *elf, struct go_layout *out)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	uint64_t address;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_PROGBITS ||
		    !(header.sh_flags & SHF_WRITE))
			continue;
		const Elf_Data *data = elf_section_data(section, &address);
		struct bytes bytes =
			data ? (struct bytes){ data->d_buf, data->d_size } : (struct bytes){ 0 };
		for (uint64_t at = 0; at + 16 <= bytes.size; at += 8) {
			uint64_t length;
			memcpy(&length, bytes.data + at + 8, sizeof(length));
			uint32_t count =
				length ? 0 : count_reasons(bytes_slice(bytes, at, bytes.size));
			if (!count)
				continue;
			out->reasons = address + at;
			out->reason_count = count;
			return;
		}
	}
}

bool go_stripped_read(Elf *elf, struct go_layout *out)
{
	const struct go_version *version = version_of(elf);
	GElf_Ehdr header;

	if (!version || !gelf_getehdr(elf, &header) || header.e_machine != EM_X86_64 ||
	    !find_list(elf, out))
		return false;
	out->by_version = true;
	out->stack_high = 8;
	out->sp = 56;
	out->pc = 64;
	out->bp = version->bp;
	out->status = version->status;
	out->reason = version->reason;
	out->goid = version->goid;
	out->start = version->start;
	out->call_sp = version->call_sp;
	out->call_pc = version->call_pc;
	out->call_bp = version->call_bp;
	out->g_bytes = (uint32_t)version->g_bytes;
	find_reasons(elf, out);
	return true;
}

// SPDX-License-Identifier: MIT
#include "tracer/agent/trace/intruders.h"

#include "base/x86.h"

#include <string.h>

#define FILTER_BITS 65536
#define NEAR        130   // what a jump of one byte reaches, with its own two
#define GAP         65536 // of code without names, that is read

struct search {
	const struct intruder_code *code;
	const struct symbols *symbols;
	struct intruded *list;
	size_t count;
	uint64_t filter[FILTER_BITS / 64]; // of addresses in the middle of something
};

static size_t bit_of(uint64_t address)
{
	return address * UINT64_C(0x9e3779b97f4a7c15) >> 48;
}

static bool is_inside(const struct intruded *f, uint64_t address)
{
	uint64_t into = address - (f->address + f->entry);

	return into && into < f->length;
}

static void fill(struct search *s)
{
	memset(s->filter, 0, sizeof(s->filter));
	for (size_t i = 0; i < s->count; i++)
		for (uint32_t k = 1; k < s->list[i].length; k++) {
			size_t bit = bit_of(s->list[i].address + s->list[i].entry + k);
			s->filter[bit / 64] |= UINT64_C(1) << bit % 64;
		}
}

// Some functions do not say where they end: it is where the next one begins.
static uint64_t size_of(const struct search *s, const struct symbol *f)
{
	return f->size ? f->size : symbols_next(s->symbols, f->address) - f->address;
}

// Where instructions are known to begin, at or before ADDRESS: at the function that it is in, or,
// where only some functions have names, behind the last one before it. 0: nowhere.
static uint64_t known_start(const struct search *s, uint64_t address)
{
	const struct intruder_code *all = s->code;
	uint64_t start = 0;

	for (size_t i = 0; i < s->symbols->count; i++) {
		struct symbol f;
		if (!symbols_function(s->symbols, i, &f) || f.address < all->address ||
		    f.address > address)
			continue;
		uint64_t size = size_of(s, &f);
		if (size > all->address + all->size - f.address)
			continue;
		if (address - f.address < size)
			return f.address;
		if (f.address + size > start)
			start = f.address + size;
	}
	return address - start <= GAP ? start : 0;
}

// Whether an instruction begins at ADDRESS. Where that is not known, one might.
static bool is_instruction(const struct search *s, uint64_t address)
{
	uint64_t start = known_start(s, address);

	if (!start)
		return true;
	size_t at = start - s->code->address, wanted = address - s->code->address;
	struct x86 x;
	while (at < wanted && x86_decode(s->code->bytes + at, s->code->size - at, &x))
		at += x.length;
	return at <= wanted; // less: not all of it is known
}

// A jump at FROM, if one is there.
static void take(struct search *s, uint64_t from, uint64_t target)
{
	size_t bit = bit_of(target);

	if (!(s->filter[bit / 64] >> bit % 64 & 1))
		return;
	for (size_t i = 0; i < s->count; i++) {
		struct intruded *f = &s->list[i];
		if (!f->intruded && is_inside(f, target))
			f->intruded = is_instruction(s, from);
	}
}

// e8 and e9: call and jmp; 0f 80 to 0f 8f: jcc.
static void find_far(struct search *s)
{
	const uint8_t *code = s->code->bytes;

	for (size_t i = 1; i + 5 <= s->code->size; i++) {
		bool branch = (code[i] & 0xf0) == 0x80 && code[i - 1] == 0x0f;
		int32_t distance;
		if ((code[i] & 0xfe) != 0xe8 && !branch)
			continue;
		memcpy(&distance, code + i + 1, sizeof(distance));
		uint64_t at = s->code->address + i;
		take(s, at - branch, at + 5 + (uint64_t)(int64_t)distance);
	}
}

static bool is_near_jump(uint8_t opcode)
{
	return (opcode & 0xf0) == 0x70 || opcode == 0xeb || (opcode & 0xfc) == 0xe0;
}

static void find_near(const struct search *s, struct intruded *f)
{
	const struct intruder_code *code = s->code;
	uint64_t entry = f->address + f->entry, end = code->address + code->size;
	uint64_t from = entry - code->address > NEAR ? entry - NEAR : code->address;
	uint64_t to = end - entry > NEAR + f->length ? entry + NEAR + f->length : end - 1;

	for (uint64_t at = from; at < to && !f->intruded; at++) {
		const uint8_t *bytes = code->bytes + (at - code->address);
		// Itself has been looked through.
		if (at - f->address < f->size || !is_near_jump(bytes[0]))
			continue;
		uint64_t target = at + 2 + (uint64_t)(int64_t)(int8_t)bytes[1];
		f->intruded = is_inside(f, target) && is_instruction(s, at);
	}
}

void intruders_find(const struct intruder_code *code, const struct symbols *symbols,
                    struct intruded *list, size_t count)
{
	struct search s = { .code = code, .symbols = symbols, .list = list, .count = count };

	fill(&s);
	find_far(&s);
	for (size_t i = 0; i < count; i++)
		if (list[i].length && list[i].address - code->address < code->size)
			find_near(&s, &list[i]);
}

// SPDX-License-Identifier: MIT
#include "tracer/agent/trace/displace.h"

#include "base/x86.h"

#include <string.h>

#define ENDBR64      4
#define BRANCH_SHORT 0x70 // "jcc" of one byte: 70 to 7f; of four: 0f 80 to 0f 8f
#define BRANCH_LONG  0x80
#define ROOM_MOVED   32 // of one instruction, and the jump back

struct mover {
	const struct displace_function *f;
	uint64_t to;
	struct displace *out;
	bool bad;
};

static void put(struct mover *m, const void *bytes, size_t size)
{
	memcpy(m->out->code + m->out->size, bytes, size);
	m->out->size += size;
}

static void put_byte(struct mover *m, uint8_t byte)
{
	put(m, &byte, 1);
}

static void put_word(struct mover *m, uint64_t word)
{
	uint32_t low = (uint32_t)word;

	put(m, &low, sizeof(low));
}

// The distance to TARGET from LEFT bytes behind the four that are put.
static void put_distance(struct mover *m, uint64_t target, size_t left)
{
	int64_t distance = (int64_t)(target - (m->to + m->out->size + 4 + left));

	m->bad |= distance != (int32_t)distance;
	put_word(m, (uint64_t)distance);
}

static void put_jump(struct mover *m, uint64_t target)
{
	put_byte(m, 0xe9);
	put_distance(m, target, 0);
}

// From here on it is the function at OFFSET.
static void add_row(struct mover *m, size_t offset, uint16_t pushed)
{
	struct displace *out = m->out;

	out->rows[out->row_count++] =
		(struct patch_row){ (uint16_t)out->size, (uint16_t)offset, pushed, 0 };
}

static void move_branch(struct mover *m, const struct x86 *x, const uint8_t *code, uint64_t target)
{
	uint8_t opcode = code[x->opcode];

	if (x->relative_size == 4) {
		put(m, code, x->relative_at);
		put_distance(m, target, 0);
	} else if ((opcode & 0xf0) == BRANCH_SHORT) {
		put_byte(m, 0x0f);
		put_byte(m, (uint8_t)(opcode - BRANCH_SHORT + BRANCH_LONG));
		put_distance(m, target, 0);
	} else { // loop, jrcxz: to the jump behind the next one
		put(m, code, x->relative_at);
		put_byte(m, 2);
		put(m, "\xeb\x05", 2); // jmp, over what follows
		put_jump(m, target);
	}
}

// push $low; movl $high, 4(%rsp): no register and no flag is touched.
static void put_return_address(struct mover *m, size_t offset, uint64_t address)
{
	put_byte(m, 0x68);
	put_word(m, address);
	add_row(m, offset, 8);
	put(m, "\xc7\x44\x24\x04", 4);
	put_word(m, address >> 32);
}

// "call *operand" becomes "jmp *operand". One whose operand counts from rsp would find another.
static void move_indirect_call(struct mover *m, const struct x86 *x, const uint8_t *code,
                               size_t offset, uint64_t end)
{
	size_t at = x->opcode + 1u;
	uint8_t modrm = code[at], rm = modrm & 7;

	if (rm == 4 || (modrm & 0x38) != 0x10) { // a SIB byte or rsp; a far call
		m->bad = true;
		return;
	}
	put_return_address(m, offset, end);
	put(m, code, at);
	put_byte(m, (uint8_t)(modrm + 0x10));
	if (x->memory)
		put_distance(m, x86_target(x, code, end - x->length), 0);
	else
		put(m, code + at + 1, x->length - at - 1);
}

static void move(struct mover *m, const struct x86 *x, const uint8_t *code, size_t offset)
{
	uint64_t address = m->f->address + offset;
	uint64_t end = address + x->length;
	uint64_t target = x->relative_at ? x86_target(x, code, address) : 0;

	add_row(m, offset, 0);
	if (x->flow == X86_CALL) {
		put_return_address(m, offset, end);
		put_jump(m, target);
	} else if (x->flow == X86_CALL_INDIRECT) {
		move_indirect_call(m, x, code, offset, end);
	} else if (x->flow == X86_JUMP) {
		put_jump(m, target);
	} else if (x->flow == X86_BRANCH) {
		move_branch(m, x, code, target);
	} else if (x->relative_at) {
		size_t left = x->length - x->relative_at - 4u;
		put(m, code, x->relative_at);
		put_distance(m, target, left);
		put(m, code + x->relative_at + 4, left);
	} else {
		put(m, code, x->length);
	}
}

static bool goes_on(const struct x86 *x)
{
	return x->flow != X86_JUMP && x->flow != X86_JUMP_INDIRECT && x->flow != X86_RETURN &&
	       x->flow != X86_STOP;
}

static bool calls(const struct x86 *x)
{
	return x->flow == X86_CALL || x->flow == X86_CALL_INDIRECT;
}

static bool is_landing(const struct displace_function *f)
{
	static const uint8_t endbr64[ENDBR64] = { 0xf3, 0x0f, 0x1e, 0xfa };

	return f->size > ENDBR64 && memcmp(f->code, endbr64, ENDBR64) == 0;
}

// How far the jump reaches, in whole instructions. Of padding nothing is moved.
static enum patch_reason measure(const struct displace_function *f, struct displace *out)
{
	size_t at = out->entry;
	struct x86 x = { 0 };

	while (at - out->entry < DISPLACE_JUMP && at < f->size) {
		if (!x86_decode(f->code + at, f->size - at, &x))
			return PATCH_UNKNOWN;
		at += x.length;
		// It would return to where the jump is.
		if (calls(&x) && at - out->entry < DISPLACE_JUMP)
			return PATCH_UNMOVABLE;
	}
	out->length = (uint32_t)(at - out->entry);
	out->whole = x.length == out->length;
	if (out->length >= DISPLACE_JUMP)
		return PATCH_DONE;
	if (goes_on(&x))
		return PATCH_SHORT;
	while (at - out->entry < DISPLACE_JUMP) {
		if (at >= f->room || !x86_decode(f->code + at, f->room - at, &x) ||
		    !(x.nop || (x.flow == X86_STOP && f->code[at] == 0xcc)))
			return PATCH_SHORT;
		at += x.length;
	}
	return PATCH_DONE;
}

// What is called from within begins anew; what jumps to the beginning may be a loop.
static bool leads_into(const struct displace_function *f, const struct displace *d,
                       const struct x86 *x, uint64_t target)
{
	uint64_t offset = target - f->address;

	if (offset >= d->entry + d->length)
		return false;
	bool start = offset == 0 || offset == d->entry;
	return !start || (!x->memory && x->flow != X86_CALL);
}

static enum patch_reason look_through(const struct displace_function *f, const struct displace *d)
{
	struct x86 x;

	for (size_t at = 0; at < f->size; at += x.length) {
		if (!x86_decode(f->code + at, f->size - at, &x))
			return PATCH_UNKNOWN;
		if (x.relative_at &&
		    leads_into(f, d, &x, x86_target(&x, f->code + at, f->address + at)))
			return PATCH_LOOPS;
	}
	return PATCH_DONE;
}

enum patch_reason displace(const struct displace_function *f, uint64_t to, struct displace *out)
{
	struct mover m = { .f = f, .to = to, .out = out };
	struct x86 x = { 0 };

	memset(out, 0, sizeof(*out));
	out->entry = is_landing(f) ? ENDBR64 : 0;
	enum patch_reason reason = measure(f, out);
	if (reason == PATCH_DONE)
		reason = look_through(f, out);
	if (reason != PATCH_DONE)
		return reason;
	for (size_t at = out->entry; at < out->entry + out->length; at += x.length) {
		x86_decode(f->code + at, f->size - at, &x);
		if (out->size + ROOM_MOVED > DISPLACE_BYTES || out->row_count + 3 > DISPLACE_ROWS)
			return PATCH_UNMOVABLE;
		if (f->shadowed && calls(&x))
			return PATCH_SHADOWED;
		move(&m, &x, f->code + at, at);
	}
	if (goes_on(&x) && !calls(&x)) {
		add_row(&m, out->entry + out->length, 0);
		put_jump(&m, f->address + out->entry + out->length);
	}
	return m.bad ? PATCH_UNMOVABLE : PATCH_DONE;
}

// SPDX-License-Identifier: MIT
#include "base/x86.h"

#include <string.h>

#define REX_W 8

// What follows an opcode.
enum form {
	NONE,
	M = 1 << 0,  // ModRM, and what that asks for
	I1 = 1 << 1, // an immediate byte
	I2 = 1 << 2, // two bytes
	IZ = 1 << 3, // four, or two with the prefix of operand size
	IV = 1 << 4, // the same, or eight with REX.W
	O = 1 << 5,  // an address of eight bytes, or four
	R1 = 1 << 6, // a branch of one byte
	RZ = 1 << 7, // a branch of four bytes
	BAD = 1 << 8
};

struct decoder {
	const uint8_t *code;
	size_t size, at;
	bool operand_16, address_32;
	uint8_t rex;
	bool bad;
	uint8_t modrm; // if there is one
};

static uint8_t peek(struct decoder *d)
{
	if (d->at < d->size)
		return d->code[d->at];
	d->bad = true;
	return 0;
}

static uint8_t take(struct decoder *d)
{
	uint8_t byte = peek(d);

	d->at++;
	return byte;
}

// All but what has a prefix, an escape or a table of its own below.
static unsigned form_of_arithmetic(uint8_t opcode)
{
	unsigned low = opcode & 7;

	return low < 4 ? M : low == 4 ? I1 : low == 5 ? IZ : BAD;
}

static unsigned form_80_to_bf(uint8_t opcode)
{
	switch (opcode) {
	case 0x80:
	case 0x83:
		return M | I1;
	case 0x81:
		return M | IZ;
	case 0x82:
	case 0x9a:
		return BAD;
	case 0xa8:
		return I1;
	case 0xa9:
		return IZ;
	default:
		if (opcode < 0x90)
			return M;
		if (opcode >= 0xa0 && opcode <= 0xa3)
			return O;
		return opcode >= 0xb8 ? IV : opcode >= 0xb0 ? I1 : NONE;
	}
}

static unsigned form_c0_to_ff(uint8_t opcode)
{
	switch (opcode) {
	case 0xc0:
	case 0xc1:
	case 0xc6:
		return M | I1;
	case 0xc7:
		return M | IZ;
	case 0xc2:
	case 0xca:
		return I2;
	case 0xc8:
		return I2 | I1;
	case 0xcd:
	case 0xe4:
	case 0xe5:
	case 0xe6:
	case 0xe7:
		return I1;
	case 0xce:
	case 0xd4:
	case 0xd5:
	case 0xd6:
	case 0xea:
		return BAD;
	case 0xe0:
	case 0xe1:
	case 0xe2:
	case 0xe3:
	case 0xeb:
		return R1;
	case 0xe8:
	case 0xe9:
		return RZ;
	case 0xf6:
	case 0xf7:
	case 0xfe:
	case 0xff:
		return M;
	default:
		return (opcode >= 0xd0 && opcode <= 0xd3) || (opcode >= 0xd8 && opcode <= 0xdf)
		               ? M
		               : NONE;
	}
}

static unsigned form_of_one(uint8_t opcode)
{
	if (opcode < 0x40)
		return form_of_arithmetic(opcode);
	if (opcode >= 0x80)
		return opcode < 0xc0 ? form_80_to_bf(opcode) : form_c0_to_ff(opcode);
	if (opcode >= 0x70)
		return R1;
	switch (opcode) {
	case 0x60:
	case 0x61:
	case 0x62:
		return BAD;
	case 0x63:
		return M;
	case 0x68:
		return IZ;
	case 0x69:
		return M | IZ;
	case 0x6a:
		return I1;
	case 0x6b:
		return M | I1;
	default:
		return NONE;
	}
}

// Behind 0f; of VEX and EVEX too, where all have a ModRM.
static bool has_byte_in_map_1(uint8_t opcode)
{
	return (opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 ||
	       (opcode >= 0xc4 && opcode <= 0xc6);
}

static unsigned form_of_two(uint8_t opcode)
{
	if (opcode >= 0x80 && opcode <= 0x8f)
		return RZ;
	if (has_byte_in_map_1(opcode))
		return M | I1;
	switch (opcode) {
	case 0x04:
	case 0x0a:
	case 0x0c:
	case 0x20:
	case 0x21:
	case 0x22:
	case 0x23:
	case 0x24:
	case 0x25:
	case 0x26:
	case 0x27:
	case 0x36:
	case 0x39:
	case 0x3b:
	case 0x3c:
	case 0x3d:
	case 0x3e:
	case 0x3f:
	case 0x78:
	case 0x7a:
	case 0x7b:
	case 0xa6:
	case 0xa7:
		return BAD;
	case 0x05:
	case 0x06:
	case 0x07:
	case 0x08:
	case 0x09:
	case 0x0b:
	case 0x0e:
	case 0x30:
	case 0x31:
	case 0x32:
	case 0x33:
	case 0x34:
	case 0x35:
	case 0x37:
	case 0x77:
	case 0xa0:
	case 0xa1:
	case 0xa2:
	case 0xa8:
	case 0xa9:
	case 0xaa:
		return NONE;
	case 0x0f:
	case 0xa4:
	case 0xac:
	case 0xba:
		return M | I1;
	default:
		return opcode >= 0xc8 && opcode <= 0xcf ? NONE : M;
	}
}

// The opcode and its form behind the prefixes.
struct operation {
	unsigned form;
	uint8_t opcode;
	unsigned map; // 0: one byte; 1: behind 0f; 2, 3: behind 0f 38, 0f 3a; VEX and others: + 16
};

static struct operation read_escaped(struct decoder *d)
{
	uint8_t opcode = take(d);

	if (opcode == 0x38)
		return (struct operation){ M, take(d), 2 };
	if (opcode == 0x3a)
		return (struct operation){ M | I1, take(d), 3 };
	return (struct operation){ form_of_two(opcode), opcode, 1 };
}

static unsigned form_of_vector(unsigned map, uint8_t opcode)
{
	if (map == 1)
		return has_byte_in_map_1(opcode) ? M | I1 : M;
	return map == 3 ? M | I1 : map == 2 ? M : BAD;
}

static struct operation read_vex(struct decoder *d, uint8_t first)
{
	unsigned map = first == 0xc5 ? 1 : take(d) & 0x1f;

	take(d);
	uint8_t opcode = take(d);
	unsigned form = map == 1 && opcode == 0x77 ? NONE : form_of_vector(map, opcode);
	return (struct operation){ form, opcode, 16 + map };
}

static struct operation read_evex(struct decoder *d)
{
	unsigned map = take(d) & 7;

	take(d);
	take(d);
	uint8_t opcode = take(d);
	unsigned form = map == 5 || map == 6 ? M : form_of_vector(map, opcode);
	return (struct operation){ form, opcode, 16 + map };
}

static struct operation read_xop(struct decoder *d)
{
	unsigned map = take(d) & 0x1f;

	take(d);
	uint8_t opcode = take(d);
	unsigned form = map == 8 ? M | I1 : map == 9 ? M : map == 10 ? M | IZ : BAD;
	d->operand_16 = false;
	return (struct operation){ form, opcode, 16 + map };
}

static void read_prefixes(struct decoder *d)
{
	for (;;) {
		uint8_t byte = peek(d);
		if (byte >= 0x40 && byte <= 0x4f) {
			d->rex = byte;
			d->at++;
			continue;
		}
		bool prefix = byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 ||
		              byte == 0xf3 || byte == 0x2e || byte == 0x36 || byte == 0x3e ||
		              byte == 0x26 || byte == 0x64 || byte == 0x65;
		if (!prefix || d->bad)
			return;
		d->operand_16 |= byte == 0x66;
		d->address_32 |= byte == 0x67;
		d->rex = 0; // holds right before the opcode alone
		d->at++;
	}
}

static struct operation read_operation(struct decoder *d)
{
	uint8_t opcode = take(d);

	if (opcode == 0x0f)
		return read_escaped(d);
	if (opcode == 0xc4 || opcode == 0xc5)
		return read_vex(d, opcode);
	if (opcode == 0x62)
		return read_evex(d);
	if (opcode == 0x8f && (peek(d) & 0x1f) >= 8)
		return read_xop(d);
	return (struct operation){ form_of_one(opcode), opcode, 0 };
}

static void read_modrm(struct decoder *d, struct x86 *out)
{
	d->modrm = take(d);
	unsigned mode = d->modrm >> 6, rm = d->modrm & 7;
	size_t bytes = mode == 1 ? 1 : mode == 2 ? 4 : 0;

	if (mode == 3)
		return;
	if (rm == 4) {
		if ((take(d) & 7) == 5 && mode == 0)
			bytes = 4;
	} else if (rm == 5 && mode == 0) {
		out->relative_at = (uint8_t)d->at;
		out->relative_size = bytes = 4;
		out->memory = true;
		d->bad |= d->address_32;
	}
	d->at += bytes;
}

static size_t immediate_bytes(const struct decoder *d, unsigned form)
{
	bool wide = d->rex & REX_W;
	size_t z = d->operand_16 && !wide ? 2 : 4;
	size_t bytes = (form & I1 ? 1 : 0) + (form & I2 ? 2 : 0) + (form & IZ ? z : 0);

	if (form & IV)
		bytes += wide ? 8 : z;
	if (form & O)
		bytes += d->address_32 ? 4 : 8;
	return bytes;
}

static void read_branch(struct decoder *d, unsigned form, struct x86 *out)
{
	out->relative_at = (uint8_t)d->at;
	out->relative_size = form & R1 ? 1 : 4;
	// Processors of Intel and AMD differ in what the prefix does here.
	d->bad |= d->operand_16 && !(d->rex & REX_W);
	d->at += out->relative_size;
}

// TEST has an immediate that its neighbours in the group lack.
static unsigned group_form(const struct decoder *d, const struct operation *op)
{
	if (op->map == 0 && (op->opcode == 0xf6 || op->opcode == 0xf7) && (d->modrm & 0x38) < 0x10)
		return op->opcode == 0xf6 ? I1 : IZ;
	return NONE;
}

static enum x86_flow flow_of_one(const struct decoder *d, uint8_t opcode)
{
	switch (opcode) {
	case 0xe8:
		return X86_CALL;
	case 0xe9:
	case 0xeb:
		return X86_JUMP;
	case 0xc2:
	case 0xc3:
	case 0xca:
	case 0xcb:
	case 0xcf:
		return X86_RETURN;
	case 0xcc:
	case 0xf1:
	case 0xf4:
		return X86_STOP;
	case 0xe0:
	case 0xe1:
	case 0xe2:
	case 0xe3:
		return X86_BRANCH;
	case 0xff: {
		unsigned which = d->modrm >> 3 & 7;
		return which == 2 || which == 3   ? X86_CALL_INDIRECT
		       : which == 4 || which == 5 ? X86_JUMP_INDIRECT
		                                  : X86_NEXT;
	}
	default:
		return opcode >= 0x70 && opcode <= 0x7f ? X86_BRANCH : X86_NEXT;
	}
}

static enum x86_flow flow_of(const struct decoder *d, const struct operation *op)
{
	if (op->map == 0)
		return flow_of_one(d, op->opcode);
	if (op->map != 1)
		return X86_NEXT;
	if (op->opcode >= 0x80 && op->opcode <= 0x8f)
		return X86_BRANCH;
	return op->opcode == 0x0b || op->opcode == 0xb9 || op->opcode == 0xff ? X86_STOP : X86_NEXT;
}

static bool is_nop(const struct decoder *d, const struct operation *op)
{
	return (op->map == 0 && op->opcode == 0x90 && !(d->rex & 1)) ||
	       (op->map == 1 && op->opcode == 0x1f);
}

bool x86_decode(const uint8_t *code, size_t size, struct x86 *out)
{
	struct decoder d = { .code = code, .size = size };
	struct x86 x = { 0 };

	read_prefixes(&d);
	struct operation op = read_operation(&d);
	x.opcode = (uint8_t)(d.at - 1);
	if (op.form & M)
		read_modrm(&d, &x);
	// "mov" alone has a second meaning there, xbegin, whose immediate is a branch.
	bool transaction = op.map == 0 && op.opcode == 0xc7 && d.modrm == 0xf8;
	if (op.form & (R1 | RZ) || transaction)
		read_branch(&d, op.form, &x);
	else
		d.at += immediate_bytes(&d, op.form | group_form(&d, &op));
	if (d.bad || op.form & BAD || d.at > size || d.at > X86_LENGTH_MAX)
		return false;
	x.length = (uint8_t)d.at;
	x.flow = transaction ? X86_BRANCH : (uint8_t)flow_of(&d, &op);
	x.nop = is_nop(&d, &op);
	*out = x;
	return true;
}

uint64_t x86_target(const struct x86 *x, const uint8_t *code, uint64_t address)
{
	int32_t wide;

	if (x->relative_size == 1)
		return address + x->length + (uint64_t)(int64_t)(int8_t)code[x->relative_at];
	memcpy(&wide, code + x->relative_at, sizeof(wide));
	return address + x->length + (uint64_t)(int64_t)wide;
}

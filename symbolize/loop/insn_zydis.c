// SPDX-License-Identifier: MIT
#include "symbolize/loop/insn.h"

#include <string.h>
#include <Zydis/Zydis.h>

#define BIT(reg)  (UINT64_C(1) << (reg))
#define OPERANDS  10
#define NAME_SIZE 24

// What decoding one instruction takes, and what both versions of the library call differently.
struct decoded {
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[OPERANDS];
	size_t count;
	char name[NAME_SIZE]; // of the mnemonic, in small letters
};

const char *insn_decoder(void)
{
	return "Zydis";
}

static bool decode(const uint8_t *code, size_t size, struct decoded *d)
{
	ZydisDecoder decoder;

#ifdef ZYDIS_4
	ZydisDecodedOperand all[ZYDIS_MAX_OPERAND_COUNT];
	if (ZYAN_FAILED(
		    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, code, size, &d->insn, all)))
		return false;
#else
	if (ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
	                                 ZYDIS_ADDRESS_WIDTH_64)) ||
	    ZYAN_FAILED(ZydisDecoderDecodeBuffer(&decoder, code, size, &d->insn)))
		return false;
	const ZydisDecodedOperand *all = d->insn.operands;
#endif
	d->count = d->insn.operand_count < OPERANDS ? d->insn.operand_count : OPERANDS;
	memcpy(d->operands, all, d->count * sizeof(*all));
	const char *name = ZydisMnemonicGetString(d->insn.mnemonic);
	size_t length = name ? strnlen(name, NAME_SIZE - 1) : 0;
	if (length)
		memcpy(d->name, name, length);
	d->name[length] = '\0';
	return true;
}

static uint8_t number_of(ZydisRegister reg)
{
	ZydisRegisterClass kind = ZydisRegisterGetClass(reg);

	if (reg == ZYDIS_REGISTER_NONE || reg == ZYDIS_REGISTER_RIP)
		return INSN_NO_REG;
	switch (kind) {
	case ZYDIS_REGCLASS_GPR8:
	case ZYDIS_REGCLASS_GPR16:
	case ZYDIS_REGCLASS_GPR32:
	case ZYDIS_REGCLASS_GPR64:
		reg = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
		return (uint8_t)(ZydisRegisterGetId(reg) & 15);
	case ZYDIS_REGCLASS_XMM:
	case ZYDIS_REGCLASS_YMM:
	case ZYDIS_REGCLASS_ZMM:
		return (uint8_t)(INSN_VECTOR + (ZydisRegisterGetId(reg) & 31));
	case ZYDIS_REGCLASS_MASK:
		return (uint8_t)(INSN_MASK + (ZydisRegisterGetId(reg) & 7));
	case ZYDIS_REGCLASS_X87:
	case ZYDIS_REGCLASS_MMX:
		return INSN_X87;
	case ZYDIS_REGCLASS_FLAGS:
		return INSN_FLAGS;
	case ZYDIS_REGCLASS_IP:
		return INSN_NO_REG;
	default:
		return INSN_OTHER;
	}
}

static bool is_vector(uint8_t reg)
{
	return reg >= INSN_VECTOR && reg < INSN_VECTOR + INSN_VECTORS;
}

static void take_register(const ZydisDecodedOperand *operand, struct insn *out)
{
	uint8_t reg = number_of(operand->reg.value);

	if (reg == INSN_NO_REG)
		return;
	if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
		out->reads |= BIT(reg);
	if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		out->writes |= BIT(reg);
	// What is written in part, or perhaps, is still what it was otherwise.
	if ((operand->actions & ZYDIS_OPERAND_ACTION_CONDWRITE) ||
	    (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE && reg < INSN_VECTOR &&
	     operand->size < 32))
		out->reads |= BIT(reg);
	if (is_vector(reg) && operand->size / 8 > out->vector_bytes)
		out->vector_bytes = (uint16_t)(operand->size / 8);
}

static void take_memory(const struct decoded *d, const ZydisDecodedOperand *operand,
                        struct insn *out)
{
	struct insn_memory memory = {
		.base = number_of(operand->mem.base),
		.index = number_of(operand->mem.index),
		.scale = operand->mem.scale,
		.bytes = (uint16_t)(operand->size / 8),
		.displacement = operand->mem.disp.value,
		.elsewhere = operand->mem.segment == ZYDIS_REGISTER_FS ||
		             operand->mem.segment == ZYDIS_REGISTER_GS,
	};
	bool reads = operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
	bool writes = operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;

	memory.elsewhere |= is_vector(memory.index); // gather and scatter: as many places as lanes
	if (operand->mem.base == ZYDIS_REGISTER_RIP)
		memory.displacement += out->at + d->insn.length;
	if (memory.base != INSN_NO_REG)
		out->reads |= BIT(memory.base);
	if (memory.index != INSN_NO_REG)
		out->reads |= BIT(memory.index);
	if (operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN) {
		out->memory = memory;
		return;
	}
	out->more_memory |= out->loads || out->stores;
	out->loads |= reads;
	out->stores |= writes;
	out->memory = memory;
}

static bool is_named(const struct decoded *d, const char *names)
{
	const char *at = names;
	size_t length = strlen(d->name);

	while ((at = strstr(at, d->name))) {
		if ((at == names || at[-1] == ' ') && (!at[length] || at[length] == ' '))
			return true;
		at += length;
	}
	return false;
}

static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

static void take_fused(const struct decoded *d, const char *name, struct insn *out)
{
	const char *digits = name + strcspn(name, "123");
	int addend = begins(digits, "132") ? 1 : begins(digits, "213") ? 2 : 0;

	out->addend = INSN_NO_REG;
	if ((size_t)addend < d->count && d->operands[addend].type == ZYDIS_OPERAND_TYPE_REGISTER)
		out->addend = number_of(d->operands[addend].reg.value);
}

// "vaddsd" is "add" and "sd".
static void take_math(const struct decoded *d, struct insn *out)
{
	static const struct {
		const char *name;
		enum insn_math math;
		bool divides;
	} table[] = {
		{ "add", INSN_MATH_ADD, false },      { "sub", INSN_MATH_ADD, false },
		{ "min", INSN_MATH_ADD, false },      { "max", INSN_MATH_ADD, false },
		{ "mul", INSN_MATH_MULTIPLY, false }, { "div", INSN_MATH_OTHER, true },
		{ "sqrt", INSN_MATH_OTHER, true },    { "fmadd", INSN_MATH_FUSED, false },
		{ "fmsub", INSN_MATH_FUSED, false },  { "fnmadd", INSN_MATH_FUSED, false },
		{ "fnmsub", INSN_MATH_FUSED, false },
	};
	const char *name = d->name + (d->name[0] == 'v');
	size_t length = strlen(name);
	const char *suffix = length > 2 ? name + length - 2 : "";
	bool one = strcmp(suffix, "ss") == 0 || strcmp(suffix, "sd") == 0;
	bool many = strcmp(suffix, "ps") == 0 || strcmp(suffix, "pd") == 0;

	if (!out->vector_bytes)
		return;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]) && (one || many); i++) {
		size_t skip = strlen(table[i].name);
		if (!begins(name, table[i].name) ||
		    (name + skip != suffix && table[i].math != INSN_MATH_FUSED))
			continue;
		out->math = (uint8_t)table[i].math;
		out->divides = table[i].divides;
		out->float_bytes = suffix[1] == 'd' ? 8 : 4;
		out->scalar = one;
		out->packed = many;
		if (table[i].math == INSN_MATH_FUSED)
			take_fused(d, name, out);
		return;
	}
	// Arithmetic of integers in vectors: padd, psub, pmull …; no moves or shuffles.
	static const char *const packed[] = { "padd",   "psub", "pmul", "pmadd", "pand", "por",
		                              "pxor",   "pmin", "pmax", "pavg",  "psad", "pcmpeq",
		                              "pcmpgt", "psll", "psrl", "psra",  "pabs" };
	for (size_t i = 0; i < sizeof(packed) / sizeof(packed[0]); i++)
		out->packed |= begins(name, packed[i]);
}

static bool is_register(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER;
}

static bool is_immediate(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

static void take_source(const ZydisDecodedOperand *operand, struct insn *out)
{
	if (is_register(operand))
		out->src = number_of(operand->reg.value);
	if (is_immediate(operand)) {
		out->has_imm = true;
		out->imm = operand->imm.value.s;
	}
}

// A register that is written whole, as 32 bits are, too.
static uint8_t whole_register(const ZydisDecodedOperand *operand)
{
	if (!is_register(operand))
		return INSN_NO_REG;
	uint8_t reg = number_of(operand->reg.value);
	return reg < INSN_VECTOR && operand->size < 32 ? INSN_NO_REG : reg;
}

static void set_op(struct insn *out, enum insn_op op, uint8_t dst)
{
	out->op = (uint8_t)op;
	out->dst = dst;
}

// "xor eax, eax": zero, whatever it was.
static bool take_zero(const struct decoded *d, uint8_t dst, struct insn *out)
{
	bool three = d->name[0] == 'v';
	size_t first = three ? 1 : 0, second = three ? 2 : 1;

	if (!is_named(d, "xor sub xorps xorpd pxor vxorps vxorpd vpxor vpxord vpxorq") ||
	    d->count <= second || !is_register(&d->operands[first]) ||
	    !is_register(&d->operands[second]) ||
	    d->operands[first].reg.value != d->operands[second].reg.value)
		return false;
	set_op(out, INSN_OP_MOVE, dst);
	out->has_imm = true;
	out->reads = 0;
	out->packed = false;
	return true;
}

// DST = DST + SRC, and DST = SRC * IMM; true if it is one of these.
static bool take_sum(const struct decoded *d, uint8_t dst, struct insn *out)
{
	const ZydisDecodedOperand *operands = d->operands;

	if (is_named(d, "inc dec")) {
		set_op(out, INSN_OP_ADD, dst);
		out->has_imm = true;
		out->imm = d->name[0] == 'i' ? 1 : -1;
	} else if (is_named(d, "add sub") && !out->loads) {
		bool subtract = d->name[0] == 's';
		take_source(&operands[1], out);
		set_op(out, subtract && !out->has_imm ? INSN_OP_SUBTRACT : INSN_OP_ADD, dst);
		if (subtract)
			out->imm = (int64_t)(0 - (uint64_t)out->imm);
	} else if (is_named(d, "shl") && is_immediate(&operands[1])) {
		set_op(out, INSN_OP_SCALE, dst);
		out->src = dst;
		out->has_imm = true;
		unsigned most = operands[0].size == 64 ? 63 : 31;
		out->imm = (int64_t)(UINT64_C(1) << (operands[1].imm.value.u & most));
	} else if (is_named(d, "imul") && d->count > 2 && is_immediate(&operands[2]) &&
	           !out->loads) {
		set_op(out, INSN_OP_SCALE, dst);
		take_source(&operands[1], out);
		out->has_imm = true;
		out->imm = operands[2].imm.value.s;
	} else {
		return false;
	}
	return true;
}

static void take_op(const struct decoded *d, struct insn *out)
{
	const ZydisDecodedOperand *operands = d->operands;
	uint8_t dst = d->count ? whole_register(&operands[0]) : INSN_NO_REG;

	out->dst = out->src = INSN_NO_REG;
	if (dst == INSN_NO_REG || out->stores || take_zero(d, dst, out))
		return;
	// Scalar moves between registers keep a part of what was there.
	if (is_named(d, "mov movsxd movaps movapd movups movupd movdqa movdqu movd movq vmovaps "
	                "vmovapd vmovups vmovupd vmovdqa vmovdqu vmovd vmovq") ||
	    (is_named(d, "movss movsd vmovss vmovsd") && out->loads)) {
		set_op(out, INSN_OP_MOVE, dst);
		take_source(&operands[1], out);
	} else if (is_named(d, "lea") && out->memory.scale <= 8) {
		set_op(out, INSN_OP_LEA, dst);
	} else if (d->insn.meta.category == ZYDIS_CATEGORY_CMOV) {
		set_op(out, INSN_OP_SELECT, dst);
		take_source(&operands[1], out);
	} else {
		take_sum(d, dst, out);
	}
}

static void take_flow(const struct decoded *d, struct insn *out)
{
	const ZydisDecodedOperand *first = &d->operands[0];
	bool direct = d->count && is_immediate(first) && first->imm.is_relative;

	switch (d->insn.meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		out->flow = direct ? INSN_BRANCH : INSN_END;
		break;
	case ZYDIS_CATEGORY_UNCOND_BR:
		out->flow = direct ? INSN_JUMP : INSN_AWAY;
		break;
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_SYSCALL:
		out->flow = INSN_CALL;
		break;
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_INTERRUPT:
		out->flow = INSN_END;
		break;
	default:
		out->flow = is_named(d, "ud0 ud1 ud2 hlt int3 xbegin") ? INSN_END : INSN_NEXT;
		break;
	}
	if (direct)
		out->target = (int64_t)out->at + out->length + first->imm.value.s;
}

static void take_kind(const struct decoded *d, struct insn *out)
{
	static const char integers[] =
		"add sub inc dec adc sbb neg not and or xor shl shr sar rol ror "
		"imul mul lea andn bswap popcnt lzcnt tzcnt shlx shrx sarx mulx";

	out->nothing = is_named(d, "nop xchg data16") && !out->writes;
	out->waits = is_named(d, "pause tpause umwait");
	out->atomic =
		(d->insn.attributes & ZYDIS_ATTRIB_HAS_LOCK) || (is_named(d, "xchg") && out->loads);
	out->compares = is_named(d, "cmp test comiss comisd ucomiss ucomisd vcomiss vcomisd "
	                            "vucomiss vucomisd");
	out->integer = is_named(d, integers);
	out->associates = is_named(d, "add sub and or xor inc dec");
	if (is_named(d, "div idiv")) {
		out->divides = true;
		if (d->count && is_register(&d->operands[0]))
			out->divisor = number_of(d->operands[0].reg.value);
	}
}

bool insn_decode(const uint8_t *code, size_t size, uint32_t at, struct insn *out)
{
	struct decoded d;

	if (at >= size || !decode(code + at, size - at, &d))
		return false;
	*out = (struct insn){ .at = at,
		              .length = d.insn.length,
		              .addend = INSN_NO_REG,
		              .divisor = INSN_NO_REG,
		              .memory = { .base = INSN_NO_REG, .index = INSN_NO_REG } };
	for (size_t i = 0; i < d.count; i++) {
		if (is_register(&d.operands[i]))
			take_register(&d.operands[i], out);
		else if (d.operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			take_memory(&d, &d.operands[i], out);
	}
	take_flow(&d, out);
	take_math(&d, out);
	take_kind(&d, out);
	take_op(&d, out);
	if (out->nothing) {
		// The memory that a long nop names is not read.
		out->loads = out->stores = out->more_memory = false;
		out->memory = (struct insn_memory){ .base = INSN_NO_REG, .index = INSN_NO_REG };
		out->reads = 0;
	}
	return true;
}

// SPDX-License-Identifier: MIT
/*
 * x86_oracle FILE…: every instruction in the code of these ELF files, as base/x86.c
 * and as Zydis has it. What Zydis does not know is left out; what we alone do not know, is counted.
 * Files that have data among their code are not for this.
 */
#include "base/x86.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <Zydis/Zydis.h>

#define REFUSED_SHARE 100000 // of as many instructions one may be unknown to us alone

static struct {
	size_t all, differ, refused;
} count;

static enum x86_flow flow_of(const ZydisDecodedInstruction *z, bool direct)
{
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_INT1:
	case ZYDIS_MNEMONIC_INT3:
		return X86_STOP;
	case ZYDIS_MNEMONIC_XBEGIN:
		return X86_BRANCH;
	case ZYDIS_MNEMONIC_XEND:
	case ZYDIS_MNEMONIC_XABORT:
		return X86_NEXT;
	default:
		break;
	}
	switch (z->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return X86_BRANCH;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return direct ? X86_JUMP : X86_JUMP_INDIRECT;
	case ZYDIS_CATEGORY_CALL:
		return direct ? X86_CALL : X86_CALL_INDIRECT;
	case ZYDIS_CATEGORY_RET:
		return X86_RETURN;
	default:
		return X86_NEXT;
	}
}

static struct x86 theirs(const ZydisDecodedInstruction *z)
{
	bool relative = (z->attributes & ZYDIS_ATTRIB_IS_RELATIVE) != 0;
	bool memory = relative && z->raw.disp.size == 32 && z->raw.modrm.offset &&
	              z->raw.modrm.mod == 0 && z->raw.modrm.rm == 5;
	struct x86 x = { .length = z->length, .memory = memory };

	if (memory) {
		x.relative_at = z->raw.disp.offset;
		x.relative_size = 4;
	} else if (relative) {
		x.relative_at = z->raw.imm[0].offset;
		x.relative_size = z->raw.imm[0].size / 8;
	}
	x.flow = (uint8_t)flow_of(z, relative && !memory);
	return x;
}

static void say(const char *what, const uint8_t *code, size_t length)
{
	printf("%s:", what);
	for (size_t i = 0; i < length; i++)
		printf(" %02x", code[i]);
	printf("\n");
}

static void compare(const uint8_t *code, size_t left, const ZydisDecodedInstruction *z)
{
	struct x86 want = theirs(z), got;

	count.all++;
	if (!x86_decode(code, left, &got)) {
		if (count.refused++ < 10)
			say("unknown", code, z->length);
		return;
	}
	if (got.length == want.length && got.flow == want.flow && got.memory == want.memory &&
	    got.relative_at == want.relative_at && got.relative_size == want.relative_size)
		return;
	if (count.differ++ < 10)
		say("differs", code, z->length);
}

static void walk(const ZydisDecoder *decoder, const uint8_t *at, const uint8_t *end)
{
	while (at < end) {
		ZydisDecodedInstruction z;
		ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
		size_t left = end - at < X86_LENGTH_MAX ? (size_t)(end - at) : X86_LENGTH_MAX;
		if (ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder, at, left, &z, operands))) {
			compare(at, left, &z);
			at += z.length;
		} else {
			at++;
		}
	}
}

static void walk_file(const ZydisDecoder *decoder, const char *path)
{
	struct stat status;
	int fd = open(path, O_RDONLY);

	if (fd < 0 || fstat(fd, &status) < 0)
		return;
	const uint8_t *file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file == MAP_FAILED)
		return;
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)file;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(file + e->e_shoff);
	for (int i = 0; i < e->e_shnum; i++)
		if (sections[i].sh_type == SHT_PROGBITS && sections[i].sh_flags & SHF_EXECINSTR)
			walk(decoder, file + sections[i].sh_offset,
			     file + sections[i].sh_offset + sections[i].sh_size);
}

int main(int argc, char **argv)
{
	ZydisDecoder decoder;

	if (!ZYAN_SUCCESS(
		    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		return 1;
	for (int i = 1; i < argc; i++)
		walk_file(&decoder, argv[i]);
	printf("%zu instructions: %zu differ, %zu are unknown to us alone\n", count.all,
	       count.differ, count.refused);
	return count.all < 100000 || count.differ || count.refused * REFUSED_SHARE > count.all;
}

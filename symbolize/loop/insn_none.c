// SPDX-License-Identifier: MIT
// For builds without Zydis, and for machines other than x86-64.
#include "symbolize/loop/insn.h"

const char *insn_decoder(void)
{
	return NULL;
}

bool insn_decode(const uint8_t *code, size_t size, uint32_t at, struct insn *out)
{
	(void)code;
	(void)size;
	(void)at;
	(void)out;
	return false;
}

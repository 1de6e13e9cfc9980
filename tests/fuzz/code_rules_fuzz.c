// SPDX-License-Identifier: MIT
// Code of any kind, as the unwinder reads it of a process: following it ends, and what comes out
// can be followed.
//
// Behind the input lie returns, or of one input in LONG_EVERY, which its hash draws, nops up to the
// end of what can be read: to follow those takes a hundred times as long as to follow most inputs.
#include "base/hash.h"
#include "base/record.h"
#include "sampler/unwind/code_rules.h"

#include <stdlib.h>
#include <string.h>

#define BASE       UINT64_C(0x7f0000000ff0)
#define LONG_EVERY 64
#define NOP        0x90
#define RETURN     0xc3

struct code {
	const uint8_t *data;
	size_t size;
	uint8_t rest;
};

static bool read_code(void *context, uint64_t address, void *to, size_t size)
{
	const struct code *code = context;
	uint64_t start = BASE & ~(uint64_t)(REMOTE_PAGE - 1);

	if (address < start || address - start > 8 * REMOTE_PAGE)
		return false;
	memset(to, code->rest, size);
	uint64_t first = address > BASE ? address : BASE;
	uint64_t end = address + size < BASE + code->size ? address + size : BASE + code->size;
	if (first < end)
		memcpy((uint8_t *)to + (first - address), code->data + (first - BASE), end - first);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct code_rules *rules;
	uint8_t rest = hash_bytes(data, size) % LONG_EVERY ? RETURN : NOP;
	struct code code = { data, size, rest };

	if (!rules && !(rules = code_rules_new()))
		return 0;
	struct cfi_rule rule = code_rules_read(rules, BASE, read_code, &code);
	bool known = rule.cfa == CFI_NO_RULE || rule.cfa == CFI_RSP || rule.cfa == CFI_RBP ||
	             rule.cfa == CFI_REGISTER || rule.cfa == CFI_RSP_MEMORY ||
	             rule.cfa == CFI_RBP_MEMORY;
	if (!known || rule.rbp > CFI_RBP_AT_RBP ||
	    (rule.cfa == CFI_REGISTER && rule.add >= DWARF_RIP))
		abort();
	return 0;
}

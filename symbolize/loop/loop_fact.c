// SPDX-License-Identifier: MIT
#include "symbolize/loop/loop_fact.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define MEASURED UINT32_C(2) /* a bit of a stride's detail, as text */

static const char *const names[LOOP_KINDS] = {
	[LOOP_WAIT] = "wait",     [LOOP_CHASE] = "chase",
	[LOOP_DIVIDE] = "divide", [LOOP_STRIDE] = "stride",
	[LOOP_SEARCH] = "search", [LOOP_COPY] = "copy",
	[LOOP_SUM] = "sum",       [LOOP_SCALAR] = "scalar",
	[LOOP_NARROW] = "narrow", [LOOP_SUBNORMAL] = "subnormal",
	[LOOP_SHARED] = "shared",
};

const char *loop_kind_name(enum loop_kind kind)
{
	return (unsigned)kind < LOOP_KINDS ? names[kind] : NULL;
}

bool loop_fact_print(const struct loop_fact *fact, char *buffer, size_t size)
{
	const char *name = loop_kind_name(fact->kind);
	uint32_t detail = fact->detail | (fact->measured ? MEASURED : 0);
	int length =
		name ? snprintf(buffer, size, "%s %" PRIu64 " %" PRIu32 " %" PRIu32 " %s", name,
	                        fact->bytes, detail, fact->line, fact->file ? fact->file : "")
		     : -1;

	return length > 0 && (size_t)length < size;
}

static bool take_number(const char **at, uint64_t most, uint64_t *number)
{
	int length = 0;

	if (**at < '0' || **at > '9' || sscanf(*at, "%19" SCNu64 "%n", number, &length) != 1 ||
	    (*at)[length] != ' ' || *number > most)
		return false;
	*at += length + 1;
	return true;
}

bool loop_fact_parse(const char *text, struct loop_fact *fact)
{
	size_t length = text ? strcspn(text, " ") : 0;
	struct loop_fact found = { 0 };
	uint64_t detail, line;

	for (int kind = 1; kind < LOOP_KINDS && text && text[length]; kind++)
		if (strlen(names[kind]) == length && strncmp(text, names[kind], length) == 0)
			found.kind = (enum loop_kind)kind;
	if (!found.kind)
		return false;
	text += length + 1;
	if (!take_number(&text, INT64_MAX, &found.bytes) ||
	    !take_number(&text, UINT32_MAX, &detail) || !take_number(&text, INT_MAX, &line))
		return false;
	found.measured = found.kind == LOOP_STRIDE && detail & MEASURED;
	found.detail = (uint32_t)detail & ~(found.measured ? MEASURED : 0);
	found.line = (uint32_t)line;
	found.file = *text ? text : NULL;
	*fact = found;
	return true;
}

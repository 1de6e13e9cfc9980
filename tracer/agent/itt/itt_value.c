// SPDX-License-Identifier: MIT
#include "tracer/agent/itt/itt_value.h"

#include <string.h>

const struct itt_value_type itt_value_types[] = {
	[ITT_U64] = { 8, OP_DETAIL_UNSIGNED }, [ITT_S64] = { 8, OP_DETAIL_SIGNED },
	[ITT_U32] = { 4, OP_DETAIL_UNSIGNED }, [ITT_S32] = { 4, OP_DETAIL_SIGNED },
	[ITT_U16] = { 2, OP_DETAIL_UNSIGNED }, [ITT_S16] = { 2, OP_DETAIL_SIGNED },
	[ITT_FLOAT] = { 4, OP_DETAIL_DOUBLE }, [ITT_DOUBLE] = { 8, OP_DETAIL_DOUBLE },
};

uint64_t itt_value(const char *at, struct itt_value_type type)
{
	int unused = 64 - 8 * type.bytes;
	uint64_t value = 0;
	float narrow;
	double real;

	memcpy(&value, at, type.bytes);
	if (type.detail == OP_DETAIL_SIGNED)
		return (uint64_t)((int64_t)(value << unused) >> unused);
	if (type.detail != OP_DETAIL_DOUBLE || type.bytes == 8)
		return value;
	memcpy(&narrow, at, sizeof(narrow));
	real = (double)narrow;
	memcpy(&value, &real, sizeof(value));
	return value;
}

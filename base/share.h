/* SPDX-License-Identifier: MIT */
/* A part of a whole: 0 where there is no whole. No state, any thread. */
#pragma once

#include <stdint.h>

/* 0 to 1, or above where PART is no part of ALL. */
static inline double share_of(uint64_t part, uint64_t all)
{
	return all ? (double)part / (double)all : 0;
}

/* The same in per cent. */
static inline double percent_of(uint64_t part, uint64_t all)
{
	return all ? 100 * (double)part / (double)all : 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Criterion's cr_assert() and cr_expect(), with its comparisons by type, as calls: what
 * <criterion/new/assert.h> expands each of them to takes longer to compile than most tests.
 *
 *	cr_expect(eq(u64, cell_ns(&cell), 3));
 *	cr_assert(not(eq(ptr, row, NULL)), "no row is called %s", name);
 *
 * A comparison that is false remembers what it compared, for the message of the assertion around it
 * in the same thread.
 */
#pragma once

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum expect_is {
	EXPECT_EQ,
	EXPECT_NE,
	EXPECT_LT,
	EXPECT_LE,
	EXPECT_GT,
	EXPECT_GE
};

#define eq(TYPE, ACTUAL, EXPECTED) expect_##TYPE(EXPECT_EQ, ACTUAL, EXPECTED)
#define ne(TYPE, ACTUAL, EXPECTED) expect_##TYPE(EXPECT_NE, ACTUAL, EXPECTED)
#define lt(TYPE, ACTUAL, EXPECTED) expect_##TYPE(EXPECT_LT, ACTUAL, EXPECTED)
#define le(TYPE, ACTUAL, EXPECTED) expect_##TYPE(EXPECT_LE, ACTUAL, EXPECTED)
#define gt(TYPE, ACTUAL, EXPECTED) expect_##TYPE(EXPECT_GT, ACTUAL, EXPECTED)
#define ge(TYPE, ACTUAL, EXPECTED) expect_##TYPE(EXPECT_GE, ACTUAL, EXPECTED)
#define not(CONDITION) (!(CONDITION))
/* Within EPSILON; or with no more than ULPS numbers between. */
#define epsilon_eq(TYPE, ACTUAL, EXPECTED, EPSILON) expect_near_##TYPE(ACTUAL, EXPECTED, EPSILON)
#define ieee_ulp_eq(TYPE, ACTUAL, EXPECTED, ULPS)   expect_ulps_##TYPE(ACTUAL, EXPECTED, ULPS)

/* A name of a type in those, and what it is. */
#define EXPECT_TYPES(X)                                                                            \
	X(chr, char)                                                                               \
	X(u8, uint8_t)                                                                             \
	X(i8, int8_t)                                                                              \
	X(u16, uint16_t)                                                                           \
	X(i16, int16_t)                                                                            \
	X(u32, uint32_t)                                                                           \
	X(i32, int32_t)                                                                            \
	X(u64, uint64_t)                                                                           \
	X(i64, int64_t)                                                                            \
	X(int, int)                                                                                \
	X(uint, unsigned)                                                                          \
	X(long, long)                                                                              \
	X(ulong, unsigned long)                                                                    \
	X(sz, size_t)                                                                              \
	X(dbl, double)                                                                             \
	X(ptr, const void *)                                                                       \
	X(str, const char *) /* NULL: equal to NULL alone, and before all others */

#define EXPECT_DECLARE(NAME, TYPE)                                                                 \
	bool expect_##NAME(enum expect_is is, TYPE actual, TYPE expected);
EXPECT_TYPES(EXPECT_DECLARE)
#undef EXPECT_DECLARE

bool expect_near_dbl(double actual, double expected, double epsilon);
bool expect_ulps_dbl(double actual, double expected, uint64_t ulps);
bool expect_ulps_flt(float actual, float expected, uint32_t ulps);

/* Fails the test, with a message for people: it goes on, or ends. WORDS: the condition. */
__attribute__((format(printf, 4, 5))) void
expect_failed(const char *file, int line, const char *words, const char *format, ...);
__attribute__((noreturn, format(printf, 4, 5))) void
assert_failed(const char *file, int line, const char *words, const char *format, ...);

/* CONDITION, then a format and its arguments, or nothing. */
#undef cr_expect
#define cr_expect(CONDITION, ...)                                                                  \
	((CONDITION) ? (void)0 : expect_failed(__FILE__, __LINE__, #CONDITION, " " __VA_ARGS__))
#undef cr_assert
#define cr_assert(CONDITION, ...)                                                                  \
	((CONDITION) ? (void)0 : assert_failed(__FILE__, __LINE__, #CONDITION, " " __VA_ARGS__))
/* A format and its arguments. */
#undef cr_fatal
#define cr_fatal(...) assert_failed(__FILE__, __LINE__, "the test fails", " " __VA_ARGS__)

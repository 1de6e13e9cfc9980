// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"

#undef cr_expect
#undef cr_assert
#undef cr_fatal
#include <criterion/new/assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char compared[8192]; // by the last comparison that was false

__attribute__((format(printf, 2, 3))) static bool remember(bool holds, const char *format, ...)
{
	va_list args;

	compared[0] = '\0';
	if (holds)
		return true;
	va_start(args, format);
	vsnprintf(compared, sizeof(compared), format, args);
	va_end(args);
	return false;
}

static bool order_is(enum expect_is is, int order)
{
	switch (is) {
	case EXPECT_EQ:
		return order == 0;
	case EXPECT_NE:
		return order != 0;
	case EXPECT_LT:
		return order < 0;
	case EXPECT_LE:
		return order <= 0;
	case EXPECT_GT:
		return order > 0;
	case EXPECT_GE:
		return order >= 0;
	}
	return false;
}

#define ORDER(A, B) (((A) > (B)) - ((A) < (B)))

static bool signed_is(enum expect_is is, int64_t actual, int64_t expected)
{
	return remember(order_is(is, ORDER(actual, expected)),
	                "actual: %" PRId64 ", expected: %" PRId64, actual, expected);
}

static bool unsigned_is(enum expect_is is, uint64_t actual, uint64_t expected)
{
	return remember(order_is(is, ORDER(actual, expected)),
	                "actual: %" PRIu64 ", expected: %" PRIu64, actual, expected);
}

#define SIGNED(NAME, TYPE)                                                                         \
	bool expect_##NAME(enum expect_is is, TYPE actual, TYPE expected)                          \
	{                                                                                          \
		return signed_is(is, actual, expected);                                            \
	}
SIGNED(chr, char)
SIGNED(i8, int8_t)
SIGNED(i16, int16_t)
SIGNED(i32, int32_t)
SIGNED(i64, int64_t)
SIGNED(int, int)
SIGNED(long, long)

#define UNSIGNED(NAME, TYPE)                                                                       \
	bool expect_##NAME(enum expect_is is, TYPE actual, TYPE expected)                          \
	{                                                                                          \
		return unsigned_is(is, actual, expected);                                          \
	}
UNSIGNED(u8, uint8_t)
UNSIGNED(u16, uint16_t)
UNSIGNED(u32, uint32_t)
UNSIGNED(u64, uint64_t)
UNSIGNED(uint, unsigned)
UNSIGNED(ulong, unsigned long)
UNSIGNED(sz, size_t)

bool expect_ptr(enum expect_is is, const void *actual, const void *expected)
{
	return remember(order_is(is, ORDER((uintptr_t)actual, (uintptr_t)expected)),
	                "actual: %p, expected: %p", actual, expected);
}

bool expect_str(enum expect_is is, const char *actual, const char *expected)
{
	int order = actual && expected ? strcmp(actual, expected) : !!actual - !!expected;

	return remember(order_is(is, order), "actual: %s%s%s\nexpected: %s%s%s", actual ? "\"" : "",
	                actual ? actual : "NULL", actual ? "\"" : "", expected ? "\"" : "",
	                expected ? expected : "NULL", expected ? "\"" : "");
}

// NaN is equal to nothing, and neither less nor greater.
bool expect_dbl(enum expect_is is, double actual, double expected)
{
	bool ordered = !isnan(actual) && !isnan(expected);

	return remember(ordered ? order_is(is, ORDER(actual, expected)) : is == EXPECT_NE,
	                "actual: %.17g, expected: %.17g", actual, expected);
}

bool expect_near_dbl(double actual, double expected, double epsilon)
{
	return remember(fabs(actual - expected) <= epsilon,
	                "actual: %.17g, expected: %.17g, give or take %g", actual, expected,
	                epsilon);
}

// Numbers of one sign are in the order of their bits.
static bool ulps_are(double actual, double expected, int64_t a, int64_t b, uint64_t ulps)
{
	uint64_t between = a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;

	return remember(!isnan(actual) && !isnan(expected) && between <= ulps,
	                "actual: %.17g, expected: %.17g, give or take %" PRIu64 " ulps", actual,
	                expected, ulps);
}

static int64_t place_of_dbl(double value)
{
	int64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits < 0 ? INT64_MIN - bits : bits;
}

static int64_t place_of_flt(float value)
{
	int32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits < 0 ? (int64_t)INT32_MIN - bits : bits;
}

bool expect_ulps_dbl(double actual, double expected, uint64_t ulps)
{
	return ulps_are(actual, expected, place_of_dbl(actual), place_of_dbl(expected), ulps);
}

bool expect_ulps_flt(float actual, float expected, uint32_t ulps)
{
	return ulps_are(actual, expected, place_of_flt(actual), place_of_flt(expected), ulps);
}

// What is said of a failure: the caller's words, the condition, and the values.
static void message_of(char *message, size_t size, const char *words, const char *format,
                       va_list args)
{
	char said[512];

	vsnprintf(said, sizeof(said), format, args);
	snprintf(message, size, "%s%s%s%s%s", words, strcmp(said, " ") == 0 ? "" : ":",
	         strcmp(said, " ") == 0 ? "" : said, *compared ? "\n" : "", compared);
	compared[0] = '\0';
}

void expect_failed(const char *file, int line, const char *words, const char *format, ...)
{
	char message[sizeof(compared) + 1024];
	va_list args;

	va_start(args, format);
	message_of(message, sizeof(message), words, format, args);
	va_end(args);
	cr_assert_fail_user(file, line, criterion_continue_test, "%s", message);
}

void assert_failed(const char *file, int line, const char *words, const char *format, ...)
{
	char message[sizeof(compared) + 1024];
	va_list args;

	va_start(args, format);
	message_of(message, sizeof(message), words, format, args);
	va_end(args);
	cr_assert_fail_user(file, line, criterion_abort_test, "%s", message);
	__builtin_unreachable();
}

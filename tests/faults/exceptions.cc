// SPDX-License-Identifier: MIT
// Exceptions for what happens all the time.
#include "fault.h"

#include <cstdio>
#include <stdexcept>

static const int rounds = 1600000;

static int checked(int value)
{
	if (value % 2)
		throw std::runtime_error("odd"); // fault: CPU-THROW
	return value;
}

static bool check(int value, int *out)
{
	*out = value;
	return value % 2 == 0;
}

void faulty(void)
{
	long even = 0, odd = 0;

	for (int i = 0; i < rounds; i++) {
		try {
			even += checked(i);
		} catch (const std::runtime_error &) {
			odd++;
		}
	}
	std::printf("%ld %ld\n", even, odd);
}

void healthy(void)
{
	long even = 0, odd = 0;

	for (int i = 0; i < rounds; i++) {
		int value;

		if (check(i, &value))
			even += value;
		else
			odd++;
	}
	std::printf("%ld %ld\n", even, odd);
}

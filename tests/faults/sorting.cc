// SPDX-License-Identifier: MIT
// All is sorted again after each number that comes.
#include "fault.h"

#include <algorithm>
#include <cstdio>
#include <vector>

static const int numbers = 6000;

static unsigned next(unsigned *seed)
{
	return *seed = *seed * 1664525 + 1013904223;
}

void faulty(void)
{
	std::vector<unsigned> values;
	unsigned long sum = 0;
	unsigned seed = 1;

	for (int i = 0; i < numbers; i++) {
		values.push_back(next(&seed));
		std::sort(values.begin(), values.end()); // fault: CPU-SORT
		sum += values[values.size() / 2];
	}
	std::printf("%lu\n", sum);
}

void healthy(void)
{
	std::vector<unsigned> values;
	unsigned long sum = 0;
	unsigned seed = 1;

	for (int i = 0; i < numbers; i++) {
		unsigned value = next(&seed);
		values.insert(std::upper_bound(values.begin(), values.end(), value), value);
		sum += values[values.size() / 2];
	}
	std::printf("%lu\n", sum);
}

// SPDX-License-Identifier: MIT
// A large vector that is passed by value, so copied for every call.
#include "fault.h"

#include <cstdio>
#include <vector>

static const int rounds = 10000;

__attribute__((noinline)) static double at_value(std::vector<double> numbers, std::size_t i)
{
	return numbers[i];
}

__attribute__((noinline)) static double at(const std::vector<double> &numbers, std::size_t i)
{
	return numbers[i];
}

void faulty(void)
{
	std::vector<double> numbers(200000, 2.0);
	double sum = 0;

	for (int i = 0; i < rounds; i++)
		sum += at_value(numbers, static_cast<std::size_t>(i)); // fault: MEM-COPY
	std::printf("%g\n", sum);
}

void healthy(void)
{
	std::vector<double> numbers(200000, 2.0);
	double sum = 0;

	for (int i = 0; i < rounds; i++)
		sum += at(numbers, static_cast<std::size_t>(i));
	std::printf("%g\n", sum);
}

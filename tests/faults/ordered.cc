// SPDX-License-Identifier: MIT
// A series is kept in a search tree, and only walked in its order.
#include "fault.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

static const int elements = 100000, rounds = 120;

static unsigned next(unsigned *seed)
{
	return *seed = *seed * 1664525 + 1013904223;
}

template <class Series>
__attribute__((noinline)) static unsigned long count(const Series &series, unsigned least)
{
	unsigned long sum = 0;

	for (const auto &element : series) // fault: CPU-TREE
		sum += element.second >= least;
	return sum;
}

template <class Series> static void walk(const Series &series)
{
	unsigned long sum = 0;

	for (int i = 0; i < rounds; i++)
		sum += count(series, i);
	std::printf("%lu\n", sum);
}

void faulty(void)
{
	std::map<unsigned, unsigned> series;
	unsigned seed = 1;

	for (int i = 0; i < elements; i++)
		series[next(&seed)] = i;
	walk(series);
}

void healthy(void)
{
	std::vector<std::pair<unsigned, unsigned>> series;
	unsigned seed = 1;

	for (int i = 0; i < elements; i++)
		series.emplace_back(next(&seed), i);
	std::sort(series.begin(), series.end());
	walk(series);
}

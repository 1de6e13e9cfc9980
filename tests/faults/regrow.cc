// SPDX-License-Identifier: MIT
// A vector whose elements may throw as they are moved, so that it copies all of them as it grows.
#include "fault.h"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

static const int count = 60000, rounds = 20;

template <bool NOEXCEPT> class Road
{
	std::string name;
	std::vector<double> points;

      public:
	explicit Road(int id) : name("a road with a long name"), points(8, id)
	{
	}
	Road(const Road &) = default;
	Road(Road &&other) noexcept(NOEXCEPT)
	    : name(std::move(other.name)), points(std::move(other.points))
	{
	}
	double length() const
	{
		double sum = static_cast<double>(name.size());

		for (int round = 0; round < 5; round++)
			for (double point : points)
				sum = sum * 0.5 + point;
		return sum;
	}
};

template <bool NOEXCEPT> __attribute__((noinline)) static double measure(const Road<NOEXCEPT> &road)
{
	return road.length();
}

// Roads come in one after the other, and go from round to round without a copy.
template <bool NOEXCEPT> static void build()
{
	std::vector<Road<NOEXCEPT>> roads;
	double sum = 0;

	roads.reserve(count);
	for (int id = 0; id < count; id++)
		roads.emplace_back(id);
	for (int round = 0; round < rounds; round++) {
		std::vector<Road<NOEXCEPT>> map;
		for (auto &road : roads)
			map.push_back(std::move(road)); // fault: MEM-REGROW
		for (const auto &road : map)
			sum += measure(road);
		roads.swap(map);
	}
	std::printf("%g\n", sum);
}

void faulty(void)
{
	build<false>();
}

void healthy(void)
{
	build<true>();
}

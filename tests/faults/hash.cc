// SPDX-License-Identifier: MIT
// Tiles of a map are kept by column and row, with a hash that is the same for hundreds of them, and
// with one that spreads them.
#include "fault.h"

#include <cstdint>
#include <cstdio>
#include <unordered_map>

#define SIDE    256
#define LOOKUPS 15000

struct tile {
	uint32_t column, row;
	bool operator==(const tile &other) const
	{
		return column == other.column && row == other.row;
	}
};

struct joined {
	size_t operator()(const tile &t) const
	{
		return t.column ^ t.row;
	}
};

struct spread {
	size_t operator()(const tile &t) const
	{
		uint64_t hash = ((uint64_t)t.column << 32 | t.row) * 0x9e3779b97f4a7c15;
		return hash ^ hash >> 32;
	}
};

template <typename hash> static void look_up(int rounds)
{
	std::unordered_map<tile, int, hash> tiles;
	long sum = 0;

	for (uint32_t row = 0; row < SIDE; row++)
		for (uint32_t column = 0; column < SIDE; column += 4)
			tiles[{ column, row }] = (int)(column + row);
	for (int round = 0; round < rounds; round++)
		for (uint32_t i = 0; i < LOOKUPS; i++) {
			const tile wanted = { i * 7919 % SIDE, i * 104729 % SIDE };
			auto found = tiles.find(wanted); // fault: CPU-CHASE
			sum += found == tiles.end() ? 1 : found->second;
		}
	std::printf("%ld\n", sum / rounds);
}

void faulty(void)
{
	look_up<joined>(60);
}

void healthy(void)
{
	look_up<spread>(60);
}

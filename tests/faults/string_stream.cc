// SPDX-License-Identifier: MIT
// Each line of a table is read by a stream of its own.
#include "fault.h"

#include <charconv>
#include <cstdio>
#include <sstream>
#include <string>

static const int lines = 2400000; // libstdc++ 14 makes a stream in a fifth of the time of 12

static std::string line(int i)
{
	return std::to_string(i) + " " + std::to_string(i % 7);
}

void faulty(void)
{
	long sum = 0;

	for (int i = 0; i < lines; i++) {
		long id = 0, count = 0;
		std::istringstream in(line(i)); // fault: CPU-STREAM
		in >> id >> count;
		sum += id * count;
	}
	std::printf("%ld\n", sum);
}

void healthy(void)
{
	long sum = 0;

	for (int i = 0; i < lines; i++) {
		long id = 0, count = 0;
		const std::string text = line(i);
		const char *end = text.data() + text.size();
		const char *at = std::from_chars(text.data(), end, id).ptr;
		std::from_chars(at + 1, end, count);
		sum += id * count;
	}
	std::printf("%ld\n", sum);
}

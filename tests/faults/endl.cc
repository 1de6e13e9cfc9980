// SPDX-License-Identifier: MIT
// std::endl, which flushes, where a newline is meant.
#include "fault.h"

#include <cstdio>
#include <fstream>

static const int lines = 2000000;

void faulty(void)
{
	std::ofstream file("/dev/null");

	for (int i = 0; i < lines; i++)
		file << i << std::endl; // fault: IO-TINY
}

void healthy(void)
{
	std::ofstream file("/dev/null");

	for (int i = 0; i < lines; i++)
		file << i << '\n';
}

// SPDX-License-Identifier: MIT
// A regular expression is built anew for every line that is matched.
#include "fault.h"

#include <cstdio>
#include <regex>
#include <string>

static const int lines = 8000;

static std::string line(int i)
{
	return "key" + std::to_string(i) + "=" + std::to_string(i % 7);
}

void faulty(void)
{
	int found = 0;

	for (int i = 0; i < lines; i++) {
		std::regex pattern("([a-z]+[0-9]*)=([0-6]|[a-f]+)"); // fault: CPU-REGEX
		found += std::regex_match(line(i), pattern);
	}
	std::printf("%d\n", found);
}

void healthy(void)
{
	std::regex pattern("([a-z]+[0-9]*)=([0-6]|[a-f]+)");
	int found = 0;

	for (int i = 0; i < lines; i++)
		found += std::regex_match(line(i), pattern);
	std::printf("%d\n", found);
}

// SPDX-License-Identifier: MIT
// Numbers are read from standard input through C's stdin, and without it.
#include "fault.h"

#include <charconv>
#include <cstdio>
#include <iostream>
#include <unistd.h>

static const int numbers = 4000000;

static void prepare(void)
{
	FILE *file = std::tmpfile();
	char text[16];

	for (int i = 0; i < numbers; i++) {
		char *end = std::to_chars(text, text + sizeof(text), i % 1003 * 997).ptr;
		*end++ = '\n';
		std::fwrite(text, 1, (std::size_t)(end - text), file);
	}
	std::rewind(file);
	dup2(fileno(file), STDIN_FILENO);
}

static void sum_up(void)
{
	long sum = 0, number;

	while (std::cin >> number) // fault: CPU-CIN
		sum += number;
	std::printf("%ld\n", sum);
}

void faulty(void)
{
	prepare();
	sum_up();
}

void healthy(void)
{
	std::ios::sync_with_stdio(false);
	prepare();
	sum_up();
}

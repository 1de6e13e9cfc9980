// SPDX-License-Identifier: MIT
// Debug messages are formatted in full before their level is looked at.
#include "fault.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#define ORDERS 600000

static bool debug, early;
static double book[4096];

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	char text[256];
	va_list arguments;

	if (early && !debug)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments); // fault: CPU-FORMAT
	va_end(arguments);
	if (debug)
		puts(text);
}

static void apply(unsigned order, double price)
{
	for (unsigned i = 0; i < 20; i++)
		book[(order + i) % 4096] += price * 0.001;
	say("order %u at %.6f: %.9g", order, price, book[order % 4096]);
}

static void run(unsigned rounds)
{
	for (unsigned round = 0; round < rounds; round++)
		for (unsigned i = 0; i < ORDERS; i++)
			apply(i, 100 + i % 977 * 0.01);
	puts(book[17] > 0 ? "up" : "down");
}

void faulty(void)
{
	run(1);
}

void healthy(void)
{
	early = true;
	run(80);
}

// SPDX-License-Identifier: MIT
// A list whose elements lie all over memory, and an array of the same.
#include "fault.h"

#include <stdio.h>
#include <stdlib.h>

#define ELEMENTS (1 << 17)
#define ROUNDS   200

struct element {
	struct element *next;
	long value;
	char name[48];
};

static struct element *elements;

__attribute__((noinline)) static unsigned long sum_list(const struct element *e)
{
	unsigned long sum = 0;

	while (e) { // fault: CPU-CHASE
		sum += (unsigned long)e->value;
		e = e->next;
	}
	return sum;
}

__attribute__((noinline)) static unsigned long sum_array(void)
{
	unsigned long sum = 0;

	for (int i = 0; i < ELEMENTS; i++)
		sum += (unsigned long)elements[i].value;
	return sum;
}

// Each element leads to one far away: the steps are odd, so all are visited.
static void link_all(void)
{
	unsigned at = 0;

	elements = calloc(ELEMENTS, sizeof(*elements));
	for (unsigned i = 0; elements && i < ELEMENTS; i++) {
		unsigned next = (at + 177573) % ELEMENTS;
		elements[at].value = (long)(at % 7);
		elements[at].next = i + 1 < ELEMENTS ? &elements[next] : NULL;
		at = next;
	}
}

void faulty(void)
{
	unsigned long sum = 0;

	link_all();
	for (int round = 0; elements && round < ROUNDS; round++)
		sum += sum_list(elements);
	printf("%lu\n", sum);
}

void healthy(void)
{
	unsigned long sum = 0;

	link_all();
	for (int round = 0; elements && round < ROUNDS; round++)
		sum += sum_array();
	printf("%lu\n", sum);
}

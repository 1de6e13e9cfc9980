// SPDX-License-Identifier: MIT
// A whole array is copied to change one element of it, again and again.
#include "fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT  (1 << 20)
#define ROUNDS 4000

static int *make(void)
{
	int *numbers = (int *)calloc(COUNT, sizeof(int));

	for (int i = 0; i < COUNT; i++)
		numbers[i] = i;
	return numbers;
}

void faulty(void)
{
	int *numbers = make(), *copy = make();

	for (int i = 0; i < ROUNDS; i++) {
		memcpy(copy, numbers, COUNT * sizeof(int)); // fault: MEM-COPY
		copy[i] += i;
		int *other = numbers;
		numbers = copy;
		copy = other;
	}
	printf("%d\n", numbers[ROUNDS - 1]);
	free(numbers);
	free(copy);
}

void healthy(void)
{
	int *numbers = make();

	for (int i = 0; i < ROUNDS; i++)
		numbers[i] += i;
	printf("%d\n", numbers[ROUNDS - 1]);
	free(numbers);
}

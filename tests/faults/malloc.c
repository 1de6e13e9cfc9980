// SPDX-License-Identifier: MIT
// Small buffers that are allocated and freed in the innermost loop.
#include "fault.h"

#include <stdio.h>
#include <stdlib.h>

#define ROUNDS     3500000
#define NODES      16
#define MAKE(type) ((type *)malloc(sizeof(type)))

struct node {
	struct node *next;
	int value;
};

static struct node *push(struct node *list, struct node *node, int value)
{
	node->next = list;
	node->value = value;
	return node;
}

static long sum_of(const struct node *list)
{
	long sum = 0;

	for (; list; list = list->next)
		sum += list->value;
	return sum;
}

void faulty(void)
{
	long sum = 0;

	for (int i = 0; i < ROUNDS; i++) {
		struct node *list = NULL;

		for (int k = 0; k < NODES; k++)
			list = push(list, MAKE(struct node), i + k); // fault: MEM-CHURN
		sum += sum_of(list);
		while (list) {
			struct node *next = list->next;

			free(list);
			list = next;
		}
	}
	printf("%ld\n", sum);
}

void healthy(void)
{
	struct node nodes[NODES];
	long sum = 0;

	for (int i = 0; i < ROUNDS; i++) {
		struct node *list = NULL;

		for (int k = 0; k < NODES; k++)
			list = push(list, &nodes[k], i + k);
		sum += sum_of(list);
	}
	printf("%ld\n", sum);
}

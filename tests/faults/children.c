// SPDX-License-Identifier: MIT
// A program is started for what a function call could do.
#include "fault.h"

#include <stdio.h>
#include <stdlib.h>

#define RUNS 1000

void faulty(void)
{
	long sum = 0;

	for (int i = 0; i < RUNS; i++) {
		char command[64], line[64] = "";

		snprintf(command, sizeof(command), "echo $((%d * 3))", i);
		FILE *pipe = popen(command, "r"); // fault: CPU-SPAWN
		if (pipe && fgets(line, sizeof(line), pipe))
			sum += atol(line);
		if (pipe)
			pclose(pipe);
	}
	printf("%ld\n", sum);
}

void healthy(void)
{
	long sum = 0;

	for (int i = 0; i < RUNS; i++)
		sum += i * 3;
	printf("%ld\n", sum);
}

// SPDX-License-Identifier: MIT
// Makes two functions at run time and names them in /tmp/perf-PID.map.
#include "truth.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* push %rbp; mov %rsp,%rbp; 1: imul %rax,%rax; dec %rdi; jnz 1b; pop %rbp; ret */
static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x0f, 0xaf, 0xc0,
	                              0x48, 0xff, 0xcf, 0x75, 0xf7, 0x5d, 0xc3 };

#define SPACING 256

static NOINLINE void run(void (*function)(uint64_t), uint64_t n)
{
	function(n);
	NOT_LAST();
}

int main(void)
{
	unsigned char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
	                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];

	if (memory == MAP_FAILED)
		return 1;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	FILE *map = fopen(path, "w");
	if (!map)
		return 1;
	for (int i = 0; i < 2; i++) {
		memcpy(memory + i * SPACING, code, sizeof(code));
		fprintf(map, "%llx %zx made_%s\n", (unsigned long long)(memory + i * SPACING),
		        sizeof(code), i ? "two" : "one");
	}
	fclose(map);
	uint64_t n = truth_steps(25);
	for (int round = truth_rounds(); round > 0; round--) {
		TRUTH("self", "made_one", 0, run((void (*)(uint64_t))memory, n));
		TRUTH("self", "made_two", 0, run((void (*)(uint64_t))(memory + SPACING), 2 * n));
	}
	truth_fact("least path", "main;run;made_one", 25);
	truth_print();
	return 0; // the map is the profiler's to read: the test removes it
}

/* SPDX-License-Identifier: MIT */
/*
 * What all goroutines of one process did at the same time: some of the looks at them, each of the
 * same chance where there are more than GOROUTINE_LOOKS_MAX. Who waits for whom follows from these,
 * once their functions have names.
 *
 * The looks own their parts. One thread at a time. For the files of merge/ alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GOROUTINE_LOOKS_MAX 2048
#define GOROUTINE_PARTS_MAX 64  /* of a look; one with more is not kept */
#define GOROUTINES_WHOLE    999 /* of a look with more some were not seen: it is not kept */

/* COUNT goroutines did what the row with this number says. */
struct goroutine_part {
	uint32_t row, count;
};

struct goroutine_look {
	uint64_t ns; /* that it stands for */
	uint32_t count;
	struct goroutine_part parts[GOROUTINE_PARTS_MAX];
};

struct goroutine_looks {
	struct goroutine_look *looks;
	size_t count, capacity;
	uint64_t met, ns;    /* all that were whole, and what these stand for */
	uint32_t process;    /* whose they are: the first one's that has goroutines; 0: none yet */
	uint64_t pass;       /* of NOW */
	bool is_whole;       /* NOW is, so far */
	uint64_t goroutines; /* of NOW */
	struct goroutine_look now;
};

void goroutine_looks_fini(struct goroutine_looks *l);

/* COUNT goroutines of PROCESS at ROW in the look PASS, each for NS. False if there is no memory. */
bool goroutine_looks_add(struct goroutine_looks *l, uint32_t process, uint64_t pass, uint32_t row,
                         uint64_t count, uint64_t ns);

/* There is no more of the last one. False if there is no memory. */
bool goroutine_looks_end(struct goroutine_looks *l);

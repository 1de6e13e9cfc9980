/* SPDX-License-Identifier: MIT */
/*
 * What registers held where samples were taken: of each sampled address one sample of all, by
 * chance, and one of another thread of the same process. It tells by how much a loop moves whose
 * step is in a register. Of vector registers, in how many samples they held subnormal numbers. Not
 * kept in the file.
 *
 * Owned by its profile; one thread at a time. What finds no memory, or no room, is left out.
 */
#pragma once

#include "base/hash.h"
#include "symbolize/loop/subnormal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEAF_REGISTERS 16

struct leaf_slot {
	uint64_t address;
	uint32_t module, seen; /* SEEN: samples there, these among them */
	uint64_t regs[LEAF_REGISTERS];
	uint32_t process, thread; /* whose they are; 0: unknown */
	bool has_other;
	uint64_t other[LEAF_REGISTERS]; /* of another thread of that process */
	struct subnormal_looks looks;
};

/* All zeros: nothing is known. */
struct leaf_registers {
	struct hash addresses;
	struct leaf_slot *slots;
	size_t count, capacity;
};

void leaf_registers_fini(struct leaf_registers *l);

/* Who was sampled: any numbers that tell threads, and processes, from each other. */
struct leaf_thread {
	uint32_t process, thread;
};

/* REGS are in DWARF's order (base/record.h). SUBNORMAL: see struct stack; may be NULL. */
void leaf_registers_add(struct leaf_registers *l, uint32_t module, uint64_t address,
                        struct leaf_thread of, const uint64_t *regs, const uint32_t *subnormal);
/* Of vector registers alone. */
void leaf_registers_look(struct leaf_registers *l, uint32_t module, uint64_t address,
                         uint32_t subnormal);

/* As instructions number them (symbolize/loop/insn.h); NULL if none are known. Valid until the
   next is added. */
const uint64_t *leaf_registers_find(const struct leaf_registers *l, uint32_t module,
                                    uint64_t address);

/* The same of another thread of the process that leaf_registers_find() has the registers of. */
const uint64_t *leaf_registers_other(const struct leaf_registers *l, uint32_t module,
                                     uint64_t address);

/* NULL if none are known; its count is 0 where vector registers were not looked at. Valid as long.
 */
const struct subnormal_looks *leaf_registers_looks(const struct leaf_registers *l, uint32_t module,
                                                   uint64_t address);

// SPDX-License-Identifier: MIT
#include "merge/profile/leaf_registers.h"

#include "base/array.h"
#include "base/record.h"

#include <stdlib.h>

#define SLOTS_MAX 8192 // addresses: hot loops have few, and are sampled early

// By the numbers that instructions use.
static const uint8_t dwarf_numbers[LEAF_REGISTERS] = { DWARF_RAX, DWARF_RCX, DWARF_RDX, DWARF_RBX,
	                                               DWARF_RSP, DWARF_RBP, DWARF_RSI, DWARF_RDI,
	                                               DWARF_R8,  DWARF_R9,  DWARF_R10, DWARF_R11,
	                                               DWARF_R12, DWARF_R13, DWARF_R14, DWARF_R15 };

void leaf_registers_fini(struct leaf_registers *l)
{
	hash_fini(&l->addresses);
	free(l->slots);
}

// 0: there is none; AT is where it belongs.
static uint32_t find(const struct leaf_registers *l, uint32_t module, uint64_t address,
                     uint32_t *at)
{
	const struct hash *h = &l->addresses;

	for (*at = hash_start(h, hash_pair(address, module)); h->slots[*at];
	     *at = hash_next(h, *at)) {
		const struct leaf_slot *slot = &l->slots[h->slots[*at] - 1];
		if (slot->address == address && slot->module == module)
			return h->slots[*at];
	}
	return 0;
}

// NULL: there is no room.
static struct leaf_slot *slot_of(struct leaf_registers *l, uint32_t module, uint64_t address)
{
	uint32_t at, id;

	if (!l->addresses.slots && !hash_init(&l->addresses, 256))
		return NULL;
	id = find(l, module, address, &at);
	if (!id) {
		if (l->count == SLOTS_MAX || !hash_make_room(&l->addresses) ||
		    !array_reserve(&l->slots, &l->capacity, l->count + 1))
			return NULL;
		l->slots[l->count] = (struct leaf_slot){ .address = address, .module = module };
		id = (uint32_t)++l->count;
		find(l, module, address, &at);
		hash_insert(&l->addresses, at, hash_pair(address, module), id);
	}
	return &l->slots[id - 1];
}

void leaf_registers_look(struct leaf_registers *l, uint32_t module, uint64_t address,
                         uint32_t subnormal)
{
	struct leaf_slot *slot = slot_of(l, module, address);

	if (slot)
		subnormal_look(&slot->looks, subnormal);
}

static void copy(uint64_t *to, const uint64_t *regs)
{
	for (size_t i = 0; i < LEAF_REGISTERS; i++)
		to[i] = regs[dwarf_numbers[i]];
}

void leaf_registers_add(struct leaf_registers *l, uint32_t module, uint64_t address,
                        struct leaf_thread of, const uint64_t *regs, const uint32_t *subnormal)
{
	struct leaf_slot *slot = slot_of(l, module, address);

	if (!slot)
		return;
	if (subnormal)
		subnormal_look(&slot->looks, *subnormal);
	if (slot->seen && (of.process != slot->process || of.thread != slot->thread)) {
		slot->has_other |= of.process == slot->process;
		if (of.process == slot->process)
			copy(slot->other, regs);
		return;
	}
	slot->process = of.process;
	slot->thread = of.thread;
	// Each of SEEN samples has the same chance to be the one that stays.
	slot->seen++;
	if (hash_mix(slot->address + slot->seen) % slot->seen)
		return;
	copy(slot->regs, regs);
}

const uint64_t *leaf_registers_other(const struct leaf_registers *l, uint32_t module,
                                     uint64_t address)
{
	uint32_t at, id = l->addresses.slots ? find(l, module, address, &at) : 0;

	return id && l->slots[id - 1].has_other ? l->slots[id - 1].other : NULL;
}

const uint64_t *leaf_registers_find(const struct leaf_registers *l, uint32_t module,
                                    uint64_t address)
{
	uint32_t at, id = l->addresses.slots ? find(l, module, address, &at) : 0;

	return id && l->slots[id - 1].seen ? l->slots[id - 1].regs : NULL;
}

const struct subnormal_looks *leaf_registers_looks(const struct leaf_registers *l, uint32_t module,
                                                   uint64_t address)
{
	uint32_t at, id = l->addresses.slots ? find(l, module, address, &at) : 0;

	return id ? &l->slots[id - 1].looks : NULL;
}

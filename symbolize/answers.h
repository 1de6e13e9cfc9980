/* SPDX-License-Identifier: MIT */
/*
 * What was found of the addresses of one module, so that each is looked up once.
 *
 * The symbols of the chains are the symbolizer's, the list of answers is owned. One thread at a
 * time.
 */
#pragma once

#include "base/hash.h"
#include "symbolize/symbolizer.h"

struct answer {
	uint64_t address;
	struct symbol_chain chain; /* its symbols are the symbolizer's */
};

/* All zeros is one without answers. */
struct answers {
	struct answer *items;
	size_t count, capacity;
	struct hash index;
};

void answers_fini(struct answers *a);

/* NULL if ADDRESS was not looked up yet. */
const struct symbol_chain *answers_find(const struct answers *a, uint64_t address);

/* ADDRESS must be new. False if there is no memory. */
bool answers_add(struct answers *a, uint64_t address, struct symbol_chain chain);

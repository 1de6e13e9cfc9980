/* SPDX-License-Identifier: MIT */
/*
 * The locations that want a name, in batches of one module. For the files of merge/ alone.
 */
#pragma once

#include "merge/table/locations.h"

#include <stddef.h>
#include <stdint.h>

struct unnamed {
	uint64_t address; /* to look up */
	uint32_t module;
	uint32_t location;
};

/* Those behind location AFTER, sorted by module, then address. Returns how many. */
size_t unnamed_collect(const struct locations *l, uint32_t after, struct unnamed *unnamed);

/* Where those of the module of UNNAMED[first] end. */
size_t unnamed_module_end(const struct unnamed *unnamed, size_t first, size_t count);

/* The distinct addresses of COUNT of one module. Returns how many. */
size_t unnamed_addresses(const struct unnamed *unnamed, size_t count, uint64_t *addresses);

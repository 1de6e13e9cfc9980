/* SPDX-License-Identifier: MIT */
/*
 * Owners of locks that have changed more often than a history keeps (waits.h): for how long each
 * had it, summed up in groups, of which older ones span more and more changes. So a wait is
 * resolved however often the owner changes within it, in bounded memory: WAITS_FOLDED places have
 * groups, and who has many changes takes them from whom had them.
 *
 * Nobody waits: who cannot write leaves a gap, who cannot read knows nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define WAITS_FOLDED  64u /* a power of 2 */
#define FOLDED_GROUPS 32u /* an even number */
#define FOLDED_OWNERS 16u

struct folded_owner {
	uint64_t ns;
	uint32_t tid; /* 0: of those that found no place */
};

struct folded_group {
	uint64_t from_ns, to_ns;
	uint32_t tag; /* of the address */
	uint32_t count;
	struct folded_owner owners[FOLDED_OWNERS];
};

struct waits_folded {
	uint32_t sequence; /* atomic: odd while it is written */
	uint32_t place;    /* that the groups are of, and one; 0: none */
	uint32_t count;
	uint32_t reserved;
	struct folded_group groups[FOLDED_GROUPS]; /* oldest first */
};

/* GROUP had NS more by TID. */
void folded_add(struct folded_group *group, uint32_t tid, uint64_t ns);

/* GROUP comes next at PLACE. */
void folded_push(struct waits_folded *f, uint32_t place, const struct folded_group *group);

/* What is known of PLACE, and the address of SUM's tag, between the times that SUM has: false if
   that is nothing. */
bool folded_between(const struct waits_folded *f, uint32_t place, struct folded_group *sum);

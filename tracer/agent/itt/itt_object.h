/* SPDX-License-Identifier: MIT */
/*
 * The domains and strings of ITT programs, and what ops are called by them.
 *
 * Both are structs whose layout everyone knows, and whoever makes them, both see the same. Ours are
 * known by what stands in their field for the collector's use. Kept in the store, never given back.
 * Any thread at any time.
 */
#pragma once

#include "tracer/agent/itt/itt_abi.h"
#include "tracer/agent/op/op.h"

#include <stddef.h>
#include <stdint.h>

#define ITT_UNNAMED  "(unnamed)"
#define ITT_TEXT_MAX 200

/* In the field `reserved` of what is ours; in a domain, a pointer to struct itt_owner is beside it.
 */
#define ITT_MADE 0x626e6b31

/* What the ops of a domain belong to. */
struct itt_owner {
	uint32_t owner;   /* see op_begin_in() */
	uint64_t named;   /* atomic: the process's generation, and the id of the name there */
	const char *text; /* NULL: of what has no domain */
};

struct itt_made_string {
	struct itt_string seen; /* by the program */
	uint64_t named;         /* atomic: see itt_pack() */
};

extern struct itt_owner itt_nameless;

/* That of the domain with this name, which each binary may have made for itself. */
struct itt_owner *itt_owner_called(const char *text);

/* That of a domain which is not ours. */
struct itt_owner *itt_owner_known(const struct itt_domain *d);

static inline struct itt_owner *itt_owner_of(const struct itt_domain *d)
{
	return d && d->reserved == ITT_MADE ? d->reserved_pointer : itt_owner_known(d);
}

static inline const char *itt_text(const struct itt_string *s)
{
	return s ? s->text : NULL;
}

/* The id of a name in D; TEXT NULL: it has none. KIND is the category, by which one sees what such
   a mark or range is. */
uint32_t itt_name(struct op_thread *t, struct itt_owner *d, const char *text);
uint32_t itt_name_of_kind(struct op_thread *t, struct itt_owner *d, const char *text,
                          const char *kind);

/* The same of a string that has not been named there lately. */
uint32_t itt_name_string_anew(struct op_thread *t, struct itt_owner *d, const struct itt_string *s);

/* The process, the domain and the name there, in one word. An id is the place in 4 MB by 8. */
static inline uint64_t itt_pack(const struct op_thread *t, const struct itt_owner *d, uint32_t id)
{
	return (uint64_t)t->generation << 44 | (uint64_t)(d->owner & 0xffffff) << 20 | id;
}

static inline uint32_t itt_name_string(struct op_thread *t, struct itt_owner *d,
                                       const struct itt_string *s)
{
	if (s && s->reserved == ITT_MADE) {
		uint64_t known = __atomic_load_n(&((const struct itt_made_string *)s)->named,
		                                 __ATOMIC_RELAXED);
		uint32_t id = known & 0xfffff;
		if (id && known == itt_pack(t, d, id))
			return id;
	}
	return itt_name_string_anew(t, d, s);
}

/* Adds TEXT at AT of TO, which has ITT_TEXT_MAX bytes, as far as there is room; where it ends. */
size_t itt_append(char *to, size_t at, const char *text, size_t length);

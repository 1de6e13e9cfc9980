/* SPDX-License-Identifier: MIT */
/*
 * Domains, registered strings and categories of NVTX programs.
 *
 * Their handles are ours, unless the user's own injection library makes them:
 * then they are its, and what we know of them stands in a table.
 */
#pragma once

#include "tracer/agent/op/op.h"

#include <stdbool.h>
#include <stdint.h>

struct nvtx_domain {
	uint32_t kind;
	uint32_t owner;   /* of its ops, see op_begin_in() */
	uint64_t named;   /* atomic: the process's generation, and the id of the name there */
	const char *text; /* NULL: the domain of what has none */
};

struct nvtx_string {
	uint32_t kind;
	const struct nvtx_domain *domain;
	uint64_t named; /* atomic: as above, for an op of that domain */
	const char *text;
};

extern struct nvtx_domain nvtx_nameless;

/* NULL if there is no memory, or no TEXT. The same text gives the same object. */
struct nvtx_domain *nvtx_domain_create(const char *text);
struct nvtx_string *nvtx_string_create(const struct nvtx_domain *domain, const char *text);

/* OBJECT, if any, is known as HANDLE, which another library has made. */
void nvtx_object_call(const void *handle, const void *object);

/* What HANDLE stands for; the domain without a name, and no string, if that is not known. */
struct nvtx_domain *nvtx_domain_of(const void *handle);
struct nvtx_string *nvtx_string_of(const void *handle);

/* The name's id in this process. */
uint32_t nvtx_domain_name(struct op_thread *t, struct nvtx_domain *domain);

/* Category NUMBER of DOMAIN is called TEXT. */
void nvtx_category_create(const struct nvtx_domain *domain, uint32_t number, const char *text);

/* The id of an op's name. TEXT may be NULL; CATEGORY 0 is none. */
uint32_t nvtx_name(struct op_thread *t, struct nvtx_domain *domain, const char *text,
                   uint32_t category);
uint32_t nvtx_string_name(struct op_thread *t, struct nvtx_domain *domain,
                          struct nvtx_string *string, uint32_t category);

// SPDX-License-Identifier: MIT
/*
 * An ITT collector as a user may have one: finds its functions by the library that the program
 * knows, as the reference collector does, and prints what it is told to standard error.
 */
#include "tracer/agent/itt/itt_abi.h"

#include <dlfcn.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void __itt_task_begin(const struct itt_domain *domain, struct itt_id id,
                             struct itt_id parent, const struct itt_string *name);
EXPORT void __itt_task_end(const struct itt_domain *domain);
EXPORT void __itt_counter_inc_v3(const struct itt_domain *domain, const struct itt_string *name);
EXPORT unsigned long long __itt_get_timestamp(void);
EXPORT void __itt_api_init(struct itt_global *g, int groups);

void __itt_task_begin(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
                      const struct itt_string *name)
{
	(void)parent;
	fprintf(stderr, "theirs: begin %s %s %d\n", domain ? domain->name : "-",
	        name && name->text ? name->text : "-", (int)id.address);
}

void __itt_task_end(const struct itt_domain *domain)
{
	fprintf(stderr, "theirs: end %s\n", domain ? domain->name : "-");
}

void __itt_counter_inc_v3(const struct itt_domain *domain, const struct itt_string *name)
{
	fprintf(stderr, "theirs: counter %s %s\n", domain->name, name->text);
}

unsigned long long __itt_get_timestamp(void)
{
	return 12345;
}

void __itt_api_init(struct itt_global *g, int groups)
{
	(void)groups;
	for (struct itt_entry *e = g->list; e->name; e++) {
		void *ours = dlsym(g->library, e->name);
		*e->function = ours ? (itt_function *)ours : e->absent;
	}
	fprintf(stderr, "theirs: initialized\n");
}

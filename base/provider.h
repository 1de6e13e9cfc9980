/* SPDX-License-Identifier: MIT */
/*
 * Providers: the sources of ops, allocations and waits, such as NVTX, PyTorch or malloc.
 *
 * What there is to know of one beside its code stands in base/providers.def, once. From that are
 * made the options of run, the environment of the target, the fields of a profile and the agent's
 * list of its parts; a test compares it to the manual and the completions.
 *
 * Constant: any thread, handlers too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stored in profile files. */
enum op_provider {
#define PROVIDER(id, number, name, ...) OP_##id = (number),
#include "base/providers.def"
	/* One more than there are: their numbers are dense. */
	OP_PROVIDERS = 1
#define PROVIDER(id, number, name, ...) +1
#include "base/providers.def"
		,
	/* Those without ops come behind, and have no bit among the providers of ops. */
	OP_MALLOC = OP_PROVIDERS,
	OP_WAITS,
	OP_PROVIDERS_ALL
};

struct provider {
	enum op_provider id;
	const char *name;   /* in reports and files, and of the section of its hooks: "nvtx" */
	const char *title;  /* in bottleneck-ops(7); NULL: described elsewhere */
	const char *option; /* of run, that switches it off, without --; NULL: none of its own */
	const char *help;   /* of that option */
	enum op_provider switched_with; /* whose option switches it off, too; 0: its own */
	enum op_provider hooks_of;      /* whose hooks see it; itself if they are its own */
	const char *injection; /* variable that names the API's injection library, or NULL */
	const char *chain;     /* ours, for the user's own such library: the agent calls it */
	const char *price_of;  /* what was measured in bottleneck-ops(7), COST; NULL: nothing */
	uint32_t price_ns;     /* what that costs the program */
	bool is_label; /* the program's author or its user has named its ops, not a library */
	bool is_call;  /* its ops are calls: one that is not on the stack any more is over */
};

/* By the order of --help. */
extern const struct provider providers[];
extern const size_t provider_count;

/* NULL: there is none of this number. */
const struct provider *provider_get(enum op_provider id);

/* Whose NAME it is; NULL: nobody's. */
const struct provider *provider_called(const char *name);

/* The one whose option switches P off; NULL: none does. */
const struct provider *provider_switch(const struct provider *p);

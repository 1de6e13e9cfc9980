// SPDX-License-Identifier: MIT
// profile_ask_early(): apart from profile_naming.c, whose tests have a symbolizer of their own.
#include "merge/profile/profile_data.h"
#include "merge/profile/unnamed.h"
#include "symbolize/early.h"

#include <stdlib.h>

void profile_ask_early(struct profile *p, struct early *early)
{
	struct locations *l = &p->locations;
	size_t room = l->count - l->asked;
	cleanup_free struct wanted *wanted = calloc(room + 1, sizeof(*wanted));
	cleanup_free uint64_t *addresses = calloc(room + 1, sizeof(*addresses));

	if (!wanted || !addresses)
		return;
	size_t count = wanted_collect(l, l->asked, wanted);
	l->asked = l->count;
	for (size_t first = 0, end; first < count; first = end) {
		end = wanted_module_end(wanted, first, count);
		const struct module *module = modules_get(p->modules, wanted[first].module);
		size_t distinct = wanted_addresses(wanted + first, end - first, addresses);
		if (module && !early_ask(early, module, addresses, distinct))
			return;
	}
}

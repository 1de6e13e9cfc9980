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
	cleanup_free struct unnamed *unnamed = calloc(room + 1, sizeof(*unnamed));
	cleanup_free uint64_t *addresses = calloc(room + 1, sizeof(*addresses));

	if (!unnamed || !addresses)
		return;
	size_t count = unnamed_collect(l, l->asked, unnamed);
	l->asked = l->count;
	for (size_t first = 0, end; first < count; first = end) {
		end = unnamed_module_end(unnamed, first, count);
		const struct module *module = modules_get(p->modules, unnamed[first].module);
		size_t distinct = unnamed_addresses(unnamed + first, end - first, addresses);
		if (module && !early_ask(early, module, addresses, distinct))
			return;
	}
}

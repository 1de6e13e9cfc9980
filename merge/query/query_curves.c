// SPDX-License-Identifier: MIT
#include "merge/query/query_curves.h"

#include "base/error.h"
#include "merge/profile/profile.h"

#include <errno.h>
#include <stdlib.h>

void memory_curves_free(struct memory_curves *c)
{
	free(c);
}

struct memory_curves *query_curves(const struct profile *p, struct error *err)
{
	struct memory_curves *c = calloc(1, sizeof(*c));

	if (!c) {
		error_set(err, ENOMEM, "could not draw the memory");
		return NULL;
	}
	memory_curves_parse(c, profile_run(p)->memory_curves);
	return c;
}

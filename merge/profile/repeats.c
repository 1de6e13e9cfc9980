// SPDX-License-Identifier: MIT
#include "merge/profile/repeats.h"

#include "base/array.h"
#include "merge/profile/profile_data.h"

#include <stdlib.h>

void repeats_fini(struct repeats *r)
{
	free(r->repeats);
}

uint32_t profile_add_repeat_side(struct profile *p, const char *command, const char *range,
                                 uint32_t threads)
{
	struct repeats *r = &p->repeats;
	struct repeat_side side = {
		.command = strings_add(p->strings, command),
		.range = range ? strings_add(p->strings, range) : 0,
		.threads = threads,
	};

	if (r->side_count == REPEAT_SIDES_MAX || !side.command || (range && !side.range))
		return 0;
	r->sides[r->side_count++] = side;
	return r->side_count;
}

uint32_t profile_add_statement_side(struct profile *p, const struct repeat_statement *statement)
{
	struct repeats *r = &p->repeats;
	const char *setup = statement->setup, *variant = statement->variant;
	struct repeat_side side = {
		.command = strings_add(p->strings, statement->code),
		.language = statement->language,
		.threads = statement->threads,
		.setup = setup ? strings_add(p->strings, setup) : 0,
		.variant = variant ? strings_add(p->strings, variant) : 0,
	};

	if (r->side_count == REPEAT_SIDES_MAX || !side.command || (setup && !side.setup) ||
	    (variant && !side.variant))
		return 0;
	r->sides[r->side_count++] = side;
	return r->side_count;
}

bool profile_add_repeat(struct profile *p, const struct repeat *repeat)
{
	struct repeats *r = &p->repeats;

	if (r->count == REPEATS_MAX ||
	    !array_reserve(&r->repeats, &r->capacity, (size_t)r->count + 1))
		return false;
	r->repeats[r->count++] = *repeat;
	return true;
}

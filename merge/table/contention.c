// SPDX-License-Identifier: MIT
#include "merge/table/contention.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_US (UINT64_C(1) << 56) /* of any field: more is no time */

static void join(struct contention_row *to, const struct contention_row *from)
{
	to->at_us = from->at_us > to->at_us ? from->at_us : to->at_us;
	to->throttled_us += from->throttled_us;
	to->queues_us += from->queues_us;
	to->busy_us += from->busy_us;
	to->stalled_us += from->stalled_us;
}

static void halve(struct contention *c)
{
	for (size_t i = 0; i < c->count / 2; i++) {
		c->rows[i] = c->rows[2 * i];
		join(&c->rows[i], &c->rows[2 * i + 1]);
	}
	c->count /= 2;
	c->together *= 2;
}

void contention_add(struct contention *c, const struct contention_row *row)
{
	if (!c->together)
		c->together = 1;
	if (c->count && (c->open < c->together || row->at_us <= c->rows[c->count - 1].at_us)) {
		join(&c->rows[c->count - 1], row);
		c->open++;
		return;
	}
	if (c->count == CONTENTION_MAX)
		halve(c);
	c->rows[c->count++] = *row;
	c->open = 1;
}

void contention_print(const struct contention *c, char text[CONTENTION_TEXT])
{
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < c->count && used < CONTENTION_TEXT; i++) {
		const struct contention_row *row = &c->rows[i];
		used += (size_t)snprintf(text + used, CONTENTION_TEXT - used,
		                         "%s%" PRIu64 ":%" PRIu64 ":%" PRIu64 ":%" PRIu64
		                         ":%" PRIu64,
		                         i ? " " : "", row->at_us, row->throttled_us,
		                         row->queues_us, row->busy_us, row->stalled_us);
	}
}

// A number, and AFTER, which is stepped over; 0: the end of the text, or a blank and more.
static bool take_number(const char **at, char after, uint64_t *out)
{
	char *end;

	if (!isdigit((unsigned char)**at))
		return false;
	*out = strtoull(*at, &end, 10);
	if (*out >= MOST_US)
		return false;
	if (after ? *end != after : *end && (*end != ' ' || !end[1]))
		return false;
	*at = *end ? end + 1 : end;
	return true;
}

static bool take_rows(struct contention *c, const char *at)
{
	struct contention_row row;

	while (*at) {
		if (c->count == CONTENTION_MAX || !take_number(&at, ':', &row.at_us) ||
		    !take_number(&at, ':', &row.throttled_us) ||
		    !take_number(&at, ':', &row.queues_us) ||
		    !take_number(&at, ':', &row.busy_us) ||
		    !take_number(&at, '\0', &row.stalled_us) ||
		    (c->count && row.at_us <= c->rows[c->count - 1].at_us))
			return false;
		c->rows[c->count++] = row;
	}
	return true;
}

bool contention_parse(struct contention *c, const char *text)
{
	*c = (struct contention){ 0 };
	if (text && take_rows(c, text))
		return true;
	*c = (struct contention){ 0 };
	return false;
}

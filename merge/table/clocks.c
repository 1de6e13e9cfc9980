// SPDX-License-Identifier: MIT
#include "merge/table/clocks.h"

#include "base/clock.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define NS_PER_MS UINT64_C(1000000)

// Readings in a row become one each two.
static void halve(struct clocks *c)
{
	for (size_t i = 0; i < c->count / 2; i++) {
		const struct clock_reading *pair = &c->readings[2 * i];
		c->readings[i] = (struct clock_reading){
			.at_ms = pair[0].at_ms,
			.mhz = (pair[0].mhz + pair[1].mhz + 1) / 2,
		};
	}
	c->count /= 2;
	c->together *= 2;
}

// MHZ is one more of those that the last reading stands for.
static void add_to_last(struct clocks *c, uint32_t mhz)
{
	struct clock_reading *last = &c->readings[c->count - 1];

	c->open++;
	c->open_sum += mhz;
	last->mhz = (uint32_t)((c->open_sum + c->open / 2) / c->open);
}

void clocks_add(struct clocks *c, uint64_t at_ns, uint64_t mhz)
{
	uint64_t at_ms = at_ns / NS_PER_MS;

	if (!mhz || mhz > CLOCKS_MHZ || at_ms > UINT32_MAX ||
	    (c->count && at_ms < c->readings[c->count - 1].at_ms))
		return;
	if (!c->together)
		c->together = 1;
	if (c->count && c->open < c->together) {
		add_to_last(c, (uint32_t)mhz);
		return;
	}
	if (c->count == CLOCKS_MAX)
		halve(c);
	c->readings[c->count++] = (struct clock_reading){ (uint32_t)at_ms, (uint32_t)mhz };
	c->open = 1;
	c->open_sum = mhz;
}

void clocks_print(const struct clocks *c, char text[CLOCKS_TEXT])
{
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < c->count; i++)
		used += (size_t)snprintf(text + used, CLOCKS_TEXT - used, "%s%u:%u", i ? " " : "",
		                         c->readings[i].at_ms, c->readings[i].mhz);
}

// A number up to MOST, and what has to follow it, which is stepped over.
static bool take_number(const char **at, uint32_t most, char after, uint32_t *out)
{
	char *end;

	if (!isdigit((unsigned char)**at))
		return false;
	unsigned long long value = strtoull(*at, &end, 10);
	if (value > most || (*end != after && !(after == ' ' && !*end)))
		return false;
	if (*end && !end[1])
		return false; // something has to follow
	*out = (uint32_t)value;
	*at = *end ? end + 1 : end;
	return true;
}

static bool take_readings(struct clocks *c, const char *at)
{
	struct clock_reading reading;

	while (*at) {
		if (c->count == CLOCKS_MAX || !take_number(&at, UINT32_MAX, ':', &reading.at_ms) ||
		    !take_number(&at, CLOCKS_MHZ, ' ', &reading.mhz) || !reading.mhz ||
		    (c->count && reading.at_ms < c->readings[c->count - 1].at_ms))
			return false;
		c->readings[c->count++] = reading;
	}
	return true;
}

bool clocks_parse(struct clocks *c, const char *text)
{
	*c = (struct clocks){ 0 };
	if (text && take_readings(c, text))
		return true;
	*c = (struct clocks){ 0 };
	return false;
}

double clocks_mean(const struct clocks *c, uint32_t first, uint32_t end, uint64_t until_ms)
{
	double weighted = 0, all = 0, plain = 0;

	if (first >= end)
		return 0;
	for (uint32_t i = first; i < end; i++) {
		uint64_t next = i + 1 < end ? c->readings[i + 1].at_ms : until_ms;
		uint64_t ms = next > c->readings[i].at_ms ? next - c->readings[i].at_ms : 0;
		weighted += (double)ms * c->readings[i].mhz;
		all += (double)ms;
		plain += c->readings[i].mhz;
	}
	return all > 0 ? weighted / all : plain / (end - first);
}

uint32_t clocks_from(const struct clocks *c, uint64_t at_ms)
{
	uint32_t i = 0;

	while (i < c->count && c->readings[i].at_ms < at_ms)
		i++;
	return i;
}

// SPDX-License-Identifier: MIT
/*
 * What a profile file has of repeated runs. A profile without has no such tables.
 */
#include "merge/file/file_reader.h"
#include "merge/file/file_writer.h"

#include <limits.h>
#include <string.h>

#define SIDE_WIDTH 6
#define WIDTH      12

static const char schema[] =
	"CREATE TABLE repeat_side(command INTEGER, range INTEGER, language INTEGER,"
	" threads INTEGER, setup INTEGER, variant INTEGER);"
	"CREATE TABLE repeat(side INTEGER, status INTEGER, begin_ns INTEGER, wall_ns INTEGER,"
	" user_ns INTEGER, system_ns INTEGER, peak_rss_bytes INTEGER, calls INTEGER,"
	" calls_ns INTEGER, call_ns INTEGER, cost_ns INTEGER, cost INTEGER);"
	"CREATE VIEW repeated_run(command, range, status, wall_ns, user_ns, system_ns,"
	" peak_rss_bytes, calls, calls_ns, call_ns, cost_ns) AS"
	" SELECT c.text, g.text, r.status, r.wall_ns, r.user_ns, r.system_ns, r.peak_rss_bytes,"
	" r.calls, r.calls_ns, r.call_ns, r.cost_ns"
	" FROM repeat r JOIN repeat_side s ON s.rowid = r.side JOIN string c ON c.id = s.command"
	" LEFT JOIN string g ON g.id = s.range;";

int write_repeat_facts(struct file_writer *w)
{
	const struct repeats *r = &w->profile->repeats;

	if (!r->side_count)
		return 0;
	if (file_writer_fact(w, "repeat_sides", r->side_count) < 0)
		return -1;
	return file_writer_fact(w, "repeats", r->count);
}

static int write_sides(struct file_writer *w)
{
	const struct repeats *r = &w->profile->repeats;

	if (file_writer_begin(w, "repeat_side", SIDE_WIDTH, true) < 0)
		return -1;
	for (uint32_t i = 0; i < r->side_count; i++) {
		file_writer_id(w, r->sides[i].command);
		file_writer_id(w, r->sides[i].range);
		file_writer_int(w, r->sides[i].language);
		file_writer_int(w, r->sides[i].threads);
		file_writer_id(w, r->sides[i].setup);
		file_writer_id(w, r->sides[i].variant);
		if (file_writer_row(w) < 0)
			return -1;
	}
	return 0;
}

int write_repeats(struct file_writer *w)
{
	const struct repeats *r = &w->profile->repeats;

	if (!r->side_count)
		return 0;
	if (file_writer_sql(w, schema) < 0 || write_sides(w) < 0 ||
	    file_writer_begin(w, "repeat", WIDTH, true) < 0)
		return -1;
	for (uint32_t i = 0; i < r->count; i++) {
		const struct repeat *run = &r->repeats[i];
		file_writer_int(w, run->side);
		file_writer_int(w, run->status);
		file_writer_int(w, (int64_t)run->begin_ns);
		file_writer_int(w, (int64_t)run->wall_ns);
		file_writer_int(w, (int64_t)run->user_ns);
		file_writer_int(w, (int64_t)run->system_ns);
		file_writer_int(w, (int64_t)run->peak_rss_bytes);
		file_writer_int(w, (int64_t)run->calls);
		file_writer_int(w, (int64_t)run->calls_ns);
		file_writer_int(w, (int64_t)run->call_ns);
		file_writer_int(w, (int64_t)run->cost_ns);
		file_writer_int(w, run->cost);
		if (file_writer_row(w) < 0)
			return -1;
	}
	return 0;
}

bool take_repeat_fact(struct file_reader *r, const char *key, int64_t value)
{
	if (strcmp(key, "repeat_sides") == 0)
		r->repeat_sides = (uint64_t)value;
	else if (strcmp(key, "repeats") == 0)
		r->repeats = (uint64_t)value;
	else
		return false;
	return true;
}

static int take_side(struct file_reader *r)
{
	struct repeats *repeats = &r->profile->repeats;
	uint64_t texts = strings_count(r->profile->strings);
	bool ok = repeats->side_count < r->repeat_sides;
	struct repeat_side side = {
		.command = file_reader_id(r, 0, texts, &ok),
		.range = file_reader_id(r, 1, texts, &ok),
		.language = file_reader_id(r, 2, REPEAT_LANGUAGES - 1, &ok),
		.threads = file_reader_id(r, 3, UINT32_MAX, &ok),
		.setup = file_reader_id(r, 4, texts, &ok),
		.variant = file_reader_id(r, 5, texts, &ok),
	};

	if (!ok || !side.command)
		return file_reader_damaged(r, "a command that was repeated cannot be");
	repeats->sides[repeats->side_count++] = side;
	return 0;
}

// All times fit into 63 bits, so that sums of two do not overflow.
static uint64_t get_number(struct file_reader *r, int column, bool *ok)
{
	int64_t value = file_reader_int(r, column);

	*ok &= value >= 0;
	return (uint64_t)value;
}

static int take_repeat(struct file_reader *r)
{
	const struct repeats *repeats = &r->profile->repeats;
	bool ok = repeats->count < r->repeats;
	struct repeat run = {
		.side = file_reader_id(r, 0, repeats->side_count, &ok),
		.status = (int)file_reader_id(r, 1, INT_MAX, &ok),
		.begin_ns = get_number(r, 2, &ok),
		.wall_ns = get_number(r, 3, &ok),
		.user_ns = get_number(r, 4, &ok),
		.system_ns = get_number(r, 5, &ok),
		.peak_rss_bytes = get_number(r, 6, &ok),
		.calls = get_number(r, 7, &ok),
		.calls_ns = get_number(r, 8, &ok),
		.call_ns = get_number(r, 9, &ok),
		.cost_ns = get_number(r, 10, &ok),
		.cost = file_reader_id(r, 11, REPEAT_COSTS - 1, &ok),
	};

	if (!ok || !run.side)
		return file_reader_damaged(r, "a repeated run cannot be");
	return profile_add_repeat(r->profile, &run) ? 0 : file_reader_no_memory(r);
}

int read_repeats(struct file_reader *r)
{
	const struct repeats *repeats = &r->profile->repeats;

	if (!r->repeat_sides && !r->repeats)
		return 0;
	if (r->repeat_sides > REPEAT_SIDES_MAX || r->repeats > REPEATS_MAX)
		return file_reader_damaged(r, "its repeated runs cannot be");
	if (file_reader_rows(r, "repeat_side", SIDE_WIDTH, take_side) < 0 ||
	    file_reader_rows(r, "repeat", WIDTH, take_repeat) < 0)
		return -1;
	return repeats->side_count == r->repeat_sides && repeats->count == r->repeats
	               ? 0
	               : file_reader_damaged(r, "a repeated run is missing");
}

// SPDX-License-Identifier: MIT
/*
 * profile_read(). The file may be anything: it is read whole, opened in memory
 * without trust in its schema, and every number in it is checked before it is
 * an index. A checksum over all values finds what SQLite and the checks let pass.
 */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "merge/file.h"
#include "merge/profile_data.h"
#include "merge/run_fields.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

struct reader {
	const char *path;
	struct profile *profile;
	sqlite3 *db;
	sqlite3_stmt *select;
	int64_t steps_left; // of SQLite's machine, in thousands
	uint32_t checksum;
	uint64_t places_used;
	struct cell last_cell;
	int64_t under_way; // intervals that have begun and not ended, after that
	int64_t whole_ns;  // of all cells
	struct error *err;
};

static int damaged(struct reader *r, const char *what)
{
	error_set(r->err, 0, "\"%s\" is damaged: %s", r->path, what);
	return error_hint(r->err, "Profile the program again.");
}

static int no_memory(struct reader *r)
{
	return error_set(r->err, ENOMEM, "could not read \"%s\"", r->path);
}

static int failed(struct reader *r)
{
	if (sqlite3_errcode(r->db) == SQLITE_NOMEM)
		return no_memory(r);
	return damaged(r, sqlite3_errmsg(r->db));
}

// The bytes of the file, for SQLite to own. NULL with ERR set.
static unsigned char *load(const char *path, size_t *size, struct error *err)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		error_set(err, errno, "could not read \"%s\"", path);
		return NULL;
	}
	if (!S_ISREG(st.st_mode)) {
		error_set(err, S_ISDIR(st.st_mode) ? EISDIR : EINVAL, "could not read \"%s\"",
		          path);
		return NULL;
	}
	if (st.st_size > FILE_BYTES_MAX) {
		error_set(err, EFBIG, "could not read \"%s\"", path);
		return NULL;
	}
	*size = (size_t)st.st_size;
	unsigned char *bytes = sqlite3_malloc64(*size + 1);
	for (size_t done = 0; bytes && done < *size;) {
		ssize_t n = read(fd, bytes + done, *size - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n > 0) {
			done += (size_t)n;
			continue;
		}
		error_set(err, n < 0 ? errno : EIO, "could not read \"%s\"", path);
		sqlite3_free(bytes);
		return NULL;
	}
	if (!bytes)
		error_set(err, ENOMEM, "could not read \"%s\"", path);
	return bytes;
}

static uint32_t big_endian(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

#define HEADER_BYTES 100 // of an SQLite file, see its file format, 1.3

static int check_schema_version(struct reader *r, uint32_t schema)
{
	if (schema > FILE_SCHEMA) {
		error_set(r->err, 0,
		          "\"%s\" was written by a newer bottleneck (schema %u, this one reads %d)",
		          r->path, schema, FILE_SCHEMA);
		return error_hint(r->err, "Read it with the version that wrote it.");
	}
	return schema == FILE_SCHEMA ? 0 : damaged(r, "its schema has no version");
}

// Says in our words what a header tells, before SQLite sees it.
static int check_header(struct reader *r, const unsigned char *bytes, size_t size)
{
	size_t page = size >= HEADER_BYTES ? (size_t)bytes[16] << 8 | bytes[17] : 0;

	if (size == 0)
		return error_set(r->err, 0, "\"%s\" is empty", r->path);
	if (memcmp(bytes, "SQLite format 3", size < 16 ? size : 16) != 0)
		return error_set(r->err, 0, "\"%s\" is not a profile", r->path);
	if (size < HEADER_BYTES)
		return damaged(r, "it is cut off");
	if (big_endian(bytes + 68) != FILE_APPLICATION_ID)
		return error_set(
			r->err, 0,
			"\"%s\" is not a profile, but an SQLite database of something else",
			r->path);
	if (check_schema_version(r, big_endian(bytes + 60)) < 0)
		return -1;
	if ((page == 1 ? 65536 : page) * big_endian(bytes + 28) > size)
		return damaged(r, "it is cut off");
	return 0;
}

static int count_steps(void *context)
{
	struct reader *r = context;

	return --r->steps_left < 0; // not 0: stop
}

// Takes over BYTES in any case.
static int open_database(struct reader *r, unsigned char *bytes, size_t size)
{
	// Reading takes some twenty steps a row, and no row is smaller than two bytes.
	r->steps_left = 1000 + (int64_t)size / 10;
	if (sqlite3_open_v2(":memory:", &r->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
	                    NULL) != SQLITE_OK) {
		sqlite3_free(bytes);
		return no_memory(r);
	}
	sqlite3_db_config(r->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(r->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_limit(r->db, SQLITE_LIMIT_LENGTH, 64 << 20);
	sqlite3_progress_handler(r->db, 1000, count_steps, r);
	if (sqlite3_deserialize(r->db, "main", bytes, (sqlite3_int64)size, (sqlite3_int64)size,
	                        SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY) !=
	    SQLITE_OK)
		return failed(r);
	if (sqlite3_exec(r->db, "PRAGMA cell_size_check=ON", NULL, NULL, NULL) != SQLITE_OK)
		return failed(r);
	return 0;
}

// A view in the place of a table could compute for ever, or anything.
static int check_is_table(struct reader *r, const char *name)
{
	static const char sql[] = "SELECT 1 FROM sqlite_schema WHERE type='table' AND name=?";
	sqlite3_stmt *statement = NULL;

	if (sqlite3_prepare_v2(r->db, sql, -1, &statement, NULL) != SQLITE_OK)
		return failed(r);
	sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
	int step = sqlite3_step(statement);
	int result = step == SQLITE_ROW    ? 0
	             : step == SQLITE_DONE ? damaged(r, "a table is missing")
	                                   : failed(r);
	sqlite3_finalize(statement);
	return result;
}

static int begin_table(struct reader *r, const char *table)
{
	char sql[64];

	if (check_is_table(r, table) < 0)
		return -1;
	snprintf(sql, sizeof(sql), "SELECT * FROM %s ORDER BY rowid", table);
	sqlite3_finalize(r->select);
	r->select = NULL;
	return sqlite3_prepare_v2(r->db, sql, -1, &r->select, NULL) == SQLITE_OK ? 0 : failed(r);
}

static void add_to_checksum(struct reader *r, int column)
{
	int type = sqlite3_column_type(r->select, column);

	if (type == SQLITE_INTEGER) {
		int64_t value = sqlite3_column_int64(r->select, column);
		r->checksum = file_checksum_int(r->checksum, value);
		return;
	}
	// The bytes as they are stored, for whatever else there is.
	const void *bytes = sqlite3_column_blob(r->select, column);
	size_t size = bytes ? (size_t)sqlite3_column_bytes(r->select, column) : 0;
	r->checksum = file_checksum(r->checksum, type, bytes, size);
}

// 1: there is a row of WIDTH columns. 0: the table is at its end.
static int next_row(struct reader *r, int width)
{
	int step = sqlite3_step(r->select);

	if (step == SQLITE_DONE)
		return 0;
	if (step != SQLITE_ROW)
		return failed(r);
	if (sqlite3_column_count(r->select) != width)
		return damaged(r, "a table has other columns");
	for (int i = 0; i < width; i++)
		add_to_checksum(r, i);
	return 1;
}

static int64_t get_int(struct reader *r, int column)
{
	return sqlite3_column_int64(r->select, column);
}

// A number from 0 to MOST, else (with *OK false) 0.
static uint32_t get_id(struct reader *r, int column, uint64_t most, bool *ok)
{
	int64_t value = sqlite3_column_int64(r->select, column);

	if (value >= 0 && (uint64_t)value <= most)
		return (uint32_t)value;
	*ok = false;
	return 0;
}

// NULL if it is no text.
static const char *get_text(struct reader *r, int column)
{
	if (sqlite3_column_type(r->select, column) != SQLITE_TEXT)
		return NULL;
	return (const char *)sqlite3_column_text(r->select, column);
}

// The id of a text; 0 (with *OK false) if there is no memory, 0 if it is NULL.
static uint32_t get_string(struct reader *r, int column, bool *ok)
{
	const char *text = get_text(r, column);
	uint32_t id = strings_add(r->profile->strings, text);

	*ok &= id || !text;
	return id;
}

static const struct run_field *find_field(const char *key)
{
	for (size_t i = 0; i < run_field_count; i++)
		if (strcmp(run_fields[i].key, key) == 0)
			return &run_fields[i];
	return NULL;
}

static bool take_fact(struct profile *p, const char *key, int64_t value)
{
	const struct {
		const char *key;
		uint64_t *to;
	} facts[] = {
		{ "origin_ns", &p->cells.origin_ns },
		{ "bin_ns", &p->cells.width_ns },
		{ "last_ns", &p->last_ns },
		{ "processes_seen", &p->threads.processes_seen },
		{ "threads_seen", &p->threads.threads_seen },
		{ "events_lost", &p->lost },
		{ "events_lost_ns", &p->lost_ns },
	};

	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		if (strcmp(facts[i].key, key) == 0)
			*facts[i].to = (uint64_t)value;
	const struct run_field *field = find_field(key);
	return !field || field->type == RUN_TEXT || run_set(&p->run, field, value);
}

// A key that we do not know is of no use to us, and no damage.
static int take_run_row(struct reader *r)
{
	struct profile *p = r->profile;
	const char *key = get_text(r, 0);
	const struct run_field *field = key ? find_field(key) : NULL;
	bool ok = true;

	if (!key)
		return damaged(r, "the run has a fact without a name");
	if (field && field->type == RUN_TEXT)
		*run_text(&p->run, field) = strings_get(p->strings, get_string(r, 1, &ok));
	else if (!take_fact(p, key, get_int(r, 1)))
		return damaged(r, "a fact of the run cannot be");
	return ok ? 0 : no_memory(r);
}

static int check_run(struct reader *r)
{
	const struct cells *cells = &r->profile->cells;

	// Times of bins must not overflow.
	if (!cells->width_ns || cells->width_ns > INT64_MAX / 2 / CELLS_BINS ||
	    cells->origin_ns > INT64_MAX / 2 || r->profile->run.start_ns > INT64_MAX / 2)
		return damaged(r, "its times cannot be");
	return 0;
}

static int take_string_row(struct reader *r)
{
	const char *text = get_text(r, 1);
	uint32_t expected = strings_count(r->profile->strings) + 1;

	if (!text || get_int(r, 0) != expected || expected > FILE_ROWS_MAX)
		return damaged(r, "its texts are not in order");
	uint32_t id = strings_add(r->profile->strings, text);
	if (id && id != expected)
		return damaged(r, "a text is there twice");
	return id ? 0 : no_memory(r);
}

static bool get_build_id(struct reader *r, int column, struct module *module)
{
	const void *bytes = sqlite3_column_blob(r->select, column);
	int size = bytes ? sqlite3_column_bytes(r->select, column) : 0;

	if (size > BUILD_ID_MAX)
		return false;
	if (size)
		memcpy(module->build_id, bytes, (size_t)size);
	module->build_id_size = (uint8_t)size;
	return true;
}

static int take_module_facts(struct reader *r, uint32_t id)
{
	struct profile *p = r->profile;
	bool ok = profile_make_facts(p), in_range = true;

	if (!ok)
		return no_memory(r);
	struct module_facts *facts = &p->facts[id - 1];
	facts->level = (uint8_t)get_id(r, 7, 3, &in_range);
	facts->source = get_string(r, 8, &ok);
	facts->reason = get_string(r, 9, &ok);
	facts->remedy = get_string(r, 10, &ok);
	return !in_range ? damaged(r, "a module cannot be") : ok ? 0 : no_memory(r);
}

static int take_module_row(struct reader *r)
{
	uint32_t expected = modules_count(r->profile->modules) + 1;
	bool ok = get_int(r, 0) == expected && expected <= FILE_ROWS_MAX;
	bool added = false;
	struct module wanted = {
		.kind = (enum module_kind)get_id(r, 1, MODULE_MARK, &ok),
		.path = get_text(r, 2),
		.pid = (pid_t)get_id(r, 3, INT_MAX, &ok),
		.device = (dev_t)get_int(r, 4),
		.inode = (ino_t)get_int(r, 5),
		.fd = -1,
	};

	if (!ok || !wanted.kind || !wanted.path || !get_build_id(r, 6, &wanted))
		return damaged(r, "a module cannot be");
	struct module *module = modules_add(r->profile->modules, &wanted, &added);
	if (module && !added)
		return damaged(r, "a module is there twice");
	return module ? take_module_facts(r, module->id) : no_memory(r);
}

static int take_process_row(struct reader *r)
{
	struct threads *t = &r->profile->threads;
	size_t slot = t->process_count + 1;
	bool ok = get_int(r, 0) == (int64_t)slot && slot <= FILE_ROWS_MAX, memory = true;
	struct process_info info = {
		.parent = get_id(r, 1, FILE_ROWS_MAX, &ok),
		.pid = get_id(r, 2, UINT32_MAX, &ok),
		.command = get_string(r, 3, &memory),
		.merged = get_id(r, 4, UINT32_MAX, &ok),
		.start_ns = (uint64_t)get_int(r, 5),
		.end_ns = (uint64_t)get_int(r, 6),
	};

	if (!ok)
		return damaged(r, "a process cannot be");
	if (!memory || !array_reserve(&t->processes, &t->process_capacity, slot))
		return no_memory(r);
	t->processes[t->process_count++] = info;
	return 0;
}

static int take_thread_row(struct reader *r)
{
	struct threads *t = &r->profile->threads;
	size_t slot = t->thread_count + 1;
	bool ok = get_int(r, 0) == (int64_t)slot && slot <= FILE_ROWS_MAX, memory = true;
	struct thread_info info = {
		.process = get_id(r, 1, t->process_count, &ok),
		.tid = get_id(r, 2, UINT32_MAX, &ok),
		.name = get_string(r, 3, &memory),
		.merged = get_id(r, 4, UINT32_MAX, &ok),
		.ended = get_id(r, 5, UINT32_MAX, &ok),
		.estimated = get_id(r, 6, 1, &ok),
		.start_ns = (uint64_t)get_int(r, 7),
		.end_ns = (uint64_t)get_int(r, 8),
	};

	for (int m = 0; m < METRIC_COUNT; m++)
		info.ns[m] = (uint64_t)get_int(r, 9 + m);
	if (!ok)
		return damaged(r, "a thread cannot be");
	if (!memory || !array_reserve(&t->threads, &t->thread_capacity, slot))
		return no_memory(r);
	t->threads[t->thread_count++] = info;
	return 0;
}

static int take_place(struct reader *r, struct columns *c, uint32_t row)
{
	struct locations *l = &r->profile->locations;
	uint32_t texts = strings_count(r->profile->strings);
	uint64_t function = *columns_at(c, 0, row), file = *columns_at(c, 1, row);
	uint64_t line = *columns_at(c, 2, row), inlined = *columns_at(c, 3, row);
	uint64_t declared = *columns_at(c, 4, row);

	if (function > texts || file > texts || line > INT_MAX || inlined > 1 || declared > texts)
		return damaged(r, "a line of code cannot be");
	if (!array_reserve(&l->places, &l->place_capacity, (size_t)l->place_count + 1))
		return no_memory(r);
	l->places[l->place_count++] =
		(struct place){ .function = (uint32_t)function,
		                .file = (uint32_t)file,
		                .line = (uint32_t)line,
		                .declared = (uint32_t)(declared ? declared : file),
		                .inlined = inlined };
	return 0;
}

static int take_location(struct reader *r, struct columns *c, uint32_t row)
{
	struct locations *l = &r->profile->locations;
	uint64_t module = *columns_at(c, 0, row), kind = *columns_at(c, 2, row);
	uint64_t named = *columns_at(c, 3, row);
	uint64_t first = *columns_at(c, 4, row), count = *columns_at(c, 5, row);
	uint32_t known = l->count;

	// A place belongs to one location, so they cannot be more than there are.
	r->places_used += count;
	if (module > modules_count(r->profile->modules) || kind < FRAME_EXACT ||
	    kind > FRAME_MARK || named > 1 || count > UINT16_MAX || first > l->place_count ||
	    count > l->place_count - first || r->places_used > l->place_count)
		return damaged(r, "an address cannot be");
	struct frame frame = { *columns_at(c, 1, row), (uint32_t)module, (uint32_t)kind };
	uint32_t id = locations_add(l, frame);
	if (!id)
		return no_memory(r);
	if (id != known + 1)
		return damaged(r, "an address is there twice");
	struct location *location = &l->locations[id - 1];
	l->unnamed -= !location->named && named;
	location->named |= named;
	location->first_place = (uint32_t)first;
	location->place_count = (uint16_t)count;
	return 0;
}

static int take_node(struct reader *r, struct columns *c, uint32_t row)
{
	struct profile *p = r->profile;
	uint64_t distance = *columns_at(c, 0, row), location = *columns_at(c, 1, row);
	uint32_t id = p->paths.count + 1;
	uint64_t most = distance ? p->locations.count : p->threads.thread_count;

	// Callers come first, so nothing can be its own caller.
	if (distance >= id || !location || location > most)
		return damaged(r, "a call path cannot be");
	uint32_t added =
		paths_child(&p->paths, distance ? id - (uint32_t)distance : 0, (uint32_t)location);
	if (!added)
		return no_memory(r);
	return added == id ? 0 : damaged(r, "a call path is there twice");
}

static uint64_t cell_order(const struct cell *cell)
{
	return (uint64_t)cell->node << 32 | (uint64_t)cell->metric << 16 | cell->bin;
}

/*
 * The intervals that are under way after CELL and those before it must be what it says, and no
 * time may be less than nothing, or more than a sum can hold.
 */
static bool add_up_cell(struct reader *r, const struct cell *cell)
{
	const struct cell *last = &r->last_cell;
	bool same = last->node == cell->node && last->metric == cell->metric;
	int64_t width = (int64_t)r->profile->cells.width_ns;
	__int128 between = 0;

	if (last->node && cell_order(cell) <= cell_order(last))
		return false;
	if (same)
		between = (__int128)r->under_way * width * (cell->bin - last->bin - 1);
	else if (r->under_way)
		return false; // they never end
	r->under_way += cell->rate;
	__int128 within = (__int128)r->under_way * width + (int64_t)cell->ns;
	if (r->under_way < 0 || within < 0 || between + within > INT64_MAX - r->whole_ns)
		return false;
	r->whole_ns += (int64_t)(between + within);
	r->last_cell = *cell;
	return true;
}

static int take_cell(struct reader *r, struct columns *c, uint32_t row)
{
	struct profile *p = r->profile;
	uint64_t node = *columns_at(c, 0, row), metric = *columns_at(c, 1, row);
	uint64_t bin = *columns_at(c, 2, row), samples = *columns_at(c, 3, row);
	int64_t rate = unzigzag(*columns_at(c, 5, row));

	if (!node || node > p->paths.count || metric >= METRIC_COUNT || bin >= CELLS_BINS ||
	    samples > UINT32_MAX || rate < INT32_MIN || rate > INT32_MAX)
		return damaged(r, "a time cannot be");
	struct cell cell = {
		.ns = samples * file_sample_ns(&p->run) +
		      (uint64_t)unzigzag(*columns_at(c, 4, row)),
		.node = (uint32_t)node,
		.samples = (uint32_t)samples,
		.bin = (uint16_t)bin,
		.metric = (uint16_t)metric,
		.rate = (int32_t)rate,
	};
	if (!add_up_cell(r, &cell))
		return damaged(r, "a time cannot be");
	return cells_put(&p->cells, &cell) ? 0 : no_memory(r);
}

static int take_chunk(struct reader *r, struct columns *c, uint64_t *total,
                      int (*take)(struct reader *, struct columns *, uint32_t))
{
	bool ok = true;
	uint32_t rows = get_id(r, 1, COLUMNS_ROWS, &ok);
	const void *blob = sqlite3_column_blob(r->select, 2);
	size_t size = blob ? (size_t)sqlite3_column_bytes(r->select, 2) : 0;

	*total += rows;
	if (!ok || !rows || !blob || *total > FILE_ROWS_MAX)
		return damaged(r, "a block has a wrong size");
	if (!columns_unpack(c, rows, blob, size))
		return damaged(r, "a block cannot be unpacked");
	for (uint32_t row = 0; row < rows; row++)
		if (take(r, c, row) < 0)
			return -1;
	return 0;
}

static int read_chunks(struct reader *r, const char *table, uint32_t width, uint32_t deltas,
                       int (*take)(struct reader *, struct columns *, uint32_t))
{
	cleanup(columns) struct columns c = { 0 };
	uint64_t total = 0;
	int more;

	if (!columns_init(&c, width, deltas))
		return no_memory(r);
	if (begin_table(r, table) < 0)
		return -1;
	while ((more = next_row(r, 3)) > 0)
		if (take_chunk(r, &c, &total, take) < 0)
			return -1;
	return more;
}

static int read_rows(struct reader *r, const char *table, int width, int (*take)(struct reader *))
{
	int more;

	if (begin_table(r, table) < 0)
		return -1;
	while ((more = next_row(r, width)) > 0)
		if (take(r) < 0)
			return -1;
	return more;
}

static int check_checksum(struct reader *r)
{
	uint32_t computed = r->checksum;

	if (begin_table(r, "checksum") < 0 || next_row(r, 1) < 0)
		return -1;
	if (sqlite3_column_type(r->select, 0) != SQLITE_INTEGER || get_int(r, 0) != computed)
		return damaged(r, "its checksum differs");
	return 0;
}

// In the order in which the writer has taken the checksum.
static int read_all(struct reader *r)
{
	if (read_rows(r, "string", 2, take_string_row) < 0 ||
	    read_rows(r, "run", 2, take_run_row) < 0 || check_run(r) < 0 ||
	    read_rows(r, "module", 11, take_module_row) < 0 ||
	    read_rows(r, "process", 7, take_process_row) < 0 ||
	    read_rows(r, "thread", 9 + METRIC_COUNT, take_thread_row) < 0 ||
	    read_chunks(r, "place_chunk", PLACE_WIDTH, PLACE_DELTAS, take_place) < 0 ||
	    read_chunks(r, "location_chunk", LOCATION_WIDTH, LOCATION_DELTAS, take_location) < 0 ||
	    read_chunks(r, "node_chunk", NODE_WIDTH, NODE_DELTAS, take_node) < 0 ||
	    read_chunks(r, "cell_chunk", CELL_WIDTH, CELL_DELTAS, take_cell) < 0)
		return -1;
	if (r->under_way)
		return damaged(r, "a time cannot be");
	return check_checksum(r);
}

static struct profile *new_profile(struct error *err)
{
	cleanup(profile) struct profile *p = profile_alloc(NULL, err);

	if (!p)
		return NULL;
	p->modules = p->own_modules = modules_new();
	if (!p->modules) {
		error_set(err, ENOMEM, "could not start a profile");
		return NULL;
	}
	return steal(p);
}

static int read_bytes(struct reader *r, unsigned char *bytes, size_t size)
{
	if (check_header(r, bytes, size) < 0) {
		sqlite3_free(bytes);
		return -1;
	}
	if (open_database(r, bytes, size) < 0)
		return -1;
	return read_all(r);
}

struct profile *profile_read(const char *path, struct error *err)
{
	size_t size;
	unsigned char *bytes = load(path, &size, err);
	if (!bytes)
		return NULL;

	cleanup(profile) struct profile *p = new_profile(err);
	if (!p) {
		sqlite3_free(bytes);
		return NULL;
	}
	struct reader r = { .path = path, .profile = p, .err = err };
	int result = read_bytes(&r, bytes, size);
	sqlite3_finalize(r.select);
	sqlite3_close(r.db);
	return result == 0 ? steal(p) : NULL;
}

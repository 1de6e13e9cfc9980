// SPDX-License-Identifier: MIT
/*
 * profile_write(). The database is made in memory and saved as a whole: SQLite
 * never touches the disk, so no journal can be left there, and the only thing
 * that can fail outside is a plain write.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "merge/answer.h"
#include "merge/file.h"
#include "merge/profile_data.h"
#include "merge/run_fields.h"
#include "merge/scope.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#define TIMES "self_on_ns INTEGER, self_off_ns INTEGER, total_on_ns INTEGER, total_off_ns INTEGER"
#define TIMES_OF(table)                                                                            \
	table ".self_on_ns, " table ".self_off_ns, " table ".total_on_ns, " table ".total_off_ns"

static const char schema[] =
	"CREATE TABLE run(key TEXT, value);"
	"CREATE TABLE string(id INTEGER PRIMARY KEY, text TEXT);"
	"CREATE TABLE module(id INTEGER PRIMARY KEY, kind INTEGER, path TEXT, pid INTEGER,"
	" device INTEGER, inode INTEGER, build_id BLOB, level INTEGER, source TEXT, reason TEXT,"
	" remedy TEXT);"
	"CREATE TABLE process(id INTEGER PRIMARY KEY, parent INTEGER, pid INTEGER, command TEXT,"
	" merged INTEGER, start_ns INTEGER, end_ns INTEGER);"
	"CREATE TABLE thread(id INTEGER PRIMARY KEY, process INTEGER, tid INTEGER, name TEXT,"
	" merged INTEGER, ended INTEGER, estimated INTEGER, start_ns INTEGER, end_ns INTEGER,"
	" on_cpu INTEGER, runnable INTEGER, lock INTEGER, file INTEGER, net INTEGER, pipe INTEGER,"
	" sleep INTEGER, fault INTEGER, child INTEGER, gpu INTEGER, stopped INTEGER,"
	" other INTEGER);"
	"CREATE TABLE place_chunk(id INTEGER PRIMARY KEY, rows INTEGER, data BLOB);"
	"CREATE TABLE location_chunk(id INTEGER PRIMARY KEY, rows INTEGER, data BLOB);"
	"CREATE TABLE node_chunk(id INTEGER PRIMARY KEY, rows INTEGER, data BLOB);"
	"CREATE TABLE cell_chunk(id INTEGER PRIMARY KEY, rows INTEGER, data BLOB);"
	"CREATE TABLE checksum(crc32 INTEGER);"
	"CREATE TABLE function(id INTEGER PRIMARY KEY, name INTEGER, label TEXT, module INTEGER,"
	" file INTEGER, line INTEGER, kernel INTEGER, inlined INTEGER, samples INTEGER, " TIMES ");"
	"CREATE TABLE function_line(id INTEGER PRIMARY KEY, name INTEGER, label TEXT,"
	" module INTEGER, file INTEGER, line INTEGER, samples INTEGER, " TIMES ");"
	"CREATE VIEW hotspot(function, file, line, module, samples, self_on_ns, self_off_ns,"
	" total_on_ns, total_off_ns) AS"
	" SELECT coalesce(n.text, r.label), f.text, r.line, m.path, r.samples, " TIMES_OF(
		"r") " FROM function r"
		     " LEFT JOIN string n ON n.id = r.name LEFT JOIN string f ON f.id = r.file"
		     " LEFT JOIN module m ON m.id = r.module;"
		     "CREATE VIEW line(function, file, line, module, samples, self_on_ns, self_off_ns,"
		     " total_on_ns, total_off_ns) AS"
		     " SELECT coalesce(n.text, r.label), f.text, r.line, m.path, r.samples, " TIMES_OF(
			     "r") " FROM function_line r"
				  " LEFT JOIN string n ON n.id = r.name LEFT JOIN string f ON f.id = r.file"
				  " LEFT JOIN module m ON m.id = r.module;";

struct writer {
	const struct profile *profile;
	sqlite3 *db;
	sqlite3_stmt *insert; // into the table that is being filled
	int column;
	bool checked; // what is inserted counts for the checksum
	uint32_t checksum;
	struct error *err;
};

static int failed(struct writer *w)
{
	return error_set(w->err, sqlite3_errcode(w->db) == SQLITE_NOMEM ? ENOMEM : 0,
	                 "could not pack the profile (%s)", sqlite3_errmsg(w->db));
}

static int no_memory(struct writer *w)
{
	return error_set(w->err, ENOMEM, "could not pack the profile");
}

static int run_sql(struct writer *w, const char *sql)
{
	return sqlite3_exec(w->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : failed(w);
}

static int begin_table(struct writer *w, const char *table, int width, bool checked)
{
	char sql[256];
	int length = snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES(?", table);

	for (int i = 1; i < width; i++)
		length += snprintf(sql + length, sizeof(sql) - (size_t)length, ",?");
	snprintf(sql + length, sizeof(sql) - (size_t)length, ")");
	sqlite3_finalize(w->insert);
	w->insert = NULL;
	w->column = 0;
	w->checked = checked;
	return sqlite3_prepare_v2(w->db, sql, -1, &w->insert, NULL) == SQLITE_OK ? 0 : failed(w);
}

// Only running out of memory can fail in these, and then put_row() fails as well.

static void put_int(struct writer *w, int64_t value)
{
	sqlite3_bind_int64(w->insert, ++w->column, value);
	if (w->checked)
		w->checksum = file_checksum_int(w->checksum, value);
}

static void put_bytes(struct writer *w, int type, const void *bytes, size_t size)
{
	if (type == SQLITE_TEXT)
		sqlite3_bind_text(w->insert, ++w->column, bytes, (int)size, SQLITE_TRANSIENT);
	else
		sqlite3_bind_blob(w->insert, ++w->column, bytes, (int)size, SQLITE_TRANSIENT);
	if (w->checked)
		w->checksum = file_checksum(w->checksum, type, bytes, size);
}

static void put_null(struct writer *w)
{
	sqlite3_bind_null(w->insert, ++w->column);
	if (w->checked)
		w->checksum = file_checksum(w->checksum, SQLITE_NULL, NULL, 0);
}

static void put_text(struct writer *w, const char *text)
{
	if (text)
		put_bytes(w, SQLITE_TEXT, text, strlen(text));
	else
		put_null(w);
}

static void put_string(struct writer *w, uint32_t id)
{
	put_text(w, strings_get(w->profile->strings, id));
}

// An id, or NULL instead of 0.
static void put_id(struct writer *w, uint32_t id)
{
	if (id)
		put_int(w, id);
	else
		put_null(w);
}

// The row is complete.
static int put_row(struct writer *w)
{
	w->column = 0;
	if (sqlite3_step(w->insert) != SQLITE_DONE)
		return failed(w);
	sqlite3_reset(w->insert);
	sqlite3_clear_bindings(w->insert);
	return 0;
}

static int put_fact(struct writer *w, const char *key, int64_t value)
{
	put_text(w, key);
	put_int(w, value);
	return put_row(w);
}

static int write_run(struct writer *w)
{
	const struct profile *p = w->profile;

	if (begin_table(w, "run", 2, true) < 0)
		return -1;
	for (size_t i = 0; i < run_field_count; i++) {
		const struct run_field *field = &run_fields[i];
		put_text(w, field->key);
		if (field->type == RUN_TEXT)
			put_text(w, *run_text(&p->run, field));
		else
			put_int(w, run_get(&p->run, field));
		if (put_row(w) < 0)
			return -1;
	}
	if (put_fact(w, "origin_ns", (int64_t)p->cells.origin_ns) < 0 ||
	    put_fact(w, "bin_ns", (int64_t)p->cells.width_ns) < 0 ||
	    put_fact(w, "last_ns", (int64_t)p->last_ns) < 0 ||
	    put_fact(w, "processes_seen", (int64_t)p->threads.processes_seen) < 0 ||
	    put_fact(w, "threads_seen", (int64_t)p->threads.threads_seen) < 0 ||
	    put_fact(w, "events_lost", (int64_t)p->lost) < 0)
		return -1;
	return put_fact(w, "events_lost_ns", (int64_t)p->lost_ns);
}

static int write_strings(struct writer *w)
{
	if (begin_table(w, "string", 2, true) < 0)
		return -1;
	for (uint32_t id = 1; id <= strings_count(w->profile->strings); id++) {
		put_int(w, id);
		put_string(w, id);
		if (put_row(w) < 0)
			return -1;
	}
	return 0;
}

static int write_modules(struct writer *w)
{
	const struct profile *p = w->profile;

	if (begin_table(w, "module", 11, true) < 0)
		return -1;
	for (uint32_t id = 1; id <= modules_count(p->modules); id++) {
		const struct module *module = modules_get(p->modules, id);
		const struct module_facts none = { 0 };
		const struct module_facts *facts = id <= p->fact_count ? &p->facts[id - 1] : &none;
		put_int(w, id);
		put_int(w, module->kind);
		put_text(w, module->path);
		put_int(w, module->pid);
		put_int(w, (int64_t)module->device);
		put_int(w, (int64_t)module->inode);
		if (module->build_id_size)
			put_bytes(w, SQLITE_BLOB, module->build_id, module->build_id_size);
		else
			put_null(w);
		put_int(w, facts->level);
		put_string(w, facts->source);
		put_string(w, facts->reason);
		put_string(w, facts->remedy);
		if (put_row(w) < 0)
			return -1;
	}
	return 0;
}

static int write_processes(struct writer *w)
{
	const struct threads *t = &w->profile->threads;

	if (begin_table(w, "process", 7, true) < 0)
		return -1;
	for (size_t i = 0; i < t->process_count; i++) {
		const struct process_info *info = &t->processes[i];
		put_int(w, (int64_t)i + 1);
		put_id(w, info->parent);
		put_int(w, info->pid);
		put_string(w, info->command);
		put_int(w, info->merged);
		put_int(w, (int64_t)info->start_ns);
		put_int(w, (int64_t)info->end_ns);
		if (put_row(w) < 0)
			return -1;
	}
	return 0;
}

static int write_threads(struct writer *w)
{
	const struct threads *t = &w->profile->threads;

	if (begin_table(w, "thread", 9 + METRIC_COUNT, true) < 0)
		return -1;
	for (size_t i = 0; i < t->thread_count; i++) {
		const struct thread_info *info = &t->threads[i];
		put_int(w, (int64_t)i + 1);
		put_id(w, info->process);
		put_int(w, info->tid);
		put_string(w, info->name);
		put_int(w, info->merged);
		put_int(w, info->ended);
		put_int(w, info->estimated);
		put_int(w, (int64_t)info->start_ns);
		put_int(w, (int64_t)info->end_ns);
		for (int m = 0; m < METRIC_COUNT; m++)
			put_int(w, (int64_t)info->ns[m]);
		if (put_row(w) < 0)
			return -1;
	}
	return 0;
}

// A table of blobs: FILL puts row INDEX of TOTAL into row AT of the columns.
struct chunked {
	const char *table;
	uint32_t total;
	uint32_t width, deltas;
	void (*fill)(const struct writer *w, uint32_t index, struct columns *c, uint32_t at);
};

static int write_chunk(struct writer *w, uint32_t id, const struct columns *c)
{
	size_t size;
	// A checkpoint is replaced soon: it need not be small, but cheap.
	int level = w->profile->run.complete ? 6 : 1;
	cleanup_free void *blob = columns_pack(c, level, &size);

	if (!blob)
		return no_memory(w);
	put_int(w, id);
	put_int(w, c->rows);
	put_bytes(w, SQLITE_BLOB, blob, size);
	return put_row(w);
}

static int write_chunked(struct writer *w, const struct chunked *chunked)
{
	cleanup(columns) struct columns c = { 0 };
	uint32_t id = 0;

	if (!columns_init(&c, chunked->width, chunked->deltas))
		return no_memory(w);
	if (begin_table(w, chunked->table, 3, true) < 0)
		return -1;
	for (uint32_t first = 0; first < chunked->total; first += c.rows) {
		uint32_t rest = chunked->total - first;
		c.rows = rest < COLUMNS_ROWS ? rest : COLUMNS_ROWS;
		for (uint32_t i = 0; i < c.rows; i++)
			chunked->fill(w, first + i, &c, i);
		if (write_chunk(w, ++id, &c) < 0)
			return -1;
	}
	return 0;
}

static void fill_place(const struct writer *w, uint32_t index, struct columns *c, uint32_t at)
{
	const struct place *place = &w->profile->locations.places[index];

	*columns_at(c, 0, at) = place->function;
	*columns_at(c, 1, at) = place->file;
	*columns_at(c, 2, at) = place->line;
	*columns_at(c, 3, at) = place->inlined;
	// Mostly the file that the line is in: then 0.
	*columns_at(c, 4, at) = place->declared == place->file ? 0 : place->declared;
}

static void fill_location(const struct writer *w, uint32_t index, struct columns *c, uint32_t at)
{
	const struct location *location = &w->profile->locations.locations[index];

	*columns_at(c, 0, at) = location->module;
	*columns_at(c, 1, at) = location->address;
	*columns_at(c, 2, at) = location->kind;
	*columns_at(c, 3, at) = location->named;
	*columns_at(c, 4, at) = location->first_place;
	*columns_at(c, 5, at) = location->place_count;
}

// A parent by its distance, which is mostly 1.
static void fill_node(const struct writer *w, uint32_t index, struct columns *c, uint32_t at)
{
	const struct path_node *node = &w->profile->paths.nodes[index];

	*columns_at(c, 0, at) = node->parent ? index + 1 - node->parent : 0;
	*columns_at(c, 1, at) = node->location;
}

static int write_tree(struct writer *w)
{
	const struct profile *p = w->profile;
	const struct chunked places = { "place_chunk", p->locations.place_count, PLACE_WIDTH,
		                        PLACE_DELTAS, fill_place };
	const struct chunked locations = { "location_chunk", p->locations.count, LOCATION_WIDTH,
		                           LOCATION_DELTAS, fill_location };
	const struct chunked nodes = { "node_chunk", p->paths.count, NODE_WIDTH, NODE_DELTAS,
		                       fill_node };

	if (write_chunked(w, &places) < 0 || write_chunked(w, &locations) < 0)
		return -1;
	return write_chunked(w, &nodes);
}

/*
 * Cells go by node, metric and bin, so that their numbers grow slowly. What a
 * sample weighs is nearly the same for all, so only the difference to that is stored.
 */
static void fill_cell(const struct profile *p, uint32_t index, struct columns *c, uint32_t at)
{
	const struct cell *cell = &p->cells.cells[index];

	*columns_at(c, 0, at) = cell->node;
	*columns_at(c, 1, at) = cell->metric;
	*columns_at(c, 2, at) = cell->bin;
	*columns_at(c, 3, at) = cell->samples;
	*columns_at(c, 4, at) =
		zigzag((int64_t)(cell->ns - cell->samples * file_sample_ns(&p->run)));
	*columns_at(c, 5, at) = zigzag(cell->rate);
}

static int compare_cells(const void *a, const void *b, void *context)
{
	const struct cell *cells = context;
	const struct cell *left = &cells[*(const uint32_t *)a];
	const struct cell *right = &cells[*(const uint32_t *)b];

	if (left->metric != right->metric)
		return left->metric < right->metric ? -1 : 1;
	return left->bin < right->bin ? -1 : left->bin > right->bin;
}

// Within each node; the scope has them by node.
static void sort_cells(const struct scope *scope)
{
	const struct profile *p = scope->profile;

	for (uint32_t i = 0; i < p->paths.count; i++)
		qsort_r(scope->cells + scope->first_cell[i],
		        scope->first_cell[i + 1] - scope->first_cell[i], sizeof(*scope->cells),
		        compare_cells, p->cells.cells);
}

static int write_cells(struct writer *w)
{
	const struct profile *p = w->profile;
	const struct query everything = { 0 };
	cleanup(scope) struct scope scope = { 0 };
	cleanup(columns) struct columns c = { 0 };
	uint32_t id = 0;

	if (scope_init(&scope, p, &everything, w->err) < 0)
		return -1;
	if (!columns_init(&c, CELL_WIDTH, CELL_DELTAS))
		return no_memory(w);
	if (begin_table(w, "cell_chunk", 3, true) < 0)
		return -1;
	sort_cells(&scope);
	for (uint32_t i = 0; i < p->cells.count; i++) {
		fill_cell(p, scope.cells[i], &c, c.rows++);
		if (c.rows < COLUMNS_ROWS && i + 1 < p->cells.count)
			continue;
		if (write_chunk(w, ++id, &c) < 0)
			return -1;
		c.rows = 0;
	}
	return 0;
}

static void put_times(struct writer *w, const struct row *row)
{
	uint64_t self_off = 0, total_off = 0;

	for (int i = 0; i < METRIC_COUNT; i++) {
		self_off += metric_is_off_cpu(i) ? row->self_ns[i] : 0;
		total_off += metric_is_off_cpu(i) ? row->total_ns[i] : 0;
	}
	put_int(w, (int64_t)row->self_ns[METRIC_ON_CPU]);
	put_int(w, (int64_t)self_off);
	put_int(w, (int64_t)row->total_ns[METRIC_ON_CPU]);
	put_int(w, (int64_t)total_off);
}

// Where the profile has no name, there is what stands for one: "[libfoo.so]".
static void put_key(struct writer *w, const struct key *key, const struct row *row)
{
	bool has_module = key->group == KEY_CODE || key->group == KEY_NAMELESS;

	put_id(w, key->function);
	put_text(w, key->function ? NULL : row->name);
	put_id(w, has_module ? key->module : 0);
	put_id(w, key->file);
	put_id(w, key->line);
}

// For people: our reader works these out again.
static int write_functions(struct writer *w)
{
	const struct query by_function = { .by = BY_FUNCTION };
	cleanup(rows) struct rows *rows = query_run(w->profile, &by_function, w->err);

	if (!rows || begin_table(w, "function", 13, false) < 0)
		return -1;
	for (size_t i = 0; i < rows->count; i++) {
		put_int(w, (int64_t)i + 1);
		put_key(w, &answer_of(rows)->keys[i], &rows->rows[i]);
		put_int(w, rows->rows[i].kernel);
		put_int(w, rows->rows[i].inlined);
		put_int(w, (int64_t)rows->rows[i].self_samples);
		put_times(w, &rows->rows[i]);
		if (put_row(w) < 0)
			return -1;
	}
	return 0;
}

// Only lines where time was spent: calls would be several times as many.
static int write_lines(struct writer *w)
{
	const struct query by_line = { .by = BY_LINE }; // most self first
	cleanup(rows) struct rows *rows = query_run(w->profile, &by_line, w->err);

	if (!rows || begin_table(w, "function_line", 11, false) < 0)
		return -1;
	for (size_t i = 0; i < rows->count && rows->rows[i].self; i++) {
		put_int(w, (int64_t)i + 1);
		put_key(w, &answer_of(rows)->keys[i], &rows->rows[i]);
		put_int(w, (int64_t)rows->rows[i].self_samples);
		put_times(w, &rows->rows[i]);
		if (put_row(w) < 0)
			return -1;
	}
	return 0;
}

static int write_checksum(struct writer *w)
{
	uint32_t checksum = w->checksum;

	if (begin_table(w, "checksum", 1, false) < 0)
		return -1;
	put_int(w, checksum);
	return put_row(w);
}

static int write_all(struct writer *w)
{
	char pragmas[128];
	// Small pages waste less of a small file, large ones less beside long names.
	int page = strings_count(w->profile->strings) > 1000 ? 4096 : 1024;

	snprintf(pragmas, sizeof(pragmas),
	         "PRAGMA page_size=%d; PRAGMA application_id=%d; PRAGMA user_version=%d; BEGIN;",
	         page, FILE_APPLICATION_ID, FILE_SCHEMA);
	if (run_sql(w, pragmas) < 0 || run_sql(w, schema) < 0 || write_strings(w) < 0 ||
	    write_run(w) < 0 || write_modules(w) < 0 || write_processes(w) < 0 ||
	    write_threads(w) < 0 || write_tree(w) < 0 || write_cells(w) < 0 ||
	    write_checksum(w) < 0)
		return -1;
	// Before the names are known, those tables would only hold modules.
	if (profile_is_symbolized(w->profile) && (write_functions(w) < 0 || write_lines(w) < 0))
		return -1;
	return run_sql(w, "COMMIT");
}

static int save(struct writer *w, const char *path)
{
	sqlite3_int64 size = 0;
	unsigned char *bytes = sqlite3_serialize(w->db, "main", &size, 0);

	if (!bytes)
		return no_memory(w);
	int result = file_save(path, bytes, (size_t)size, w->err);
	sqlite3_free(bytes);
	return result;
}

int profile_write(const struct profile *p, const char *path, struct error *err)
{
	struct writer w = { .profile = p, .err = err };
	int result = -1;

	if (sqlite3_open_v2(":memory:", &w.db,
	                    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
	                    NULL) == SQLITE_OK)
		result = write_all(&w);
	else
		no_memory(&w);
	sqlite3_finalize(w.insert);
	w.insert = NULL;
	if (result == 0)
		result = save(&w, path);
	sqlite3_close(w.db);
	return result;
}

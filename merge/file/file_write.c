// SPDX-License-Identifier: MIT
/*
 * profile_write(). The database is made in memory and saved as a whole: SQLite
 * never touches the disk, so no journal can be left there, and the only thing
 * that can fail outside is a plain write.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "merge/file/file_writer.h"
#include "merge/profile/profile_data.h"
#include "merge/profile/run_fields.h"
#include "merge/query/answer.h"

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
	" title TEXT, merged INTEGER, start_ns INTEGER, end_ns INTEGER);"
	"CREATE TABLE thread(id INTEGER PRIMARY KEY, process INTEGER, tid INTEGER, name TEXT,"
	" merged INTEGER, ended INTEGER, estimated INTEGER, start_ns INTEGER, end_ns INTEGER,"
	" on_cpu INTEGER, runnable INTEGER, lock INTEGER, file INTEGER, net INTEGER, pipe INTEGER,"
	" sleep INTEGER, fault INTEGER, child INTEGER, gpu INTEGER, stopped INTEGER,"
	" other INTEGER);"
	"CREATE TABLE place_chunk(id INTEGER PRIMARY KEY, rows INTEGER, data BLOB);"
	"CREATE TABLE location_chunk(id INTEGER PRIMARY KEY, rows INTEGER, data BLOB);"
	"CREATE TABLE node_chunk(id INTEGER PRIMARY KEY, rows INTEGER, data BLOB);"
	"CREATE TABLE cell_chunk(id INTEGER PRIMARY KEY, rows INTEGER, data BLOB);"
	"CREATE TABLE source(file INTEGER, bytes INTEGER, modified_ns INTEGER);"
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

static int write_run(struct file_writer *w)
{
	const struct profile *p = w->profile;

	if (file_writer_begin(w, "run", 2, true) < 0)
		return -1;
	for (size_t i = 0; i < run_field_count; i++) {
		const struct run_field *field = &run_fields[i];
		file_writer_text(w, field->key);
		if (field->type == RUN_TEXT)
			file_writer_text(w, *run_text(&p->run, field));
		else
			file_writer_int(w, run_get(&p->run, field));
		if (file_writer_row(w) < 0)
			return -1;
	}
	if (file_writer_fact(w, "origin_ns", (int64_t)p->cells.origin_ns) < 0 ||
	    file_writer_fact(w, "bin_ns", (int64_t)p->cells.width_ns) < 0 ||
	    file_writer_fact(w, "last_ns", (int64_t)p->last_ns) < 0 ||
	    file_writer_fact(w, "processes_seen", (int64_t)p->threads.processes_seen) < 0 ||
	    file_writer_fact(w, "threads_seen", (int64_t)p->threads.threads_seen) < 0 ||
	    file_writer_fact(w, "events_lost", (int64_t)p->lost) < 0)
		return -1;
	if (file_writer_fact(w, "events_lost_ns", (int64_t)p->lost_ns) < 0)
		return -1;
	if (write_op_facts(w) < 0 || write_counter_facts(w) < 0 || write_series_facts(w) < 0 ||
	    write_gpu_facts(w) < 0 || write_python_facts(w) < 0 || write_await_facts(w) < 0 ||
	    write_gpu_line_facts(w) < 0 || write_repeat_facts(w) < 0 || write_slice_facts(w) < 0 ||
	    write_instruction_facts(w) < 0 || write_rank_facts(w) < 0 || write_wall_facts(w) < 0)
		return -1;
	return write_memory_facts(w);
}

static int write_strings(struct file_writer *w)
{
	if (file_writer_begin(w, "string", 2, true) < 0)
		return -1;
	for (uint32_t id = 1; id <= strings_count(w->profile->strings); id++) {
		file_writer_int(w, id);
		file_writer_string(w, id);
		if (file_writer_row(w) < 0)
			return -1;
	}
	return 0;
}

static int write_modules(struct file_writer *w)
{
	const struct profile *p = w->profile;

	if (file_writer_begin(w, "module", 11, true) < 0)
		return -1;
	for (uint32_t id = 1; id <= modules_count(p->modules); id++) {
		const struct module *module = modules_get(p->modules, id);
		const struct module_facts none = { 0 };
		const struct module_facts *facts = id <= p->fact_count ? &p->facts[id - 1] : &none;
		file_writer_int(w, id);
		file_writer_int(w, module->kind);
		file_writer_text(w, module->path);
		file_writer_int(w, module->pid);
		file_writer_int(w, (int64_t)module->device);
		file_writer_int(w, (int64_t)module->inode);
		if (module->build_id_size)
			file_writer_bytes(w, SQLITE_BLOB, module->build_id, module->build_id_size);
		else
			file_writer_null(w);
		file_writer_int(w, facts->level);
		file_writer_string(w, facts->source);
		file_writer_string(w, facts->reason);
		file_writer_string(w, facts->remedy);
		if (file_writer_row(w) < 0)
			return -1;
	}
	return 0;
}

static int write_processes(struct file_writer *w)
{
	const struct threads *t = &w->profile->threads;

	if (file_writer_begin(w, "process", 8, true) < 0)
		return -1;
	for (size_t i = 0; i < t->process_count; i++) {
		const struct process_info *info = &t->processes[i];
		file_writer_int(w, (int64_t)i + 1);
		file_writer_id(w, info->parent);
		file_writer_int(w, info->pid);
		file_writer_string(w, info->command);
		file_writer_string(w, info->title);
		file_writer_int(w, info->merged);
		file_writer_int(w, (int64_t)info->start_ns);
		file_writer_int(w, (int64_t)info->end_ns);
		if (file_writer_row(w) < 0)
			return -1;
	}
	return 0;
}

static int write_threads(struct file_writer *w)
{
	const struct threads *t = &w->profile->threads;

	if (file_writer_begin(w, "thread", 9 + METRIC_COUNT, true) < 0)
		return -1;
	for (size_t i = 0; i < t->thread_count; i++) {
		const struct thread_info *info = &t->threads[i];
		file_writer_int(w, (int64_t)i + 1);
		file_writer_id(w, info->process);
		file_writer_int(w, info->tid);
		file_writer_string(w, info->name);
		file_writer_int(w, info->merged);
		file_writer_int(w, info->ended);
		file_writer_int(w, info->estimated);
		file_writer_int(w, (int64_t)info->start_ns);
		file_writer_int(w, (int64_t)info->end_ns);
		for (int m = 0; m < METRIC_COUNT; m++)
			file_writer_int(w, (int64_t)info->ns[m]);
		if (file_writer_row(w) < 0)
			return -1;
	}
	return 0;
}

static void fill_place(const struct file_writer *w, const void *context, uint32_t index,
                       struct columns *c, uint32_t at)
{
	const struct place *place = &w->profile->locations.places[index];

	(void)context;
	*columns_at(c, 0, at) = place->function;
	*columns_at(c, 1, at) = place->file;
	*columns_at(c, 2, at) = place->line;
	*columns_at(c, 3, at) = place->inlined | (unsigned)place->unoptimized << 1;
	// Mostly the file that the line is in: then 0.
	*columns_at(c, 4, at) = place->declared == place->file ? 0 : place->declared;
}

static void fill_location(const struct file_writer *w, const void *context, uint32_t index,
                          struct columns *c, uint32_t at)
{
	const struct location *location = &w->profile->locations.locations[index];

	(void)context;
	*columns_at(c, 0, at) = location->module;
	*columns_at(c, 1, at) = location->address;
	*columns_at(c, 2, at) = location->kind;
	*columns_at(c, 3, at) = location->named;
	*columns_at(c, 4, at) = location->first_place;
	*columns_at(c, 5, at) = location->place_count;
	*columns_at(c, 6, at) = location->loop;
}

// A parent by its distance, which is mostly 1.
static void fill_node(const struct file_writer *w, const void *context, uint32_t index,
                      struct columns *c, uint32_t at)
{
	const struct path_node *node = &w->profile->paths.nodes[index];

	(void)context;
	*columns_at(c, 0, at) = node->parent ? index + 1 - node->parent : 0;
	*columns_at(c, 1, at) = node->location;
}

static int write_tree(struct file_writer *w)
{
	const struct profile *p = w->profile;
	const struct chunked places = { "place_chunk", p->locations.place_count,
		                        PLACE_WIDTH,   PLACE_DELTAS,
		                        fill_place,    NULL };
	const struct chunked locations = { "location_chunk", p->locations.count, LOCATION_WIDTH,
		                           LOCATION_DELTAS,  fill_location,      NULL };
	const struct chunked nodes = { "node_chunk", p->paths.count, NODE_WIDTH,
		                       NODE_DELTAS,  fill_node,      NULL };

	if (file_writer_chunks(w, &places) < 0 || file_writer_chunks(w, &locations) < 0)
		return -1;
	return file_writer_chunks(w, &nodes);
}

static int write_cells(struct file_writer *w)
{
	const struct profile *p = w->profile;

	return write_cell_table(w, "cell_chunk", &p->cells, file_sample_ns(&p->run));
}

static void put_times(struct file_writer *w, const struct row *row)
{
	uint64_t self_off = 0, total_off = 0;

	for (int i = 0; i < METRIC_COUNT; i++) {
		self_off += metric_is_off_cpu(i) ? row->self_ns[i] : 0;
		total_off += metric_is_off_cpu(i) ? row->total_ns[i] : 0;
	}
	file_writer_int(w, (int64_t)row->self_ns[METRIC_ON_CPU]);
	file_writer_int(w, (int64_t)self_off);
	file_writer_int(w, (int64_t)row->total_ns[METRIC_ON_CPU]);
	file_writer_int(w, (int64_t)total_off);
}

// Where the profile has no name, there is what stands for one: "[libfoo.so]".
static void put_key(struct file_writer *w, const struct key *key, const struct row *row)
{
	bool has_module = key->group == KEY_CODE || key->group == KEY_NAMELESS;

	file_writer_id(w, key->function);
	file_writer_text(w, key->function ? NULL : row->name);
	file_writer_id(w, has_module ? key->module : 0);
	file_writer_id(w, key->file);
	file_writer_id(w, key->line);
}

// For people: our reader works these out again.
static int write_functions(struct file_writer *w)
{
	const struct query by_function = { .by = BY_FUNCTION };
	cleanup(rows) struct rows *rows = query_run(w->profile, &by_function, w->err);

	if (!rows || file_writer_begin(w, "function", 13, false) < 0)
		return -1;
	for (size_t i = 0; i < rows->count; i++) {
		file_writer_int(w, (int64_t)i + 1);
		put_key(w, &answer_of(rows)->keys[i], &rows->rows[i]);
		file_writer_int(w, rows->rows[i].kernel);
		file_writer_int(w, rows->rows[i].inlined);
		file_writer_int(w, (int64_t)rows->rows[i].self_samples);
		put_times(w, &rows->rows[i]);
		if (file_writer_row(w) < 0)
			return -1;
	}
	return 0;
}

// Only lines where time was spent: calls would be several times as many.
static int write_lines(struct file_writer *w)
{
	const struct query by_line = { .by = BY_LINE }; // most self first
	cleanup(rows) struct rows *rows = query_run(w->profile, &by_line, w->err);

	if (!rows || file_writer_begin(w, "function_line", 11, false) < 0)
		return -1;
	for (size_t i = 0; i < rows->count && rows->rows[i].self; i++) {
		file_writer_int(w, (int64_t)i + 1);
		put_key(w, &answer_of(rows)->keys[i], &rows->rows[i]);
		file_writer_int(w, (int64_t)rows->rows[i].self_samples);
		put_times(w, &rows->rows[i]);
		if (file_writer_row(w) < 0)
			return -1;
	}
	return 0;
}

static int write_checksum(struct file_writer *w)
{
	uint32_t checksum = w->checksum;

	if (file_writer_begin(w, "checksum", 1, false) < 0)
		return -1;
	file_writer_int(w, checksum);
	return file_writer_row(w);
}

// Small pages waste less of a small file, large ones less beside long names.
#define SMALL_PAGE 1024
#define LARGE_PAGE 4096

// W has an empty database, and is in a transaction afterwards.
static int make_tables(struct file_writer *w, int page)
{
	char pragmas[128];

	snprintf(pragmas, sizeof(pragmas),
	         "PRAGMA page_size=%d; PRAGMA application_id=%d; PRAGMA user_version=%d; BEGIN;",
	         page, FILE_APPLICATION_ID, FILE_SCHEMA);
	return file_writer_sql(w, pragmas) < 0 || file_writer_sql(w, schema) < 0 ? -1 : 0;
}

static int open_database(struct file_writer *w, int page)
{
	if (sqlite3_open_v2(":memory:", &w->db,
	                    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
	                    NULL) != SQLITE_OK)
		return file_writer_no_memory(w);
	return make_tables(w, page);
}

static sqlite3 *prepared; // with SMALL_PAGE; NULL: there is none. Atomic

void profile_write_prepare(void)
{
	struct error ignored;
	struct file_writer w = { .err = &ignored };

	if (open_database(&w, SMALL_PAGE) < 0)
		sqlite3_close(w.db);
	else
		sqlite3_close(__atomic_exchange_n(&prepared, w.db, __ATOMIC_ACQ_REL));
}

static int take_database(struct file_writer *w)
{
	int page = strings_count(w->profile->strings) > 1000 ? LARGE_PAGE : SMALL_PAGE;

	w->db = __atomic_exchange_n(&prepared, NULL, __ATOMIC_ACQ_REL);
	if (w->db && page == SMALL_PAGE)
		return 0;
	sqlite3_close(w->db);
	return open_database(w, page);
}

static int write_all(struct file_writer *w)
{
	if (take_database(w) < 0 || write_strings(w) < 0 || write_run(w) < 0 ||
	    write_modules(w) < 0 || write_op_names(w) < 0 || write_processes(w) < 0 ||
	    write_threads(w) < 0 || write_tree(w) < 0 || write_cells(w) < 0 || write_ops(w) < 0 ||
	    write_counters(w) < 0 || write_series(w) < 0 || write_wall(w) < 0 || write_gpu(w) < 0 ||
	    write_memory(w) < 0 || write_python(w) < 0 || write_awaits(w) < 0 ||
	    write_gpu_lines(w) < 0 || write_repeats(w) < 0 || write_slices(w) < 0 ||
	    write_instructions(w) < 0 || write_ranks(w) < 0 || write_sources(w) < 0 ||
	    write_checksum(w) < 0)
		return -1;
	// Before the names are known, those tables would only hold modules.
	if (profile_is_symbolized(w->profile) && (write_functions(w) < 0 || write_lines(w) < 0 ||
	                                          write_op_rows(w) < 0 || write_memory_rows(w) < 0))
		return -1;
	return file_writer_sql(w, "COMMIT");
}

static int save(struct file_writer *w, const char *path, bool sync)
{
	sqlite3_int64 size = 0;
	unsigned char *bytes = sqlite3_serialize(w->db, "main", &size, 0);

	if (!bytes)
		return file_writer_no_memory(w);
	int result = file_save(path, bytes, (size_t)size, sync, w->err);
	sqlite3_free(bytes);
	return result;
}

static int write_profile(const struct profile *p, const char *path, bool sync, struct error *err)
{
	struct file_writer w = { .profile = p, .err = err };
	int result = write_all(&w);

	sqlite3_finalize(w.insert);
	w.insert = NULL;
	if (result == 0)
		result = save(&w, path, sync);
	sqlite3_close(w.db);
	return result;
}

int profile_write(const struct profile *p, const char *path, struct error *err)
{
	return write_profile(p, path, true, err);
}

int profile_write_unsynced(const struct profile *p, const char *path, struct error *err)
{
	return write_profile(p, path, false, err);
}

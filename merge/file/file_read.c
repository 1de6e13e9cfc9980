// SPDX-License-Identifier: MIT
/*
 * profile_read(). The file may be anything: it is read whole, opened in memory
 * without trust in its schema, and every number in it is checked before it is
 * an index. A checksum over all values finds what SQLite and the checks let pass.
 */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/secret.h"
#include "merge/file/file_reader.h"
#include "merge/profile/run_fields.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

static const struct run_field *find_field(struct file_reader *r, const char *key)
{
	for (size_t i = 0; i < run_field_count; i++) {
		// The one behind the last one, mostly: they are written in this order.
		size_t at = (r->next_field + i) % run_field_count;
		if (strcmp(run_fields[at].key, key) != 0)
			continue;
		r->next_field = at + 1;
		return &run_fields[at];
	}
	return NULL;
}

// What is no field of struct run. A key that we do not know is of no use to us, and no damage.
static void take_fact(struct profile *p, const char *key, int64_t value)
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
}

static void take_number(struct file_reader *r, const char *key, int64_t value)
{
	bool taken = take_op_fact(r, key, value) || take_counter_fact(r, key, value) ||
	             take_series_fact(r, key, value) || take_gpu_fact(r, key, value) ||
	             take_memory_fact(r, key, value) || take_python_fact(r, key, value) ||
	             take_await_fact(r, key, value) || take_gpu_line_fact(r, key, value) ||
	             take_repeat_fact(r, key, value) || take_slice_fact(r, key, value) ||
	             take_instruction_fact(r, key, value) || take_rank_fact(r, key, value) ||
	             take_wall_fact(r, key, value);

	if (!taken)
		take_fact(r->profile, key, value);
}

// Profiles of before commands were masked as they are recorded.
static bool mask_command(struct profile *p)
{
	cleanup_free char *masked = secret_mask(p->run.command);

	p->run.command = masked ? strings_get(p->strings, strings_add(p->strings, masked)) : NULL;
	return p->run.command;
}

static int take_run_row(struct file_reader *r)
{
	struct profile *p = r->profile;
	const char *key = file_reader_text(r, 0);
	const struct run_field *field = key ? find_field(r, key) : NULL;
	bool ok = true;

	if (!key)
		return file_reader_damaged(r, "the run has a fact without a name");
	if (field && field->type == RUN_TEXT)
		*run_text(&p->run, field) = strings_get(p->strings, file_reader_string(r, 1, &ok));
	else if (!field)
		take_number(r, key, file_reader_int(r, 1));
	else if (!run_set(&p->run, field, file_reader_int(r, 1)))
		return file_reader_damaged(r, "a fact of the run cannot be");
	if (ok && field && run_text(&p->run, field) == &p->run.command && p->run.command)
		ok = mask_command(p);
	return ok ? 0 : file_reader_no_memory(r);
}

static int check_run(struct file_reader *r)
{
	const struct cells *cells = &r->profile->cells;

	// Times of bins must not overflow.
	if (!cells->width_ns || cells->width_ns > INT64_MAX / 2 / CELLS_BINS ||
	    cells->origin_ns > INT64_MAX / 2 || r->profile->run.start_ns > INT64_MAX / 2)
		return file_reader_damaged(r, "its times cannot be");
	return check_op_facts(r);
}

static int take_string_row(struct file_reader *r)
{
	const char *text = file_reader_text(r, 1);
	uint32_t expected = strings_count(r->profile->strings) + 1;

	if (!text || file_reader_int(r, 0) != expected || expected > FILE_ROWS_MAX)
		return file_reader_damaged(r, "its texts are not in order");
	uint32_t id = strings_add(r->profile->strings, text);
	if (id && id != expected)
		return file_reader_damaged(r, "a text is there twice");
	return id ? 0 : file_reader_no_memory(r);
}

static bool get_build_id(struct file_reader *r, int column, struct module *module)
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

static int take_module_facts(struct file_reader *r, uint32_t id)
{
	struct profile *p = r->profile;
	bool ok = profile_make_facts(p), in_range = true;

	if (!ok)
		return file_reader_no_memory(r);
	struct module_facts *facts = &p->facts[id - 1];
	facts->level = (uint8_t)file_reader_id(r, 7, 3, &in_range);
	facts->source = file_reader_string(r, 8, &ok);
	facts->reason = file_reader_string(r, 9, &ok);
	facts->remedy = file_reader_string(r, 10, &ok);
	return !in_range ? file_reader_damaged(r, "a module cannot be")
	       : ok      ? 0
	                 : file_reader_no_memory(r);
}

static int take_module_row(struct file_reader *r)
{
	uint32_t expected = modules_count(r->profile->modules) + 1;
	bool ok = file_reader_int(r, 0) == expected && expected <= FILE_ROWS_MAX;
	bool added = false;
	struct module wanted = {
		.kind = (enum module_kind)file_reader_id(r, 1, MODULE_MARK, &ok),
		.path = file_reader_text(r, 2),
		.pid = (pid_t)file_reader_id(r, 3, INT_MAX, &ok),
		.device = (dev_t)file_reader_int(r, 4),
		.inode = (ino_t)file_reader_int(r, 5),
		.fd = -1,
	};

	if (!ok || !wanted.kind || !wanted.path || !get_build_id(r, 6, &wanted))
		return file_reader_damaged(r, "a module cannot be");
	struct module *module = modules_add(r->profile->modules, &wanted, &added);
	if (module && !added)
		return file_reader_damaged(r, "a module is there twice");
	return module ? take_module_facts(r, module->id) : file_reader_no_memory(r);
}

static int take_process_row(struct file_reader *r)
{
	struct threads *t = &r->profile->threads;
	size_t slot = t->process_count + 1;
	bool ok = file_reader_int(r, 0) == (int64_t)slot && slot <= FILE_ROWS_MAX, memory = true;
	struct process_info info = {
		.parent = file_reader_id(r, 1, FILE_ROWS_MAX, &ok),
		.pid = file_reader_id(r, 2, UINT32_MAX, &ok),
		.command = file_reader_string(r, 3, &memory),
		.title = file_reader_string(r, 4, &memory),
		.merged = file_reader_id(r, 5, UINT32_MAX, &ok),
		.start_ns = (uint64_t)file_reader_int(r, 6),
		.end_ns = (uint64_t)file_reader_int(r, 7),
	};

	if (!ok)
		return file_reader_damaged(r, "a process cannot be");
	if (!memory || !array_reserve(&t->processes, &t->process_capacity, slot))
		return file_reader_no_memory(r);
	t->processes[t->process_count++] = info;
	return 0;
}

static int take_thread_row(struct file_reader *r)
{
	struct threads *t = &r->profile->threads;
	size_t slot = t->thread_count + 1;
	bool ok = file_reader_int(r, 0) == (int64_t)slot && slot <= FILE_ROWS_MAX, memory = true;
	struct thread_info info = {
		.process = file_reader_id(r, 1, t->process_count, &ok),
		.tid = file_reader_id(r, 2, UINT32_MAX, &ok),
		.name = file_reader_string(r, 3, &memory),
		.merged = file_reader_id(r, 4, UINT32_MAX, &ok),
		.ended = file_reader_id(r, 5, UINT32_MAX, &ok),
		.estimated = file_reader_id(r, 6, 1, &ok),
		.start_ns = (uint64_t)file_reader_int(r, 7),
		.end_ns = (uint64_t)file_reader_int(r, 8),
	};

	for (int m = 0; m < METRIC_COUNT; m++)
		info.ns[m] = (uint64_t)file_reader_int(r, 9 + m);
	if (!ok)
		return file_reader_damaged(r, "a thread cannot be");
	if (!memory || !array_reserve(&t->threads, &t->thread_capacity, slot))
		return file_reader_no_memory(r);
	t->threads[t->thread_count++] = info;
	return 0;
}

static int take_place(struct file_reader *r, struct columns *c, uint32_t row)
{
	struct locations *l = &r->profile->locations;
	uint32_t texts = strings_count(r->profile->strings);
	uint64_t function = *columns_at(c, 0, row), file = *columns_at(c, 1, row);
	uint64_t line = *columns_at(c, 2, row), flags = *columns_at(c, 3, row);
	uint64_t declared = *columns_at(c, 4, row);

	if (function > texts || file > texts || line > INT_MAX || flags > 3 || declared > texts)
		return file_reader_damaged(r, "a line of code cannot be");
	if (!array_reserve(&l->places, &l->place_capacity, (size_t)l->place_count + 1))
		return file_reader_no_memory(r);
	l->places[l->place_count++] =
		(struct place){ .function = (uint32_t)function,
		                .file = (uint32_t)file,
		                .line = (uint32_t)line,
		                .declared = (uint32_t)(declared ? declared : file),
		                .inlined = flags & 1,
		                .unoptimized = flags >> 1 };
	return 0;
}

static int add_location(struct file_reader *r, struct frame frame, uint32_t *id)
{
	struct locations *l = &r->profile->locations;
	uint32_t known = l->count;

	*id = locations_add(l, frame);
	if (!*id)
		return file_reader_no_memory(r);
	return *id == known + 1 ? 0 : file_reader_damaged(r, "an address is there twice");
}

static int take_op_location(struct file_reader *r, struct columns *c, uint32_t row)
{
	struct frame frame = { *columns_at(c, 1, row), 0, FRAME_OP };
	uint32_t id;

	if (!profile_op(r->profile, frame.address) || *columns_at(c, 0, row) ||
	    *columns_at(c, 3, row) != 1 || *columns_at(c, 5, row) || *columns_at(c, 6, row))
		return file_reader_damaged(r, "an op in a stack cannot be");
	return add_location(r, frame, &id);
}

static int take_location(struct file_reader *r, struct columns *c, uint32_t row)
{
	struct locations *l = &r->profile->locations;
	uint64_t module = *columns_at(c, 0, row), kind = *columns_at(c, 2, row);
	uint64_t named = *columns_at(c, 3, row);
	uint64_t first = *columns_at(c, 4, row), count = *columns_at(c, 5, row);
	uint64_t loop = *columns_at(c, 6, row);

	// A place belongs to one location, so they cannot be more than there are.
	r->places_used += count;
	if (kind == FRAME_OP)
		return take_op_location(r, c, row);
	if ((kind == FRAME_PYTHON || kind == FRAME_MODULE) && (module || !named || count != 1))
		return file_reader_damaged(r, "a Python function cannot be");
	if (module > modules_count(r->profile->modules) || kind < FRAME_EXACT ||
	    kind > FRAME_MODULE || named > 1 || count > UINT16_MAX || first > l->place_count ||
	    count > l->place_count - first || r->places_used > l->place_count ||
	    loop > strings_count(r->profile->strings))
		return file_reader_damaged(r, "an address cannot be");
	struct frame frame = { *columns_at(c, 1, row), (uint32_t)module, (uint32_t)kind };
	uint32_t id;
	if (add_location(r, frame, &id) < 0)
		return -1;
	struct location *location = &l->locations[id - 1];
	l->unnamed -= !location->named && named;
	location->named |= named;
	location->first_place = (uint32_t)first;
	location->place_count = (uint16_t)count;
	location->loop = (uint32_t)loop;
	return 0;
}

static int take_node(struct file_reader *r, struct columns *c, uint32_t row)
{
	struct profile *p = r->profile;
	uint64_t distance = *columns_at(c, 0, row), location = *columns_at(c, 1, row);
	uint32_t id = p->paths.count + 1;
	uint64_t most = distance ? p->locations.count : p->threads.thread_count;

	// Callers come first, so nothing can be its own caller.
	if (distance >= id || !location || location > most)
		return file_reader_damaged(r, "a call path cannot be");
	uint32_t added =
		paths_child(&p->paths, distance ? id - (uint32_t)distance : 0, (uint32_t)location);
	if (!added)
		return file_reader_no_memory(r);
	return added == id ? 0 : file_reader_damaged(r, "a call path is there twice");
}

static int check_depths(struct file_reader *r, const struct paths *paths)
{
	cleanup_free uint16_t *depths = calloc((size_t)paths->count + 1, sizeof(*depths));

	if (!depths)
		return file_reader_no_memory(r);
	for (uint32_t id = 1; id <= paths->count; id++) {
		depths[id] = depths[paths_node(paths, id)->parent] + 1;
		if (depths[id] > FILE_DEPTH_MAX)
			return file_reader_damaged(r, "a call path is deeper than any can be");
	}
	return 0;
}

static int read_cells(struct file_reader *r)
{
	struct profile *p = r->profile;
	const struct file_cells cells = {
		.cells = &p->cells,
		.nodes = p->paths.count,
		.metrics = METRIC_COUNT,
		.sample_ns = file_sample_ns(&p->run),
	};

	return read_cell_table(r, "cell_chunk", &cells);
}

static int check_checksum(struct file_reader *r)
{
	uint32_t computed = r->checksum;

	if (file_reader_begin(r, "checksum") < 0 || file_reader_next(r, 1) < 0)
		return -1;
	if (sqlite3_column_type(r->select, 0) != SQLITE_INTEGER ||
	    file_reader_int(r, 0) != computed)
		return file_reader_damaged(r, "its checksum differs");
	return 0;
}

// In the order in which the writer has taken the checksum.
static int read_all(struct file_reader *r)
{
	if (file_reader_rows(r, "string", 2, take_string_row) < 0 ||
	    file_reader_rows(r, "run", 2, take_run_row) < 0 || check_run(r) < 0 ||
	    file_reader_rows(r, "module", 11, take_module_row) < 0 || read_op_names(r) < 0 ||
	    file_reader_rows(r, "process", 8, take_process_row) < 0 ||
	    file_reader_rows(r, "thread", 9 + METRIC_COUNT, take_thread_row) < 0 ||
	    file_reader_chunks(r, "place_chunk", PLACE_WIDTH, PLACE_DELTAS, take_place) < 0 ||
	    file_reader_chunks(r, "location_chunk", LOCATION_WIDTH, LOCATION_DELTAS,
	                       take_location) < 0 ||
	    file_reader_chunks(r, "node_chunk", NODE_WIDTH, NODE_DELTAS, take_node) < 0 ||
	    check_depths(r, &r->profile->paths) < 0 || read_cells(r) < 0)
		return -1;
	if (read_ops(r) < 0 || read_counters(r) < 0 || read_series(r) < 0 || read_wall(r) < 0 ||
	    read_gpu(r) < 0 || read_memory(r) < 0 || read_python(r) < 0 || read_awaits(r) < 0 ||
	    read_gpu_lines(r) < 0 || read_repeats(r) < 0 || read_slices(r) < 0 ||
	    read_instructions(r) < 0 || read_ranks(r) < 0 || check_wall_rank(r) < 0 ||
	    read_sources(r) < 0)
		return -1;
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

static int read_run(struct file_reader *r)
{
	if (file_reader_rows(r, "run", 2, take_run_row) < 0 || check_run(r) < 0)
		return -1;
	if (r->slices > PROFILE_TIMELINE_MAX || r->ranks > RANKS_MAX)
		return file_reader_damaged(r, "what it counts cannot be");
	r->profile->slices.kept = r->slices;
	return read_rank_numbers(r);
}

// Its directory and its host are texts of the file: who cannot write as us cannot make it ours.
static bool is_foreign(const struct profile *p, uid_t owner)
{
	char host[HOST_NAME_MAX + 1] = "";

	gethostname(host, sizeof(host) - 1);
	return owner != geteuid() || !p->run.host || strcmp(p->run.host, host) != 0;
}

static struct profile *read_by(const char *path, int (*read)(struct file_reader *),
                               struct error *err)
{
	size_t size;
	uid_t owner;
	unsigned char *bytes = file_reader_load(path, &size, &owner, err);
	if (!bytes)
		return NULL;

	cleanup(profile) struct profile *p = new_profile(err);
	if (!p) {
		sqlite3_free(bytes);
		return NULL;
	}
	struct file_reader r = { .path = path, .profile = p, .err = err };
	int result = file_reader_open(&r, bytes, size) < 0 ? -1 : read(&r);
	sqlite3_finalize(r.select);
	sqlite3_finalize(r.is_table);
	sqlite3_close(r.db);
	p->foreign = is_foreign(p, owner);
	return result == 0 ? steal(p) : NULL;
}

struct profile *profile_read(const char *path, struct error *err)
{
	return read_by(path, read_all, err);
}

struct profile *profile_read_run(const char *path, struct error *err)
{
	return read_by(path, read_run, err);
}

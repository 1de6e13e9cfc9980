// SPDX-License-Identifier: MIT
/*
 * Profile files: whatever they hold, profile_read() refuses them or they answer.
 *
 * An input is a whole file, or, as no mutation gets past the checksums of those,
 * the plain bytes of the blobs of an otherwise sound file: for each table of
 * blobs a u16 of rows, a u16 of length, and so many bytes. With four of them the
 * file knows nothing of ops and memory; with more it does, and with more than eight
 * of GPUs and ranks. 0xffff rows leave a table as it is. What follows the last blob are
 * numbers of plain tables, see struct edit.
 *
 * A whole file gets the schema of today, so that stored ones are read at all.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/op.h"
#include "base/record.h"
#include "merge/file/file.h"
#include "merge/join/merger.h"
#include "merge/profile/profile_data.h"
#include "merge/query/query.h"
#include "merge/query/query_gpu.h"
#include "merge/query/query_gpu_lines.h"
#include "merge/query/query_ops.h"
#include "merge/query/query_ranks.h"
#include "merge/query/query_slices.h"
#include "merge/rules/finding.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask_gpu(const struct profile *p)
{
	for (int part = 0; part < 2; part++) {
		struct query query = { .sort = SORT_GPU_TOTAL, .to_ns = part ? 1000000 : 0 };
		gpu_rows_free(query_gpu(p, &query, NULL));
		gpu_facts_free(query_gpu_facts(p, &query, NULL));
		gpu_wait_free(query_gpu_wait(p, &query, NULL));
		query.of = QUERY_GPU;
		call_tree_free(query_call_tree(p, &query, 0, NULL));
	}
	gpu_stream_rows_free(query_gpu_streams(p, NULL));
	gpu_managed_rows_free(query_gpu_managed(p, NULL));
	gpu_fault_rows_free(query_gpu_faults(p, NULL));
	gpu_line_rows_free(query_gpu_lines(p, NULL));
	findings_free(query_findings(p, &(struct query){ 0 }, NULL, NULL));
}

static void ask_for_slices(const struct profile *p)
{
	cleanup(slice_reader) struct slice_reader *reader =
		slice_reader_new(p, &(struct slice_query){ 0 }, NULL);
	struct slice_row row;

	while (reader && slice_reader_next(reader, &row, NULL) > 0)
		;
}

static void ask(const struct profile *p)
{
	struct account account;
	struct totals totals;

	for (int by = BY_FUNCTION; by <= BY_PROCESS; by++) {
		struct query query = { .by = (enum query_by)by, .to_ns = by % 2 ? 1000000 : 0 };
		rows_free(query_run(p, &query, NULL));
	}
	for (int by = OPS_BY_OP; by <= OPS_BY_THREAD; by++) {
		struct op_query query = { .by = (enum op_by)by,
			                  .stack_frames = 3,
			                  .to_ns = by % 2 ? 1000000 : 0 };
		op_rows_free(query_ops(p, &query, NULL));
	}
	for (int by = MEMORY_BY_FUNCTION; by <= MEMORY_BY_OP; by++)
		memory_rows_free(query_memory(p, (enum memory_by)by, by % 2, NULL));
	call_tree_free(query_call_tree(p, &(struct query){ .user_code = "*.c" }, 0, NULL));
	ask_gpu(p);
	module_rows_free(query_modules(p, NULL));
	query_account(p, &account, NULL);
	query_totals(p, &totals);
	ask_for_slices(p);
	rank_rows_free(query_ranks(p, NULL));
}

// With itself: all of it gets other numbers, and meets its equals.
static void merge_and_ask(const struct profile *p)
{
	struct merge_plan plan = { .timeline = 100 };

	merge_plan_add(&plan, p);
	merge_plan_add(&plan, p);
	cleanup(merger) struct merger *m = merger_new(&plan, NULL);
	for (int i = 0; m && i < 2; i++)
		if (merger_add(m, p, NULL) < 0)
			return;
	cleanup(profile) struct profile *merged = m ? merger_finish(m, NULL) : NULL;
	if (merged)
		ask(merged);
}

// False if they are refused.
static bool read_and_ask(const uint8_t *data, size_t size)
{
	cleanup_close int fd = memfd_create("profile", MFD_CLOEXEC);
	char path[64];
	struct error err = { 0 };

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	cleanup(profile) struct profile *p = profile_read(path, &err);
	if (p) {
		ask(p);
		merge_and_ask(p);
	} else if (!*err.text)
		abort(); // it must say why
	return p != NULL;
}

// Where SQLite has the number that is the schema: big-endian.
#define SCHEMA_AT 60

static void read_file(const uint8_t *data, size_t size)
{
	cleanup_free uint8_t *file = malloc(size);

	if (!file)
		return;
	memcpy(file, data, size);
	for (size_t i = 0; i < 4 && SCHEMA_AT + i < size; i++)
		file[SCHEMA_AT + i] = (uint8_t)(FILE_SCHEMA >> (24 - 8 * i));
	read_and_ask(file, size);
}

static void add_ops(struct profile *p)
{
	uint64_t shape[] = { 3, 4 };
	struct op_event event = { .thread = 1,
		                  .op = 1,
		                  .parent = 2,
		                  .begin_ns = 5,
		                  .end_ns = 900,
		                  .self_ns = 100,
		                  .caller = { 0x1000, 1, FRAME_RETURN },
		                  .detail = OP_DETAIL_SHAPE,
		                  .detail_count = 2,
		                  .details = shape };
	struct frame frames[] = { { 0x1000, 1, FRAME_EXACT },
		                  { 1, 0, FRAME_OP },
		                  { 0x1000, 1, FRAME_EXACT } };

	profile_add_op(p, &event);
	event.op = 2;
	event.mark = true;
	profile_add_op(p, &event);
	profile_add_op_count(
		p, &(struct op_count_event){
			   .process = 1, .op = 3, .counts = { .calls = 7, .total_ns = 9 } });
	profile_add_stack(p, &(struct stack){ .thread = 1,
	                                      .weight_ns = 1000,
	                                      .samples = 1,
	                                      .count = 3,
	                                      .frames = frames });
}

static void add_memory(struct profile *p)
{
	struct frame frames[] = { { 0x2000, 1, FRAME_EXACT }, { 1, 0, FRAME_OP } };

	for (uint32_t i = 1; i <= 2; i++)
		profile_add_alloc(p, &(struct alloc_event){ .thread = i,
		                                            .address = i,
		                                            .weight_bytes = 50,
		                                            .count = i,
		                                            .frames = frames });
	profile_add_memory(p, &(struct memory_event){ .process = 1,
	                                              .allocations = 5,
	                                              .frees = 2,
	                                              .allocated_bytes = 100,
	                                              .freed_bytes = 40 });
	profile_add_free(p, &(struct free_event){ .process = 1, .address = 1 });
}

#define LAUNCH_OP 4
#define KERNEL_OP 5
#define COPY_OP   6

static void tell(struct profile *p, const struct record *record, uint32_t op)
{
	const struct gpu_event event = {
		.process = 1, .op = op, .record = record, .call = { 1, op ? LAUNCH_OP : 0, 1 }
	};

	profile_add_gpu(p, &event);
}

static void add_works(struct profile *p)
{
	for (uint64_t i = 0; i < 3; i++) {
		const struct record_gpu_kernel kernel = {
			.head = { .type = RECORD_GPU_KERNEL, .time_ns = 900 * i + 900 },
			.begin_ns = 900 * i + 100,
			.end_ns = 900 * i + 400,
			.place = { (uint32_t)i, 0, 1, 7 },
			.grid = { 8, 1, 1 },
			.block = { 256, 1, 1 },
		};
		const struct record_gpu_copy copy = {
			.head = { .type = RECORD_GPU_COPY, .time_ns = 900 * i + 900 },
			.begin_ns = 900 * i + 300,
			.end_ns = 900 * i + 500,
			.place = { (uint32_t)i, 0, 1, 13 },
			.bytes = 4096,
			.kind = GPU_COPY_HOST_TO_DEVICE,
			.from = GPU_MEMORY_PAGEABLE,
			.to = GPU_MEMORY_DEVICE,
		};
		tell(p, &kernel.head, KERNEL_OP);
		tell(p, &copy.head, COPY_OP);
	}
}

static void add_gpu(struct profile *p)
{
	struct frame frames[] = { { 0x1000, 1, FRAME_EXACT }, { LAUNCH_OP, 0, FRAME_OP } };
	const struct gpu_site_event site = {
		.site = 1, .thread = 1, .time_ns = 1, .count = 2, .frames = frames
	};
	const struct {
		struct record_gpu_device record;
		char name[8];
	} device = { .record = { .head = { .type = RECORD_GPU_DEVICE },
		                 .memory_bytes = 1 << 20,
		                 .multiprocessors = 4,
		                 .uuid = { 1 } },
		     .name = "H100" };
	const struct record_gpu_sync sync = { .head = { .type = RECORD_GPU_SYNC },
		                              .begin_ns = 5,
		                              .end_ns = 9,
		                              .kind = GPU_SYNC_STREAM };
	const struct gpu_pc_stall stall = { "wait", 3 };
	const struct gpu_pc_event pc = {
		.cubin_crc = 1, .offset = 16, .function = "gemm", .stall_count = 1, .stalls = &stall
	};

	profile_add_gpu_site(p, &site);
	tell(p, &device.record.head, 0);
	add_works(p);
	tell(p, &sync.head, 0);
	profile_add_gpu_pc(p, &pc);
	profile_add_stack(p, &(struct stack){ .thread = 1,
	                                      .time_ns = 800,
	                                      .weight_ns = 100,
	                                      .samples = 1,
	                                      .count = 1,
	                                      .frames = frames });
	profile_end_gpu(p);
}

static void add_ranks(struct profile *p)
{
	const struct meeting meeting = {
		.op = 1, .ranks = 3, .last = 2, .end_ns = 500, .sum_ns = 50
	};

	for (uint32_t i = 0; i < 3; i++) {
		const struct rank_info info = {
			.number = i, .numbered = true, .host = 1, .command = 1, .busy_ns = 100 * i
		};
		const struct rank_share share = { .rank = i + 1,
			                          .function = 1,
			                          .busy_ns = 100 * i };
		if (!ranks_add(&p->ranks, &info) || !ranks_add_share(&p->ranks, &share) ||
		    !meetings_add(&p->ranks.meetings, &meeting))
			abort();
	}
}

static struct ops *make_ops(void)
{
	struct ops *ops = ops_new();
	const struct op wanted[] = { { .provider = OP_BLAS, .domain = "", .name = "dgemm" },
		                     { .provider = OP_NVTX, .domain = "d", .name = "step" },
		                     { .provider = OP_NVTX, .domain = "d", .name = "tiny" },
		                     { .provider = OP_CUDA, .domain = "", .name = "cuLaunch" },
		                     { .provider = OP_GPU, .domain = "", .name = "gemm" },
		                     { .provider = OP_GPU, .domain = "", .name = "copy" } };

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct op op = wanted[i];
		op.category = "";
		ops_add(ops, &op);
	}
	return ops;
}

// A sound file with two processes, three threads and one stack of each.
enum base_kind {
	BASE_PLAIN,
	BASE_OPS,
	BASE_GPU,
	BASES
};

static void write_base(const char *path, enum base_kind kind)
{
	cleanup(ops) struct ops *ops = make_ops();
	cleanup(modules) struct modules *modules = modules_new();
	cleanup(profile) struct profile *p = profile_new(modules, NULL, NULL);
	struct module app = { .kind = MODULE_ELF, .path = "/usr/bin/app", .fd = -1 };
	struct module kernel = { .kind = MODULE_KERNEL, .path = "[kernel]", .fd = -1 };
	struct run run = { .command = "app", .directory = "a.c", .frequency_hz = 999 };

	modules_add(modules, &app, NULL);
	modules_add(modules, &kernel, NULL);
	profile_set_run(p, &run, NULL);
	for (uint32_t i = 1; i <= 3; i++) {
		struct frame frame = { 0x1000 * i, i % 3, FRAME_EXACT };
		profile_add_process(p, &(struct process_event){
					       .process = 1 + i / 3, .pid = i, .command = "app" });
		profile_add_thread(p, &(struct thread_event){
					      .thread = i, .process = 1 + i / 3, .name = "t" });
		profile_add_stack(p, &(struct stack){ .thread = i,
		                                      .weight_ns = 1000,
		                                      .samples = 1,
		                                      .count = 1,
		                                      .frames = &frame });
	}
	if (kind >= BASE_OPS) {
		profile_set_ops(p, ops);
		add_ops(p);
		add_memory(p);
	}
	if (kind == BASE_GPU) {
		add_gpu(p);
		add_ranks(p);
	}
	if (profile_write(p, path, NULL) < 0)
		abort();
}

static struct base {
	uint8_t bytes[131072];
	size_t size;
} bases[BASES];

static void make_base(struct base *base, enum base_kind kind)
{
	char path[] = "/tmp/profile_read_fuzz.XXXXXX";

	close(mkstemp(path));
	write_base(path, kind);
	cleanup_fclose FILE *file = fopen(path, "rb");
	base->size = file ? fread(base->bytes, 1, sizeof(base->bytes), file) : 0;
	unlink(path);
}

#define TABLES_WITHOUT_OPS 4
#define TABLES_WITHOUT_GPU 8
#define TABLES             17
#define TABLE_SHARES       14
#define TABLE_SLICES       15
#define TABLE_MEETINGS     16
#define AS_IT_IS           0xffffu // rows

static const char *const tables[TABLES] = {
	"place_chunk",    "location_chunk",  "node_chunk",         "cell_chunk",
	"op_chunk",       "op_bin_chunk",    "op_duration_chunk",  "site_chunk",
	"chain_chunk",    "series_chunk",    "gpu_duration_chunk", "gpu_idle_chunk",
	"gpu_cell_chunk", "gpu_state_chunk", "rank_share_chunk",   "slice_chunk",
	"meeting_chunk"
};

static const char *const plain_tables[] = { "run",         "module",   "op_name",    "process",
	                                    "thread",      "series",   "gpu_count",  "gpu_device",
	                                    "gpu_stream",  "gpu_work", "gpu_pc",     "gpu_stall",
	                                    "slice_chunk", "rank",     "gpu_managed" };

#define PLAIN_TABLES (sizeof(plain_tables) / sizeof(plain_tables[0]))

// One number of a plain table.
struct edit {
	uint8_t table, row, column, unused;
	uint8_t value[8]; // little-endian
};

static void put_chunk(sqlite3 *db, const char *table, unsigned rows, const uint8_t *plain,
                      size_t size)
{
	char sql[128];
	uLongf packed_size = compressBound(size);
	cleanup_free uint8_t *packed = malloc(packed_size);
	sqlite3_stmt *insert;

	compress(packed, &packed_size, plain, size);
	snprintf(sql, sizeof(sql),
	         strcmp(table, tables[TABLE_SLICES]) == 0
	                 ? "UPDATE %s SET rows=%u, data=? WHERE id=1"
	                 : "INSERT OR REPLACE INTO %s VALUES(1, %u, ?)",
	         table, rows);
	if (sqlite3_prepare_v2(db, sql, -1, &insert, NULL) != SQLITE_OK)
		abort();
	sqlite3_bind_blob(insert, 1, packed, (int)packed_size, SQLITE_TRANSIENT);
	sqlite3_step(insert);
	sqlite3_finalize(insert);
}

// Not all files have all tables.
static uint32_t add_table(sqlite3 *db, const char *table, uint32_t checksum)
{
	char sql[64];
	sqlite3_stmt *select;

	snprintf(sql, sizeof(sql), "SELECT * FROM %s ORDER BY rowid", table);
	if (sqlite3_prepare_v2(db, sql, -1, &select, NULL) != SQLITE_OK)
		return checksum;
	while (sqlite3_step(select) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(select); i++) {
			int type = sqlite3_column_type(select, i);
			const void *bytes = sqlite3_column_blob(select, i);
			checksum = type == SQLITE_FLOAT
			                   ? file_checksum_real(checksum,
			                                        sqlite3_column_double(select, i))
			           : type == SQLITE_INTEGER
			                   ? file_checksum_int(checksum,
			                                       sqlite3_column_int64(select, i))
			                   : file_checksum(
						     checksum, type, bytes,
						     bytes ? (size_t)sqlite3_column_bytes(select, i)
							   : 0);
		}
	sqlite3_finalize(select);
	return checksum;
}

static void set_checksum(sqlite3 *db)
{
	static const char *const order[] = {
		"string",           "run",
		"module",           "op_name",
		"process",          "thread",
		"place_chunk",      "location_chunk",
		"node_chunk",       "cell_chunk",
		"chain_chunk",      "op_chunk",
		"op_bin_chunk",     "op_duration_chunk",
		"series",           "series_chunk",
		"gpu_count",        "gpu_device",
		"gpu_stream",       "gpu_work",
		"gpu_managed",      "gpu_duration_chunk",
		"gpu_idle_chunk",   "gpu_cell_chunk",
		"gpu_state_chunk",  "site_chunk",
		"gpu_pc",           "gpu_stall",
		"slice_chunk",      "rank",
		"rank_share_chunk", "meeting_chunk",
	};
	char sql[64];
	uint32_t checksum = 0;

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		checksum = add_table(db, order[i], checksum);
	snprintf(sql, sizeof(sql), "UPDATE checksum SET crc32=%u", checksum);
	sqlite3_exec(db, sql, NULL, NULL, NULL);
}

struct chunk {
	unsigned rows;
	const uint8_t *plain;
	size_t size;
};

// How many there are.
static size_t split(const uint8_t *data, size_t size, struct chunk chunks[TABLES],
                    struct chunk *edits)
{
	size_t count = 0;

	for (; count < TABLES && size >= 4; count++) {
		size_t length = data[2] | (size_t)data[3] << 8;
		length = length < size - 4 ? length : size - 4;
		chunks[count] =
			(struct chunk){ data[0] | (unsigned)data[1] << 8, data + 4, length };
		data += 4 + length;
		size -= 4 + length;
	}
	*edits = (struct chunk){ (unsigned)(size / sizeof(struct edit)), data, size };
	return count;
}

// The column's name in COLUMN. False if the table is not there.
static bool name_column(sqlite3 *db, const char *table, unsigned number, char *column, size_t size)
{
	char sql[64];
	sqlite3_stmt *select;

	snprintf(sql, sizeof(sql), "SELECT * FROM %s", table);
	if (sqlite3_prepare_v2(db, sql, -1, &select, NULL) != SQLITE_OK)
		return false;
	snprintf(column, size, "%s",
	         sqlite3_column_name(select, (int)number % sqlite3_column_count(select)));
	sqlite3_finalize(select);
	return true;
}

static void put_edit(sqlite3 *db, const struct edit *edit)
{
	const char *table = plain_tables[edit->table % PLAIN_TABLES];
	char column[64], sql[320];
	int64_t value;

	if (!name_column(db, table, edit->column, column, sizeof(column)))
		return;
	memcpy(&value, edit->value, sizeof(value));
	snprintf(sql, sizeof(sql),
	         "UPDATE %s SET %s=%lld WHERE rowid="
	         "(SELECT rowid FROM %s ORDER BY rowid LIMIT 1 OFFSET %u)",
	         table, column, (long long)value, table, edit->row);
	sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static void put_edits(sqlite3 *db, const struct chunk *edits)
{
	for (unsigned i = 0; i < edits->rows; i++) {
		struct edit edit;
		memcpy(&edit, edits->plain + i * sizeof(edit), sizeof(edit));
		put_edit(db, &edit);
	}
}

// The fact KEY is how many rows TABLE has, if it is not left as it is.
static void put_count(sqlite3 *db, const char *key, const struct chunk *chunks, size_t count,
                      size_t table)
{
	char sql[128];

	if (table >= count || chunks[table].rows == AS_IT_IS)
		return;
	snprintf(sql, sizeof(sql), "UPDATE run SET value=%u WHERE key='%s'", chunks[table].rows,
	         key);
	sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static void put_chunks(sqlite3 *db, const struct chunk *chunks, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (chunks[i].rows != AS_IT_IS)
			put_chunk(db, tables[i], chunks[i].rows, chunks[i].plain, chunks[i].size);
	put_count(db, "rank_shares", chunks, count, TABLE_SHARES);
	put_count(db, "meetings", chunks, count, TABLE_MEETINGS);
	if (count > TABLE_SLICES)
		sqlite3_exec(db,
		             "UPDATE run SET value=(SELECT sum(rows) FROM slice_chunk)"
		             " WHERE key='slices'",
		             NULL, NULL, NULL);
	put_count(db, "allocation_sites", chunks, count, TABLES_WITHOUT_GPU - 1);
}

static bool read_blobs(const uint8_t *data, size_t size)
{
	sqlite3 *db;
	sqlite3_int64 file_size = 0;
	struct chunk chunks[TABLES], edits;
	size_t count = split(data, size, chunks, &edits);
	const struct base *base = &bases[count > TABLES_WITHOUT_GPU   ? BASE_GPU
	                                 : count > TABLES_WITHOUT_OPS ? BASE_OPS
	                                                              : BASE_PLAIN];
	unsigned char *copy = sqlite3_malloc64(base->size);

	memcpy(copy, base->bytes, base->size);
	if (sqlite3_open(":memory:", &db) != SQLITE_OK ||
	    sqlite3_deserialize(
		    db, "main", copy, (sqlite3_int64)base->size, (sqlite3_int64)base->size,
		    SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) != SQLITE_OK)
		abort();
	put_chunks(db, chunks, count);
	put_edits(db, &edits);
	set_checksum(db);
	unsigned char *file = sqlite3_serialize(db, "main", &file_size, 0);
	bool sound = read_and_ask(file, (size_t)file_size);
	sqlite3_free(file);
	sqlite3_close(db);
	return sound;
}

// What is left as it is must be read: or else nothing behind the checksum is ever tried.
static void make_bases(void)
{
	static const size_t counts[BASES] = { 0, TABLES_WITHOUT_GPU, TABLES };
	uint8_t nothing[4 * TABLES] = { 0 };

	for (size_t i = 0; i < TABLES; i++)
		nothing[4 * i] = nothing[4 * i + 1] = 0xff;
	for (int kind = 0; kind < BASES; kind++) {
		make_base(&bases[kind], (enum base_kind)kind);
		if (!read_blobs(nothing, 4 * counts[kind]))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!bases[0].size)
		make_bases();
	if (size >= 16 && memcmp(data, "SQLite format 3", 16) == 0)
		read_file(data, size);
	else
		read_blobs(data, size);
	return 0;
}

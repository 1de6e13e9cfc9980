// SPDX-License-Identifier: MIT
#include "tests/fuzz/profile_base.h"

#include "base/await.h"
#include "base/cleanup.h"
#include "base/op.h"
#include "base/record.h"
#include "merge/join/merger.h"
#include "merge/profile/profile_data.h"
#include "merge/query/query.h"
#include "merge/query/query_gpu.h"
#include "merge/query/query_gpu_lines.h"
#include "merge/query/query_ops.h"
#include "merge/query/query_ranks.h"
#include "merge/query/query_slices.h"
#include "merge/rules/finding.h"

#include <stdlib.h>

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

// Merged with itself all of it gets other numbers, and meets its equals.
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

void profile_base_ask(const struct profile *p)
{
	ask(p);
	merge_and_ask(p);
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

// The first two processes' threads: one waits for the other.
static void add_wall(struct profile *p)
{
	struct wall_time *t = &p->wall_time;
	const struct interval interval = { 0, 400, 400, 2 };
	const struct wall_edge edge = {
		.waiter = 1,
		.waiter_node = 1,
		.holder = 2,
		.holder_node = 2,
		.resource = 7,
		.module = 1,
		.made = { 0x1000, 1, FRAME_RETURN },
		.kind = 1,
		.cause = METRIC_OFF_LOCK,
		.name = strings_add(p->strings, "lock"),
		.file = strings_add(p->strings, "a.c"),
		.line = 3,
		.ns = 400,
		.count = 2,
		.longest_ns = 300,
		.median_ns = 200,
		.wall_ns = 300,
		.wall_ready_ns = 100,
	};
	uint64_t missing_ns;

	t->edges = malloc(sizeof(*t->edges));
	t->alone = malloc(sizeof(*t->alone));
	// The first process has begun it.
	if (!t->edges || !t->alone || (!t->live && !wall_time_init(t)))
		abort();
	t->root = 1;
	t->edges[t->edge_count++] = edge;
	t->alone[t->alone_count++] = (struct wall_alone){ 1, 200 };
	t->busy.ns[1] = 500;
	t->busy.ns[2] = 300;
	t->busy.wanted_ns = 100;
	t->coverage = (struct wall_coverage){ 900, 400, 300, 10 };
	t->minus_ns[METRIC_OFF_SLEEP] = 5;
	t->has_times = true;
	struct cells *all[] = { &t->plus, &t->minus, &t->times[WALL_BUSY_TIMES],
		                &t->times[WALL_ALONE_TIMES], &t->times[WALL_EDGE_TIMES] };
	const int metrics[] = { METRIC_OFF_LOCK, METRIC_ON_CPU, WALL_BUSY, WALL_ALONE,
		                WALL_EDGE_WALL };
	for (int i = 0; i < 5; i++) {
		all[i]->width_ns = p->cells.width_ns;
		all[i]->origin_ns = p->cells.origin_ns;
		if (!cells_add(all[i], 1, (enum metric)metrics[i], &interval, &missing_ns))
			abort();
	}
}

static void add_repeats(struct profile *p)
{
	for (uint32_t i = 1; i <= 2; i++) {
		struct repeat repeat = { .side = profile_add_repeat_side(p, i > 1 ? "a" : "b", "r*",
			                                                 1),
			                 .wall_ns = 1000 + i,
			                 .user_ns = 900,
			                 .calls = 2,
			                 .calls_ns = 800,
			                 .call_ns = 400,
			                 .cost_ns = 3,
			                 .cost = REPEAT_COST_PART };
		for (; repeat.begin_ns < 3; repeat.begin_ns++)
			if (!profile_add_repeat(p, &repeat))
				abort();
	}
}

static void add_python(struct profile *p, uint32_t file)
{
	const struct call_count count = { strings_add(p->strings, "f"), file, 1, 9, 2 };
	const struct call_count other = { strings_add(p->strings, "g"), file, 5, 4, 0 };
	uint32_t caller = call_counts_add(&p->call_counts, &other);
	const struct call_edge edge = { caller, call_counts_add(&p->call_counts, &count), 4, 1 };
	const struct await_place places[] = { { count.function, file, 1 },
		                              { other.function, file, 5 } };

	call_counts_add_edge(&p->call_counts, &edge);
	p->call_counts.begun = p->call_counts.ended = 1;
	p->threads.threads[0].gil_held_ns = 50;
	p->threads.threads[0].gil_waited_ns = 20;
	for (uint32_t kind = 1; kind < AWAIT_KINDS; kind++) {
		const struct await_row row = { .kind = kind,
			                       .place_count = 1 + kind % 2,
			                       .count = kind,
			                       .ns = 100 * kind,
			                       .longest_ns = 90 };
		if (!awaits_add(&p->awaits, &row, places))
			abort();
	}
}

// What none of the others has.
static void add_rest(struct profile *p)
{
	const struct counter_sums sums = {
		.values = 3, .untold = 1, .last_ns = 700, .last = 2, .min = 1, .max = 4, .sum = 7
	};
	uint32_t file = strings_add(p->strings, "a.py");
	uint32_t counted = counts_function(&p->counts, strings_add(p->strings, "h"), file, 0);

	add_wall(p);
	add_repeats(p);
	add_python(p, file);
	counters_get(&p->counters, 2, 1)->sums = sums;
	counts_add(&p->counts, counted, file, 3, 17);
	p->counts.functions[counted - 1].calls = 2;
	p->counts.processes = 1;
	sources_add(&p->sources, &(struct source_stamp){ file, 100, 5 });
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

void profile_base_write(const char *path, enum profile_base kind)
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
	if (kind >= BASE_GPU)
		add_gpu(p);
	if (kind == BASE_GPU)
		add_ranks(p);
	if (kind == BASE_REST)
		add_rest(p);
	if (profile_write(p, path, NULL) < 0)
		abort();
}

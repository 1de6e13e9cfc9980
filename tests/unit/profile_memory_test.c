// SPDX-License-Identifier: MIT
// Recording, writing, reading and asking, with the 1st, 2nd, 3rd … allocation failing.
#include "base/error.h"
#include "base/op.h"
#include "base/record.h"
#include "merge/query/query.h"
#include "merge/query/query_counters.h"
#include "merge/query/query_ops.h"
#include "symbolize/symbolizer.h"
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACKS      700
#define OPS         500
#define CHANGES     40 /* of a counter */
#define ALLOCATIONS 200
#define MS          UINT64_C(1000000)

static long until_failure; // allocations; 0: none fails
static bool has_failed;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);

static bool fails(void)
{
	if (until_failure == 0 || --until_failure > 0)
		return false;
	has_failed = true;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
	return fails() ? NULL : __real_reallocarray(old, count, size);
}

// A symbolizer that takes no memory.
struct symbolizer {
	char unused;
};

int symbolizer_variables(struct symbolizer *s, const struct module *module,
                         const uint64_t *addresses, size_t count, struct variable *variables,
                         struct error *err)
{
	(void)s, (void)module, (void)addresses, (void)count, (void)variables, (void)err;
	return 0;
}

int symbolizer_resolve(struct symbolizer *s, const struct module *module, const uint64_t *addresses,
                       size_t count, struct symbol_chain *chains, struct error *err)
{
	static const struct symbol symbols[] = {
		{ .function = "inner",
		  .file = "a.c",
		  .line = 3,
		  .inlined = true,
		  .declared = "a.c" },
		{ .function = "outer", .file = "a.c", .line = 9, .declared = "a.c" }
	};

	(void)s, (void)module, (void)addresses, (void)err;
	for (size_t i = 0; i < count; i++)
		chains[i] = (struct symbol_chain){ 2, symbols };
	return 0;
}

bool symbolizer_keeps_maps(const struct symbolizer *s)
{
	(void)s;
	return false;
}

const char *symbolizer_sections(const struct symbolizer *s)
{
	(void)s;
	return NULL;
}

const struct debug_status *symbolizer_debug_status(struct symbolizer *s,
                                                   const struct module *module)
{
	static const struct debug_status status = { DEBUG_LINES, "/a.debug", "reason", "remedy" };

	(void)s, (void)module;
	return &status;
}

int symbolizer_set_jitdump(struct symbolizer *s, pid_t pid, const char *path, int fd)
{
	(void)s, (void)pid, (void)path, (void)fd;
	return 0;
}

static void record_ops(struct profile *p)
{
	for (uint32_t i = 0; i < OPS; i++) {
		uint64_t shape[] = { i % 5, i };
		profile_add_op(p, &(struct op_event){ .thread = 1 + i % 6,
		                                      .op = 1 + i % 3,
		                                      .parent = i % 4,
		                                      .begin_ns = MS + i * 30 * MS,
		                                      .end_ns = MS + i * 31 * MS,
		                                      .self_ns = 1000,
		                                      .caller = { 0x80 + i % 70, 1, FRAME_RETURN },
		                                      .detail = OP_DETAIL_SHAPE,
		                                      .detail_count = 2,
		                                      .details = shape });
	}
	for (uint32_t i = 0; i < 100; i++)
		profile_add_op_count(p, &(struct op_count_event){ .process = 1,
		                                                  .op = 1 + i % 3,
		                                                  .counts = { .calls = 1 } });
}

static void record_counters(struct profile *p)
{
	for (uint64_t i = 0; i < CHANGES; i++)
		profile_add_op(p, &(struct op_event){ .thread = 1 + i % 6,
		                                      .op = 4,
		                                      .mark = true,
		                                      .begin_ns = MS + i * 30 * MS,
		                                      .end_ns = MS + i * 30 * MS,
		                                      .detail = OP_DETAIL_UNSIGNED,
		                                      .detail_count = 1,
		                                      .details = &i });
}

static void record_memory(struct profile *p)
{
	for (uint32_t i = 0; i < ALLOCATIONS; i++) {
		struct frame frames[] = { { 0x700 + i, 1, FRAME_EXACT },
			                  { 1 + i % 3, 0, FRAME_OP },
			                  { 0x90 + i % 9, 1, FRAME_RETURN } };
		profile_add_alloc(p, &(struct alloc_event){ .thread = 1 + i % 6,
		                                            .time_ns = MS,
		                                            .address = i + 1,
		                                            .weight_bytes = 100,
		                                            .count = 3,
		                                            .frames = frames });
		profile_add_free(p, &(struct free_event){ 1 + i % 2, MS, i });
		profile_add_memory(p, &(struct memory_event){ .process = 1 + i % 2,
		                                              .time_ns = MS,
		                                              .allocations = 1,
		                                              .allocated_bytes = 100 });
	}
}

static void record(struct profile *p)
{
	profile_add_process(p, &(struct process_event){ 1, 0, 100, MS, false, "app", NULL });
	profile_add_process(p, &(struct process_event){ 2, 1, 101, MS, false, "child", NULL });
	for (uint32_t i = 1; i <= 6; i++)
		profile_add_thread(p, &(struct thread_event){ i, 1 + i % 2, 100 + i, MS, "t" });
	for (uint32_t i = 0; i < STACKS; i++) {
		struct frame frames[] = { { 0x100 + i, 1, FRAME_EXACT },
			                  { 0x90 + i % 9, 1, FRAME_RETURN } };
		profile_add_stack(p, &(struct stack){ .thread = 1 + i % 6,
		                                      .time_ns = MS + i * 10 * MS,
		                                      .weight_ns = 1000,
		                                      .samples = 1,
		                                      .count = 2,
		                                      .frames = frames });
	}
	record_ops(p);
	record_counters(p);
	record_memory(p);
	for (uint32_t i = 1; i <= 6; i++)
		profile_end_thread(p, &(struct thread_end){ .thread = i, .time_ns = 9000 * MS });
}

static struct ops *ops;

static void make_ops(void)
{
	static const char *const names[] = { "load", "gemm", "store" };

	ops = ops_new();
	for (int i = 0; i < 3; i++)
		ops_add(ops, &(struct op){ .provider = OP_NVTX,
		                           .domain = "d",
		                           .category = "",
		                           .name = names[i] });
	ops_add(ops, &(struct op){ .provider = OP_NVTX,
	                           .domain = "d",
	                           .category = OP_COUNTER,
	                           .name = "queue" });
}

static void free_ops(void)
{
	ops_free(ops);
}

TestSuite(profile_memory, .init = make_ops, .fini = free_ops);

static void expect_every_op(const struct profile *p, const struct op_rows *rows)
{
	uint64_t bytes = 0;
	cleanup(memory_rows) struct memory_rows *memory =
		query_memory(p, MEMORY_BY_OP, false, NULL);

	for (size_t i = 0; i < memory->count; i++)
		bytes += memory->rows[i].allocated_bytes;
	cleanup(counter_rows) struct counter_rows *counters =
		query_counters(p, &(struct query){ 0 }, NULL);
	uint64_t changes = counters->lost;
	for (size_t i = 0; i < counters->count; i++)
		changes += counters->rows[i].changes + counters->rows[i].untold;
	cr_expect(eq(u64, rows->calls + rows->lost + changes, OPS + 100 + CHANGES));
	cr_expect(eq(u64, bytes + memory->lost * 100, ALLOCATIONS * 100));
	cr_expect(eq(u64, memory->allocated_bytes, ALLOCATIONS * 100));
}

// A profile whose every nanosecond is there or counted as lost. NULL if it could not be begun.
static struct profile *recorded(struct modules *modules)
{
	const struct profile_limits limits = { .threads = 2 };
	struct error err = { 0 };
	struct totals totals;
	struct profile *p = profile_new(modules, &limits, &err);

	if (!p) {
		cr_expect(ne(str, err.text, ""));
		return NULL;
	}
	profile_set_ops(p, ops);
	record(p);
	query_totals(p, &totals);
	cr_expect(eq(u64, totals.on_cpu_ns + totals.lost_ns, UINT64_C(1000) * STACKS));
	return p;
}

static struct modules *make_modules(void)
{
	struct modules *modules = modules_new();
	struct module app = { .kind = MODULE_ELF, .path = "/app", .fd = -1 };

	modules_add(modules, &app, NULL);
	return modules;
}

static void arm(long nth)
{
	until_failure = nth;
	has_failed = false;
}

// Whether the failure came to pass; the call after the last allocation ends the sweep.
static bool disarm(void)
{
	until_failure = 0;
	return has_failed;
}

Test(profile_memory, recording_loses_and_counts)
{
	cleanup(modules) struct modules *modules = make_modules();
	long nth = 1;

	for (bool failed = true; failed; nth++) {
		arm(nth);
		cleanup(profile) struct profile *p = recorded(modules);
		failed = disarm();
		cleanup(op_rows) struct op_rows *rows =
			p ? query_ops(p, &(struct op_query){ 0 }, NULL) : NULL;
		if (rows)
			expect_every_op(p, rows);
	}
	cr_expect(gt(long, nth, 30), "%ld allocations", nth);
}

Test(profile_memory, recording_goes_on_after_a_failure)
{
	cleanup(modules) struct modules *modules = make_modules();
	const struct profile_limits limits = { .threads = 2 };
	cleanup(profile) struct profile *p = profile_new(modules, &limits, NULL);
	struct totals totals;

	profile_set_ops(p, ops);
	arm(12);
	record(p);
	cr_expect(disarm());
	query_totals(p, &totals);
	cr_expect(lt(u64, totals.lost_ns, UINT64_C(1000) * STACKS / 2));
}

static int symbolize(struct profile *p, struct error *err)
{
	return profile_symbolize(p, &(struct symbolizer){ 0 }, err);
}

Test(profile_memory, symbolizing_is_an_error_and_can_be_done_again)
{
	cleanup(modules) struct modules *modules = make_modules();
	cleanup(profile) struct profile *p = recorded(modules);

	for (long nth = 1; !profile_is_symbolized(p); nth++) {
		struct error err = { 0 };
		arm(nth);
		int result = symbolize(p, &err);
		cr_expect(eq(int, result < 0, disarm()), "allocation %ld", nth);
		cr_expect(eq(int, result < 0, *err.text != '\0'));
	}
	cr_expect(eq(int, symbolize(p, NULL), 0));
}

static void ask_everything(const struct profile *p, struct error *err)
{
	struct account account;

	for (int by = BY_FUNCTION; by <= BY_PROCESS; by++)
		rows_free(query_run(p, &(struct query){ .by = (enum query_by)by }, err));
	for (int by = OPS_BY_OP; by <= OPS_BY_THREAD; by++)
		op_rows_free(query_ops(
			p, &(struct op_query){ .by = (enum op_by)by, .stack_frames = 3 }, err));
	for (int by = MEMORY_BY_FUNCTION; by <= MEMORY_BY_OP; by++)
		memory_rows_free(query_memory(p, (enum memory_by)by, true, err));
	counter_rows_free(query_counters(p, &(struct query){ 0 }, err));
	call_tree_free(query_call_tree(p, &(struct query){ .hide = "x" }, 0, err));
	module_rows_free(query_modules(p, err));
	query_account(p, &account, err);
}

Test(profile_memory, a_question_without_memory_has_an_error)
{
	cleanup(modules) struct modules *modules = make_modules();
	cleanup(profile) struct profile *p = recorded(modules);
	long nth = 1;

	cr_assert(symbolize(p, NULL) == 0);
	for (bool failed = true; failed; nth++) {
		struct error err = { 0 };
		arm(nth);
		ask_everything(p, &err);
		failed = disarm();
		cr_expect(eq(int, failed, *err.text != '\0'), "allocation %ld", nth);
	}
	cr_expect(gt(long, nth, 50), "%ld allocations", nth);
}

Test(profile_memory, a_file_is_written_or_not_and_read_or_not)
{
	cleanup(modules) struct modules *modules = make_modules();
	cleanup(profile) struct profile *p = recorded(modules);
	char path[] = "/tmp/profile_memory_test.XXXXXX";

	close(mkstemp(path));
	cr_assert(symbolize(p, NULL) == 0);
	for (bool failed = true, writing = true; failed || writing;) {
		static long nth = 1;
		struct error err = { 0 };
		struct profile *back = NULL;
		arm(nth++);
		bool ok = writing ? profile_write(p, path, &err) == 0
		                  : (back = profile_read(path, &err)) != NULL;
		failed = disarm();
		profile_free(back);
		cr_expect(eq(int, ok, !failed), "allocation %ld", nth - 1);
		cr_expect(eq(int, ok, *err.text == '\0'));
		if (writing && !failed) {
			writing = false;
			failed = true;
			nth = 1;
		}
	}
	unlink(path);
}

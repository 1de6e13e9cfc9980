// SPDX-License-Identifier: MIT
/*
 * op_report [-o MASK] [-m BYTES] [-z HZ] [-w] [-g] [-s] [--] COMMAND…: one line on standard output
 *for each thing that the agent tells of its ops. The command's own output goes to standard error.
 *
 *	+1.234567 p1 t1 begin   nvtx "physics" step {solver} shape 3,4 depth 1
 *
 *	-o  providers, 1 << enum op_provider of base/op.h; else all
 *	-m  bytes of allocations for each that is sampled; else none
 *	-z  samples a second; else none. Samples are not printed
 *	-w  waits for locks and other threads, too
 *	-t  functions to be traced; may be given several times
 *	-g  for golden files: no times, addresses, sites, and no names of threads but the
 *	    program's own
 *	-s  does not read the rings before the end
 *	-q  reads, but prints nothing
 */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/op.h"
#include "tests/tools/gpu_lines.h"
#include "tracer/reader/reader.h"
#include "tracer/reader/session.h"

#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>

#define TRACE_MAX 8
#define BEHIND_NS (2 * NS_PER_MS) // what is younger may still get an older neighbour

struct name {
	uint32_t id, domain, category;
	enum op_provider provider;
	char *text;
};

// What the GPU does by its correlation was caused by it.
struct call {
	uint32_t correlation, tid, name;
};

struct program {
	uint32_t pid;
	uint64_t image_ns;
	struct name *names;
	size_t count, capacity;
	struct call *calls; /* by correlation, unless threads have told them otherwise */
	size_t call_count, call_capacity;
	bool unsorted;
};

struct thread {
	uint32_t tid;
	uint32_t depth;
};

struct range {
	uint32_t pid, name;
	uint64_t begin_ns;
};

static struct {
	bool golden, late, quiet;
	uint64_t begin_ns;
	struct program *programs;
	size_t program_count, program_capacity;
	struct thread *threads;
	size_t thread_count, thread_capacity;
	struct range *ranges;
	size_t range_count, range_capacity;
	struct program *program; // of the record at hand
	FILE *gpu;               // what is printed at the end
	char *gpu_text;
	size_t gpu_size;
} all;

static void die(const char *what, const struct error *err)
{
	char text[1024];

	fprintf(stderr, "op_report: %s %s\n", what,
	        err ? error_message(err, text, sizeof(text)) : "");
	exit(125);
}

static size_t find_program(const struct record *record, uint64_t image_ns)
{
	for (size_t i = 0; i < all.program_count; i++)
		if (all.programs[i].pid == record->pid && all.programs[i].image_ns == image_ns)
			return i;
	if (!array_reserve(&all.programs, &all.program_capacity, all.program_count + 1))
		die("no memory", NULL);
	all.programs[all.program_count] =
		(struct program){ .pid = record->pid, .image_ns = image_ns };
	return all.program_count++;
}

static size_t find_thread(uint32_t tid)
{
	for (size_t i = 0; i < all.thread_count; i++)
		if (all.threads[i].tid == tid)
			return i;
	if (!array_reserve(&all.threads, &all.thread_capacity, all.thread_count + 1))
		die("no memory", NULL);
	all.threads[all.thread_count] = (struct thread){ tid, 0 };
	return all.thread_count++;
}

// A range's number is the count of those that began before it, and one.
static size_t add_range(const struct record *record, uint32_t name)
{
	if (!array_reserve(&all.ranges, &all.range_capacity, all.range_count + 1))
		die("no memory", NULL);
	all.ranges[all.range_count] = (struct range){ record->pid, name, record->time_ns };
	return ++all.range_count;
}

static size_t find_range(const struct record *record, uint32_t name, uint64_t begin_ns)
{
	struct range wanted = { record->pid, name, begin_ns };

	for (size_t i = all.range_count; i > 0; i--)
		if (memcmp(&all.ranges[i - 1], &wanted, sizeof(wanted)) == 0)
			return i;
	return 0;
}

static const struct name *find_name(uint32_t id)
{
	static const struct name unknown = { .text = "?" };
	struct program *p = all.program;

	for (size_t i = p->count; i > 0; i--)
		if (p->names[i - 1].id == id)
			return &p->names[i - 1];
	return &unknown;
}

static void keep_name(const struct record_op_name *name)
{
	struct program *p = all.program;

	if (!array_reserve(&p->names, &p->capacity, p->count + 1))
		die("no memory", NULL);
	p->names[p->count++] = (struct name){
		.id = name->name,
		.domain = name->domain,
		.category = name->category,
		.provider = name->provider,
		.text = strdup((const char *)(name + 1)),
	};
}

static void print_name(uint32_t id)
{
	const struct name *name = find_name(id);

	printf(" %s", op_provider_name(name->provider));
	if (name->domain)
		printf(" \"%s\"", find_name(name->domain)->text);
	printf(" %s", name->text);
	if (name->category)
		printf(" {%s}", find_name(name->category)->text);
}

static void print_details(const struct record_op_begin *begin)
{
	static const char *const kinds[] = { "",        "shape",  "u",           "i",      "f",
		                             "tensors", "called", "correlation", "message" };
	const uint64_t *values = (const uint64_t *)(begin + 1);

	if (all.golden && begin->detail == OP_DETAIL_CORRELATION)
		return;
	if (begin->detail_count)
		printf(" %s", begin->detail < sizeof(kinds) / sizeof(kinds[0])
		                      ? kinds[begin->detail]
		                      : "?");
	for (uint16_t i = 0; i < begin->detail_count; i++) {
		double real;
		memcpy(&real, &values[i], sizeof(real));
		putchar(i ? ',' : ' ');
		if (begin->detail == OP_DETAIL_DOUBLE)
			printf("%g", real);
		else
			printf("%" PRId64, (int64_t)values[i]);
	}
}

static void print_site(const struct record *record)
{
	const struct record_op_site *site = (const struct record_op_site *)record;

	printf(" %#" PRIx64 " stack %#" PRIx64 " +%u", site->caller, site->stack,
	       site->stack_bytes);
	print_name(site->name);
}

static void keep_call(const struct record_op_begin *begin)
{
	struct program *p = all.program;
	uint32_t first = (begin->detail & OP_DETAIL_CALLED) != 0;

	if ((begin->detail & ~OP_DETAIL_CALLED) != OP_DETAIL_CORRELATION ||
	    begin->detail_count <= first)
		return;
	if (!array_reserve(&p->calls, &p->call_capacity, p->call_count + 1))
		die("no memory", NULL);
	struct call *call = &p->calls[p->call_count++];
	*call = (struct call){ (uint32_t)((const uint64_t *)(begin + 1))[first], begin->head.tid,
		               begin->name };
	p->unsorted |= call > p->calls && call[-1].correlation > call->correlation;
}

static int compare_calls(const void *a, const void *b)
{
	uint32_t x = ((const struct call *)a)->correlation;
	uint32_t y = ((const struct call *)b)->correlation;

	return (x > y) - (x < y);
}

static const struct call *find_call(uint32_t correlation)
{
	struct program *p = all.program;
	struct call wanted = { .correlation = correlation };

	if (p->unsorted)
		qsort(p->calls, p->call_count, sizeof(wanted), compare_calls);
	p->unsorted = false;
	return p->calls ? bsearch(&wanted, p->calls, p->call_count, sizeof(wanted), compare_calls)
	                : NULL;
}

// What a GPU did comes when CUPTI tells it: golden files have it at the end.
static void print_gpu(const struct record *record, size_t program)
{
	uint32_t correlation = gpu_correlation(record);
	const struct call *call = correlation ? find_call(correlation) : NULL;
	char text[256];
	struct gpu_line line = { record, "", call ? text : NULL, all.golden, all.begin_ns };

	if (call)
		snprintf(text, sizeof(text), "t%zu %s", find_thread(call->tid) + 1,
		         find_name(call->name)->text);
	if (record->type == RECORD_GPU_PC)
		line.name = find_name(((const struct record_gpu_pc *)record)->function)->text;
	if (record->type == RECORD_GPU_STALL)
		line.name = find_name(((const struct record_gpu_stall *)record)->reason)->text;
	if (record->type == RECORD_GPU_KERNEL)
		line.name = find_name(((const struct record_gpu_kernel *)record)->name)->text;
	if (!all.gpu)
		all.gpu = all.golden ? open_memstream(&all.gpu_text, &all.gpu_size) : stdout;
	fprintf(all.gpu, "p%zu ", program + 1);
	gpu_line_print(all.gpu, &line);
}

static void print_gpu_text(void)
{
	if (!all.gpu || all.gpu == stdout)
		return;
	fclose(all.gpu);
	fwrite(all.gpu_text, 1, all.gpu_size, stdout);
	free(all.gpu_text);
}

static void print_begin(const struct record *record)
{
	const struct record_op_begin *begin = (const struct record_op_begin *)record;
	struct thread *thread = &all.threads[find_thread(record->tid)];

	keep_call(begin);
	print_name(begin->name);
	print_details(begin);
	if (record->flags & OP_RANGE)
		printf(" range %zu", add_range(record, begin->name));
	else if (record->type == RECORD_OP_BEGIN)
		printf(" depth %u", thread->depth++);
	if (!all.golden)
		printf(" from %#" PRIx64, begin->caller);
}

static void print_end(const struct record *record)
{
	const struct record_op_end *end = (const struct record_op_end *)record;
	struct thread *thread = &all.threads[find_thread(record->tid)];

	print_name(end->name);
	if (record->flags & OP_RANGE)
		printf(" range %zu", find_range(record, end->name, end->begin_ns));
	else
		printf(" depth %u", --thread->depth);
	if (record->flags & OP_UNORDERED)
		printf(" unordered");
	if (record->flags & OP_LEFT_OPEN)
		printf(" left-open");
	if (all.golden)
		return;
	printf(" took %" PRIu64 " self %" PRIu64, record->time_ns - end->begin_ns, end->self_ns);
	if (end->allocated_bytes || end->freed_bytes)
		printf(" allocated %" PRIu64 " self %" PRIu64 " freed %" PRIu64 " self %" PRIu64,
		       end->allocated_bytes, end->self_allocated_bytes, end->freed_bytes,
		       end->self_freed_bytes);
}

static void print_count(const struct record *record)
{
	const struct record_op_count *count = (const struct record_op_count *)record;

	print_name(count->name);
	printf(" calls %" PRIu64, count->counts.calls);
	if (!all.golden)
		printf(" took %" PRIu64 " self %" PRIu64, count->counts.total_ns,
		       count->counts.self_ns);
}

static void print_allocation(const struct record *record)
{
	const struct record_alloc *alloc = (const struct record_alloc *)record;

	if (!all.golden)
		printf(" %#" PRIx64, alloc->address);
	if (record->type == RECORD_ALLOC)
		printf(" %" PRIu64 " bytes for %" PRIu64, alloc->bytes, alloc->weight_bytes);
}

static void print_memory(const struct record *record)
{
	const struct record_memory *memory = (const struct record_memory *)record;

	printf(" %" PRIu64 " allocations of %" PRIu64 " bytes, %" PRIu64 " frees of %" PRIu64,
	       memory->allocations, memory->allocated_bytes, memory->frees, memory->freed_bytes);
}

static void print_wait(const struct record *record)
{
	static const char *const names[] = { "?",         "mutex",   "rwlock", "condition",
		                             "semaphore", "barrier", "join",   "spinlock",
		                             "once",      "signal",  "file",   "child" };
	const struct record_wait *wait = (const struct record_wait *)record;
	const struct wait_part *parts = (const struct wait_part *)(wait + 1);
	uint64_t from = wait->begin_ns;

	printf(" %s %#" PRIx64 " %" PRIu64 " ns%s%s%s",
	       names[wait->kind <= HELD_CHILD ? wait->kind : 0], wait->address,
	       record->time_ns - wait->begin_ns,
	       record->flags & HELD_TIMED_OUT ? ", timed out" : "",
	       record->flags & HELD_INTERRUPTED ? ", interrupted" : "",
	       record->flags & HELD_POSTED ? ", posted"
	       : record->flags & HELD_CUT  ? ", cut"
	                                   : "");
	for (uint32_t i = 0; i < wait->count; from = parts[i++].until_ns) {
		printf("%s %s", i ? "," : ":",
		       parts[i].how == HELD_BY_NOBODY  ? "free"
		       : parts[i].how == HELD_BY_WAKER ? "woken by"
		                                       : "held by");
		if (parts[i].how != HELD_BY_NOBODY)
			printf(" t%zu", parts[i].tid ? find_thread(parts[i].tid) + 1 : 0);
		printf(" %" PRIu64 " ns", parts[i].until_ns - from);
	}
}

static void print_text(const struct record *record)
{
	size_t size = record->type == RECORD_NOTE ? sizeof(struct record_note) : sizeof(*record);

	printf(" %s", (const char *)record + size);
}

static const struct kind {
	uint16_t type;
	bool golden;
	const char *name;
	void (*print)(const struct record *record);
} kinds[] = {
	{ RECORD_OP_BEGIN, true, "begin", print_begin },
	{ RECORD_OP_END, true, "end", print_end },
	{ RECORD_OP_MARK, true, "mark", print_begin },
	{ RECORD_OP_SITE, false, "site", print_site },
	{ RECORD_OP_COUNT, true, "count", print_count },
	{ RECORD_ALLOC, true, "alloc", print_allocation },
	{ RECORD_FREE, true, "free", print_allocation },
	{ RECORD_MEMORY, true, "memory", print_memory },
	{ RECORD_WAIT, false, "wait", print_wait },
	{ RECORD_THREAD, true, "thread", print_text },
	{ RECORD_NOTE, true, "note", print_text },
};

static void print_kind(const struct record *record, size_t program, const struct kind *kind)
{
	int64_t time_ns = (int64_t)(record->time_ns - all.begin_ns);

	if (all.golden &&
	    (!kind->golden || (record->type == RECORD_THREAD && record->flags != THREAD_GIVEN)))
		return;
	if (!all.golden)
		printf("%+.6f ", (double)time_ns / 1e9);
	printf("p%zu t%zu %-6s", program + 1, find_thread(record->tid) + 1, kind->name);
	kind->print(record);
	putchar('\n');
}

static void print(const struct record *record, uint64_t image_ns)
{
	size_t program = find_program(record, image_ns);

	all.program = &all.programs[program];
	if (record->type == RECORD_OP_NAME) {
		keep_name((const struct record_op_name *)record);
		return;
	}
	if (record->type >= RECORD_GPU_KERNEL && record->type <= RECORD_GPU_STALL)
		print_gpu(record, program);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].type == record->type)
			print_kind(record, program, &kinds[i]);
}

static void drain(struct reader *reader, uint64_t until_ns)
{
	uint64_t image_ns;

	reader_poll(reader);
	for (const struct record *r; (r = reader_next(reader, until_ns, &image_ns));)
		if (!all.quiet)
			print(r, image_ns);
}

static pid_t start(const struct session *session, char *const argv[])
{
	struct error err = { 0 };
	pid_t child = fork();

	if (child != 0)
		return child;
	dup2(2, 1);
	if (session_export(session, &err) < 0)
		die("environment:", &err);
	execvp(argv[0], argv);
	_exit(127);
}

static int watch(struct reader *reader, pid_t child)
{
	int status;

	while (waitpid(child, &status, WNOHANG) != child) {
		if (!all.late)
			drain(reader, clock_now_ns() - BEHIND_NS);
		usleep(2000);
	}
	drain(reader, UINT64_MAX);
	reader_count_ops(reader, clock_now_ns());
	drain(reader, UINT64_MAX);
	print_gpu_text();
	fflush(stdout);
	fprintf(stderr,
	        "op_report: %" PRIu64 " dropped, %" PRIu64 " threads unseen, %" PRIu64 " damaged\n",
	        reader_dropped(reader), reader_unsampled(reader), reader_damaged(reader));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static const char *trace[TRACE_MAX];

static void read_options(struct session_options *wanted, int argc, char **argv)
{
	for (int option; (option = getopt(argc, argv, "+o:m:z:t:G:L:wgsq")) != -1;)
		switch (option) {
		case 'o':
			wanted->ops = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'm':
			wanted->malloc_bytes = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'z':
			wanted->frequency_hz = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'G':
			wanted->gpu = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'L':
			wanted->launches = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'w':
			wanted->waits = true;
			break;
		case 'g':
			all.golden = true;
			break;
		case 's':
			all.late = true;
			break;
		case 't':
			trace[wanted->trace_count++ % TRACE_MAX] = optarg;
			wanted->trace = trace;
			break;
		case 'q':
			all.quiet = true;
			break;
		default:
			die("unknown option", NULL);
		}
	if (optind >= argc)
		die("no command", NULL);
}

int main(int argc, char **argv)
{
	struct session_options wanted = { .library = AGENT_LIBRARY,
		                          .stack_bytes = 32768,
		                          .ops = (1u << OP_PROVIDERS) - 2 };
	struct error err = { 0 };

	read_options(&wanted, argc, argv);
	cleanup(session) struct session *session = session_new(&wanted, &err);
	if (!session)
		die("session:", &err);
	cleanup(reader) struct reader *reader = reader_new(session_directory(session), &err);
	if (!reader)
		die("reader:", &err);
	all.begin_ns = clock_now_ns();
	pid_t child = start(session, argv + optind);
	return child < 0 ? 125 : watch(reader, child);
}

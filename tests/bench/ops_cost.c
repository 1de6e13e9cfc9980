// SPDX-License-Identifier: MIT
/*
 * ops_cost [NAME…]: what one op costs the program, in ns: each loop is run many times in turns with
 * the others; printed are the best and the median of the rounds. To compare: without the agent, and
 * under it (op_report -o MASK, with -s for full rings, -m 524288 for allocations).
 *
 * Where there are counters, also the instructions and cycles of an op, medians: what others do on
 * the machine shows little in cycles and not at all in instructions.
 */
#include "tests/ops/itt_shim.h"
#include "tests/ops/nvtx_shim.h"
#include "tracer/api/bottleneck/bottleneck.h"

#include <dlfcn.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 41
#define LOOPS  2000 // so few that a ring holds what one round says

static domain *itt_domain_used;
static string *itt_name;
static nvtxDomainHandle_t nvtx_domain;
static nvtxEventAttributes_t event_narrow, event_registered;
static const id none;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void two_clocks(void)
{
	now_ns();
	now_ns();
}

static void two_counters(void)
{
#ifdef __x86_64__
	volatile uint64_t sink = __builtin_ia32_rdtsc();
	sink = __builtin_ia32_rdtsc();
	(void)sink;
#endif
}

static void nvtx_pair(void)
{
	nvtxRangePushA("range");
	nvtxRangePop();
}

static void api_pair(void)
{
	bottleneck_range_begin("range");
	bottleneck_range_end();
}

static void nvtx_event_pair(void)
{
	nvtxDomainRangePushEx(nvtx_domain, &event_narrow);
	nvtxDomainRangePop(nvtx_domain);
}

static void nvtx_registered_pair(void)
{
	nvtxDomainRangePushEx(nvtx_domain, &event_registered);
	nvtxDomainRangePop(nvtx_domain);
}

static void nvtx_range(void)
{
	nvtxRangeEnd(nvtxRangeStartA("range"));
}

static void nvtx_mark(void)
{
	nvtxMarkA("mark");
}

static void itt_task(void)
{
	CALL(task_begin, itt_domain_used, none, none, itt_name);
	CALL(task_end, itt_domain_used);
}

// As any library calls it, if there is one: the agent's comes first.
static double (*ddot)(int, const double *, int, const double *, int);

static void blas_dot(void)
{
	static const double numbers[2] = { 1, 2 };

	if (ddot)
		ddot(2, numbers, 1, numbers, 1);
}

#ifdef HAVE_SUM
double cblas_dasum(int n, const double *x, int incx);

static void blas_sum(void)
{
	static const double numbers[2] = { 1, 2 };

	cblas_dasum(2, numbers, 1);
}
#endif

// bench/ops has it traced.
__attribute__((noinline, noclone)) long traced_function(long x);
long traced_function(long x)
{
	__asm__ volatile("");
	return x + 1;
}

static void call_traced(void)
{
	traced_function(1);
}

static void allocate(size_t size)
{
	void *p = malloc(size);

	__asm__ volatile("" : : "r"(p) : "memory"); // or the pair would be left out
	free(p);
}

static void allocate_64(void)
{
	allocate(64);
}

static void allocate_4k(void)
{
	allocate(4096);
}

static void allocate_1m(void)
{
	allocate(1 << 20);
}

static const struct loop {
	const char *name;
	void (*run)(void);
} loops[] = {
	{ "two clock_gettime()", two_clocks },
	{ "two counter readings", two_counters },
	{ "NVTX push and pop", nvtx_pair },
	{ "range of the API", api_pair },
	{ "step of the API", bottleneck_mark_step },
	{ "NVTX push and pop in a domain", nvtx_event_pair },
	{ "NVTX push and pop, registered", nvtx_registered_pair },
	{ "NVTX start and end", nvtx_range },
	{ "NVTX mark", nvtx_mark },
	{ "ITT task", itt_task },
	{ "BLAS dot of 2 numbers", blas_dot },
#ifdef HAVE_SUM
	{ "BLAS sum of nothing", blas_sum },
#endif
	{ "traced function", call_traced },
	{ "malloc and free of 64 bytes", allocate_64 },
	{ "malloc and free of 4 KB", allocate_4k },
	{ "malloc and free of 1 MB", allocate_1m },
};

#define COUNT (sizeof(loops) / sizeof(loops[0]))

static void prepare(void)
{
	if (dlopen("libopenblas.so.0", RTLD_LAZY | RTLD_GLOBAL))
		ddot = (double (*)(int, const double *, int, const double *, int))dlsym(
			RTLD_DEFAULT, "cblas_ddot");
	nvtx_domain = nvtxDomainCreateA("domain");
	event_narrow = (nvtxEventAttributes_t){
		.version = NVTX_VERSION,
		.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
		.messageType = NVTX_MESSAGE_TYPE_ASCII,
	};
	event_registered = event_narrow;
	event_narrow.message.ascii = "range";
	event_registered.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	event_registered.message.registered = nvtxDomainRegisterStringA(nvtx_domain, "registered");
	itt_load();
	itt_domain_used = itt_domain_create("domain");
	itt_name = itt_string_handle_create("task");
}

static int open_counter(uint64_t config)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = config,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static double read_counter(int fd)
{
	uint64_t value = 0;

	return read(fd, &value, sizeof(value)) == sizeof(value) ? (double)value : 0;
}

enum measure {
	NS,
	INSTRUCTIONS,
	CYCLES,
	MEASURES
};

static int counters[MEASURES];

static void run_round(void (*run)(void), double out[MEASURES])
{
	double before[MEASURES];

	for (int m = INSTRUCTIONS; m < MEASURES; m++)
		before[m] = read_counter(counters[m]);
	uint64_t start = now_ns();
	for (int i = 0; i < LOOPS; i++)
		run();
	out[NS] = (double)(now_ns() - start) / LOOPS;
	for (int m = INSTRUCTIONS; m < MEASURES; m++)
		out[m] = (read_counter(counters[m]) - before[m]) / LOOPS;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static bool is_wanted(const struct loop *loop, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strstr(loop->name, argv[i]))
			return true;
	return argc == 1;
}

static double values[COUNT][MEASURES][ROUNDS];

static void measure(size_t loop, int round)
{
	double out[MEASURES];

	nanosleep(&(struct timespec){ .tv_nsec = 4000000 }, NULL); // drained
	run_round(loops[loop].run, out);
	run_round(loops[loop].run, out);
	for (int m = 0; m < MEASURES; m++)
		values[loop][m][round] = out[m];
}

static void print(size_t loop)
{
	double(*of)[ROUNDS] = values[loop];

	for (int m = 0; m < MEASURES; m++)
		qsort(of[m], ROUNDS, sizeof(of[m][0]), by_size);
	printf("%-32s best %6.1f  median %6.1f ns", loops[loop].name, of[NS][0],
	       of[NS][ROUNDS / 2]);
	if (of[INSTRUCTIONS][ROUNDS / 2] > 0)
		printf("  %6.0f instructions %6.0f cycles", of[INSTRUCTIONS][ROUNDS / 2],
		       of[CYCLES][ROUNDS / 2]);
	putchar('\n');
}

int main(int argc, char **argv)
{
	prepare();
	counters[INSTRUCTIONS] = open_counter(PERF_COUNT_HW_INSTRUCTIONS);
	counters[CYCLES] = open_counter(PERF_COUNT_HW_CPU_CYCLES);
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < COUNT; i++)
			if (is_wanted(&loops[i], argc, argv))
				measure(i, round);
	for (size_t i = 0; i < COUNT; i++)
		if (is_wanted(&loops[i], argc, argv))
			print(i);
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * samples [-r RINGS] [-n MILLIONS] [-F HZ] [-s STACK_BYTES] -- COMMAND...: what a sample costs the
 * collector.
 *
 * Records the rings of COMMAND for a second, with the attributes of sampler/perf/perf_event.h,
 * stops it, and feeds what came through so many rings again and again, as fast as they are read:
 * each ring is another CPU, whose threads have numbers of their own. Prints microseconds of CPU a
 * sample for reading and decoding rings, for that with unwinding, and for all with the profile; and
 * the memory that is taken after each tenth of the samples.
 */
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "merge/profile/profile.h"
#include "sampler/event/source.h"
#include "sampler/perf/perf_event.h"
#include "sampler/perf/perf_ring.h"
#include "sampler/tracker/tracker.h"

#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CPUS_MAX     64
#define CAPTURE_MB   32 // of a ring
#define REPLAY_BYTES ((size_t)512 << 10)
#define SLICE_NS     (2 * NS_PER_MS) // fed at a time
#define TID_STEP     4000000

struct raw {
	uint64_t time_ns;
	uint8_t *bytes;
	uint16_t size;
	uint16_t type;
};

struct recorded_cpu {
	struct raw *raws;
	size_t count, capacity;
};

struct options {
	size_t rings;
	double millions;
	uint32_t hz, stack_bytes;
};

static struct recorded_cpu recorded[CPUS_MAX];
static size_t cpu_count;
static uint64_t first_ns, span_ns;
static bool kernel; // samples have kernel chains

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int open_cpu(const struct options *options, pid_t child, int cpu)
{
	const struct source_request request = { .frequency_hz = options->hz,
		                                .stack_bytes = options->stack_bytes,
		                                .off_cpu = true };
	struct perf_event_attr attr;

	perf_event_clock_attr(&request, kernel, &attr);
	attr.watermark = attr.wakeup_watermark = 0; // what has come is looked at all the time
	return (int)syscall(SYS_perf_event_open, &attr, child, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static pid_t start(char **argv, int *gate)
{
	int ends[2];

	if (pipe(ends) < 0)
		die("pipe");
	pid_t child = fork();
	if (child == 0) {
		char byte;
		int nothing = open("/dev/null", O_WRONLY);
		close(ends[1]);
		if (read(ends[0], &byte, 1) < 0 || dup2(nothing, 1) < 0)
			_exit(126);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(ends[0]);
	*gate = ends[1];
	return child;
}

static void keep(struct recorded_cpu *cpu, const struct perf_format *format,
                 const struct perf_event_header *record)
{
	if (!array_reserve(&cpu->raws, &cpu->capacity, cpu->count + 1))
		die("memory");
	uint8_t *bytes = malloc(record->size);
	if (!bytes)
		die("memory");
	memcpy(bytes, record, record->size);
	struct raw raw = { .bytes = bytes, .type = (uint16_t)record->type };
	raw.size = (uint16_t)perf_record_shorten(format, bytes);
	memcpy(&raw.time_ns, bytes + perf_record_time_offset((const void *)bytes), 8);
	cpu->raws[cpu->count++] = raw;
}

static void record(const struct options *options, pid_t child, int gate)
{
	size_t bytes = (size_t)CAPTURE_MB << 20;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	static struct perf_rings rings[CPUS_MAX];
	struct perf_ring *ring, *from;
	const struct perf_event_header *header;

	kernel = true;
	for (cpu_count = 0; cpu_count < (size_t)cpus && cpu_count < CPUS_MAX; cpu_count++) {
		int fd = open_cpu(options, child, (int)cpu_count);
		if (fd < 0 && kernel && !cpu_count) {
			kernel = false;
			fd = open_cpu(options, child, (int)cpu_count);
		}
		if (fd < 0)
			die("perf_event_open");
		size_t size = bytes;
		void *page = MAP_FAILED;
		while (size > 65536 && (page = mmap(NULL, size + 4096, PROT_READ | PROT_WRITE,
		                                    MAP_SHARED, fd, 0)) == MAP_FAILED)
			size /= 2;
		if (page == MAP_FAILED || !(ring = calloc(1, sizeof(*ring))))
			die("mmap");
		perf_ring_init(ring, page, size);
		ring->format.kernel = kernel;
		rings[cpu_count].rings = ring;
		rings[cpu_count].count = 1;
	}
	close(gate);
	uint64_t until = clock_now_ns() + NS_PER_SEC;
	while (clock_now_ns() < until) {
		poll(NULL, 0, 2);
		for (size_t i = 0; i < cpu_count; i++) {
			perf_rings_look(&rings[i], NULL);
			while ((header = perf_rings_next(&rings[i], UINT64_MAX, &from, NULL)))
				keep(&recorded[i], &from->format, header);
		}
	}
	kill(child, SIGSTOP);
	first_ns = UINT64_MAX;
	uint64_t last = 0;
	for (size_t i = 0; i < cpu_count; i++)
		for (size_t j = 0; j < recorded[i].count; j++) {
			uint64_t time = recorded[i].raws[j].time_ns;
			first_ns = time < first_ns ? time : first_ns;
			last = time > last ? time : last;
		}
	span_ns = last - first_ns + 1;
}

// A ring as the kernel makes it, that we write ourselves.
struct fed {
	struct perf_ring *ring;
	const struct recorded_cpu *from;
	uint32_t more_tid;
	size_t at;
	uint64_t pass;
	size_t written; // samples
};

static void put(struct perf_ring *ring, uint64_t at, const void *bytes, size_t size)
{
	uint8_t *data = (uint8_t *)ring->page + 4096;
	size_t offset = at & ring->mask, first = ring->mask + 1 - offset;

	first = first < size ? first : size;
	memcpy(data + offset, bytes, first);
	memcpy(data, (const uint8_t *)bytes + first, size - first);
}

// Of later passes there are samples and switches: all else has been seen.
static bool is_fed(const struct fed *f, const struct raw *raw)
{
	if (raw->type == PERF_RECORD_SAMPLE || raw->type == PERF_RECORD_SWITCH)
		return true;
	return !f->pass && !f->more_tid && raw->type != PERF_RECORD_EXIT;
}

static void write_record(struct fed *f, const struct raw *raw)
{
	static _Alignas(uint64_t) uint8_t copy[PERF_RECORD_MAX_BYTES];
	struct perf_event_header *header = (struct perf_event_header *)(void *)copy;
	uint64_t head = f->ring->page->data_head, time = raw->time_ns + f->pass * span_ns;
	uint32_t tid;

	memcpy(copy, raw->bytes, raw->size);
	size_t time_at = perf_record_time_offset(header);
	memcpy(copy + time_at, &time, sizeof(time));
	memcpy(&tid, copy + time_at - sizeof(tid), sizeof(tid));
	tid += f->more_tid;
	memcpy(copy + time_at - sizeof(tid), &tid, sizeof(tid));
	put(f->ring, head, copy, raw->size);
	__atomic_store_n(&f->ring->page->data_head, head + raw->size, __ATOMIC_RELEASE);
	f->written += raw->type == PERF_RECORD_SAMPLE;
}

// What its CPU has written by UNTIL_NS, or as much of it as there is room for.
static void feed(struct fed *f, uint64_t until_ns)
{
	if (!f->from->count)
		return;
	for (;;) {
		const struct raw *raw = &f->from->raws[f->at];
		if (raw->time_ns + f->pass * span_ns > until_ns)
			return;
		if (f->ring->page->data_head - f->ring->page->data_tail + raw->size >
		    REPLAY_BYTES / 2)
			return;
		if (is_fed(f, raw))
			write_record(f, raw);
		if (++f->at == f->from->count) {
			f->at = 0;
			f->pass++;
		}
	}
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

static double resident_mb(void)
{
	unsigned long long all = 0, resident = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (!file || fscanf(file, "%llu %llu", &all, &resident) != 2)
		resident = 0;
	if (file)
		fclose(file);
	return (double)resident * 4096 / 1e6;
}

enum stage {
	STAGE_RINGS,
	STAGE_UNWIND,
	STAGE_ALL
};

static void take(void *context, const struct sampled *what)
{
	profile_take(context, what);
}

struct cost {
	double us;
	uint64_t samples;
};

static struct fed *make_rings(const struct options *options, struct perf_rings *set)
{
	struct fed *fed = calloc(options->rings, sizeof(*fed));

	set->rings = calloc(options->rings, sizeof(*set->rings));
	if (!fed || !set->rings)
		die("memory");
	for (size_t i = 0; i < options->rings; i++) {
		void *page = mmap(NULL, REPLAY_BYTES + 4096, PROT_READ | PROT_WRITE,
		                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (page == MAP_FAILED)
			die("mmap");
		perf_ring_init(&set->rings[i], page, REPLAY_BYTES);
		set->rings[i].format.kernel = kernel;
		fed[i] = (struct fed){ .ring = &set->rings[i],
			               .from = &recorded[i % cpu_count],
			               .more_tid = (uint32_t)(i / cpu_count) * TID_STEP };
	}
	set->count = options->rings;
	return fed;
}

static void free_rings(const struct options *options, struct perf_rings *set, struct fed *fed)
{
	for (size_t i = 0; i < options->rings; i++) {
		perf_ring_fini(&set->rings[i]);
		munmap(set->rings[i].page, REPLAY_BYTES + 4096);
	}
	free(set->rings);
	free(fed);
}

static struct cost replay(const struct options *options, enum stage stage)
{
	static struct perf_rings set;
	struct error err = { 0 };
	struct modules *modules = modules_new();
	struct profile *profile = profile_new(modules, NULL, &err);
	struct sampler_sink sink = { profile, stage == STAGE_ALL ? take : NULL, NULL };
	struct tracker *tracker = tracker_new(modules, UNWINDER_TABLE, &sink, &err);
	struct source_facts facts = { .kernel_samples = kernel,
		                      .kernel_stacks = kernel,
		                      .switches = true,
		                      .frequency_hz = options->hz };
	struct perf_ring *from;
	const struct perf_event_header *record;
	struct event event;
	struct cost cost = { 0 };
	uint64_t spent = 0, records = 0, wanted = (uint64_t)(options->millions * 1e6);
	uint64_t shown = wanted / 10;

	set = (struct perf_rings){ 0 };
	if (!profile || !tracker || tracker_start(tracker, &facts, true, &err) < 0)
		die(err.text);
	struct fed *fed = make_rings(options, &set);
	for (uint64_t until = first_ns + SLICE_NS; cost.samples < wanted; until += SLICE_NS) {
		for (size_t i = 0; i < options->rings; i++)
			feed(&fed[i], until);
		uint64_t before = cpu_ns();
		perf_rings_look(&set, &err);
		while ((record = perf_rings_next(&set, until, &from, &err))) {
			if (perf_record_decode(&from->format, record, record->size, &event) !=
			    PERF_RECORD_EVENT)
				continue;
			records++;
			cost.samples += event.type == RECORD_SAMPLE;
			if (stage != STAGE_RINGS)
				tracker_handle(tracker, &event);
		}
		spent += cpu_ns() - before;
		if (err.text[0])
			die(err.text);
		if (stage == STAGE_ALL && cost.samples >= shown) {
			printf("  %5.1f million samples: %6.1f MB, %.2f us of CPU a sample\n",
			       (double)cost.samples / 1e6, resident_mb(),
			       (double)spent / 1e3 / (double)cost.samples);
			fflush(stdout);
			shown += wanted / 10;
		}
	}
	cost.us = (double)spent / 1e3 / (double)cost.samples;
	if (stage == STAGE_RINGS)
		printf("%zu rings, %.1f records a sample\n", options->rings,
		       (double)records / (double)cost.samples);
	free_rings(options, &set, fed);
	tracker_free(tracker);
	profile_free(profile);
	modules_free(modules);
	return cost;
}

static void show_recorded(void)
{
	size_t samples = 0, bytes = 0, all = 0;

	for (size_t i = 0; i < cpu_count; i++)
		for (size_t j = 0; j < recorded[i].count; j++) {
			bool sample = recorded[i].raws[j].type == PERF_RECORD_SAMPLE;
			all++;
			samples += sample;
			bytes += sample ? recorded[i].raws[j].size : 0;
		}
	if (!samples) {
		fprintf(stderr, "samples: no sample in a second\n");
		exit(1);
	}
	printf("recorded: %zu records, %zu samples of %zu bytes\n", all, samples, bytes / samples);
}

int main(int argc, char **argv)
{
	struct options options = { .rings = 2, .millions = 1, .hz = 4999, .stack_bytes = 32768 };
	int option, gate;

	while ((option = getopt(argc, argv, "+r:n:F:s:")) != -1) {
		if (option == 'r')
			options.rings = strtoul(optarg, NULL, 10);
		else if (option == 'n')
			options.millions = strtod(optarg, NULL);
		else if (option == 'F')
			options.hz = (uint32_t)strtoul(optarg, NULL, 10);
		else if (option == 's')
			options.stack_bytes = (uint32_t)strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	if (optind == argc || !options.rings || !options.hz)
		return 2;
	pid_t child = start(argv + optind, &gate);
	record(&options, child, gate);
	show_recorded();
	struct cost rings = replay(&options, STAGE_RINGS);
	struct cost unwind = replay(&options, STAGE_UNWIND);
	struct cost all = replay(&options, STAGE_ALL);
	printf("us of CPU a sample: %.2f reading rings + %.2f unwinding and accounts + %.2f profile "
	       "= %.2f, %.0f samples a second\n",
	       rings.us, unwind.us - rings.us, all.us - unwind.us, all.us, 1e6 / all.us);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}

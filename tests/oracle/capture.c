// SPDX-License-Identifier: MIT
#include "oracle/capture.h"

#include "base/array.h"
#include "base/error.h"
#include "oracle/child.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define RING_PAGES 1024
#define CPUS_MAX   256

/* perf's numbers of the registers in DWARF's order. */
static const uint8_t perf_register[17] = {
	0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8
};

struct ring {
	int fd;
	struct perf_event_mmap_page *page;
	uint8_t *data;
	uint64_t size, tail;
};

/* A raw record, kept until all are in and can be put in order. */
struct raw {
	uint64_t time;
	size_t sequence;
	struct perf_event_header *record; // owned
};

struct task {
	uint32_t pid;
	struct address_space *space; // owned
};

struct recording {
	struct ring rings[CPUS_MAX];
	int ring_count;
	struct raw *raws;
	size_t raw_count, raw_capacity;
	size_t samples, samples_max;
	struct task *tasks;
	size_t task_count, task_capacity;
};

static struct perf_event_attr attributes(const struct capture_options *options)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = 1000000000u / options->frequency_hz,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER |
		               PERF_SAMPLE_STACK_USER,
		.sample_stack_user = options->stack_bytes & ~7u,
		.disabled = 1,
		.inherit = 1,
		.enable_on_exec = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = 256 * 1024,
	};

	for (int i = 0; i < 17; i++)
		attr.sample_regs_user |= UINT64_C(1) << perf_register[i];
	return attr;
}

static int open_ring(struct recording *r, struct perf_event_attr *attr, pid_t pid, int cpu)
{
	long page = sysconf(_SC_PAGESIZE);
	struct ring *ring = &r->rings[r->ring_count];

	ring->fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (ring->fd < 0)
		return -1;
	for (size_t pages = RING_PAGES; pages >= 64; pages /= 2) {
		void *map = mmap(NULL, (pages + 1) * (size_t)page, PROT_READ | PROT_WRITE,
		                 MAP_SHARED, ring->fd, 0);
		if (map == MAP_FAILED)
			continue;
		ring->page = map;
		ring->data = (uint8_t *)map + page;
		ring->size = pages * (size_t)page;
		r->ring_count++;
		return 0;
	}
	close(ring->fd);
	return -1;
}

static int open_rings(struct recording *r, const struct capture_options *options, pid_t pid,
                      struct error *err)
{
	struct perf_event_attr attr = attributes(options);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	for (int cpu = 0; cpu < cpus && cpu < CPUS_MAX; cpu++) {
		if (open_ring(r, &attr, pid, cpu) < 0) {
			error_set(err, errno, "could not sample");
			return CAPTURE_REFUSED;
		}
	}
	return 0;
}

static void close_rings(struct recording *r)
{
	for (int i = 0; i < r->ring_count; i++) {
		munmap(r->rings[i].page, r->rings[i].size + (size_t)sysconf(_SC_PAGESIZE));
		close(r->rings[i].fd);
	}
}

static void copy_out(const struct ring *ring, uint64_t at, void *to, size_t size)
{
	uint64_t from = at & (ring->size - 1);
	size_t first = ring->size - from < size ? ring->size - from : size;

	memcpy(to, ring->data + from, first);
	memcpy((char *)to + first, ring->data, size - first);
}

/* Samples begin with {pid, tid, time}; the others end with it. */
static uint64_t time_of(const struct perf_event_header *record)
{
	const uint8_t *bytes = (const uint8_t *)record;
	size_t at =
		record->type == PERF_RECORD_SAMPLE ? sizeof(*record) + 8 : (size_t)record->size - 8;
	uint64_t time;

	memcpy(&time, bytes + at, sizeof(time));
	return time;
}

static void keep(struct recording *r, const struct ring *ring, uint64_t at,
                 const struct perf_event_header *header)
{
	if (header->type == PERF_RECORD_SAMPLE && r->samples++ >= r->samples_max)
		return;
	struct perf_event_header *record = malloc(header->size);
	if (!record || !array_reserve(&r->raws, &r->raw_capacity, r->raw_count + 1)) {
		free(record);
		return;
	}
	copy_out(ring, at, record, header->size);
	r->raws[r->raw_count] =
		(struct raw){ .time = time_of(record), .sequence = r->raw_count, .record = record };
	r->raw_count++;
}

static void drain(struct recording *r)
{
	for (int i = 0; i < r->ring_count; i++) {
		struct ring *ring = &r->rings[i];
		uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
		while (ring->tail < head) {
			struct perf_event_header header;
			copy_out(ring, ring->tail, &header, sizeof(header));
			keep(r, ring, ring->tail, &header);
			ring->tail += header.size;
		}
		__atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
	}
}

static void record_all(struct recording *r, const struct child *child)
{
	child_go(child);
	while (!child_ended(child)) {
		drain(r);
		if (r->samples >= r->samples_max)
			child_kill(child);
		poll(NULL, 0, 5);
	}
	drain(r);
}

static int compare_raws(const void *a, const void *b)
{
	const struct raw *left = a, *right = b;

	if (left->time != right->time)
		return left->time < right->time ? -1 : 1;
	return left->sequence < right->sequence ? -1 : 1;
}

static struct task *find_task(struct recording *r, uint32_t pid)
{
	for (size_t i = r->task_count; i-- > 0;)
		if (r->tasks[i].pid == pid)
			return &r->tasks[i];
	if (!array_reserve(&r->tasks, &r->task_capacity, r->task_count + 1))
		abort();
	r->tasks[r->task_count] = (struct task){ pid, address_space_new() };
	return &r->tasks[r->task_count++];
}

static void take_fork(struct recording *r, const void *record)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, ppid;
	} fork_record;

	memcpy(&fork_record, record, sizeof(fork_record));
	if (fork_record.pid == fork_record.ppid)
		return;
	struct address_space *copy = address_space_copy(find_task(r, fork_record.ppid)->space);
	struct task *child = find_task(r, fork_record.pid);
	address_space_free(child->space);
	child->space = copy;
}

static void take_map(struct recording *r, const void *record, struct modules *modules)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t start, length, offset;
		uint32_t major, minor;
		uint64_t inode, generation;
		uint32_t protection, flags;
	} map;
	char jit[32];

	memcpy(&map, record, sizeof(map));
	const char *path = (const char *)record + sizeof(map);
	if (!(map.protection & PROT_EXEC))
		return;
	struct module module = { .kind = MODULE_ELF,
		                 .path = path,
		                 .pid = (pid_t)map.pid,
		                 .device = makedev(map.major, map.minor),
		                 .inode = map.inode,
		                 .fd = -1 };
	if (strcmp(path, "[vdso]") == 0) {
		module.kind = MODULE_VDSO;
	} else if (path[0] != '/' || strncmp(path, "//anon", 6) == 0) {
		snprintf(jit, sizeof(jit), "[jit %u]", map.pid);
		module.kind = MODULE_JIT;
		module.path = jit;
	}
	struct module *added = modules_add(modules, &module, NULL);
	if (added)
		address_space_map(find_task(r, map.pid)->space, map.start, map.length, map.offset,
		                  added->id);
}

/* The space of PID as it is now; spaces that are mapped alike are kept once. */
static struct address_space *snapshot(struct capture *capture, const struct address_space *space)
{
	for (size_t i = capture->space_count; i-- > 0;)
		if (address_space_fingerprint(capture->spaces[i]) ==
		    address_space_fingerprint(space))
			return capture->spaces[i];
	if (!array_reserve(&capture->spaces, &capture->space_capacity, capture->space_count + 1))
		abort();
	capture->spaces[capture->space_count] = address_space_copy(space);
	return capture->spaces[capture->space_count++];
}

static void take_sample(struct recording *r, const void *record, struct capture *capture)
{
	const uint8_t *at = (const uint8_t *)record + sizeof(struct perf_event_header);
	struct event_sample sample = { .kind = SAMPLE_ON_CPU, .has_user = true, .has_rbp = true };
	uint64_t abi, size, dynamic = 0, values[17];
	uint32_t pid;

	memcpy(&pid, at, 4);
	memcpy(&abi, at + 16, 8);
	if (abi != PERF_SAMPLE_REGS_ABI_64)
		return;
	memcpy(values, at + 24, sizeof(values));
	memcpy(&size, at + 24 + sizeof(values), 8);
	const uint8_t *stack = at + 24 + sizeof(values) + 8;
	if (size)
		memcpy(&dynamic, stack + size, 8);

	// The values come in the order of perf's numbers.
	for (int i = 0; i < 17; i++) {
		int rank = 0;
		for (int k = 0; k < 17; k++)
			rank += perf_register[k] < perf_register[i];
		sample.regs[i] = values[rank];
	}
	uint8_t *copy = malloc(dynamic ? dynamic : 1);
	if (!copy || !array_reserve(&capture->samples, &capture->capacity, capture->count + 1))
		abort();
	memcpy(copy, stack, dynamic);
	sample.stack = copy;
	sample.stack_bytes = (uint32_t)dynamic;
	capture->samples[capture->count++] =
		(struct captured_sample){ .sample = sample,
		                          .space = snapshot(capture, find_task(r, pid)->space) };
}

static void replay(struct recording *r, struct capture *capture, struct modules *modules)
{
	qsort(r->raws, r->raw_count, sizeof(*r->raws), compare_raws);
	for (size_t i = 0; i < r->raw_count; i++) {
		const struct perf_event_header *record = r->raws[i].record;
		uint32_t pid;
		memcpy(&pid, record + 1, sizeof(pid));
		if (record->type == PERF_RECORD_FORK)
			take_fork(r, record);
		else if (record->type == PERF_RECORD_MMAP2)
			take_map(r, record, modules);
		else if (record->type == PERF_RECORD_COMM &&
		         record->misc & PERF_RECORD_MISC_COMM_EXEC)
			address_space_clear(find_task(r, pid)->space);
		else if (record->type == PERF_RECORD_SAMPLE)
			take_sample(r, record, capture);
	}
}

static void free_recording(struct recording *r)
{
	close_rings(r);
	for (size_t i = 0; i < r->raw_count; i++)
		free(r->raws[i].record);
	for (size_t i = 0; i < r->task_count; i++)
		address_space_free(r->tasks[i].space);
	free(r->raws);
	free(r->tasks);
	free(r);
}

int capture_run(struct capture *capture, const struct capture_options *options,
                struct modules *modules, char **command, struct error *err)
{
	struct recording *r = calloc(1, sizeof(*r));
	struct child child;

	if (!r || child_fork(&child, command) < 0) {
		free(r);
		return error_set(err, errno, "could not start \"%s\"", command[0]);
	}
	r->samples_max = options->samples_max;
	int opened = open_rings(r, options, child.pid, err);
	if (opened == 0)
		record_all(r, &child);
	else
		child_cancel(&child);
	replay(r, capture, modules);
	free_recording(r);
	return opened;
}

void capture_fini(struct capture *capture)
{
	for (size_t i = 0; i < capture->count; i++)
		free((void *)capture->samples[i].sample.stack);
	for (size_t i = 0; i < capture->space_count; i++)
		address_space_free(capture->spaces[i]);
	free(capture->samples);
	free(capture->spaces);
}

// SPDX-License-Identifier: MIT
#include "tracer/agent/rings.h"

#include "base/clock.h"
#include "base/record.h"
#include "tracer/agent/maps.h"
#include "tracer/agent/modes.h"
#include "tracer/agent/system.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

// 2 MB hold 50 ms of the largest samples at 999 a second; only what is in use takes memory.
#define DATA_BYTES       (1u << 21)
#define DATA_BYTES_WHOLE (1u << 18) // where the file has to be allocated whole
#define DATA_BYTES_LEAST (1u << 16) // where address space is short (ulimit -v)
#define STEP_BYTES       ((size_t)64 << 10)
#define PATIENCE         1000
#define ZERO_NEAR_NS     (100 * NS_PER_US) // between two clocks that are read one after the other
#define START_OVER_AT    ((uint64_t)128 << 10)

// "DIRECTORY/PID-IMAGE-NUMBER"; snprintf() is not async-signal-safe.
static char *put_text(char *at, const char *text)
{
	size_t length = strlen(text);

	memcpy(at, text, length + 1);
	return at + length;
}

static char *put_number(char *at, uint64_t number)
{
	char digits[24];
	char *first = digits + sizeof(digits);

	*--first = '\0';
	do
		*--first = (char)('0' + number % 10);
	while (number /= 10);
	return put_text(at, first);
}

static char *put_stem(const struct rings *r, char *path)
{
	char *at = put_text(path, r->directory);

	at = put_number(put_text(at, "/"), r->pid);
	at = put_number(put_text(at, "-"), r->image_ns);
	return put_text(at, "-");
}

// A file beyond the limit would be a SIGXFSZ for the target.
static bool size_is_allowed(size_t size)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && size <= limit.rlim_cur;
}

static bool populate(void *start, size_t size)
{
	return madvise(start, size, MADV_POPULATE_WRITE) == 0;
}

// Maps FD as a file of rings whose first page is safe to touch. NULL if that cannot be.
static void *map_file(struct rings *r, int fd, size_t size)
{
	if (ftruncate(fd, (off_t)size) < 0 ||
	    (!r->by_populate && posix_fallocate(fd, 0, (off_t)size)))
		return NULL;

	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return NULL;
	// Or a disk's file system reads ahead: megabytes of nothing at the first touch.
	madvise(memory, size, MADV_RANDOM);
	if (r->by_populate && !populate(memory, PROTOCOL_FILE_BYTES)) {
		munmap(memory, size);
		return NULL;
	}
	return memory;
}

static size_t file_bytes(const struct rings *r)
{
	return protocol_ring_offset(RINGS_PER_FILE, r->data_bytes);
}

// Killed, it could not take the directory along: what is written there would stay for ever.
static bool collector_is_gone(const struct rings *r)
{
	char path[sizeof(r->directory) + sizeof("/" PROTOCOL_ALIVE_FILE)];
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	put_text(put_text(path, r->directory), "/" PROTOCOL_ALIVE_FILE);
	int fd = system_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd < 0)
		return false;
	bool gone = syscall(SYS_fcntl, fd, F_OFD_GETLK, &all) == 0 && all.l_type == F_UNLCK;
	system_close(fd);
	return gone;
}

bool rings_are_orphaned(const struct rings *r)
{
	char path[sizeof(r->directory) + sizeof("/" PROTOCOL_ALIVE_FILE)];
	struct stat status;

	put_text(put_text(path, r->directory), "/" PROTOCOL_ALIVE_FILE);
	return system_stat(path, &status) < 0 || collector_is_gone(r);
}

// A filter of system calls might end the program for these. The collector's own let them pass; who
// is under more is looked for in /proc.
static void knock(const struct rings *r, uint32_t pid, uint64_t image_ns)
{
	struct protocol_introduction introduction = { .magic = PROTOCOL_MAGIC,
		                                      .pid = pid,
		                                      .parent_pid = (uint32_t)getppid(),
		                                      .pid_namespace = r->namespaces.pid,
		                                      .image_ns = image_ns };
	char path[sizeof(r->directory) + sizeof("/" PROTOCOL_DOOR)];
	uint32_t filters = namespaces_read_filters();

	if (filters == NAMESPACES_FILTERS_UNKNOWN || filters != r->collector_filters)
		return;
	put_text(put_text(path, r->directory), "/" PROTOCOL_DOOR);
	int fd = system_connect(path);
	if (fd < 0)
		return;
	syscall(SYS_sendto, fd, &introduction, sizeof(introduction), MSG_NOSIGNAL | MSG_DONTWAIT,
	        NULL, 0);
	system_close(fd);
}

// Whether the collector has the number here that it has itself, by the byte that it locks. Who is
// in a namespace below its own finds 0.
static bool counts_as_collector(const struct rings *r)
{
	char path[sizeof(r->directory) + sizeof("/" PROTOCOL_ALIVE_FILE)];
	struct flock byte = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = PROTOCOL_ALIVE_BYTE, .l_len = 1
	};

	if (!r->collector_pid || !r->collector_namespace)
		return false;
	put_text(put_text(path, r->directory), "/" PROTOCOL_ALIVE_FILE);
	int fd = system_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd < 0)
		return false;
	bool same = syscall(SYS_fcntl, fd, F_GETLK, &byte) == 0 && byte.l_type == F_WRLCK &&
	            byte.l_pid == (pid_t)r->collector_pid;
	system_close(fd);
	return same;
}

// Both clocks go alike until somebody sets one: then, and in a time namespace, they differ by more.
static bool times_as_collector(const struct rings *r)
{
	uint64_t now_ns = clock_now_ns();
	uint64_t zero_ns = clock_ns(CLOCK_REALTIME) - now_ns;

	return zero_ns - r->collector_zero_ns + ZERO_NEAR_NS <= 2 * ZERO_NEAR_NS;
}

// To ask /proc costs each process that starts 50 us, a fifth of all that the agent does there.
static void find_namespaces(struct rings *r)
{
	if (counts_as_collector(r) && times_as_collector(r))
		r->namespaces = (struct namespaces){ r->collector_namespace, 0 };
	else
		namespaces_read(&r->namespaces);
}

void rings_introduce(struct rings *r, uint32_t pid, uint64_t image_ns)
{
	if (r->introduced)
		return;
	int error = errno;
	find_namespaces(r);
	r->introduced = true;
	if (r->namespaces.pid && r->collector_namespace &&
	    r->namespaces.pid != r->collector_namespace)
		knock(r, pid, image_ns);
	errno = error;
}

static void *make_file(struct rings *r, const char *path, size_t size)
{
	if (!size_is_allowed(size) || !maps_allow(size) || collector_is_gone(r))
		return NULL;
	int fd = system_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (fd < 0)
		return NULL;
	void *memory = map_file(r, fd, size);
	system_close(fd);
	if (!memory)
		unlink(path);
	return memory;
}

static void fill_header(const struct rings *r, struct protocol_file *file, uint32_t number,
                        uint32_t ring_count, uint32_t data_bytes)
{
	file->version = PROTOCOL_VERSION;
	file->pid = r->pid;
	file->number = number;
	file->image_ns = r->image_ns;
	file->ring_count = ring_count;
	file->data_bytes = data_bytes;
	file->pid_namespace = r->namespaces.pid;
	file->monotonic_ns = r->namespaces.monotonic_ns;
	__atomic_store_n(&file->magic, PROTOCOL_MAGIC, __ATOMIC_RELEASE);
}

static bool add_file(struct rings *r, uint32_t number)
{
	char path[sizeof(r->directory) + 64];

	put_number(put_stem(r, path), number);
	struct protocol_file *file = make_file(r, path, file_bytes(r));
	if (!file)
		return false;
	fill_header(r, file, number, RINGS_PER_FILE, r->data_bytes);
	r->files[number] = file;
	__atomic_store_n(&r->lane_count, (number + 1) * RINGS_PER_FILE, __ATOMIC_RELEASE);
	return true;
}

void *rings_map_names(struct rings *r)
{
	char path[sizeof(r->directory) + 64];

	put_text(put_stem(r, path), "names");
	struct protocol_names *file = make_file(r, path, PROTOCOL_NAMES_BYTES);
	if (file)
		file->pid_namespace = r->namespaces.pid;
	return file;
}

void rings_append_totals(struct rings *r, const struct record_memory *totals)
{
	struct record_memory record = *totals;
	char path[sizeof(r->directory) + 64];
	struct stat status;

	if (collector_is_gone(r))
		return;
	rings_introduce(r, record.head.pid, r->image_ns);
	record.head.tid = r->namespaces.pid;
	record.head.time_ns -= (uint64_t)r->namespaces.monotonic_ns;
	put_number(put_text(put_text(path, r->directory), "/" PROTOCOL_TOTALS_FILE), geteuid());
	int fd = system_open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0)
		return;
	// Where other users can make files, it may be theirs, or a link to something else of ours.
	if (system_fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1 &&
	    status.st_uid == geteuid() && size_is_allowed((size_t)status.st_size + sizeof(record)))
		syscall(SYS_write, fd, &record, sizeof(record));
	system_close(fd);
}

void rings_append_refusal(struct rings *r)
{
	struct record_memory none = {
		.head = { .size = sizeof(none), .type = RECORD_LOST, .pid = r->pid, .tid = r->pid }
	};

	rings_append_totals(r, &none);
}

// Whether the kernel gives out memory without a fault; an anonymous page tells.
static bool can_populate(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool can = page != MAP_FAILED && populate(page, 4096);

	if (page != MAP_FAILED)
		munmap(page, 4096);
	return can;
}

bool rings_start(struct rings *r, const char *directory, uint32_t pid, uint64_t image_ns)
{
	return rings_start_with(r, directory, pid, image_ns, can_populate());
}

bool rings_start_with(struct rings *r, const char *directory, uint32_t pid, uint64_t image_ns,
                      bool by_populate)
{
	size_t length = strlen(directory);

	if (length == 0 || length >= sizeof(r->directory))
		return false;
	memmove(r->directory, directory, length + 1);
	r->pid = pid;
	r->image_ns = image_ns;
	rings_introduce(r, pid, image_ns);
	r->by_populate = by_populate;
	r->data_bytes = r->by_populate ? DATA_BYTES : DATA_BYTES_WHOLE;
	while (r->data_bytes > DATA_BYTES_LEAST && !maps_allow(file_bytes(r)))
		r->data_bytes /= 2;
	if (add_file(r, 0))
		return true;
	rings_append_refusal(r); // nothing else will tell of this process
	r->directory[0] = '\0';
	return false;
}

void rings_abandon(struct rings *r)
{
	for (uint32_t i = 0; i < RINGS_FILES_MAX && r->files[i]; i++) {
		munmap(r->files[i], file_bytes(r));
		r->files[i] = NULL;
	}
	for (uint32_t i = 0; i < r->lane_count; i++) {
		struct lane *lane = &r->lanes[i];
		*lane = (struct lane){ .start = lane->start,
			               .argument = lane->argument,
			               .maker_pid = lane->maker_pid };
	}
	r->lane_count = 0;
	r->growing = 0;
	r->introduced = false; // a child may be in another namespace
}

void rings_detach(struct rings *r)
{
	for (uint32_t i = 0; i < RINGS_FILES_MAX && r->files[i]; i++)
		system_detach(r->files[i], file_bytes(r));
}

static bool drained(const struct lane *lane)
{
	uint64_t tail = __atomic_load_n(&lane->ring.header->tail, __ATOMIC_ACQUIRE);

	return tail == lane->ring.position;
}

static bool take(struct lane *lane, int from)
{
	return __atomic_compare_exchange_n(&lane->state, &from, LANE_LIVE, false, __ATOMIC_ACQ_REL,
	                                   __ATOMIC_RELAXED);
}

// Lays ring NUMBER of FILE. False if there is no room.
static bool lay_ring(struct rings *r, struct protocol_file *file, uint32_t number, uint32_t tid,
                     struct lane *lane)
{
	uint32_t data_bytes = file->data_bytes;
	char *memory = (char *)file + protocol_ring_offset(number, data_bytes);

	if (r->by_populate && !populate(memory, RING_HEADER_BYTES))
		return false;
	ring_create(&lane->ring, memory, data_bytes, r->pid, tid);
	lane->ready = r->by_populate ? 0 : data_bytes;
	__atomic_fetch_or(&file->made, 1u << number, __ATOMIC_RELEASE);
	return true;
}

// When the lane is taken for the first time.
static bool make_ring(struct rings *r, uint32_t index, uint32_t tid)
{
	struct lane *lane = &r->lanes[index];

	return lane->ring.header ||
	       lay_ring(r, r->files[index / RINGS_PER_FILE], index % RINGS_PER_FILE, tid, lane);
}

bool rings_make_apart(struct rings *r, const char *name, uint32_t data_bytes, struct lane *lane)
{
	char path[sizeof(r->directory) + 64];
	uint32_t bytes = r->by_populate ? data_bytes : DATA_BYTES_WHOLE;
	size_t size = protocol_ring_offset(1, bytes);

	put_text(put_stem(r, path), name);
	struct protocol_file *file = make_file(r, path, size);
	if (!file)
		return false;
	fill_header(r, file, 0, 1, bytes);
	*lane = (struct lane){ .state = LANE_LIVE, .timer = -1 };
	if (lay_ring(r, file, 0, 0, lane))
		return true;
	munmap(file, size);
	return false;
}

void rings_drop_apart(struct lane *lane)
{
	struct ring_header *header = lane->ring.header;

	if (header)
		munmap((char *)header - PROTOCOL_FILE_BYTES,
		       protocol_ring_offset(1, (uint32_t)lane->ring.mask + 1));
	*lane = (struct lane){ 0 };
}

static bool take_free(struct rings *r, uint32_t index, uint32_t tid)
{
	struct lane *lane = &r->lanes[index];

	if (take(lane, LANE_DONE)) {
		if (drained(lane))
			return true;
		__atomic_store_n(&lane->state, LANE_DONE, __ATOMIC_RELEASE);
		return false;
	}
	if (!take(lane, LANE_FREE))
		return false;
	if (make_ring(r, index, tid))
		return true;
	__atomic_store_n(&lane->state, LANE_FREE, __ATOMIC_RELEASE);
	return false;
}

// False if it cannot be done, or not now because another thread is at it.
static bool grow(struct rings *r)
{
	int idle = 0;

	if (!__atomic_compare_exchange_n(&r->growing, &idle, 1, false, __ATOMIC_ACQUIRE,
	                                 __ATOMIC_RELAXED))
		return false;
	uint32_t number = r->lane_count / RINGS_PER_FILE;
	bool added = number < RINGS_FILES_MAX && add_file(r, number);
	__atomic_store_n(&r->growing, 0, __ATOMIC_RELEASE);
	return added;
}

static struct lane *take_any(struct rings *r, uint32_t tid)
{
	uint32_t count = __atomic_load_n(&r->lane_count, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < count; i++) {
		struct lane *lane = &r->lanes[i];
		if (__atomic_load_n(&lane->state, __ATOMIC_RELAXED) == LANE_LIVE ||
		    __atomic_load_n(&lane->start, __ATOMIC_ACQUIRE) || !take_free(r, i, tid))
			continue;
		return lane;
	}
	return NULL;
}

static void begin(struct lane *lane, uint32_t tid)
{
	lane->stack_low = lane->stack_high = 0;
	lane->cpu_ns = 0;
	lane->modes = (struct modes){ 0, 0 };
	lane->timer = -1;
	lane->owed = 0;
	lane->late = false;
	lane->blocked = 0;
	__atomic_store_n(&lane->tid, tid, __ATOMIC_RELEASE);
}

struct lane *rings_claim(struct rings *r, uint32_t tid)
{
	if (!r->files[0])
		return NULL;

	int error = errno;
	struct lane *lane = take_any(r, tid);
	if (!lane && grow(r))
		lane = take_any(r, tid);
	if (lane)
		begin(lane, tid);
	errno = error;
	return lane;
}

struct lane *rings_claim_patiently(struct rings *r, uint32_t tid)
{
	struct lane *lane = rings_claim(r, tid);

	// Another thread, perhaps without a CPU at the moment, is adding a file.
	for (int i = 0; !lane && i < PATIENCE && __atomic_load_n(&r->growing, __ATOMIC_RELAXED);
	     i++) {
		sched_yield();
		lane = rings_claim(r, tid);
	}
	if (!lane && r->files[0])
		__atomic_fetch_add(&r->files[0]->unsampled, 1, __ATOMIC_RELAXED);
	return lane;
}

void rings_release(struct lane *lane)
{
	__atomic_store_n(&lane->tid, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&lane->state, LANE_DONE, __ATOMIC_RELEASE);
}

struct lane *rings_find(struct rings *r, uint32_t tid, uint32_t *hint)
{
	uint32_t count = __atomic_load_n(&r->lane_count, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t index = (*hint + i) % count;
		struct lane *lane = &r->lanes[index];
		if (__atomic_load_n(&lane->tid, __ATOMIC_ACQUIRE) != tid)
			continue;
		*hint = index + 1;
		return lane;
	}
	return NULL;
}

static bool make_ready(struct lane *lane, bool by_populate, size_t end)
{
	while (lane->ready < end) {
		if (!by_populate || !populate(lane->ring.data + lane->ready, STEP_BYTES))
			return false;
		lane->ready += STEP_BYTES;
	}
	return true;
}

// A drained ring begins again at its start, so that a thread uses only the memory it needs.
static void start_over(struct lane *lane)
{
	uint64_t offset = lane->ring.position & lane->ring.mask;

	if (offset < START_OVER_AT || !drained(lane))
		return;
	size_t rest = lane->ring.mask + 1 - offset;
	struct record *filler = ring_reserve(&lane->ring, rest);
	if (!filler)
		return;
	filler->type = 0;
	ring_commit(&lane->ring, filler, rest);
}

size_t lane_room(struct lane *lane)
{
	start_over(lane);
	uint64_t tail = __atomic_load_n(&lane->ring.header->tail, __ATOMIC_ACQUIRE);
	size_t room = lane->ring.mask + 1 - (lane->ring.position - tail);

	return room > lane->owed ? room - lane->owed : 0;
}

struct record *lane_take(struct lane *lane, bool by_populate, size_t size)
{
	size_t capacity = lane->ring.mask + 1;
	size_t end = (lane->ring.position & lane->ring.mask) + size;

	// Beyond the end comes a filler up to it, and then the record at the start.
	if (make_ready(lane, by_populate, end < capacity ? end : capacity))
		return ring_reserve(&lane->ring, size);
	__atomic_fetch_add(&lane->ring.header->dropped, 1, __ATOMIC_RELAXED);
	return NULL;
}

struct record *lane_reserve(struct lane *lane, bool by_populate, size_t size)
{
	size_t room = lane_room(lane);

	// What a filler takes at the end is not known to be free.
	if (lane->owed && room < 2 * size) {
		__atomic_fetch_add(&lane->ring.header->dropped, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	return lane_take(lane, by_populate, size);
}

void rings_write_rest(const struct rings *r, struct lane *lane, uint64_t cpu_ns)
{
	struct record_sample *sample = (struct record_sample *)lane_reserve(
		lane, r->by_populate, sizeof(struct record_sample));

	if (!sample)
		return;
	memset(sample, 0, sizeof(*sample));
	sample->head.type = RECORD_SAMPLE;
	sample->head.flags = SAMPLE_NO_USER;
	sample->head.pid = r->pid;
	sample->head.tid = lane->tid ? lane->tid : r->pid; // the process has a lane of its own
	sample->head.time_ns = clock_now_ns();
	sample->weight_ns = cpu_ns - lane->cpu_ns;
	sample->cpu_time_ns = cpu_ns;
	sample->kind = SAMPLE_ON_CPU;
	sample->syscall = -1;
	sample->sleeps = modes_sleeps();
	lane_commit(lane, &sample->head, sizeof(*sample));
	lane->cpu_ns = cpu_ns;
}

// SPDX-License-Identifier: MIT
#include "tracer/agent/cupti/cupti_pc.h"

#include "base/clock.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/cupti/cupti_library.h"
#include "tracer/agent/cupti/cupti_session.h"
#include "tracer/agent/cupti/gpu_lane.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/system.h"
#include "tracer/agent/table.h"
#include "tracer/protocol.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Machine code that the driver loads, kept for the collector where it knows lines of source.
//
// What has no lines costs a look at its sections; the rest is written to a file of the session,
// once for all processes, within PROTOCOL_CUBINS_BYTES.

static uint64_t kept; // atomic: bytes of this process

struct image {
	const uint8_t *data;
	size_t size;
};

static bool read_at(const struct image *image, uint64_t offset, void *to, size_t size)
{
	if (offset > image->size || size > image->size - offset)
		return false;
	memcpy(to, image->data + offset, size);
	return true;
}

// Whether the table of names at NAMES has NAME at OFFSET.
static bool is_named(const struct image *image, const Elf64_Shdr *names, uint32_t offset,
                     const char *name)
{
	char text[16];

	return offset < names->sh_size &&
	       read_at(image, names->sh_offset + offset, text, strlen(name) + 1) &&
	       memcmp(text, name, strlen(name) + 1) == 0;
}

// Whether the BYTES at CUBIN are an ELF file with a section ".debug_line".
static bool has_lines(const void *cubin, size_t bytes)
{
	struct image image = { cubin, bytes };
	Elf64_Ehdr header;
	Elf64_Shdr names, section;

	if (!cubin || !read_at(&image, 0, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(section) ||
	    !read_at(&image, header.e_shoff + (uint64_t)header.e_shstrndx * sizeof(names), &names,
	             sizeof(names)))
		return false;
	for (uint32_t i = 1; i < header.e_shnum; i++) {
		if (!read_at(&image, header.e_shoff + (uint64_t)i * sizeof(section), &section,
		             sizeof(section)))
			return false;
		if (section.sh_size && is_named(&image, &names, section.sh_name, ".debug_line"))
			return true;
	}
	return false;
}

static bool write_all(int fd, const uint8_t *bytes, size_t size)
{
	while (size) {
		long n = syscall(SYS_write, fd, bytes, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		bytes += n;
		size -= (size_t)n;
	}
	return true;
}

static bool write_file(const char *path, const void *bytes, size_t size)
{
	char temporary[PATH_MAX];

	if (snprintf(temporary, sizeof(temporary), "%s.%d", path, (int)getpid()) >=
	    (int)sizeof(temporary))
		return false;
	int fd = system_open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (fd < 0)
		return false;
	bool written = write_all(fd, bytes, size);
	system_close(fd);
	if (written && syscall(SYS_renameat, AT_FDCWD, temporary, AT_FDCWD, path) == 0)
		return true;
	syscall(SYS_unlinkat, AT_FDCWD, temporary, 0);
	return false;
}

static bool has_room(size_t bytes)
{
	if (bytes > PROTOCOL_CUBIN_BYTES)
		return false;
	return __atomic_add_fetch(&kept, bytes, __ATOMIC_RELAXED) <= PROTOCOL_CUBINS_BYTES;
}

static bool keep(const char *directory, const struct cupti_cubin_crc *crc)
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof(path), "%s/" PROTOCOL_CUBIN_FILE, directory,
	                      (unsigned long long)crc->crc);

	if ((size_t)length >= sizeof(path))
		return false;
	if (syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0)
		return true; // loaded before, or by another process
	return has_room(crc->cubin_size) && write_file(path, crc->cubin, crc->cubin_size);
}

// In the callback that tells of MODULE: it may be gone afterwards. DIRECTORY is the session's.
static void cupti_cubin_keep(const struct cupti_functions *f, const char *directory,
                             const struct cupti_module *module)
{
	struct cupti_cubin_crc crc = { sizeof(crc), module->bytes, module->cubin, 0 };
	int error = errno;

	if (f->cubin_crc && *directory && has_lines(module->cubin, module->bytes) &&
	    (f->cubin_crc(&crc) != CUPTI_OK || !keep(directory, &crc)))
		gpu_lane_lose(GPU_LOST_CUBIN, 0, 1);
	errno = error;
}

#define CONTEXTS    64
#define STALLS_MAX  96
#define PCS         1024 // that are taken at once
#define PATIENCE_NS (100 * NS_PER_MS)
#define TURN_NS     (100 * NS_PER_US)
#define NOT_SAMPLED "lines of kernels were not sampled: "
#define NOTE_MAX    256

enum stage {
	FREE,
	IDLE,
	BUSY // somebody works on it
};

// A buffer for CUPTI to write PCs to.
struct buffer {
	struct cupti_pc_data data;
	size_t stall_room; // of each PC
	struct cupti_pc pcs[PCS];
	struct cupti_stall stalls[PCS][STALLS_MAX];
};

// Mapped, one for each context.
struct room {
	struct buffer fetched;
	struct buffer held; // CUPTI writes what it cannot keep there
	char names[STALLS_MAX][CUPTI_STALL_NAME];
	char *name_of[STALLS_MAX]; // into names
	uint32_t numbers[STALLS_MAX];
};

AGENT_TABLE static struct context {
	int stage; // atomic: enum stage
	void *handle;
	struct room *room;
	uint32_t reasons[STALLS_MAX]; // names, by CUPTI's index
	uint64_t samples, dropped, other;
} contexts[CONTEXTS];

static struct agent *agent; // NULL: off
static const struct cupti_functions *functions;
static size_t pc_bytes; // the distance of one to the next
static bool refused;    // atomic: nothing more is tried

// What helps; NULL: nothing is known to.
static const char *reason(int result)
{
	switch (result) {
	case CUPTI_NO_PRIVILEGES:
		return "that needs CAP_SYS_ADMIN (run as root), or the nvidia module's option "
		       "NVreg_RestrictProfilingToAdminUsers=0";
	case CUPTI_VIRTUALIZED_NO_PRIVILEGES:
		return "the virtual GPU's host must allow profiling";
	case CUPTI_NOT_SUPPORTED:
		return "this GPU is too old for that";
	case CUPTI_VIRTUALIZED:
	case CUPTI_CONFIDENTIAL:
	case CUPTI_MIG:
		return "CUPTI cannot do that on this kind of device (virtual, confidential, MIG)";
	default:
		return "CUPTI failed";
	}
}

static void refuse(int result)
{
	char note[NOTE_MAX];

	if (__atomic_exchange_n(&refused, true, __ATOMIC_RELAXED))
		return;
	snprintf(note, sizeof(note), NOT_SAMPLED "%s (%d %s)", reason(result), result,
	         cupti_result_text(functions, result));
	op_say(note);
}

void cupti_pc_start(struct agent *a, const struct cupti_functions *f)
{
	uint32_t version = 0;

	if (!f->pc_enable || !f->pc_disable || !f->pc_configure || !f->pc_get ||
	    !f->pc_stall_count || !f->pc_stall_names) {
		op_say(NOT_SAMPLED "this libcupti is older than CUDA 11.3");
		return;
	}
	f->get_version(&version);
	pc_bytes = version >= CUPTI_PC_VERSION_CORRELATION ? sizeof(struct cupti_pc)
	                                                   : CUPTI_PC_OLDER_BYTES;
	functions = f;
	agent = a;
}

void cupti_pc_fork(void)
{
	agent = NULL;
	for (int i = 0; i < CONTEXTS; i++)
		if (contexts[i].room)
			munmap(contexts[i].room, sizeof(struct room));
	memset(contexts, 0, sizeof(contexts));
}

bool cupti_pc_is_on(void)
{
	return agent && !__atomic_load_n(&refused, __ATOMIC_RELAXED);
}

static bool move(struct context *c, int from, int to)
{
	return __atomic_compare_exchange_n(&c->stage, &from, to, false, __ATOMIC_ACQ_REL,
	                                   __ATOMIC_RELAXED);
}

static void leave(struct context *c, int stage)
{
	__atomic_store_n(&c->stage, stage, __ATOMIC_RELEASE);
}

static struct context *claim_free(void)
{
	for (int i = 0; i < CONTEXTS; i++)
		if (move(&contexts[i], FREE, BUSY))
			return &contexts[i];
	return NULL;
}

// Busy from now on. NULL if there is none, or another thread does not let go of it for LIMIT_NS.
static struct context *claim(const void *handle, uint64_t limit_ns)
{
	struct timespec turn = { 0, TURN_NS };
	uint64_t until = clock_now_ns() + limit_ns;
	struct context *c = NULL;

	for (int i = 0; i < CONTEXTS && !c; i++)
		if (__atomic_load_n(&contexts[i].stage, __ATOMIC_ACQUIRE) != FREE &&
		    contexts[i].handle == handle)
			c = &contexts[i];
	while (c && !move(c, IDLE, BUSY)) {
		if (clock_now_ns() >= until)
			return NULL;
		syscall(SYS_nanosleep, &turn, NULL);
	}
	return c;
}

void cupti_pc_forget(void)
{
	for (int i = 0; i < CONTEXTS; i++)
		if (move(&contexts[i], IDLE, BUSY))
			leave(&contexts[i], FREE);
}

static struct cupti_pc *pc_at(struct buffer *b, size_t i)
{
	return (struct cupti_pc *)((char *)b->pcs + i * pc_bytes);
}

static void prepare(struct buffer *b, size_t stalls)
{
	b->data = (struct cupti_pc_data){ .size = sizeof(b->data), .room = PCS, .pcs = b->pcs };
	b->stall_room = stalls;
	for (size_t i = 0; i < PCS; i++) {
		struct cupti_pc *pc = pc_at(b, i);
		pc->size = pc_bytes;
		pc->stall_count = stalls;
		pc->stalls = b->stalls[i];
	}
}

static struct room *make_room(struct context *c)
{
	void *memory;

	if (c->room)
		return c->room; // of an earlier context
	memory = mmap(NULL, sizeof(struct room), PROT_READ | PROT_WRITE,
	              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	c->room = memory == MAP_FAILED ? NULL : memory;
	return c->room;
}

// Each reason is counted twice: when another thread could run instead, and when none could. The
// first count holds the second.
static bool is_wanted(const char *name)
{
	static const char half[] = "_not_issued";
	size_t length = strlen(name), end = strlen(half);

	return !(length > end && strcmp(name + length - end, half) == 0) &&
	       (strstr(name, "warps_issue_stalled") || !strstr(name, "pcsamp_sample"));
}

static uint32_t tell_reason(const char *text)
{
	struct name name = { .provider = OP_GPU, .text = text };
	uint32_t id = op_name_apart(&name);
	struct record_gpu_stall *record;

	gpu_lane_lock();
	record = id ? gpu_lane_reserve(RECORD_GPU_STALL, sizeof(*record), 0) : NULL;
	if (record) {
		record->reason = id;
		gpu_lane_commit(record);
	}
	gpu_lane_unlock();
	return id;
}

// Fills INDICES with those that are wanted; 0 if CUPTI does not say.
static size_t ask_reasons(struct context *c, uint32_t indices[STALLS_MAX])
{
	uint32_t *numbers = c->room->numbers;
	size_t count = 0, wanted = 0;
	struct cupti_pc_stall_count ask = { sizeof(ask), NULL, c->handle, &count };

	memset(c->reasons, 0, sizeof(c->reasons));
	if (CUPTI_CALL(pc_stall_count, &ask) != CUPTI_OK || !count || count > STALLS_MAX)
		return 0;
	for (size_t i = 0; i < count; i++)
		c->room->name_of[i] = c->room->names[i];
	struct cupti_pc_stall_names get = { sizeof(get), NULL,    c->handle,
		                            count,       numbers, c->room->name_of };
	if (CUPTI_CALL(pc_stall_names, &get) != CUPTI_OK)
		return 0;
	for (size_t i = 0; i < count; i++) {
		c->room->names[i][CUPTI_STALL_NAME - 1] = '\0';
		if (numbers[i] >= STALLS_MAX || !is_wanted(c->room->names[i]))
			continue;
		c->reasons[numbers[i]] = tell_reason(c->room->names[i]);
		indices[wanted++] = numbers[i];
	}
	return wanted;
}

static int configure(struct context *c)
{
	uint32_t indices[STALLS_MAX];
	size_t wanted = ask_reasons(c, indices);
	struct cupti_pc_setting settings[] = {
		{ .attribute = CUPTI_PC_MODE, .number = CUPTI_PC_CONTINUOUS },
		{ .attribute = CUPTI_PC_DATA_BUFFER, .buffer = &c->room->held.data },
		{ .attribute = CUPTI_PC_STALL_REASONS, .stalls = { wanted, indices } },
	};
	struct cupti_pc_settings all = { sizeof(all), NULL, c->handle, wanted ? 3 : 2, settings };

	prepare(&c->room->held, wanted ? wanted : STALLS_MAX);
	prepare(&c->room->fetched, wanted ? wanted : STALLS_MAX);
	return CUPTI_CALL(pc_configure, &all);
}

static uint32_t function_name(const char *function)
{
	struct name name = { .provider = OP_GPU, .text = function };

	return function ? op_name_apart(&name) : 0;
}

// Locked.
static void tell_pc(const struct context *c, const struct cupti_pc *pc, size_t stall_room)
{
	struct gpu_stall stalls[STALLS_MAX];
	uint32_t count = 0;

	for (size_t i = 0; i < pc->stall_count && i < stall_room; i++) {
		const struct cupti_stall *stall = &pc->stalls[i];
		uint32_t reason = stall->index < STALLS_MAX ? c->reasons[stall->index] : 0;
		if (stall->samples)
			stalls[count++] = (struct gpu_stall){ reason, stall->samples };
	}
	struct record_gpu_pc *ours =
		count ? gpu_lane_reserve(RECORD_GPU_PC, sizeof(*ours) + count * sizeof(*stalls), 0)
		      : NULL;
	if (!ours)
		return;
	ours->cubin_crc = pc->cubin_crc;
	ours->offset = pc->offset;
	ours->function = function_name(pc->function);
	ours->stall_count = count;
	memcpy(ours + 1, stalls, count * sizeof(*stalls));
	gpu_lane_commit(ours);
}

static void add_sums(struct context *c, const struct cupti_pc_data *data)
{
	c->samples += data->samples;
	c->dropped += data->dropped;
	c->other += data->other_samples;
}

// What CUPTI has written to B; the room is its again.
static void tell_buffer(struct context *c, struct buffer *b)
{
	gpu_lane_lock();
	for (size_t i = 0; i < b->data.count && i < PCS; i++)
		tell_pc(c, pc_at(b, i), b->stall_room);
	gpu_lane_unlock();
	add_sums(c, &b->data);
	for (size_t i = 0; i < b->data.count && i < PCS; i++)
		pc_at(b, i)->stall_count = b->stall_room;
	b->data.count = 0;
	b->data.samples = b->data.dropped = b->data.other_samples = 0;
}

static void tell_sums(struct context *c)
{
	struct record_gpu_pc_sum *sum;

	if (!c->samples && !c->dropped)
		return;
	gpu_lane_lock();
	sum = gpu_lane_reserve(RECORD_GPU_PC_SUM, sizeof(*sum), 0);
	if (sum) {
		sum->samples = c->samples;
		sum->dropped = c->dropped;
		sum->other = c->other;
		gpu_lane_commit(sum);
		c->samples = c->dropped = c->other = 0;
	}
	gpu_lane_unlock();
}

static int enable(struct context *c)
{
	struct cupti_pc_context which = { sizeof(which), NULL, c->handle };
	int result = CUPTI_CALL(pc_enable, &which);

	if (result != CUPTI_OK)
		return result;
	result = configure(c);
	if (result != CUPTI_OK)
		CUPTI_CALL(pc_disable, &which);
	return result;
}

static void disable(struct context *c)
{
	struct cupti_pc_context which = { sizeof(which), NULL, c->handle };

	CUPTI_CALL(pc_disable, &which);
	tell_buffer(c, &c->room->held);
	tell_sums(c);
}

// A GPU whose buffer was full gives nothing any more until it has been disabled.
static bool renew(struct context *c)
{
	gpu_lane_lose(GPU_LOST_SAMPLED, 0, 1);
	disable(c);
	return enable(c) == CUPTI_OK;
}

// False: the context is not sampled any more.
static bool fetch(struct context *c)
{
	struct buffer *b = &c->room->fetched;
	struct cupti_pc_get get = { sizeof(get), NULL, c->handle, &b->data };

	do {
		int result = CUPTI_CALL(pc_get, &get);
		if (result == CUPTI_OUT_OF_MEMORY || (result == CUPTI_OK && b->data.hardware_full))
			return renew(c);
		if (result != CUPTI_OK)
			break;
		tell_buffer(c, b);
	} while (b->data.left);
	if (c->room->held.data.count)
		tell_buffer(c, &c->room->held);
	tell_sums(c);
	return true;
}

void cupti_pc_context_created(void *handle)
{
	int error = errno;
	struct context *c = cupti_pc_is_on() ? claim_free() : NULL;
	bool sampled = false;

	if (!c)
		return;
	c->handle = handle;
	if (make_room(c)) {
		int result = enable(c);
		sampled = result == CUPTI_OK;
		if (!sampled)
			refuse(result);
	}
	leave(c, sampled ? IDLE : FREE);
	errno = error;
}

void cupti_pc_context_ends(void *handle)
{
	int error = errno;
	struct context *c = agent ? claim(handle, PATIENCE_NS) : NULL;

	if (c) {
		if (fetch(c))
			disable(c);
		leave(c, FREE);
	}
	errno = error;
}

// What was sampled of modules that are gone is in the buffer that CUPTI holds.
void cupti_pc_module(void *handle, const struct cupti_module *module)
{
	int error = errno;
	struct context *c = agent ? claim(handle, 0) : NULL;

	if (agent && module)
		cupti_cubin_keep(functions, agent->rings.directory, module);
	if (c) {
		if (c->room->held.data.count)
			tell_buffer(c, &c->room->held);
		leave(c, IDLE);
	}
	errno = error;
}

void cupti_pc_fetch(bool last)
{
	for (int i = 0; agent && i < CONTEXTS; i++) {
		struct context *c = &contexts[i];
		if (!move(c, IDLE, BUSY))
			continue;
		bool on = fetch(c);
		if (on && last)
			disable(c);
		leave(c, on && !last ? IDLE : FREE);
	}
}

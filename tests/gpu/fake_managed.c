// SPDX-License-Identifier: MIT
#include "tests/gpu/fake_managed.h"

#include "base/clock.h"
#include "tests/gpu/fake_buffers.h"
#include "tests/gpu/fake_clock.h"
#include "tests/gpu/fake_cupti.h"
#include "tests/gpu/fake_memory.h"
#include "tests/gpu/fake_settings.h"
#include "tests/gpu/fake_work.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <ucontext.h>
#include <unistd.h>

#define VARIABLES_MAX 64u
#define WRITES        2u // of REG_ERR: the fault was no read
#define AFAR_EVERY    3u
#define PAGE          4096u

static _Atomic uint32_t configured; // 1 << counter
static struct sigaction before;     // our handler

static pthread_mutex_t variables_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	void **host;
	size_t bytes;
} variables[VARIABLES_MAX];
static uint32_t variable_count, variables_made;

struct move {
	struct fake_span span; // of what uses the memory, or moves it
	struct cuda_stream *stream;
	uint32_t cause;
	bool to_device;
};

int fake_managed_configure(const struct cupti_managed_setting *settings, uint32_t count)
{
	if (fake_faults()->managed)
		return (int)fake_faults()->managed;
	if (!settings || !count)
		return CUPTI_INVALID_PARAMETER;
	for (uint32_t i = 0; i < count; i++)
		if (!settings[i].counter || settings[i].counter > CUPTI_MANAGED_KINDS ||
		    settings[i].scope != CUPTI_MANAGED_SCOPE)
			return CUPTI_INVALID_PARAMETER;
	for (uint32_t i = 0; i < count; i++)
		if (settings[i].enable)
			configured |= 1u << settings[i].counter;
	return 0;
}

bool fake_managed_is_configured(void)
{
	return configured != 0;
}

static uint64_t copy_ns(const struct fake_block *block)
{
	return (uint64_t)((double)block->bytes / fake_settings()->pinned_bytes_per_ns);
}

// At the block, unless it says where in it.
static void tell(const struct fake_block *block, const struct cupti_managed *more)
{
	struct cupti_managed record = *more;

	record.kind = CUPTI_KIND_MANAGED;
	if (!record.address)
		record.address = (uint64_t)(uintptr_t)block->data;
	record.pid = (uint32_t)getpid();
	if (fake_cupti_wants(CUPTI_KIND_MANAGED) && configured >> record.counter & 1)
		fake_buffers_write_later(&record, sizeof(record),
		                         record.end_ns ? record.end_ns : record.begin_ns);
}

static void tell_move(const struct fake_block *block, const struct move *move,
                      struct fake_span span)
{
	const struct cupti_managed record = {
		.counter = move->to_device ? CUPTI_MANAGED_TO_DEVICE : CUPTI_MANAGED_TO_HOST,
		.value = block->bytes,
		.begin_ns = span.begin_ns,
		.end_ns = span.end_ns,
		.from = move->to_device ? CUPTI_HOST : block->device,
		.to = move->to_device ? block->device : CUPTI_HOST,
		.flags = move->cause,
	};

	tell(block, &record);
}

// Host and device want it by turns. WHERE: who had the last fault.
static void tell_thrashing(const struct fake_block *block, uint64_t now_ns, bool on_host)
{
	struct cupti_managed record = {
		.counter = CUPTI_MANAGED_THRASHING,
		.value = block->bytes,
		.begin_ns = now_ns,
		.from = 1u << block->device,
		.flags = on_host ? CUPTI_MANAGED_ON_HOST : 0,
	};

	tell(block, &record);
	record.counter = CUPTI_MANAGED_THROTTLING;
	record.end_ns = now_ns + FAKE_THROTTLE_NS;
	record.from = on_host ? CUPTI_HOST : block->device;
	record.value = 0;
	tell(block, &record);
	if (block->bounces / FAKE_BOUNCES % AFAR_EVERY)
		return;
	record.counter = CUPTI_MANAGED_REMOTE_MAP;
	record.end_ns = 0;
	record.value = block->bytes;
	record.from = CUPTI_HOST;
	record.to = block->device;
	record.flags = CUPTI_MANAGED_MAP_THRASHING;
	tell(block, &record);
}

static void bounce(struct fake_block *block, uint64_t now_ns, bool on_host)
{
	if (!(++block->bounces % FAKE_BOUNCES))
		tell_thrashing(block, now_ns, on_host);
}

static void on_use(void *context, struct fake_block *block)
{
	const struct move *move = context;
	struct fake_span span = { move->span.begin_ns, move->span.begin_ns + copy_ns(block) };
	const struct cupti_managed fault = {
		.counter = CUPTI_MANAGED_DEVICE_FAULT,
		.value = (block->bytes + FAKE_GROUP_BYTES - 1) / FAKE_GROUP_BYTES,
		.begin_ns = span.begin_ns,
		.end_ns = span.end_ns,
		.from = block->device,
		.flags = CUPTI_MANAGED_READ,
	};

	tell(block, &fault);
	tell_move(block, move, span);
	bounce(block, span.end_ns, false);
}

void fake_managed_use(struct fake_span kernel)
{
	struct move move = { .span = kernel, .cause = CUPTI_MANAGED_BY_ACCESS, .to_device = true };

	fake_managed_load();
	fake_memory_move(NULL, true, &move, on_use);
}

// The instruction of the host that touched what is on a device, and what it touched.
struct touch {
	uint64_t instruction, address;
	bool writes;
	uint64_t done_ns;
};

static void on_touch(void *context, struct fake_block *block)
{
	struct touch *touch = context;
	const struct move move = { .cause = CUPTI_MANAGED_BY_ACCESS };
	uint64_t now = clock_now_ns();
	struct fake_span span = { now, now + copy_ns(block) };
	const struct cupti_managed fault = {
		.counter = CUPTI_MANAGED_HOST_FAULT,
		.value = touch->instruction,
		.begin_ns = span.begin_ns,
		.address = touch->address - touch->address % PAGE,
		.flags = touch->writes ? CUPTI_MANAGED_WRITE : CUPTI_MANAGED_READ,
	};

	tell(block, &fault);
	tell_move(block, &move, span);
	touch->done_ns = span.end_ns;
	bounce(block, span.end_ns, true);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	const greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	struct touch touch = {
		.instruction = (uint64_t)registers[REG_RIP],
		.address = (uint64_t)(uintptr_t)info->si_addr,
		.writes = registers[REG_ERR] & WRITES,
	};
	int error = errno;

	if (!fake_memory_is_managed(fake_memory_find(info->si_addr).kind)) {
		sigaction(number, &before, NULL); // the instruction comes again
		return;
	}
	fake_memory_move(info->si_addr, false, &touch, on_touch);
	while (clock_now_ns() < touch.done_ns)
		; // the driver copies
	errno = error;
}

static void handle_faults(void)
{
	struct sigaction ours = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	sigemptyset(&ours.sa_mask);
	sigaction(SIGSEGV, &ours, &before);
}

void fake_managed_watch(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, handle_faults);
}

void fake_managed_variable(void **host, size_t bytes)
{
	pthread_mutex_lock(&variables_lock);
	if (variable_count == VARIABLES_MAX)
		fake_violation("%s: there are too many variables", __func__);
	else
		variables[variable_count++] = (typeof(*variables)){ host, bytes };
	pthread_mutex_unlock(&variables_lock);
}

void fake_managed_load(void)
{
	uint32_t device = fake_device_current();

	pthread_mutex_lock(&variables_lock);
	for (; variables_made < variable_count; variables_made++) {
		size_t bytes = variables[variables_made].bytes;
		void *data = fake_memory_new(bytes, CUPTI_MEMORY_MANAGED_STATIC, device);
		const struct fake_block block = {
			.data = data,
			.bytes = bytes,
			.kind = CUPTI_MEMORY_MANAGED_STATIC,
			.device = device,
		};
		fake_managed_watch();
		*variables[variables_made].host = data;
		fake_work_memory(&block, CUPTI_ALLOCATED, NULL, 0);
	}
	pthread_mutex_unlock(&variables_lock);
}

static void on_prefetch(void *context, struct fake_block *block)
{
	const struct move *move = context;

	block->bounces = 0;
	tell_move(block, move,
	          fake_stream_run(move->stream, copy_ns(block),
	                          move->to_device ? FAKE_TO_DEVICE : FAKE_TO_HOST));
}

void fake_managed_prefetch(struct cuda_stream *stream, const void *data, bool to_device)
{
	struct move move = { .stream = stream,
		             .cause = CUPTI_MANAGED_BY_USER,
		             .to_device = to_device };

	fake_memory_move(data, to_device, &move, on_prefetch);
}

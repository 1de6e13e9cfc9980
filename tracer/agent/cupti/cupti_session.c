// SPDX-License-Identifier: MIT
#include "tracer/agent/cupti/cupti_session.h"

#include "base/clock.h"
#include "tracer/agent/cupti/cupti_abi.h"
#include "tracer/agent/cupti/cupti_buffers.h"
#include "tracer/agent/cupti/cupti_calls.h"
#include "tracer/agent/cupti/cupti_clock.h"
#include "tracer/agent/cupti/cupti_pc.h"
#include "tracer/agent/cupti/cupti_records.h"
#include "tracer/agent/cupti/gpu_lane.h"
#include "tracer/agent/loader.h"
#include "tracer/agent/old_glibc.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/trace/object_file.h"
#include "tracer/agent/trace/symbols.h"

#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// Records of managed memory: pages that move between host and devices, and faults on them.
//
// They are asked for once the program has such memory, which most programs never do: watching costs
// the driver something for each page that moves, and some devices refuse it. Of variables that are
// __managed__ a section of the program's, or of a library's, tells. Where that is not there,
// records of memory do, and pages that moved before, in the first tenth of a second, are not told.

#define NOTE_MAX   256
#define FIRST_KIND CUPTI_MANAGED_TO_DEVICE
#define FEW_KINDS  4                     // those of CUDA 8
#define VARIABLES  "__nv_managed_data__" // nvcc's section of pointers to them

static bool asked;        // atomic: the program has asked for managed memory
static bool were_refused; // under the session's lock, as what follows

// The objects that were looked through for variables.
static struct {
	unsigned long long adds, subs; // of all that were ever loaded, and unloaded
	size_t count;
	bool found;
} looked;

static const char *reason(int result)
{
	switch (result) {
	case CUPTI_MANAGED_NOT_SUPPORTED:
	case CUPTI_NOT_SUPPORTED:
		return "this platform does not support it";
	case CUPTI_MANAGED_NOT_ON_DEVICE:
	case CUPTI_MIG:
	case CUPTI_VIRTUALIZED:
		return "this device does not support it";
	case CUPTI_MANAGED_NOT_WITHOUT_PEERS:
		return "the GPUs do not reach each other's memory; show the program one of them "
		       "by CUDA_VISIBLE_DEVICES";
	case CUPTI_MANAGED_NOT_WITH_MPS:
		return "not under MPS; run without it";
	case CUPTI_NO_PRIVILEGES:
	case CUPTI_VIRTUALIZED_NO_PRIVILEGES:
		return "CUPTI may not look; ask for NVreg_RestrictProfilingToAdminUsers=0";
	default:
		return "CUPTI failed";
	}
}

static void say_refusal(int result)
{
	char note[NOTE_MAX];

	snprintf(note, sizeof(note),
	         "page faults and migrations of managed memory were not recorded: %s (%d %s)",
	         reason(result), result, cupti_result_text(&cupti_session.f, result));
	op_say(note);
}

static int configure(uint32_t count)
{
	struct cupti_managed_setting settings[CUPTI_MANAGED_KINDS];

	for (uint32_t i = 0; i < count; i++)
		settings[i] = (struct cupti_managed_setting){ .scope = CUPTI_MANAGED_SCOPE,
			                                      .counter = FIRST_KIND + i,
			                                      .enable = 1 };
	return CUPTI_CALL(configure_managed, settings, count);
}

// Older releases know fewer, and refuse all for one that they do not.
static int enable(void)
{
	if (!cupti_session.f.configure_managed)
		return CUPTI_NOT_SUPPORTED;
	int result = configure(CUPTI_MANAGED_KINDS);
	if (result == CUPTI_INVALID_PARAMETER)
		result = configure(FEW_KINDS);
	return result == CUPTI_OK ? CUPTI_CALL(enable, CUPTI_KIND_MANAGED) : result;
}

static bool has_variables(const struct dl_phdr_info *info)
{
	const char *name = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
	struct object_file file = object_file_map(name);
	bool has = file.bytes && symbols_section(file.bytes, file.size, VARIABLES);

	object_file_unmap(&file);
	return has;
}

struct walk {
	size_t index;
	unsigned long long adds, subs;
};

// New ones come last.
static int look(struct dl_phdr_info *info, size_t size, void *context)
{
	struct walk *walk = context;

	(void)size;
	walk->adds = info->dlpi_adds;
	walk->subs = info->dlpi_subs;
	if (walk->adds == looked.adds && walk->subs == looked.subs)
		return 1;
	if (walk->subs != looked.subs)
		looked.count = 0;
	looked.subs = walk->subs;
	if (walk->index++ < looked.count)
		return 0;
	looked.count = walk->index;
	looked.found = has_variables(info);
	return looked.found;
}

// Whether the program has variables that are __managed__, which no call of its own tells.
static bool find_variables(void)
{
	struct walk walk = { 0 };
	struct loader_lock lock;

	if (!looked.found && loader_lock_soon(&lock)) {
		loader_each(look, &walk);
		looked.adds = walk.adds;
		loader_unlock(&lock);
	}
	return looked.found;
}

// CUPTI may tell of variables, too, once they are there.
static bool is_wanted(void)
{
	return __atomic_load_n(&asked, __ATOMIC_RELAXED) || cupti_records_have_managed() ||
	       find_variables();
}

// Asks for the records, if the program has managed memory, we have those of other kinds, and they
// were not refused before: that is told once. Locked.
static void cupti_managed_enable(void)
{
	const uint64_t bit = UINT64_C(1) << CUPTI_KIND_MANAGED;

	if (were_refused || !cupti_session.kinds || cupti_session.kinds & bit || !is_wanted())
		return;
	int result = enable();
	if (result == CUPTI_OK) {
		cupti_session.kinds |= bit;
		return;
	}
	were_refused = true;
	say_refusal(result);
}

// The same as below, unless somebody has the session's lock. Any thread that may call CUPTI.
static void cupti_managed_try(void)
{
	if (!cupti_session_try_lock())
		return;
	if (cupti_session_is_live())
		cupti_managed_enable();
	cupti_session_unlock();
}

// Before the memory is there, so that its first fault is seen. Who has the lock is not waited for:
// the next flush asks for the records then.
// In the callback of a call, which may be the one that allocates it.
static void cupti_managed_on_call(const struct cupti_call *call)
{
	if (call->site != CUPTI_ENTER || !call->function ||
	    __atomic_load_n(&asked, __ATOMIC_RELAXED) || !strstr(call->function, "llocManaged"))
		return;
	__atomic_store_n(&asked, true, __ATOMIC_RELAXED);
	cupti_managed_try();
}

// CUPTI's own limit for what it keeps on the device is 250 buffers of 3.2 MB.
#define POOL_LIMIT      32
#define FLUSH_PERIOD_MS 1000

struct cupti_session cupti_session;
__thread int cupti_inside __attribute__((tls_model("initial-exec")));

#define FRESH PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP
static pthread_mutex_t mutex = FRESH;
static uint64_t gap_ns[GPU_GAPS]; // when it began; 0: there is none
static bool used;                 // atomic: there has been a call since the last flush

static const uint8_t kinds[] = {
	CUPTI_KIND_CONCURRENT_KERNEL,
	CUPTI_KIND_MEMCPY,
	CUPTI_KIND_PEER_MEMCPY,
	CUPTI_KIND_MEMSET,
	CUPTI_KIND_SYNCHRONIZATION,
	CUPTI_KIND_OVERHEAD,
	CUPTI_KIND_MEMORY,
	CUPTI_KIND_MEMORY_POOL,
	CUPTI_KIND_JIT,
	CUPTI_KIND_DEVICE,
	CUPTI_KIND_CONTEXT,
	CUPTI_KIND_STREAM,
	CUPTI_KIND_INTERNAL_LAUNCH,
	CUPTI_KIND_GRAPH_TRACE, // the last one: left out where each kernel is to be told
};

void cupti_session_lock(void)
{
	pthread_mutex_lock(&mutex);
}

bool cupti_session_try_lock(void)
{
	return !pthread_mutex_trylock || pthread_mutex_trylock(&mutex) == 0;
}

void cupti_session_unlock(void)
{
	pthread_mutex_unlock(&mutex);
}

// CUDA does not survive a fork. Who was in CUPTI then is not there.
void cupti_session_fork(void)
{
	static const pthread_mutex_t fresh = FRESH;

	mutex = fresh;
	cupti_session.live = false;
	cupti_inside = 0;
}

bool cupti_session_is_live(void)
{
	return __atomic_load_n(&cupti_session.live, __ATOMIC_ACQUIRE) &&
	       cupti_session.pid == (uint32_t)getpid();
}

bool cupti_session_holds(uintptr_t address)
{
	return __atomic_load_n(&cupti_session.live, __ATOMIC_ACQUIRE) &&
	       address >= cupti_session.bounds.low && address < cupti_session.bounds.high;
}

static void on_resource(uint32_t id, const struct cupti_resource_event *event)
{
	if (id == CUPTI_CONTEXT_CREATED) {
		cupti_pc_context_created(event->context);
	} else if (id == CUPTI_CONTEXT_DESTROY) {
		cupti_pc_context_ends(event->context);
		cupti_session_flush(false); // later it knows nothing of the context
	} else if (id == CUPTI_MODULE_LOADED) {
		cupti_pc_module(event->context, event->descriptor);
	} else if (id == CUPTI_MODULE_UNLOAD) {
		cupti_pc_module(event->context, NULL);
	}
}

// In the thread that makes the call, or the context.
static void on_event(void *own, uint32_t domain, uint32_t id, const void *data)
{
	(void)own;
	if (!__atomic_load_n(&cupti_session.live, __ATOMIC_ACQUIRE))
		return;
	if (domain == CUPTI_DOMAIN_RUNTIME || domain == CUPTI_DOMAIN_DRIVER) {
		__atomic_store_n(&used, true, __ATOMIC_RELAXED);
		cupti_managed_on_call(data);
		cupti_calls_take(domain, id, data);
	} else if (domain == CUPTI_DOMAIN_RESOURCE) {
		on_resource(id, data);
	}
}

static void enable_events(void *subscriber)
{
	static const uint32_t sampled[] = { CUPTI_CONTEXT_CREATED, CUPTI_MODULE_LOADED,
		                            CUPTI_MODULE_UNLOAD };

	CUPTI_CALL(enable_callback, 1, subscriber, CUPTI_DOMAIN_RESOURCE, CUPTI_CONTEXT_DESTROY);
	for (size_t i = 0; cupti_pc_is_on() && i < sizeof(sampled) / sizeof(sampled[0]); i++)
		CUPTI_CALL(enable_callback, 1, subscriber, CUPTI_DOMAIN_RESOURCE, sampled[i]);
}

int cupti_session_subscribe(char *other, size_t size)
{
	struct cupti_subscriber wanted = { sizeof(wanted), "bottleneck", other, size };
	void *subscriber = NULL;
	int result;

	memset(other, 0, size);
	if (cupti_session.f.subscribe_v2)
		result = CUPTI_CALL(subscribe_v2, &subscriber, on_event, NULL, &wanted);
	else
		result = CUPTI_CALL(subscribe, &subscriber, on_event, NULL);
	if (result != CUPTI_OK)
		return result;
	cupti_session.subscriber = subscriber;
	cupti_inside++;
	cupti_session.calls = cupti_calls_enable(&cupti_session.f, subscriber);
	cupti_inside--;
	enable_events(subscriber);
	return CUPTI_OK;
}

void cupti_session_unsubscribe(void)
{
	void *subscriber = cupti_session.subscriber;

	cupti_session.subscriber = NULL;
	cupti_calls_renew();
	if (subscriber)
		CUPTI_CALL(unsubscribe, subscriber);
}

static void set_attributes(void)
{
	uint8_t zeroed = 1;
	size_t zeroed_size = sizeof(zeroed), limit = POOL_LIMIT, limit_size = sizeof(limit);

	if (!cupti_session.f.set_attribute)
		return;
	CUPTI_CALL(set_attribute, CUPTI_ZEROED_OUT_BUFFER, &zeroed_size, &zeroed);
	CUPTI_CALL(set_attribute, CUPTI_DEVICE_BUFFER_POOL_LIMIT, &limit_size, &limit);
}

// The clock comes before anything is enabled.
int cupti_session_register(void)
{
	const struct cupti_functions *f = &cupti_session.f;

	if (f->set_thread_id_type)
		CUPTI_CALL(set_thread_id_type, CUPTI_THREAD_ID_SYSTEM);
	set_attributes();
	cupti_session.fitted =
		!f->register_clock || CUPTI_CALL(register_clock, cupti_clock_now) != CUPTI_OK;
	cupti_buffers_start(f, cupti_session.fitted);
	int result = CUPTI_CALL(register_callbacks, cupti_buffers_request, cupti_buffers_complete);
	if (result == CUPTI_OK && f->flush_period)
		CUPTI_CALL(flush_period, FLUSH_PERIOD_MS);
	return result;
}

int cupti_session_enable(bool tell, uint32_t *refused)
{
	int first = CUPTI_OK;

	*refused = 0;
	for (size_t i = 0; i < sizeof(kinds) - cupti_session.nodes; i++) {
		int result = CUPTI_CALL(enable, kinds[i]);
		if (result == CUPTI_OK) {
			cupti_session.kinds |= UINT64_C(1) << kinds[i];
			continue;
		}
		if (tell)
			gpu_lane_lose(GPU_LOST_REFUSED, kinds[i], 1);
		if (result == CUPTI_INVALID_KIND)
			continue; // this version has no such thing
		first = *refused ? first : result;
		++*refused;
	}
	cupti_managed_enable();
	return first;
}

void cupti_session_disable(void)
{
	for (int kind = 0; kind < 64; kind++)
		if (cupti_session.kinds & UINT64_C(1) << kind)
			CUPTI_CALL(disable, kind);
	cupti_session.kinds = 0;
}

void cupti_session_flush(bool last)
{
	__atomic_store_n(&used, false, __ATOMIC_RELAXED);
	CUPTI_CALL(flush_all, last ? CUPTI_FLUSH_FORCED : 0);
	cupti_buffers_settle();
}

void cupti_session_flush_periodically(bool last)
{
	cupti_pc_fetch(last);
	if (!last)
		cupti_managed_try();
	if (cupti_session.kinds && (last || __atomic_load_n(&used, __ATOMIC_RELAXED)))
		cupti_session_flush(last);
}

static void tell_gap(enum gpu_gap what, uint64_t begin_ns, uint64_t end_ns)
{
	struct record_gpu_gap *gap;

	gpu_lane_lock();
	gap = gpu_lane_reserve(RECORD_GPU_GAP, sizeof(*gap), 0);
	if (gap) {
		*gap = (struct record_gpu_gap){ gap->head, begin_ns, end_ns, what, 0 };
		gpu_lane_commit(gap);
	}
	gpu_lane_unlock();
}

void cupti_session_begin_gap(enum gpu_gap what)
{
	if (gap_ns[what])
		return;
	gap_ns[what] = clock_now_ns();
	tell_gap(what, gap_ns[what], 0);
}

void cupti_session_end_gap(enum gpu_gap what)
{
	if (!gap_ns[what])
		return;
	tell_gap(what, gap_ns[what], clock_now_ns());
	gap_ns[what] = 0;
}

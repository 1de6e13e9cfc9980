// SPDX-License-Identifier: MIT
#include "tracer/agent/cupti/cupti_calls.h"

#include "base/clock.h"
#include "tracer/agent/cupti/cupti_place.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/python/python_callers.h"
#include "tracer/agent/table.h"
#include "tracer/protocol.h"

#include <string.h>

#define OWN         static __thread __attribute__((tls_model("initial-exec")))
#define IDS_MAX     8192
#define HOLE_MAX    256 // ids without a function, before one takes it that there are no more
#define TOLD        UINT64_C(0x626e6b3200000000)
#define PLACES      8192 // a power of two
#define PLACES_TRY  4
#define SHOWN_NS    (5 * NS_PER_MS) // from one copied stack of a thread to the next
#define OWNER(call) OP_OWNER(OP_CUDA, (call)->correlation)

// The call of the runtime that is open in this thread, and in which subscription it began.
OWN struct outer {
	bool open;
	uint32_t correlation;
	uint32_t subscription;
} outer;

static uint32_t subscription; // atomic
static uint32_t launches = PROTOCOL_LAUNCHES_SAMPLED;
AGENT_TABLE static uint64_t
	places[PLACES]; // atomic: caller and depth of the stack, hashed; 0: free
OWN uint64_t shown_ns;  // when the last stack of the thread was copied

// Behind "cuda" or "cu".
static const char *const beginnings[] = {
	"Launch",       "Memcpy",      "Memset",       "MemPrefetch",
	"Malloc",       "Free",        "HostAlloc",    "MemAlloc",
	"MemHostAlloc", "MemFree",     "GraphLaunch",  "GraphInstantiate",
	"ModuleLoad",   "LibraryLoad", "LinkComplete", "StreamWaitEvent",
};

// Past "__cuda", "cuda", "cu64" or "cu"; NULL if it begins with none.
static const char *stem(const char *name)
{
	static const char *const prefixes[] = { "__cuda", "cuda", "cu64", "cu" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return name + strlen(prefixes[i]);
	return NULL;
}

bool cupti_calls_want(const char *name)
{
	const char *rest = stem(name);

	if (!rest)
		return false;
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
		if (strncmp(rest, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	return strstr(rest, "Synchronize") != NULL;
}

static uint32_t enable_domain(const struct cupti_functions *f, void *subscriber, int domain)
{
	uint32_t count = 0, hole = 0;

	for (uint32_t id = 1; id < IDS_MAX && hole < HOLE_MAX; id++) {
		const char *name = NULL;
		if (f->get_callback_name(domain, id, &name) != CUPTI_OK || !name) {
			hole++;
			continue;
		}
		hole = 0;
		if (cupti_calls_want(name))
			count += f->enable_callback(1, subscriber, domain, id) == CUPTI_OK;
	}
	return count;
}

uint32_t cupti_calls_enable(const struct cupti_functions *f, void *subscriber)
{
	cupti_calls_renew();
	return enable_domain(f, subscriber, CUPTI_DOMAIN_RUNTIME) +
	       enable_domain(f, subscriber, CUPTI_DOMAIN_DRIVER);
}

void cupti_calls_renew(void)
{
	__atomic_fetch_add(&subscription, 1, __ATOMIC_RELAXED);
}

void cupti_calls_show(uint32_t wanted)
{
	launches = wanted;
}

// Called by the same instruction, from as deep in the stack: mostly by way of the same functions.
static bool is_new_place(struct op_here here)
{
	uint64_t key = (here.caller ^ here.stack << 20) * UINT64_C(0x9e3779b97f4a7c15) | 1;

	for (uint32_t i = 0; i < PLACES_TRY; i++) {
		uint64_t *place = &places[((key >> 40) + i) % PLACES];
		uint64_t known = __atomic_load_n(place, __ATOMIC_RELAXED);
		if (known == key)
			return false;
		if (!known)
			return __atomic_compare_exchange_n(place, &known, key, false,
			                                   __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
	return false;
}

static bool is_shown(struct op_here here)
{
	if (launches == PROTOCOL_LAUNCHES_OFF)
		return false;
	if (launches == PROTOCOL_LAUNCHES_ALL || is_new_place(here))
		return true;
	uint64_t now = clock_now_ns();
	if (now - shown_ns < SHOWN_NS)
		return false;
	shown_ns = now;
	return true;
}

// A call that began in an earlier subscription has ended without a word.
static void close_stale(struct op_thread *t)
{
	if (outer.open && outer.subscription != __atomic_load_n(&subscription, __ATOMIC_RELAXED)) {
		op_end_in(t, OP_OWNER(OP_CUDA, outer.correlation));
		outer.open = false;
	}
}

// Where the caller is not known, the function stands for it: each one's stack looks different
// between there and us, and only the first one's is looked at by the collector.
static void begin(const struct cupti_call *call, bool runtime, struct op_here here)
{
	const char *text = call->function ? call->function : "(unnamed)";
	uint64_t correlation = call->correlation, values[2];
	struct op_details details = { OP_DETAIL_CORRELATION, 1, &correlation };
	struct op_thread *t = op_enter();

	if (!t)
		return;
	close_stale(t);
	bool nested = !runtime && outer.open && outer.correlation == call->correlation;
	if (!nested && !cupti_place_find(text, runtime, &here))
		here.caller = (uint64_t)(uintptr_t)text;
	if (!nested) {
		uint32_t name = op_name(t, OP_CUDA, 0, text);
		python_callers_tell(t, &details, values);
		if (is_shown(here))
			op_show(t, name, here);
		op_begin_in(t, OWNER(call), name, here, &details);
	}
	op_leave(t);
	if (call->own)
		*call->own = nested ? 0 : TOLD | call->correlation;
	if (runtime)
		outer = (struct outer){ true, call->correlation,
			                __atomic_load_n(&subscription, __ATOMIC_RELAXED) };
}

static void end(const struct cupti_call *call, bool runtime)
{
	struct op_thread *t;

	// What was open before we came was not told to begin.
	if (call->own && *call->own != (TOLD | call->correlation))
		return;
	t = op_enter();
	if (!t)
		return;
	op_end_in(t, OWNER(call));
	op_leave(t);
	if (call->own)
		*call->own = 0;
	if (runtime && outer.correlation == call->correlation)
		outer.open = false;
}

void cupti_calls_take(uint32_t domain, uint32_t id, const struct cupti_call *call)
{
	bool runtime = domain == CUPTI_DOMAIN_RUNTIME;

	(void)id;
	if (call->site == CUPTI_ENTER)
		begin(call, runtime, OP_HERE());
	else if (call->site == CUPTI_EXIT)
		end(call, runtime);
}

// SPDX-License-Identifier: MIT
#include "tracer/agent/cupti/cupti_place.h"

#include "base/path.h"
#include "tracer/agent/loaded.h"
#include "tracer/agent/loader.h"
#include "tracer/agent/table.h"
#include "tracer/protocol.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#define OWN           static __thread __attribute__((tls_model("initial-exec")))
#define FUNCTIONS     512  // a power of two
#define OFFSETS       4    // of one function: it may be reached in several ways
#define CALLERS       8192 // a power of two
#define TRIED         8
#define WALKS_MAX     4096 // in a process: places that change all the time are not worth it
#define FRAMES_MAX    256
#define DISTANCE_MAX  65536
#define UNWIND_OK     0
#define UNWIND_FAILED 3 // ends a walk

typedef int unwind_visit(void *context, void *argument);
static int (*unwind)(unwind_visit *visit, void *argument);
static uintptr_t (*unwind_ip)(void *context);
static uintptr_t (*unwind_cfa)(void *context); // the stack pointer of the frame

AGENT_TABLE static struct function {
	const char *name;          // atomic; NULL: free
	uint32_t offsets[OFFSETS]; // atomic: from the hook's stack to the return address; 0: none
} functions[FUNCTIONS];

AGENT_TABLE static uint64_t
	callers[CALLERS]; // atomic: function and return address, hashed; 0: free
static uint32_t walks;    // atomic

// What a walk of this thread has shown to be its stack.
OWN uint64_t low, high;

void cupti_place_start(void)
{
	void *library = loader_open("libgcc_s.so.1", RTLD_LAZY);

	if (!library)
		return;
	unwind_ip = (uintptr_t(*)(void *))dlsym(library, "_Unwind_GetIP");
	unwind_cfa = (uintptr_t(*)(void *))dlsym(library, "_Unwind_GetCFA");
	if (unwind_ip && unwind_cfa)
		unwind = (int (*)(unwind_visit *, void *))dlsym(library, "_Unwind_Backtrace");
}

static uint64_t spread(uint64_t key)
{
	return (key * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
}

static uint64_t caller_key(const char *function, uint64_t caller)
{
	return ((uint64_t)(uintptr_t)function << 20 ^ caller) | UINT64_C(1) << 63;
}

// Whether CALLER is known to call FUNCTION; with ADD, it is from now on.
static bool know(const char *function, uint64_t caller, bool add)
{
	uint64_t key = caller_key(function, caller);

	for (uint32_t i = 0; i < TRIED; i++) {
		uint64_t *slot = &callers[(spread(key) + i) % CALLERS];
		uint64_t known = __atomic_load_n(slot, __ATOMIC_RELAXED);
		if (!known && add)
			__atomic_compare_exchange_n(slot, &known, key, false, __ATOMIC_RELAXED,
			                            __ATOMIC_RELAXED);
		if (known == key || (!known && add))
			return true;
		if (!known)
			return false;
	}
	return false;
}

// NULL if there is no room.
static struct function *function_of(const char *name)
{
	uint64_t first = spread((uint64_t)(uintptr_t)name);

	for (uint32_t i = 0; i < TRIED; i++) {
		struct function *f = &functions[(first + i) % FUNCTIONS];
		const char *known = __atomic_load_n(&f->name, __ATOMIC_RELAXED);
		if (known == name ||
		    (!known && (__atomic_compare_exchange_n(&f->name, &known, name, false,
		                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
		                known == name)))
			return f;
	}
	return NULL;
}

static bool recall(struct function *f, const char *name, struct op_here *here)
{
	if (here->stack < low)
		return false;
	for (int i = 0; i < OFFSETS; i++) {
		uint32_t offset = __atomic_load_n(&f->offsets[i], __ATOMIC_RELAXED);
		uint64_t at = here->stack + offset;
		if (!offset || at + sizeof(at) > high)
			continue;
		uint64_t caller = *(const uint64_t *)(uintptr_t)at;
		if (!know(name, caller, false))
			continue;
		*here = (struct op_here){ at + sizeof(at), caller };
		return true;
	}
	return false;
}

static void keep_offset(struct function *f, uint32_t offset)
{
	for (int i = 0; i < OFFSETS; i++) {
		uint32_t known = __atomic_load_n(&f->offsets[i], __ATOMIC_RELAXED);
		if (known == offset)
			return;
		if (!known && __atomic_compare_exchange_n(&f->offsets[i], &known, offset, false,
		                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return;
	}
}

enum owner {
	OWNER_PROGRAM,
	OWNER_RUNTIME, // in a library of its own
	OWNER_OTHER    // CUPTI, the driver, the agent
};

struct search {
	uintptr_t address;
	enum owner owner;
};

static int look(struct dl_phdr_info *info, size_t size, void *context)
{
	static const struct {
		const char *name;
		enum owner owner;
	} machinery[] = {
		{ PROTOCOL_AGENT_LIBRARY, OWNER_OTHER },
		{ "libcupti.so", OWNER_OTHER },
		{ "libcuda.so", OWNER_OTHER },
		{ "libcudart.so", OWNER_RUNTIME },
	};
	const char *file = path_base(info->dlpi_name);
	struct search *search = context;

	(void)size;
	if (!loaded_holds(info, search->address))
		return 0;
	for (size_t i = 0; i < sizeof(machinery) / sizeof(machinery[0]); i++)
		if (strncmp(file, machinery[i].name, strlen(machinery[i].name)) == 0)
			search->owner = machinery[i].owner;
	return 1;
}

// Code that no object holds is made at run time: the program's.
static enum owner owner_of(uintptr_t address)
{
	struct search search = { address - 1, OWNER_PROGRAM };
	struct loader_lock lock;

	if (loader_lock_soon(&lock)) {
		loader_each(look, &search);
		loader_unlock(&lock);
	}
	return search.owner;
}

struct walk {
	uint64_t hook; // its stack address
	uint64_t at;   // where the return address stands; 0: not found
	uint64_t caller, top;
	bool linked_in; // the runtime's function is to come, in the program itself
	int frames;
};

static int visit(void *context, void *argument)
{
	struct walk *w = argument;
	uint64_t sp = unwind_cfa(context), ip = unwind_ip(context);

	if (!ip || ++w->frames > FRAMES_MAX || sp < w->top)
		return UNWIND_FAILED;
	w->top = sp;
	if (w->at || sp <= w->hook)
		return UNWIND_OK;
	enum owner owner = owner_of(ip);
	w->linked_in &= owner != OWNER_RUNTIME;
	if (owner != OWNER_PROGRAM)
		return UNWIND_OK;
	if (w->linked_in) { // cudaLaunchKernel() itself calls back
		w->linked_in = false;
		return UNWIND_OK;
	}
	w->at = sp - sizeof(ip);
	w->caller = ip;
	// A frame that was entered otherwise than by a call, such as a signal's.
	return *(const uint64_t *)(uintptr_t)w->at == ip ? UNWIND_OK : UNWIND_FAILED;
}

static bool walk(struct function *f, const char *name, bool runtime, struct op_here *here)
{
	struct walk w = { .hook = here->stack, .linked_in = runtime };

	if (!unwind || __atomic_fetch_add(&walks, 1, __ATOMIC_RELAXED) >= WALKS_MAX)
		return false;
	unwind(visit, &w);
	if (!w.at || *(const uint64_t *)(uintptr_t)w.at != w.caller ||
	    w.at - w.hook >= DISTANCE_MAX)
		return false;
	low = high == w.top && low < w.hook ? low : w.hook;
	high = w.top;
	keep_offset(f, (uint32_t)(w.at - w.hook));
	know(name, w.caller, true);
	*here = (struct op_here){ w.at + sizeof(w.at), w.caller };
	return true;
}

bool cupti_place_find(const char *function, bool runtime, struct op_here *here)
{
	struct function *f = function_of(function);
	int error = errno;
	bool found = f && (recall(f, function, here) || walk(f, function, runtime, here));

	errno = error;
	return found;
}

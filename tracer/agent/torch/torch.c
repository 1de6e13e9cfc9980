// SPDX-License-Identifier: MIT
/*
 * The PyTorch provider: what the dispatcher, autograd and record_function() do, as ops.
 *
 *	dlsym("PyInit__C") ──► look() ──► at::addGlobalCallback(begin, end)
 *	                                       │ every op of every thread
 *	                                       ▼
 *	                             name, inputs ──► op_begin() … op_end()
 *
 * libtorch_cpu.so is looked for whenever somebody asks for a symbol and libraries have come since:
 * Python does before it runs a module's code, a program that loads plugins before it calls them.
 * What is linked with it has it from the start.
 */
#include "base/hash.h"
#include "base/path.h"
#include "base/record.h"
#include "tracer/agent/cupti/cupti_session.h"
#include "tracer/agent/loaded.h"
#include "tracer/agent/loader.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/op/ranges.h"
#include "tracer/agent/provider.h"
#include "tracer/agent/python/python.h"
#include "tracer/agent/python/python_callers.h"
#include "tracer/agent/python/python_code.h"
#include "tracer/agent/python/python_frames.h"
#include "tracer/agent/python/python_text.h"
#include "tracer/agent/python/python_threads.h"
#include "tracer/agent/rings.h"
#include "tracer/agent/table.h"
#include "tracer/agent/torch/torch_layout.h"
#include "tracer/agent/torch/torch_links.h"
#include "tracer/agent/torch/torch_thin.h"

#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// Who has called an op of PyTorch in Python; of one of the backward pass, also who has called what
// it is the derivative of.

enum torch_kind {
	TORCH_OP,
	TORCH_BACKWARD,
	TORCH_SCRIPT,
	TORCH_LABEL /* begun by a function that has returned while it is open */
};

#define OWN   static __thread __attribute__((tls_model("initial-exec")))
#define TRIES 10000
#define SURE  16 // links that were found

// The outermost op that is open, and the Python frame that has called it. As long as both are there
// what is called below that frame has the same callers.
OWN struct {
	uintptr_t frame;
	uint32_t depth, owner; // in op_thread.open; owner 0: there is none
	uint32_t caller;
} outermost;

static bool is_open(const struct op_thread *t)
{
	return outermost.owner && t->depth > outermost.depth &&
	       t->open[outermost.depth].owner == outermost.owner;
}

static uint32_t caller_of(struct op_thread *t, uint32_t owner, enum torch_kind kind)
{
	uintptr_t frame = python_callers_newest(t);
	bool inside = is_open(t);

	if (!frame)
		return 0;
	if (inside && frame == outermost.frame)
		return outermost.caller;
	uint32_t caller = python_callers_number(t, frame);
	if (inside)
		return caller;
	outermost.frame = frame;
	outermost.depth = t->depth;
	outermost.owner = kind == TORCH_LABEL || t->depth >= OP_DEPTH_MAX ? 0 : owner;
	outermost.caller = caller;
	return caller;
}

// Where the number of the forward pass's thread stands behind the inputs: in 1.13 behind the
// outputs, since 2.1 behind the inputs that have names, too.
static const uint32_t places[] = { 40, 96 };
#define PLACES (sizeof(places) / sizeof(places[0]))

static uint32_t forward_place;     // atomic: 0: not known yet
static uint32_t found[PLACES];     // atomic: links by each
static uint32_t missed;            // atomic
static bool has_links, has_failed; // atomic

static void miss(struct op_thread *t)
{
	if (!__atomic_load_n(&has_links, __ATOMIC_RELAXED) ||
	    __atomic_add_fetch(&missed, 1, __ATOMIC_RELAXED) != TRIES)
		return;
	__atomic_store_n(&has_failed, true, __ATOMIC_RELAXED);
	op_note(t, "lines of the forward pass are not available for PyTorch's backward pass: "
	           "this version keeps what joins them where no version did that is known");
}

static __attribute__((noinline)) uint32_t learn_forward(struct op_thread *t,
                                                        const struct torch_layout *layout,
                                                        const void *function, int64_t sequence)
{
	for (unsigned i = 0; i < PLACES; i++) {
		uint64_t thread = torch_layout_forward(layout, function, places[i]);
		uint32_t caller = thread ? torch_links_get(thread, sequence) : 0;
		if (!caller)
			continue;
		if (__atomic_add_fetch(&found[i], 1, __ATOMIC_RELAXED) >= SURE)
			__atomic_store_n(&forward_place, places[i], __ATOMIC_RELAXED);
		return caller;
	}
	miss(t);
	return 0;
}

static uint32_t forward_of(struct op_thread *t, const struct torch_layout *layout,
                           const void *function, int64_t sequence)
{
	uint32_t known = __atomic_load_n(&forward_place, __ATOMIC_RELAXED);

	if (sequence < 0 || __atomic_load_n(&has_failed, __ATOMIC_RELAXED))
		return 0;
	if (!known)
		return learn_forward(t, layout, function, sequence);
	return torch_links_get(torch_layout_forward(layout, function, known), sequence);
}

// FUNCTION, an at::RecordFunction of the calling thread T, begins as OWNER. What is told of it: the
// first word of OP_DETAIL_CALLED; 0: nothing. Between op_enter() and op_leave().
static uint64_t torch_origin(struct op_thread *t, const struct torch_layout *layout,
                             const void *function, uint32_t owner, enum torch_kind kind)
{
	uint32_t caller = caller_of(t, owner, kind);
	int64_t sequence = kind == TORCH_LABEL ? -1 : torch_layout_sequence(layout, function);

	if (kind == TORCH_BACKWARD)
		return caller | (uint64_t)forward_of(t, layout, function, sequence) << 32;
	if (sequence >= 0 && caller) {
		torch_links_put(torch_layout_thread(function), sequence, caller);
		if (!__atomic_load_n(&has_links, __ATOMIC_RELAXED))
			__atomic_store_n(&has_links, true, __ATOMIC_RELAXED);
	}
	return caller;
}

// Where a label stands in the stack: record_function() in Python begins it in functions that have
// returned when it is open. The one that is still there is the first that is not PyTorch's own.

#define FRAMES_MAX 64 // looked at
#define FILE_BYTES 1024
#define KNOWN      256

// How the files end whose functions are on the way from a program to our hook.
static const char *const own_files[] = { "torch/autograd/profiler.py", "torch/_ops.py" };

static bool ends_like(const uint8_t *text, size_t length, const char *end)
{
	size_t wanted = strlen(end);

	return length >= wanted && memcmp(text + length - wanted, end, wanted) == 0;
}

static bool is_own_file(const struct python_runtime *r, struct guard *g, uintptr_t text)
{
	uint8_t path[FILE_BYTES];
	struct python_text file = python_text_of(&r->layout, g, text, sizeof(path));

	if (!file.kind || file.bytes > sizeof(path))
		return false;
	python_text_write(&file, path);
	for (unsigned i = 0; i < sizeof(own_files) / sizeof(own_files[0]); i++)
		if (ends_like(path, file.bytes, own_files[i]))
			return true;
	return false;
}

// The texts of our own files live as long as their modules: what is at the address of one of them,
// and of one of its functions, is that.
static bool is_own(const struct python_runtime *r, struct guard *g, uintptr_t code)
{
	AGENT_TABLE static uint64_t
		known[KNOWN]; // atomic: hash of code and file, and in its last bit the answer

	if (!python_code_is_there(r, g, code))
		return false;
	uintptr_t file = guard_pointer(code, r->layout.code_file);
	uint64_t key = hash_pair(code, file) & ~UINT64_C(1);
	uint64_t *place = &known[key / 2 % KNOWN];
	uint64_t answer = __atomic_load_n(place, __ATOMIC_RELAXED);
	if ((answer ^ key) > 1) {
		answer = key | is_own_file(r, g, file);
		__atomic_store_n(place, answer, __ATOMIC_RELAXED);
	}
	return answer & 1;
}

// The frame that is found may be run by the same call as the ones around it.
static bool find_anchor(struct python_frames *frames, uint64_t *address)
{
	struct python_step step;
	bool own = true;

	for (unsigned i = 0; i < FRAMES_MAX && python_frames_next(frames, &step); i++) {
		own = own && is_own(frames->runtime, frames->guard, step.code);
		if (own || !step.anchor)
			continue;
		*address = step.anchor;
		return true;
	}
	return false;
}

// An address in the machine's stack that the interpreter's call holds which runs that function.
// SP: of the calling thread, whose lane this is. False: it is called by no Python, or by one that
// keeps nothing there (up to 3.10).
static bool torch_label_place(const struct lane *lane, uint64_t sp, uint64_t *address)
{
	const struct python_runtime *r = python_known();
	struct python_frames frames;
	struct guard g = { 0 };
	bool holds_gil;

	if (!r || sp < lane->stack_low || sp >= lane->stack_high)
		return false;
	g.stack_low = sp;
	g.stack_high = lane->stack_high;
	uintptr_t thread = python_threads_own(r, &g, lane->tid, &holds_gil);
	return thread && python_frames_start(&frames, r, &g, thread) &&
	       find_anchor(&frames, address);
}

#define LIBRARY     "libtorch_cpu.so"
#define STACK_REACH (UINT64_C(1) << 16)
#define STRAYS      16
#define BEFORE      2 // words at most before the inputs

#define OWN         static __thread __attribute__((tls_model("initial-exec")))
#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

// at::RecordFunctionCallback, the same from 1.13 to 2.15. A start returns a unique_ptr<>, which the
// caller has made room for.
typedef void *start_function(void **result, const void *function);
typedef void end_function(const void *function, void *context);
struct callback {
	start_function *start;
	end_function *end;
	double probability;
	uint8_t scopes[10]; // enum scope
	uint8_t needs_inputs, needs_outputs, needs_ids;
};
_Static_assert(sizeof(struct callback) == 40, "at::RecordFunctionCallback");

enum scope { // at::RecordScope
	FUNCTION = 0,
	BACKWARD = 1,
	TORCHSCRIPT = 2,
	LITE = 6,
	USER = 7,
	STATIC_OP = 8,
	STATIC_MODEL = 9
};

static const char *(*name_of)(const void *function);
static size_t (*num_inputs)(const void *function);
static bool (*is_async)(const void *function);
static struct torch_layout layout;
static int learning; // atomic: a thread is at it

AGENT_TABLE static struct ranges ranges;

// What was begun here and ended by another thread, for its own thread to end.
static struct stray {
	uint64_t thread; // atomic: PyTorch's number of it; 0: free
	uint32_t owner;
} strays[STRAYS];
static uint32_t stray_count; // atomic
OWN uint64_t own_number;     // PyTorch's, of this thread

// Each op by itself: they nest but for a few. Two that are open at once have different addresses.
static uint32_t owner_of(const void *function)
{
	return OP_OWNER(OP_TORCH, (uintptr_t)function >> 4);
}

// The guard of an op is a variable of the function that runs it. Those of record_function() in
// Python are elsewhere.
static inline struct op_here place_of(const struct op_thread *t, const void *function,
                                      struct op_here hook)
{
	struct op_here here = { (uint64_t)(uintptr_t)function, 0 };

	if (unlikely(here.stack - hook.stack >= STACK_REACH) &&
	    !torch_label_place(t->lane, hook.stack, &here.stack))
		here.stack = hook.stack;
	return here;
}

static void end_strays(struct op_thread *t)
{
	for (unsigned i = 0; i < STRAYS; i++) {
		uint64_t number = own_number;
		if (!number || !__atomic_compare_exchange_n(&strays[i].thread, &number, 0, false,
		                                            __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		op_end_in(t, strays[i].owner);
		__atomic_fetch_sub(&stray_count, 1, __ATOMIC_RELAXED);
	}
}

static void add_stray(const void *function)
{
	for (unsigned i = 0; i < STRAYS; i++) {
		uint64_t none = 0;
		if (!__atomic_compare_exchange_n(&strays[i].thread, &none, UINT64_MAX, false,
		                                 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		strays[i].owner = owner_of(function);
		__atomic_store_n(&strays[i].thread, torch_layout_thread(function),
		                 __ATOMIC_RELEASE);
		__atomic_fetch_add(&stray_count, 1, __ATOMIC_RELAXED);
		return;
	}
}

static __attribute__((noinline)) void learn(struct op_thread *t, const void *function, size_t count)
{
	static bool told;

	if (__atomic_exchange_n(&learning, 1, __ATOMIC_ACQUIRE))
		return;
	torch_layout_learn(&layout, function, count);
	if (layout.failed && !told)
		op_note(t,
		        "the input shapes of PyTorch's ops are not available: this version keeps "
		        "them where no version did that is known");
	told = layout.failed;
	__atomic_store_n(&learning, 0, __ATOMIC_RELEASE);
}

// "aten::conv1d" and its like. Most names differ in the seventh letter.
static inline bool is_convolution(const char *text)
{
	static const char beginning[] = "aten::conv";

	for (unsigned i = 0; i < sizeof(beginning) - 1; i++)
		if (text[i] != beginning[i])
			return false;
	return strlen(text) == strlen("aten::conv2d");
}

static inline size_t take_inputs(struct op_thread *t, const void *function, const char *text,
                                 uint64_t *values)
{
	if (unlikely(!torch_layout_is_known(&layout)) && !layout.failed)
		learn(t, function, num_inputs(function));
	return torch_layout_inputs(&layout, function, values, OP_DETAILS_MAX - BEFORE,
	                           is_convolution(text));
}

static inline void put_before(struct op_details *d, uint64_t *values, uint16_t kind, uint64_t value)
{
	d->kind |= kind;
	d->count++;
	d->values--;
	values[d->values - values] = value;
}

static inline struct op_details details_of(struct op_thread *t, const void *function,
                                           const struct name *name, enum torch_kind kind,
                                           struct torch_taken taken, uint64_t *values)
{
	struct op_details d = {
		.kind = OP_DETAIL_TENSORS,
		.count = (uint16_t)take_inputs(t, function, name->text, values + BEFORE),
		.values = values + BEFORE,
	};
	uint64_t origin = torch_origin(t, &layout, function, owner_of(function), kind);

	if (origin)
		put_before(&d, values, OP_DETAIL_CALLED, origin);
	if (unlikely(taken.window))
		put_before(&d, values, OP_DETAIL_WEIGHT,
		           taken.weight | (uint64_t)taken.window << 32);
	return d;
}

// Whether the op is to be recorded, and what it stands for. Labels always are.
static inline bool is_taken(struct op_thread *t, const void *function, enum torch_kind kind,
                            struct torch_taken *taken)
{
	uint32_t caller = 0;

	*taken = (struct torch_taken){ OP_WEIGHT_ONE, 0 };
	if (kind != TORCH_OP && kind != TORCH_BACKWARD)
		return true;
	if (unlikely(torch_thin_is_wanted()))
		caller = caller_of(t, owner_of(function), kind);
	*taken = torch_thin_begin((uintptr_t)function, caller);
	return taken->weight != 0;
}

static inline uint32_t category_name(struct op_thread *t, const char *category)
{
	return category ? op_name(t, OP_TORCH, 0, category) : 0;
}

static inline void begin(const void *function, const char *category, enum torch_kind kind,
                         bool async, struct op_here hook)
{
	const char *text = name_of(function);
	struct op_thread *t = op_enter();
	uint64_t values[OP_DETAILS_MAX];
	struct torch_taken taken;

	if (unlikely(!t))
		return;
	if (unlikely(__atomic_load_n(&stray_count, __ATOMIC_RELAXED)))
		end_strays(t);
	own_number = torch_layout_thread(function);
	if (unlikely(!is_taken(t, function, kind, &taken))) {
		op_leave(t);
		torch_thin_left_out();
		return;
	}
	struct name name = { .provider = OP_TORCH,
		             .category = category_name(t, category),
		             .text = text ? text : "" };
	struct op_details d = details_of(t, function, &name, kind, taken, values);
	struct op_here here = place_of(t, function, hook);
	if (unlikely(async))
		ranges_put(&ranges, (uintptr_t)function, t,
		           op_range_begin(t, op_name_in(t, &name), hook, &d));
	else
		op_begin_alone(t, owner_of(function), op_name_in(t, &name), here,
		               d.count ? &d : NULL);
	op_leave(t);
}

static void *begin_function(void **result, const void *function)
{
	*result = NULL;
	begin(function, NULL, TORCH_OP, false, OP_HERE());
	return result;
}

static void *begin_backward(void **result, const void *function)
{
	*result = NULL;
	begin(function, "backward", TORCH_BACKWARD, false, OP_HERE());
	return result;
}

static void *begin_script(void **result, const void *function)
{
	*result = NULL;
	begin(function, "script", TORCH_SCRIPT, false, OP_HERE());
	return result;
}

static void *begin_label(void **result, const void *function)
{
	*result = NULL;
	begin(function, "label", TORCH_LABEL, is_async && is_async(function), OP_HERE());
	return result;
}

// What torch_thin_begin() has taken.
static void end_taken(const void *function, void *context)
{
	struct op_thread *t = op_enter();

	(void)context;
	if (unlikely(!t))
		return;
	bool was_open = op_end_in(t, owner_of(function));
	op_leave(t);
	if (likely(was_open))
		torch_thin_end();
}

static void end_script(const void *function, void *context)
{
	struct op_thread *t = op_enter();

	(void)context;
	if (unlikely(!t))
		return;
	op_end_in(t, owner_of(function));
	op_leave(t);
}

static void end_label(const void *function, void *context)
{
	struct op_thread *t = op_enter();
	struct op_range range;

	(void)context;
	if (!t)
		return;
	if (op_end_in(t, owner_of(function))) {
		op_leave(t);
		return;
	}
	if (ranges_take(&ranges, (uintptr_t)function, t, &range))
		op_range_end(t, range);
	else if (torch_layout_thread(function) != own_number)
		add_stray(function);
	op_leave(t);
}

// One for each kind, so that no op needs to be asked what it is.
static const struct callback callbacks[] = {
	{ begin_function, end_taken, 1.0, { [FUNCTION] = 1 }, .needs_inputs = 1 },
	{ begin_backward, end_taken, 1.0, { [BACKWARD] = 1 }, .needs_inputs = 1 },
	{ begin_script,
	  end_script,
	  1.0,
	  { [TORCHSCRIPT] = 1, [LITE] = 1, [STATIC_OP] = 1, [STATIC_MODEL] = 1 },
	  .needs_inputs = 1 },
	{ begin_label, end_label, 1.0, { [USER] = 1 }, .needs_inputs = 1 },
};
#define THINNED 2 // the first of them

static void *begin_scout(void **result, const void *function)
{
	(void)function;
	*result = NULL;
	torch_thin_scout();
	return result;
}

static void end_scout(const void *function, void *context)
{
	(void)function;
	(void)context;
}

static const struct callback scout = {
	.start = begin_scout,
	.end = end_scout,
	.probability = 1.0 / OP_SCOUT_OPS,
	.scopes = { [FUNCTION] = 1, [BACKWARD] = 1 },
};

#define CALLBACKS (sizeof(callbacks) / sizeof(callbacks[0]))

static struct {
	int there; // atomic
	void (*remove)(uint64_t handle);
	uint64_t handles[CALLBACKS];
	uint64_t scout;
	bool thins;
} attached;

static void (*enable_callback)(uint64_t handle);
static void (*disable_callback)(uint64_t handle);

static void switch_callback(uint64_t handle, bool on)
{
	(on ? enable_callback : disable_callback)(handle);
}

static void switch_record(bool on)
{
	for (unsigned i = 0; i < THINNED; i++)
		switch_callback(attached.handles[i], on);
}

static void switch_scout(bool on)
{
	switch_callback(attached.scout, on);
}

// What GPUs do is recorded whole, and each piece of it has the op that has launched it.
static bool may_thin(void)
{
	return !cupti_session_is_live();
}

static const struct torch_switch own_switches = { switch_record, switch_scout, may_thin };

struct library {
	uint64_t (*add_callback)(struct callback callback);
	void (*remove_callback)(uint64_t handle);
	bool found; // it is in memory
};

// What PyTorch calls us by.
static uint64_t adds; // atomic: libraries that had come at the last look

static bool is_library(const char *path)
{
	return strncmp(path_base(path), LIBRARY, strlen(LIBRARY)) == 0;
}

static int look_at(struct dl_phdr_info *info, size_t size, void *context)
{
	struct library *library = context;
	struct loaded object;

	(void)size;
	if (!info->dlpi_name || !is_library(info->dlpi_name) || !loaded_of(info, &object))
		return 0;
	library->found = true;
	name_of = (const char *(*)(const void *))loaded_define(&object,
	                                                       "_ZNK2at14RecordFunction4nameEv");
	num_inputs = (size_t(*)(const void *))loaded_define(
		&object, "_ZNK2at14RecordFunction10num_inputsEv");
	is_async =
		(bool (*)(const void *))loaded_define(&object, "_ZNK2at14RecordFunction7isAsyncEv");
	// Callbacks may come at any time since the versions that have this.
	if (!loaded_define(&object, "_ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE") ||
	    !name_of || !num_inputs)
		return 1;
	library->add_callback = (uint64_t(*)(struct callback))loaded_define(
		&object, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
	enable_callback = (void (*)(uint64_t))loaded_define(&object, "_ZN2at16reenableCallbackEm");
	disable_callback = (void (*)(uint64_t))loaded_define(&object, "_ZN2at15disableCallbackEm");
	library->remove_callback =
		(void (*)(uint64_t))loaded_define(&object, "_ZN2at14removeCallbackEm");
	return 1;
}

static int look_at_count(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	*(uint64_t *)context = info->dlpi_adds;
	return 1;
}

static void attach(const struct library *library)
{
	if (!library->found || __atomic_exchange_n(&attached.there, 1, __ATOMIC_RELAXED))
		return;
	if (!library->add_callback) {
		op_say("PyTorch's ops are not recorded: its version is older than 1.13, or unknown");
		return;
	}
	attached.thins = enable_callback && disable_callback && op_allowed();
	if (attached.thins) {
		attached.scout = library->add_callback(scout);
		switch_scout(false);
		torch_thin_start(&own_switches, op_allowed());
	}
	for (unsigned i = 0; i < CALLBACKS; i++)
		attached.handles[i] = library->add_callback(callbacks[i]);
	attached.remove = library->remove_callback;
}

// Without the function they stay, as where a thread is about to switch them: they find the agent
// off.
static void leave(void)
{
	if (!__atomic_load_n(&attached.there, __ATOMIC_RELAXED) || !attached.remove ||
	    (attached.thins && !torch_thin_stop()))
		return;
	for (unsigned i = 0; i < CALLBACKS; i++)
		attached.remove(attached.handles[i]);
	if (attached.thins)
		attached.remove(attached.scout);
	attached.remove = NULL;
	adds = 0;
	__atomic_store_n(&attached.there, 0, __ATOMIC_RELEASE);
}

static void look(void)
{
	struct library library = { 0 };
	struct loader_lock lock;
	uint64_t now = 0;
	int error = errno;

	if (!op_is_on(OP_TORCH) || !loader_lock_soon(&lock))
		return;
	loader_each(look_at_count, &now);
	if (__atomic_exchange_n(&adds, now, __ATOMIC_RELAXED) != now)
		loader_each(look_at, &library);
	loader_unlock(&lock);
	attach(&library);
	errno = error;
}

static void start(struct agent *a)
{
	(void)a;
	look();
}

static void look_when_asked(const char *symbol)
{
	(void)symbol; // programs of C++ ask for any
	look();
}

const struct agent_provider torch_provider = {
	.start = start,
	.look = look_when_asked,
	.fork = torch_thin_fork,
	.leave = leave,
};

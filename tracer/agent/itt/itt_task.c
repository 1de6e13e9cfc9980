// SPDX-License-Identifier: MIT
// Tasks and events: ops of the thread that begins and ends them.
#include "base/path.h"
#include "tracer/agent/itt/itt_counter.h"
#include "tracer/agent/itt/itt_hooks.h"
#include "tracer/agent/itt/itt_object.h"
#include "tracer/agent/loader.h"
#include "tracer/agent/old_glibc.h"
#include "tracer/agent/store.h"
#include "tracer/agent/table.h"
#include "tracer/protocol.h"

#include <dlfcn.h>
#include <string.h>

#define unlikely(x) __builtin_expect(!!(x), 0)

AGENT_TABLE static struct table functions; // by address

static void begin(const struct itt_domain *domain, const struct itt_string *name,
                  struct op_here here)
{
	struct op_thread *t = op_enter();

	if (!t)
		return;
	struct itt_owner *d = itt_owner_of(domain);
	op_begin_in(t, d->owner, itt_name_string(t, d, name), here, NULL);
	op_leave(t);
}

static void end(const struct itt_domain *domain)
{
	struct op_thread *t = op_enter();

	if (!t)
		return;
	op_end_in(t, itt_owner_of(domain)->owner);
	op_leave(t);
}

// "libfoo.so+0x1234"
static const char *describe(char *text, const Dl_info *info, uintptr_t function)
{
	const char *file = path_base(info->dli_fname);
	char digits[16], *first = digits + sizeof(digits);
	uintptr_t at = function - (uintptr_t)info->dli_fbase;
	size_t length = itt_append(text, 0, file, strnlen(file, ITT_TEXT_MAX / 2));

	do
		*--first = "0123456789abcdef"[at % 16];
	while (at /= 16);
	length = itt_append(text, length, "+0x", 3);
	length = itt_append(text, length, first, (size_t)(digits + sizeof(digits) - first));
	text[length] = '\0';
	return text;
}

// The function that a task is: its symbol if it is exported, else where it lies in its file. It is
// looked up once.
static const char *name_function(const void *function)
{
	const char *known = table_get(&functions, (uintptr_t)function);
	char text[ITT_TEXT_MAX];
	struct loader_lock lock;
	Dl_info info;

	if (known || !dladdr || !loader_lock_soon(&lock))
		return known;
	int found = dladdr(function, &info);
	loader_unlock(&lock);
	if (!found)
		return NULL;
	if (info.dli_sname && info.dli_saddr == function)
		known = store_text(info.dli_sname, PROTOCOL_NAME_TEXT);
	else if (info.dli_fname)
		known = store_text(describe(text, &info, (uintptr_t)function), ITT_TEXT_MAX);
	if (known)
		table_put(&functions, (uintptr_t)function, known);
	return known;
}

typedef void task_begin(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
                        const struct itt_string *name);
static void hook_task_begin(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
                            const struct itt_string *name)
{
	task_begin *forward = ITT_THEIRS(task_begin, TASK_BEGIN);

	begin(domain, name, OP_HERE());
	if (unlikely(forward))
		forward(domain, id, parent, name);
}

typedef void task_begin_fn(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
                           void *function);
static void hook_task_begin_fn(const struct itt_domain *domain, struct itt_id id,
                               struct itt_id parent, void *function)
{
	task_begin_fn *forward = ITT_THEIRS(task_begin_fn, TASK_BEGIN_FN);

	begin(domain, &(struct itt_string){ .text = name_function(function) }, OP_HERE());
	if (unlikely(forward))
		forward(domain, id, parent, function);
}

typedef void task_end(const struct itt_domain *domain);
static void hook_task_end(const struct itt_domain *domain)
{
	task_end *forward = ITT_THEIRS(task_end, TASK_END);

	end(domain);
	if (unlikely(forward))
		forward(domain);
}

typedef void task_begin_ex(const struct itt_domain *domain, void *clock, unsigned long long time,
                           struct itt_id id, struct itt_id parent, const struct itt_string *name);
static void hook_task_begin_ex(const struct itt_domain *domain, void *clock,
                               unsigned long long time, struct itt_id id, struct itt_id parent,
                               const struct itt_string *name)
{
	task_begin_ex *forward = ITT_THEIRS(task_begin_ex, TASK_BEGIN_EX);

	if (itt_is_now(clock, time))
		begin(domain, name, OP_HERE());
	if (unlikely(forward))
		forward(domain, clock, time, id, parent, name);
}

typedef void task_begin_fn_ex(const struct itt_domain *domain, void *clock, unsigned long long time,
                              struct itt_id id, struct itt_id parent, void *function);
static void hook_task_begin_fn_ex(const struct itt_domain *domain, void *clock,
                                  unsigned long long time, struct itt_id id, struct itt_id parent,
                                  void *function)
{
	task_begin_fn_ex *forward = ITT_THEIRS(task_begin_fn_ex, TASK_BEGIN_FN_EX);

	if (itt_is_now(clock, time))
		begin(domain, &(struct itt_string){ .text = name_function(function) }, OP_HERE());
	if (unlikely(forward))
		forward(domain, clock, time, id, parent, function);
}

typedef void task_end_ex(const struct itt_domain *domain, void *clock, unsigned long long time);
static void hook_task_end_ex(const struct itt_domain *domain, void *clock, unsigned long long time)
{
	task_end_ex *forward = ITT_THEIRS(task_end_ex, TASK_END_EX);

	if (itt_is_now(clock, time))
		end(domain);
	if (unlikely(forward))
		forward(domain, clock, time);
}

/* Events: each nests by itself. */

#define EVENT_OWNER(e) OP_OWNER(OP_ITT, 0x800000 | ((e)->number & 0x7fffff))

typedef int event_create(const char *name, int length);
static int hook_event_create(const char *name, int length)
{
	event_create *forward = ITT_THEIRS(event_create, EVENT_CREATE);
	int event = forward ? forward(name, length) : 0;
	char text[PROTOCOL_NAME_TEXT] = "";
	size_t size = name && length > 0 ? strnlen(name, (size_t)length) : 0;

	if (size)
		memcpy(text, name, size < sizeof(text) ? size : sizeof(text) - 1);
	int number = itt_event_called(size ? text : ITT_UNNAMED);
	if (forward)
		itt_event_alias(event, number);
	return forward ? event : number;
}

static void start_event(const struct itt_event *e, struct op_here here)
{
	struct op_thread *t = e ? op_enter() : NULL;

	if (!t)
		return;
	op_begin_in(t, EVENT_OWNER(e), itt_name_of_kind(t, &itt_nameless, e->name, "event"), here,
	            NULL);
	op_leave(t);
}

static void end_event(const struct itt_event *e)
{
	struct op_thread *t = e ? op_enter() : NULL;

	if (!t)
		return;
	op_end_in(t, EVENT_OWNER(e));
	op_leave(t);
}

typedef int event_change(int event);
static int hook_event_start(int event)
{
	event_change *forward = ITT_THEIRS(event_change, EVENT_START);

	start_event(itt_event_of(event), OP_HERE());
	return unlikely(forward) ? forward(event) : 0;
}

static int hook_event_end(int event)
{
	event_change *forward = ITT_THEIRS(event_change, EVENT_END);

	end_event(itt_event_of(event));
	return unlikely(forward) ? forward(event) : 0;
}

const struct itt_hook itt_task_hooks[] = {
	ITT_HOOK(TASK_BEGIN, "__itt_task_begin", hook_task_begin),
	ITT_HOOK(TASK_BEGIN_FN, "__itt_task_begin_fn", hook_task_begin_fn),
	ITT_HOOK(TASK_END, "__itt_task_end", hook_task_end),
	ITT_HOOK(TASK_BEGIN_EX, "__itt_task_begin_ex", hook_task_begin_ex),
	ITT_HOOK(TASK_BEGIN_FN_EX, "__itt_task_begin_fn_ex", hook_task_begin_fn_ex),
	ITT_HOOK(TASK_END_EX, "__itt_task_end_ex", hook_task_end_ex),
	ITT_HOOK(EVENT_CREATE, "__itt_event_create", hook_event_create),
	ITT_HOOK(EVENT_START, "__itt_event_start", hook_event_start),
	ITT_HOOK(EVENT_END, "__itt_event_end", hook_event_end),
	{ 0 },
};

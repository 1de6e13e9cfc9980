// SPDX-License-Identifier: MIT
#include "tracer/agent/nvtx/nvtx_hooks.h"

#include "tracer/agent/nvtx/nvtx_deferred.h"
#include "tracer/agent/nvtx/nvtx_event.h"
#include "tracer/agent/nvtx/nvtx_object.h"
#include "tracer/agent/nvtx/nvtx_payload.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/op/ranges.h"
#include "tracer/agent/table.h"
#include "tracer/agent/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <wchar.h>

// What NVTX programs give names to: categories, threads, domains and strings. The hooks for them,
// as those of nvtx_hooks.h.

typedef void name_category_narrow(uint32_t category, const char *text);
static void nvtx_names_category_narrow(uint32_t category, const char *text)
{
	name_category_narrow *forward =
		NVTX_THEIRS(name_category_narrow, core[NVTX_NAME_CATEGORY_A]);

	nvtx_category_create(&nvtx_nameless, category, text);
	if (forward)
		forward(category, text);
}

static void create_wide_category(const struct nvtx_domain *d, uint32_t category,
                                 const wchar_t *text)
{
	char buffer[NVTX_TEXT_BYTES];

	nvtx_category_create(d, category, utf8_from_wide(buffer, sizeof(buffer), text));
}

typedef void name_category_wide(uint32_t category, const wchar_t *text);
static void nvtx_names_category_wide(uint32_t category, const wchar_t *text)
{
	name_category_wide *forward = NVTX_THEIRS(name_category_wide, core[NVTX_NAME_CATEGORY_W]);

	create_wide_category(&nvtx_nameless, category, text);
	if (forward)
		forward(category, text);
}

typedef void domain_name_category_narrow(const void *domain, uint32_t category, const char *text);
static void nvtx_names_domain_category_narrow(const void *domain, uint32_t category,
                                              const char *text)
{
	domain_name_category_narrow *forward =
		NVTX_THEIRS(domain_name_category_narrow, core2[NVTX_DOMAIN_NAME_CATEGORY_A]);

	nvtx_category_create(nvtx_domain_of(domain), category, text);
	if (forward)
		forward(domain, category, text);
}

typedef void domain_name_category_wide(const void *domain, uint32_t category, const wchar_t *text);
static void nvtx_names_domain_category_wide(const void *domain, uint32_t category,
                                            const wchar_t *text)
{
	domain_name_category_wide *forward =
		NVTX_THEIRS(domain_name_category_wide, core2[NVTX_DOMAIN_NAME_CATEGORY_W]);

	create_wide_category(nvtx_domain_of(domain), category, text);
	if (forward)
		forward(domain, category, text);
}

// The program calls thread TID so; NULL: nothing.
static void nvtx_names_thread(uint32_t tid, const char *text)
{
	struct op_thread *t = text ? op_enter() : NULL;

	if (!t)
		return;
	op_thread_name(t, tid, text);
	op_leave(t);
}

typedef void name_thread_narrow(uint32_t tid, const char *text);
static void nvtx_names_thread_narrow(uint32_t tid, const char *text)
{
	name_thread_narrow *forward = NVTX_THEIRS(name_thread_narrow, core[NVTX_NAME_OS_THREAD_A]);

	nvtx_names_thread(tid, text);
	if (forward)
		forward(tid, text);
}

typedef void name_thread_wide(uint32_t tid, const wchar_t *text);
static void nvtx_names_thread_wide(uint32_t tid, const wchar_t *text)
{
	name_thread_wide *forward = NVTX_THEIRS(name_thread_wide, core[NVTX_NAME_OS_THREAD_W]);
	char buffer[NVTX_TEXT_BYTES];

	nvtx_names_thread(tid, utf8_from_wide(buffer, sizeof(buffer), text));
	if (forward)
		forward(tid, text);
}

typedef const void *domain_create_narrow(const char *text);
static const void *nvtx_names_domain_create_narrow(const char *text)
{
	domain_create_narrow *forward =
		NVTX_THEIRS(domain_create_narrow, core2[NVTX_DOMAIN_CREATE_A]);
	const void *ours = nvtx_domain_create(text);
	const void *handle = forward ? forward(text) : ours;

	if (forward)
		nvtx_object_call(handle, ours);
	return handle;
}

typedef const void *domain_create_wide(const wchar_t *text);
static const void *nvtx_names_domain_create_wide(const wchar_t *text)
{
	domain_create_wide *forward = NVTX_THEIRS(domain_create_wide, core2[NVTX_DOMAIN_CREATE_W]);
	char buffer[NVTX_TEXT_BYTES];
	const void *ours = nvtx_domain_create(utf8_from_wide(buffer, sizeof(buffer), text));
	const void *handle = forward ? forward(text) : ours;

	if (forward)
		nvtx_object_call(handle, ours);
	return handle;
}

typedef const void *string_create_narrow(const void *domain, const char *text);
static const void *nvtx_names_string_create_narrow(const void *domain, const char *text)
{
	string_create_narrow *forward =
		NVTX_THEIRS(string_create_narrow, core2[NVTX_DOMAIN_REGISTER_STRING_A]);
	const void *ours = nvtx_string_create(nvtx_domain_of(domain), text);
	const void *handle = forward ? forward(domain, text) : ours;

	if (forward)
		nvtx_object_call(handle, ours);
	return handle;
}

typedef const void *string_create_wide(const void *domain, const wchar_t *text);
static const void *nvtx_names_string_create_wide(const void *domain, const wchar_t *text)
{
	string_create_wide *forward =
		NVTX_THEIRS(string_create_wide, core2[NVTX_DOMAIN_REGISTER_STRING_W]);
	char buffer[NVTX_TEXT_BYTES];
	const void *ours = nvtx_string_create(nvtx_domain_of(domain),
	                                      utf8_from_wide(buffer, sizeof(buffer), text));
	const void *handle = forward ? forward(domain, text) : ours;

	if (forward)
		nvtx_object_call(handle, ours);
	return handle;
}

#define INLINE      static inline __attribute__((always_inline))
#define unlikely(x) __builtin_expect(!!(x), 0)
#define RESOURCE    "resource" // the category that says what such a mark is

struct nvtx_functions nvtx_theirs;

#define THEIRS NVTX_THEIRS

AGENT_TABLE static struct ranges ranges;
static uint64_t last_range, last_resource; // atomic

static uint64_t next(uint64_t *last)
{
	return __atomic_add_fetch(last, 1, __ATOMIC_RELAXED);
}

static struct nvtx_domain *nameless(void)
{
	return &nvtx_nameless;
}

static int push(struct op_thread *t, const struct nvtx_domain *d, uint32_t name,
                struct op_here here, const struct op_details *details)
{
	return (int)op_begin_in(t, d->owner, name, here, details) - 1;
}

static int pop(struct op_thread *t, const struct nvtx_domain *d)
{
	uint32_t depth = op_end_in(t, d->owner);

	return depth ? (int)depth - 1 : NVTX_ERROR;
}

// What becomes of an event: it begins an op or a range, or is a mark.
typedef int64_t event_use(struct op_thread *t, const struct nvtx_domain *d, uint32_t name,
                          struct op_here here, const struct op_details *details);

static int64_t use_push(struct op_thread *t, const struct nvtx_domain *d, uint32_t name,
                        struct op_here here, const struct op_details *details)
{
	return push(t, d, name, here, details);
}

static int64_t use_mark(struct op_thread *t, const struct nvtx_domain *d, uint32_t name,
                        struct op_here here, const struct op_details *details)
{
	(void)d;
	op_mark(t, name, here, details);
	return 0;
}

INLINE int64_t with_event(struct op_thread *t, struct nvtx_domain *d, struct nvtx_event *event,
                          struct op_here here, event_use *use)
{
	struct op_details details = { event->kind, (uint16_t)event->count, event->values };

	return use(t, d, nvtx_event_name(t, d, event), here, event->count ? &details : NULL);
}

INLINE int64_t with_attributes(struct op_thread *t, struct nvtx_domain *d,
                               const struct nvtx_attributes *a, struct op_here here, event_use *use)
{
	struct nvtx_event event;
	char buffer[NVTX_TEXT_BYTES];

	nvtx_event_read(&event, d, a, buffer);
	return with_event(t, d, &event, here, use);
}

INLINE int64_t with_payloads(struct op_thread *t, struct nvtx_domain *d,
                             const struct nvtx_payload *payloads, size_t count, struct op_here here,
                             event_use *use)
{
	struct nvtx_event event;

	nvtx_event_clear(&event);
	nvtx_payload_read(&event, d, payloads, count);
	return with_event(t, d, &event, here, use);
}

INLINE int64_t with_wide(struct op_thread *t, const wchar_t *text, struct op_here here,
                         event_use *use)
{
	char buffer[NVTX_TEXT_BYTES];
	const char *narrow = utf8_from_wide(buffer, sizeof(buffer), text);

	return use(t, nameless(), nvtx_name(t, nameless(), narrow, 0), here, NULL);
}

INLINE int64_t with_narrow(struct op_thread *t, const char *text, struct op_here here,
                           event_use *use)
{
	return use(t, nameless(), nvtx_name(t, nameless(), text, 0), here, NULL);
}

// A hook's part of ours: RESULT is what CALL gives, in a thread whose ops are collected.
#define RECORD(result, call)                                                                       \
	do {                                                                                       \
		struct op_thread *t = op_enter();                                                  \
		if (t) {                                                                           \
			(result) = (__typeof__(result))(call);                                     \
			op_leave(t);                                                               \
		}                                                                                  \
	} while (0)

/* Push and pop: the level is what the program gets. */

typedef int push_narrow(const char *text);
static int hook_push_narrow(const char *text)
{
	push_narrow *forward = THEIRS(push_narrow, core[NVTX_RANGE_PUSH_A]);
	int level = NVTX_NO_TRACKING;

	RECORD(level, with_narrow(t, text, OP_HERE(), use_push));
	return unlikely(forward) ? forward(text) : level;
}

typedef int push_wide(const wchar_t *text);
static int hook_push_wide(const wchar_t *text)
{
	push_wide *forward = THEIRS(push_wide, core[NVTX_RANGE_PUSH_W]);
	int level = NVTX_NO_TRACKING;

	RECORD(level, with_wide(t, text, OP_HERE(), use_push));
	return unlikely(forward) ? forward(text) : level;
}

typedef int push_event(const struct nvtx_attributes *a);
static int hook_push_event(const struct nvtx_attributes *a)
{
	push_event *forward = THEIRS(push_event, core[NVTX_RANGE_PUSH_EX]);
	int level = NVTX_NO_TRACKING;

	RECORD(level, with_attributes(t, nameless(), a, OP_HERE(), use_push));
	return unlikely(forward) ? forward(a) : level;
}

typedef int domain_push_event(const void *domain, const struct nvtx_attributes *a);
static int hook_domain_push_event(const void *domain, const struct nvtx_attributes *a)
{
	domain_push_event *forward = THEIRS(domain_push_event, core2[NVTX_DOMAIN_RANGE_PUSH_EX]);
	int level = NVTX_NO_TRACKING;

	RECORD(level, with_attributes(t, nvtx_domain_of(domain), a, OP_HERE(), use_push));
	return unlikely(forward) ? forward(domain, a) : level;
}

typedef int pop_any(void);
static int hook_pop(void)
{
	pop_any *forward = THEIRS(pop_any, core[NVTX_RANGE_POP]);
	int level = NVTX_NO_TRACKING;

	RECORD(level, pop(t, nameless()));
	return unlikely(forward) ? forward() : level;
}

typedef int domain_pop(const void *domain);
static int hook_domain_pop(const void *domain)
{
	domain_pop *forward = THEIRS(domain_pop, core2[NVTX_DOMAIN_RANGE_POP]);
	int level = NVTX_NO_TRACKING;

	RECORD(level, pop(t, nvtx_domain_of(domain)));
	return unlikely(forward) ? forward(domain) : level;
}

/* Marks. */

typedef void mark_narrow(const char *text);
static void hook_mark_narrow(const char *text)
{
	mark_narrow *forward = THEIRS(mark_narrow, core[NVTX_MARK_A]);
	int none;

	RECORD(none, with_narrow(t, text, OP_HERE(), use_mark));
	if (unlikely(forward))
		forward(text);
}

typedef void mark_wide(const wchar_t *text);
static void hook_mark_wide(const wchar_t *text)
{
	mark_wide *forward = THEIRS(mark_wide, core[NVTX_MARK_W]);
	int none;

	RECORD(none, with_wide(t, text, OP_HERE(), use_mark));
	if (unlikely(forward))
		forward(text);
}

typedef void mark_event(const struct nvtx_attributes *a);
static void hook_mark_event(const struct nvtx_attributes *a)
{
	mark_event *forward = THEIRS(mark_event, core[NVTX_MARK_EX]);
	int none;

	RECORD(none, with_attributes(t, nameless(), a, OP_HERE(), use_mark));
	if (unlikely(forward))
		forward(a);
}

typedef void domain_mark_event(const void *domain, const struct nvtx_attributes *a);
static void hook_domain_mark_event(const void *domain, const struct nvtx_attributes *a)
{
	domain_mark_event *forward = THEIRS(domain_mark_event, core2[NVTX_DOMAIN_MARK_EX]);
	int none;

	RECORD(none, with_attributes(t, nvtx_domain_of(domain), a, OP_HERE(), use_mark));
	if (unlikely(forward))
		forward(domain, a);
}

/*
 * Ranges. The user's library has to make the id first, if it makes one. Until then nobody can end
 * the range.
 */

// Set between op_enter() and op_leave(), where no handler starts another.
static __thread uint64_t starting __attribute__((tls_model("initial-exec")));

static int64_t use_start(struct op_thread *t, const struct nvtx_domain *d, uint32_t name,
                         struct op_here here, const struct op_details *details)
{
	(void)d;
	ranges_put(&ranges, starting, t, op_range_begin(t, name, here, details));
	return 0;
}

// The id: THEIRS, or a new one.
static uint64_t start_as(uint64_t id)
{
	return id ? id : next(&last_range);
}

typedef uint64_t start_narrow(const char *text);
static uint64_t hook_start_narrow(const char *text)
{
	start_narrow *forward = THEIRS(start_narrow, core[NVTX_RANGE_START_A]);
	uint64_t id = start_as(unlikely(forward) ? forward(text) : 0);
	int none;

	RECORD(none, (starting = id, with_narrow(t, text, OP_HERE(), use_start)));
	return id;
}

typedef uint64_t start_wide(const wchar_t *text);
static uint64_t hook_start_wide(const wchar_t *text)
{
	start_wide *forward = THEIRS(start_wide, core[NVTX_RANGE_START_W]);
	uint64_t id = start_as(unlikely(forward) ? forward(text) : 0);
	int none;

	RECORD(none, (starting = id, with_wide(t, text, OP_HERE(), use_start)));
	return id;
}

typedef uint64_t start_event(const struct nvtx_attributes *a);
static uint64_t hook_start_event(const struct nvtx_attributes *a)
{
	start_event *forward = THEIRS(start_event, core[NVTX_RANGE_START_EX]);
	uint64_t id = start_as(unlikely(forward) ? forward(a) : 0);
	int none;

	RECORD(none, (starting = id, with_attributes(t, nameless(), a, OP_HERE(), use_start)));
	return id;
}

typedef uint64_t domain_start_event(const void *domain, const struct nvtx_attributes *a);
static uint64_t hook_domain_start_event(const void *domain, const struct nvtx_attributes *a)
{
	domain_start_event *forward = THEIRS(domain_start_event, core2[NVTX_DOMAIN_RANGE_START_EX]);
	uint64_t id = start_as(unlikely(forward) ? forward(domain, a) : 0);
	int none;

	RECORD(none, (starting = id,
	              with_attributes(t, nvtx_domain_of(domain), a, OP_HERE(), use_start)));
	return id;
}

static void end_range(uint64_t id)
{
	struct op_thread *t = op_enter();
	struct op_range range;

	if (!t)
		return;
	if (ranges_take(&ranges, id, t, &range))
		op_range_end(t, range);
	op_leave(t);
}

typedef void end_any(uint64_t id);
static void hook_end(uint64_t id)
{
	end_any *forward = THEIRS(end_any, core[NVTX_RANGE_END]);

	end_range(id);
	if (unlikely(forward))
		forward(id);
}

typedef void domain_end(const void *domain, uint64_t id);
static void hook_domain_end(const void *domain, uint64_t id)
{
	domain_end *forward = THEIRS(domain_end, core2[NVTX_DOMAIN_RANGE_END]);

	end_range(id);
	if (unlikely(forward))
		forward(domain, id);
}

/* Resources. */

static void mark_resource(struct op_thread *t, struct nvtx_domain *d, const char *text,
                          uint64_t identifier, struct op_here here)
{
	struct op_details details = { OP_DETAIL_UNSIGNED, 1, &identifier };
	struct name name = { .provider = OP_NVTX,
		             .domain = nvtx_domain_name(t, d),
		             .category = op_name(t, OP_NVTX, 0, RESOURCE),
		             .text = text };

	op_mark(t, op_name_in(t, &name), here, &details);
}

// A thread is one that we know; of any other resource a mark says what it is called.
static void name_resource(const void *domain, const struct nvtx_resource *r, struct op_here here)
{
	struct nvtx_event event;
	char buffer[NVTX_TEXT_BYTES];

	nvtx_event_clear(&event);
	if (!r || !NVTX_HAS(r, message, struct nvtx_resource))
		return;
	nvtx_event_read_message(&event, r->message_type, r->message, buffer);
	const char *text = event.string ? event.string->text : event.text;
	if (text && r->identifier_type == NVTX_RESOURCE_THREAD) {
		nvtx_names_thread((uint32_t)r->identifier, text);
		return;
	}
	struct op_thread *t = text ? op_enter() : NULL;
	if (!t)
		return;
	mark_resource(t, nvtx_domain_of(domain), text, r->identifier, here);
	op_leave(t);
}

typedef const void *resource_create(const void *domain, const struct nvtx_resource *r);
static const void *hook_resource_create(const void *domain, const struct nvtx_resource *r)
{
	resource_create *forward = THEIRS(resource_create, core2[NVTX_DOMAIN_RESOURCE_CREATE]);

	name_resource(domain, r, OP_HERE());
	return forward ? forward(domain, r) : (const void *)(uintptr_t)next(&last_resource);
}

/* The payload extension. What stands in the payloads of an end is a mark right before it. */

typedef uint64_t schema_register(const void *domain, const struct nvtx_schema *schema);
static uint64_t hook_schema_register(const void *domain, const struct nvtx_schema *schema)
{
	schema_register *forward = THEIRS(schema_register, payload[NVTX_SCHEMA_REGISTER]);
	uint64_t id = forward ? forward(domain, schema) : 0;

	if (!schema)
		return id;
	if (!forward)
		return nvtx_payload_register(nvtx_domain_of(domain), schema);
	nvtx_payload_register_as(nvtx_domain_of(domain), schema, id);
	return id;
}

typedef uint64_t enum_register(const void *domain, const struct nvtx_enum *e);
static uint64_t hook_enum_register(const void *domain, const struct nvtx_enum *e)
{
	enum_register *forward = THEIRS(enum_register, payload[NVTX_ENUM_REGISTER]);
	uint64_t id = forward ? forward(domain, e) : 0;

	if (!e)
		return id;
	if (!forward)
		return nvtx_payload_register_enum(nvtx_domain_of(domain), e);
	nvtx_payload_register_enum_as(nvtx_domain_of(domain), e, id);
	return id;
}

typedef void mark_payload(const void *domain, const struct nvtx_payload *payloads, size_t count);
static void hook_mark_payload(const void *domain, const struct nvtx_payload *payloads, size_t count)
{
	mark_payload *forward = THEIRS(mark_payload, payload[NVTX_MARK_PAYLOAD]);
	int none;

	RECORD(none,
	       with_payloads(t, nvtx_domain_of(domain), payloads, count, OP_HERE(), use_mark));
	if (unlikely(forward))
		forward(domain, payloads, count);
}

typedef int push_payload(const void *domain, const struct nvtx_payload *payloads, size_t count);
static int hook_push_payload(const void *domain, const struct nvtx_payload *payloads, size_t count)
{
	push_payload *forward = THEIRS(push_payload, payload[NVTX_PUSH_PAYLOAD]);
	int level = NVTX_NO_TRACKING;

	RECORD(level,
	       with_payloads(t, nvtx_domain_of(domain), payloads, count, OP_HERE(), use_push));
	return unlikely(forward) ? forward(domain, payloads, count) : level;
}

static void mark_end(const void *domain, const struct nvtx_payload *payloads, size_t count,
                     struct op_here here)
{
	int none;

	RECORD(none, with_payloads(t, nvtx_domain_of(domain), payloads, count, here, use_mark));
}

static int hook_pop_payload(const void *domain, const struct nvtx_payload *payloads, size_t count)
{
	push_payload *forward = THEIRS(push_payload, payload[NVTX_POP_PAYLOAD]);
	int level = NVTX_NO_TRACKING;

	if (payloads && count)
		mark_end(domain, payloads, count, OP_HERE());
	RECORD(level, pop(t, nvtx_domain_of(domain)));
	return unlikely(forward) ? forward(domain, payloads, count) : level;
}

typedef uint64_t start_payload(const void *domain, const struct nvtx_payload *payloads,
                               size_t count);
static uint64_t hook_start_payload(const void *domain, const struct nvtx_payload *payloads,
                                   size_t count)
{
	start_payload *forward = THEIRS(start_payload, payload[NVTX_START_PAYLOAD]);
	uint64_t id = start_as(unlikely(forward) ? forward(domain, payloads, count) : 0);
	int none;

	RECORD(none, (starting = id, with_payloads(t, nvtx_domain_of(domain), payloads, count,
	                                           OP_HERE(), use_start)));
	return id;
}

typedef void end_payload(const void *domain, uint64_t id, const struct nvtx_payload *payloads,
                         size_t count);
static void hook_end_payload(const void *domain, uint64_t id, const struct nvtx_payload *payloads,
                             size_t count)
{
	end_payload *forward = THEIRS(end_payload, payload[NVTX_END_PAYLOAD]);

	if (payloads && count)
		mark_end(domain, payloads, count, OP_HERE());
	end_range(id);
	if (unlikely(forward))
		forward(domain, id, payloads, count);
}

// Or the program would not tell us what the user's library does not want to know.
static uint8_t hook_is_enabled(const void *domain)
{
	(void)domain;
	return 1;
}

/* The tables of them. */

#define HOOK(function) ((nvtx_function *)(function))

nvtx_function *const nvtx_core_hooks[NVTX_CORE_SIZE] = {
	[NVTX_MARK_EX] = HOOK(hook_mark_event),
	[NVTX_MARK_A] = HOOK(hook_mark_narrow),
	[NVTX_MARK_W] = HOOK(hook_mark_wide),
	[NVTX_RANGE_START_EX] = HOOK(hook_start_event),
	[NVTX_RANGE_START_A] = HOOK(hook_start_narrow),
	[NVTX_RANGE_START_W] = HOOK(hook_start_wide),
	[NVTX_RANGE_END] = HOOK(hook_end),
	[NVTX_RANGE_PUSH_EX] = HOOK(hook_push_event),
	[NVTX_RANGE_PUSH_A] = HOOK(hook_push_narrow),
	[NVTX_RANGE_PUSH_W] = HOOK(hook_push_wide),
	[NVTX_RANGE_POP] = HOOK(hook_pop),
	[NVTX_NAME_CATEGORY_A] = HOOK(nvtx_names_category_narrow),
	[NVTX_NAME_CATEGORY_W] = HOOK(nvtx_names_category_wide),
	[NVTX_NAME_OS_THREAD_A] = HOOK(nvtx_names_thread_narrow),
	[NVTX_NAME_OS_THREAD_W] = HOOK(nvtx_names_thread_wide),
};

// Destroyed objects are kept: their names may be in use. The user's library gets those calls as
// they are.
nvtx_function *const nvtx_core2_hooks[NVTX_CORE2_SIZE] = {
	[NVTX_DOMAIN_MARK_EX] = HOOK(hook_domain_mark_event),
	[NVTX_DOMAIN_RANGE_START_EX] = HOOK(hook_domain_start_event),
	[NVTX_DOMAIN_RANGE_END] = HOOK(hook_domain_end),
	[NVTX_DOMAIN_RANGE_PUSH_EX] = HOOK(hook_domain_push_event),
	[NVTX_DOMAIN_RANGE_POP] = HOOK(hook_domain_pop),
	[NVTX_DOMAIN_RESOURCE_CREATE] = HOOK(hook_resource_create),
	[NVTX_DOMAIN_NAME_CATEGORY_A] = HOOK(nvtx_names_domain_category_narrow),
	[NVTX_DOMAIN_NAME_CATEGORY_W] = HOOK(nvtx_names_domain_category_wide),
	[NVTX_DOMAIN_REGISTER_STRING_A] = HOOK(nvtx_names_string_create_narrow),
	[NVTX_DOMAIN_REGISTER_STRING_W] = HOOK(nvtx_names_string_create_wide),
	[NVTX_DOMAIN_CREATE_A] = HOOK(nvtx_names_domain_create_narrow),
	[NVTX_DOMAIN_CREATE_W] = HOOK(nvtx_names_domain_create_wide),
};

nvtx_function *const nvtx_payload_hooks[NVTX_EXTENSION_SLOTS] = {
	[NVTX_SCHEMA_REGISTER] = HOOK(hook_schema_register),
	[NVTX_ENUM_REGISTER] = HOOK(hook_enum_register),
	[NVTX_MARK_PAYLOAD] = HOOK(hook_mark_payload),
	[NVTX_PUSH_PAYLOAD] = HOOK(hook_push_payload),
	[NVTX_POP_PAYLOAD] = HOOK(hook_pop_payload),
	[NVTX_START_PAYLOAD] = HOOK(hook_start_payload),
	[NVTX_END_PAYLOAD] = HOOK(hook_end_payload),
	[NVTX_IS_ENABLED] = HOOK(hook_is_enabled),
	[NVTX_TIMESTAMP_GET] = HOOK(nvtx_timestamp_get),
	[NVTX_TIME_DOMAIN_REGISTER] = HOOK(nvtx_time_domain_register),
	[NVTX_EVENT_SUBMIT] = HOOK(nvtx_event_submit),
	[NVTX_EVENT_BATCH_SUBMIT] = HOOK(nvtx_event_batch_submit),
};

// SPDX-License-Identifier: MIT
/*
 * The ITT provider: each binary with ITT in it gives us its list of functions, and we put ours
 *there. If the user has a collector of his own, it fills the list first, and our functions call
 *its:
 *
 *	program's list ──► our hook ──► theirs[…], if it has put a function there
 *
 * Domains and string handles are structs whose layout everyone knows, and whoever makes them, both
 * see the same. A task is an op, and so is an event, in its thread; what has an id and may overlap
 * is a range: overlapped tasks, regions, frames. Metadata is a mark within the task, and so is each
 * value of a counter. What is told with times of another clock is not recorded. The profile is of
 * the whole run: from pause to resume there is a range, "paused".
 */
#include "base/clock.h"
#include "base/hash.h"
#include "tracer/agent/chain.h"
#include "tracer/agent/itt_abi.h"
#include "tracer/agent/itt_counter.h"
#include "tracer/agent/op.h"
#include "tracer/agent/ranges.h"
#include "tracer/agent/store.h"
#include "tracer/agent/wrap.h"
#include "tracer/protocol.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#define unlikely(x)    __builtin_expect(!!(x), 0)
#define UNNAMED        "(unnamed)"
#define VERSION        "ITT-API-Version 3.0 (bottleneck)"
#define TEXT_MAX       200
#define METADATA_TEXTS 1000 // distinct ones; each is a name

enum hook {
	DOMAIN_CREATE,
	STRING_CREATE,
	TASK_BEGIN,
	TASK_BEGIN_FN,
	TASK_END,
	TASK_BEGIN_EX,
	TASK_BEGIN_FN_EX,
	TASK_END_EX,
	TASK_BEGIN_OVERLAPPED,
	TASK_BEGIN_OVERLAPPED_EX,
	TASK_END_OVERLAPPED,
	TASK_END_OVERLAPPED_EX,
	REGION_BEGIN,
	REGION_END,
	FRAME_BEGIN,
	FRAME_END,
	FRAME_SUBMIT,
	MARKER,
	MARKER_EX,
	METADATA_ADD,
	METADATA_TEXT_ADD,
	THREAD_SET_NAME,
	THREAD_SET_NAME_OLD,
	COUNTER_CREATE,
	COUNTER_CREATE_TYPED,
	COUNTER_CREATE_V3,
	COUNTER_INC,
	COUNTER_INC_DELTA,
	COUNTER_DEC,
	COUNTER_DEC_DELTA,
	COUNTER_INC_V3,
	COUNTER_INC_DELTA_V3,
	COUNTER_DEC_V3,
	COUNTER_DEC_DELTA_V3,
	COUNTER_SET,
	COUNTER_SET_EX,
	COUNTER_SET_V3,
	EVENT_CREATE,
	EVENT_START,
	EVENT_END,
	PAUSE,
	RESUME,
	GET_TIMESTAMP,
	API_VERSION,
	HOOKS
};

static itt_function *theirs[HOOKS]; // atomic

// What the user's collector has for this call, as a function of TYPE; NULL if nothing.
#define THEIRS(type, hook) ((type *)__atomic_load_n(&theirs[hook], __ATOMIC_ACQUIRE))

static struct ranges ranges;
static struct table domains, functions; // by address
static struct table texts;              // domains and strings, by what they are called
static uint32_t domain_count;           // atomic
static uint32_t metadata_count;         // atomic

struct domain {
	uint32_t owner;   // of its ops, see op_begin_in()
	uint64_t named;   // atomic: the process's generation, and the id of the name there
	const char *text; // NULL: of what has no domain
};

// Strings and domains of ours are known by what stands in their field for the collector's use; in a
// domain, a pointer to struct domain is beside it.
#define MADE 0x626e6b31

struct made_string {
	struct itt_string seen; // by the program
	uint64_t named;         // atomic: see pack()
};

static struct domain nameless = { .owner = OP_OWNER(OP_ITT, 0) };

enum made { // of what is in `texts`
	DOMAIN,
	ITT_DOMAIN,
	ITT_STRING
};

static uint64_t text_key(enum made kind, const char *text)
{
	return hash_pair(hash_bytes(text, strnlen(text, PROTOCOL_NAME_TEXT)), kind + 1) | 1;
}

static bool is_called(const char *known, const char *text)
{
	return known && strncmp(known, text, PROTOCOL_NAME_TEXT) == 0;
}

// Each binary may have made a domain of that name.
static struct domain *add_domain(const char *text)
{
	const struct domain *known = table_get(&texts, text_key(DOMAIN, text));

	if (known && is_called(known->text, text))
		return (struct domain *)known;
	struct domain *d = store_take(sizeof(*d));
	if (!d || !(d->text = store_text(text, PROTOCOL_NAME_TEXT)))
		return &nameless;
	d->owner = OP_OWNER(OP_ITT, __atomic_add_fetch(&domain_count, 1, __ATOMIC_RELAXED));
	table_put(&texts, text_key(DOMAIN, text), d);
	return d;
}

// A library that is unloaded frees its domains, and others may come to lie there.
static struct domain *domain_of(const struct itt_domain *d)
{
	if (d && d->reserved == MADE)
		return d->reserved_pointer;
	if (!d || !d->name)
		return &nameless;
	const struct domain *known = table_get(&domains, (uintptr_t)d);
	if (known && is_called(known->text, d->name))
		return (struct domain *)known;
	known = add_domain(d->name);
	table_put(&domains, (uintptr_t)d, known);
	return (struct domain *)known;
}

static uint32_t domain_name(struct op_thread *t, struct domain *d)
{
	uint64_t known = __atomic_load_n(&d->named, __ATOMIC_RELAXED);

	if (!d->text)
		return 0;
	if (known >> 32 == t->generation && (uint32_t)known)
		return (uint32_t)known;
	uint32_t id = op_name(t, OP_ITT, 0, d->text);
	__atomic_store_n(&d->named, (uint64_t)t->generation << 32 | id, __ATOMIC_RELAXED);
	return id;
}

static uint32_t name_of(struct op_thread *t, struct domain *d, const char *text)
{
	return op_name(t, OP_ITT, domain_name(t, d), text ? text : UNNAMED);
}

// KIND is the category, by which one sees what such a mark or range is.
static uint32_t name_of_kind(struct op_thread *t, struct domain *d, const char *text,
                             const char *kind)
{
	struct name name = { .provider = OP_ITT,
		             .domain = domain_name(t, d),
		             .category = op_name(t, OP_ITT, 0, kind),
		             .text = text ? text : UNNAMED };

	return op_name_in(t, &name);
}

static const char *text_of(const struct itt_string *s)
{
	return s ? s->text : NULL;
}

// The process, the domain and the name there, in one word. An id is the place in 4 MB by 8.
static uint64_t pack(const struct op_thread *t, const struct domain *d, uint32_t id)
{
	return (uint64_t)t->generation << 44 | (uint64_t)(d->owner & 0xffffff) << 20 | id;
}

static uint32_t name_string(struct op_thread *t, struct domain *d, const struct itt_string *s)
{
	struct made_string *made = (struct made_string *)s;
	uint32_t id;

	if (!s || s->reserved != MADE)
		return name_of(t, d, text_of(s));
	uint64_t known = __atomic_load_n(&made->named, __ATOMIC_RELAXED);
	id = known & 0xfffff;
	if (id && known == pack(t, d, id))
		return id;
	id = name_of(t, d, s->text);
	__atomic_store_n(&made->named, pack(t, d, id), __ATOMIC_RELAXED);
	return id;
}

/*
 * Domains and strings. Most programs could make them themselves; some of 2018 get one domain
 * without a name for all if the collector does not.
 */

typedef struct itt_domain *domain_create(const char *name);
static struct itt_domain *hook_domain_create(const char *name)
{
	domain_create *forward = THEIRS(domain_create, DOMAIN_CREATE);

	if (forward || !name)
		return forward ? forward(name) : NULL;
	const struct itt_domain *known = table_get(&texts, text_key(ITT_DOMAIN, name));
	if (known && is_called(known->name, name))
		return (struct itt_domain *)known;
	struct itt_domain *d = store_take(sizeof(*d));
	if (!d)
		return NULL;
	d->flags = 1;
	d->name = store_text(name, PROTOCOL_NAME_TEXT);
	d->reserved_pointer = add_domain(name);
	d->reserved = MADE;
	table_put(&texts, text_key(ITT_DOMAIN, name), d);
	return d;
}

typedef struct itt_string *string_create(const char *text);
static struct itt_string *hook_string_create(const char *text)
{
	string_create *forward = THEIRS(string_create, STRING_CREATE);

	if (forward || !text)
		return forward ? forward(text) : NULL;
	const struct itt_string *known = table_get(&texts, text_key(ITT_STRING, text));
	if (known && is_called(known->text, text))
		return (struct itt_string *)known;
	struct made_string *made = store_take(sizeof(*made));
	if (!made)
		return NULL;
	made->seen.text = store_text(text, PROTOCOL_NAME_TEXT);
	made->seen.reserved = MADE;
	table_put(&texts, text_key(ITT_STRING, text), made);
	return &made->seen;
}

/* Tasks. */

static void begin(const struct itt_domain *domain, const struct itt_string *name,
                  struct op_here here)
{
	struct op_thread *t = op_enter();

	if (!t)
		return;
	struct domain *d = domain_of(domain);
	op_begin_in(t, d->owner, name_string(t, d, name), here, NULL);
	op_leave(t);
}

static void end(const struct itt_domain *domain)
{
	struct op_thread *t = op_enter();

	if (!t)
		return;
	op_end_in(t, domain_of(domain)->owner);
	op_leave(t);
}

static size_t append(char *to, size_t at, const char *text, size_t length)
{
	size_t room = TEXT_MAX - 1 - at;

	memcpy(to + at, text, length < room ? length : room);
	return at + (length < room ? length : room);
}

// "libfoo.so+0x1234"
static const char *describe(char *text, const Dl_info *info, uintptr_t function)
{
	const char *slash = strrchr(info->dli_fname, '/');
	const char *file = slash ? slash + 1 : info->dli_fname;
	char digits[16], *first = digits + sizeof(digits);
	uintptr_t at = function - (uintptr_t)info->dli_fbase;
	size_t length = append(text, 0, file, strnlen(file, TEXT_MAX / 2));

	do
		*--first = "0123456789abcdef"[at % 16];
	while (at /= 16);
	length = append(text, length, "+0x", 3);
	length = append(text, length, first, (size_t)(digits + sizeof(digits) - first));
	text[length] = '\0';
	return text;
}

// The function that a task is: its symbol if it is exported, else where it lies in its file. It is
// looked up once.
static const char *name_function(const void *function)
{
	const char *known = table_get(&functions, (uintptr_t)function);
	char text[TEXT_MAX];
	Dl_info info;

	if (known || !dladdr(function, &info))
		return known;
	if (info.dli_sname && info.dli_saddr == function)
		known = store_text(info.dli_sname, PROTOCOL_NAME_TEXT);
	else if (info.dli_fname)
		known = store_text(describe(text, &info, (uintptr_t)function), TEXT_MAX);
	if (known)
		table_put(&functions, (uintptr_t)function, known);
	return known;
}

typedef void task_begin(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
                        const struct itt_string *name);
static void hook_task_begin(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
                            const struct itt_string *name)
{
	task_begin *forward = THEIRS(task_begin, TASK_BEGIN);

	begin(domain, name, OP_HERE());
	if (unlikely(forward))
		forward(domain, id, parent, name);
}

typedef void task_begin_fn(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
                           void *function);
static void hook_task_begin_fn(const struct itt_domain *domain, struct itt_id id,
                               struct itt_id parent, void *function)
{
	task_begin_fn *forward = THEIRS(task_begin_fn, TASK_BEGIN_FN);

	begin(domain, &(struct itt_string){ .text = name_function(function) }, OP_HERE());
	if (unlikely(forward))
		forward(domain, id, parent, function);
}

typedef void task_end(const struct itt_domain *domain);
static void hook_task_end(const struct itt_domain *domain)
{
	task_end *forward = THEIRS(task_end, TASK_END);

	end(domain);
	if (unlikely(forward))
		forward(domain);
}

// Only what is told as it happens can be placed: a clock of the program's own we do not know.
static bool is_now(const void *clock, uint64_t time)
{
	return !clock && (time == 0 || time == ITT_TIME_NONE);
}

typedef void task_begin_ex(const struct itt_domain *domain, void *clock, unsigned long long time,
                           struct itt_id id, struct itt_id parent, const struct itt_string *name);
static void hook_task_begin_ex(const struct itt_domain *domain, void *clock,
                               unsigned long long time, struct itt_id id, struct itt_id parent,
                               const struct itt_string *name)
{
	task_begin_ex *forward = THEIRS(task_begin_ex, TASK_BEGIN_EX);

	if (is_now(clock, time))
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
	task_begin_fn_ex *forward = THEIRS(task_begin_fn_ex, TASK_BEGIN_FN_EX);

	if (is_now(clock, time))
		begin(domain, &(struct itt_string){ .text = name_function(function) }, OP_HERE());
	if (unlikely(forward))
		forward(domain, clock, time, id, parent, function);
}

typedef void task_end_ex(const struct itt_domain *domain, void *clock, unsigned long long time);
static void hook_task_end_ex(const struct itt_domain *domain, void *clock, unsigned long long time)
{
	task_end_ex *forward = THEIRS(task_end_ex, TASK_END_EX);

	if (is_now(clock, time))
		end(domain);
	if (unlikely(forward))
		forward(domain, clock, time);
}

/* Ranges: known by their ids in a domain. */

static uint64_t range_key(const struct domain *d, enum hook kind, const struct itt_id *id)
{
	uint64_t key = hash_pair(hash_pair(id->address, id->number), d->owner) + kind;

	return key + 2 > 2 ? key : kind; // two numbers are no keys
}

static void start(const struct itt_domain *domain, enum hook kind, const struct itt_id *id,
                  const char *text, const char *category, struct op_here here)
{
	struct op_thread *t = op_enter();

	if (!t)
		return;
	struct domain *d = domain_of(domain);
	uint32_t name = category ? name_of_kind(t, d, text ? text : category, category)
	                         : name_of(t, d, text);
	ranges_put(&ranges, range_key(d, kind, id), t, op_range_begin(t, name, here, NULL));
	op_leave(t);
}

static void stop(const struct itt_domain *domain, enum hook kind, const struct itt_id *id)
{
	struct op_thread *t = op_enter();
	struct op_range range;

	if (!t)
		return;
	if (ranges_take(&ranges, range_key(domain_of(domain), kind, id), t, &range))
		op_range_end(t, range);
	op_leave(t);
}

static void hook_task_begin_overlapped(const struct itt_domain *domain, struct itt_id id,
                                       struct itt_id parent, const struct itt_string *name)
{
	task_begin *forward = THEIRS(task_begin, TASK_BEGIN_OVERLAPPED);

	start(domain, TASK_BEGIN_OVERLAPPED, &id, text_of(name), NULL, OP_HERE());
	if (unlikely(forward))
		forward(domain, id, parent, name);
}

static void hook_task_begin_overlapped_ex(const struct itt_domain *domain, void *clock,
                                          unsigned long long time, struct itt_id id,
                                          struct itt_id parent, const struct itt_string *name)
{
	task_begin_ex *forward = THEIRS(task_begin_ex, TASK_BEGIN_OVERLAPPED_EX);

	if (is_now(clock, time))
		start(domain, TASK_BEGIN_OVERLAPPED, &id, text_of(name), NULL, OP_HERE());
	if (unlikely(forward))
		forward(domain, clock, time, id, parent, name);
}

typedef void end_by_id(const struct itt_domain *domain, struct itt_id id);
static void hook_task_end_overlapped(const struct itt_domain *domain, struct itt_id id)
{
	end_by_id *forward = THEIRS(end_by_id, TASK_END_OVERLAPPED);

	stop(domain, TASK_BEGIN_OVERLAPPED, &id);
	if (unlikely(forward))
		forward(domain, id);
}

typedef void end_by_id_ex(const struct itt_domain *domain, void *clock, unsigned long long time,
                          struct itt_id id);
static void hook_task_end_overlapped_ex(const struct itt_domain *domain, void *clock,
                                        unsigned long long time, struct itt_id id)
{
	end_by_id_ex *forward = THEIRS(end_by_id_ex, TASK_END_OVERLAPPED_EX);

	if (is_now(clock, time))
		stop(domain, TASK_BEGIN_OVERLAPPED, &id);
	if (unlikely(forward))
		forward(domain, clock, time, id);
}

static void hook_region_begin(const struct itt_domain *domain, struct itt_id id,
                              struct itt_id parent, const struct itt_string *name)
{
	task_begin *forward = THEIRS(task_begin, REGION_BEGIN);

	start(domain, REGION_BEGIN, &id, text_of(name), "region", OP_HERE());
	if (unlikely(forward))
		forward(domain, id, parent, name);
}

static void hook_region_end(const struct itt_domain *domain, struct itt_id id)
{
	end_by_id *forward = THEIRS(end_by_id, REGION_END);

	stop(domain, REGION_BEGIN, &id);
	if (unlikely(forward))
		forward(domain, id);
}

// A frame has no name: its domain is one. Without an id it is the domain's only one.
static const struct itt_id no_id;

typedef void frame_change(const struct itt_domain *domain, struct itt_id *id);
static void hook_frame_begin(const struct itt_domain *domain, struct itt_id *id)
{
	frame_change *forward = THEIRS(frame_change, FRAME_BEGIN);

	start(domain, FRAME_BEGIN, id ? id : &no_id, "frame", "frame", OP_HERE());
	if (unlikely(forward))
		forward(domain, id);
}

static void hook_frame_end(const struct itt_domain *domain, struct itt_id *id)
{
	frame_change *forward = THEIRS(frame_change, FRAME_END);

	stop(domain, FRAME_BEGIN, id ? id : &no_id);
	if (unlikely(forward))
		forward(domain, id);
}

// It is over already; the times are those of our hook_get_timestamp().
static void count_frame(const struct itt_domain *domain, uint64_t begin_ns, uint64_t end_ns)
{
	struct op_thread *t = op_enter();

	if (!t)
		return;
	if (end_ns == ITT_TIME_NONE)
		end_ns = clock_now_ns();
	if (begin_ns <= end_ns)
		op_count(t, name_of_kind(t, domain_of(domain), "frame", "frame"),
		         end_ns - begin_ns);
	op_leave(t);
}

typedef void frame_submit(const struct itt_domain *domain, struct itt_id *id,
                          unsigned long long begin, unsigned long long end);
static void hook_frame_submit(const struct itt_domain *domain, struct itt_id *id,
                              unsigned long long begin_time, unsigned long long end_time)
{
	frame_submit *forward = THEIRS(frame_submit, FRAME_SUBMIT);

	// With a collector that has a clock of its own we cannot tell.
	if (!THEIRS(itt_function, GET_TIMESTAMP))
		count_frame(domain, begin_time, end_time);
	if (unlikely(forward))
		forward(domain, id, begin_time, end_time);
}

/* Marks. */

static void mark(const struct itt_domain *domain, const char *text, const char *kind,
                 struct op_here here, const struct op_details *details)
{
	struct op_thread *t = op_enter();

	if (!t)
		return;
	struct domain *d = domain_of(domain);
	op_mark(t, kind ? name_of_kind(t, d, text, kind) : name_of(t, d, text), here, details);
	op_leave(t);
}

typedef void marker(const struct itt_domain *domain, struct itt_id id,
                    const struct itt_string *name, int scope);
static void hook_marker(const struct itt_domain *domain, struct itt_id id,
                        const struct itt_string *name, int scope)
{
	marker *forward = THEIRS(marker, MARKER);

	mark(domain, text_of(name), NULL, OP_HERE(), NULL);
	if (unlikely(forward))
		forward(domain, id, name, scope);
}

typedef void marker_ex(const struct itt_domain *domain, void *clock, unsigned long long time,
                       struct itt_id id, const struct itt_string *name, int scope);
static void hook_marker_ex(const struct itt_domain *domain, void *clock, unsigned long long time,
                           struct itt_id id, const struct itt_string *name, int scope)
{
	marker_ex *forward = THEIRS(marker_ex, MARKER_EX);

	if (is_now(clock, time))
		mark(domain, text_of(name), NULL, OP_HERE(), NULL);
	if (unlikely(forward))
		forward(domain, clock, time, id, name, scope);
}

static const struct value_type {
	uint16_t bytes, detail;
} value_types[] = {
	[ITT_U64] = { 8, OP_DETAIL_UNSIGNED }, [ITT_S64] = { 8, OP_DETAIL_SIGNED },
	[ITT_U32] = { 4, OP_DETAIL_UNSIGNED }, [ITT_S32] = { 4, OP_DETAIL_SIGNED },
	[ITT_U16] = { 2, OP_DETAIL_UNSIGNED }, [ITT_S16] = { 2, OP_DETAIL_SIGNED },
	[ITT_FLOAT] = { 4, OP_DETAIL_DOUBLE }, [ITT_DOUBLE] = { 8, OP_DETAIL_DOUBLE },
};

static uint64_t load(const char *at, struct value_type type)
{
	int unused = 64 - 8 * type.bytes;
	uint64_t value = 0;
	float narrow;
	double real;

	memcpy(&value, at, type.bytes);
	if (type.detail == OP_DETAIL_SIGNED)
		return (uint64_t)((int64_t)(value << unused) >> unused);
	if (type.detail != OP_DETAIL_DOUBLE || type.bytes == 8)
		return value;
	memcpy(&narrow, at, sizeof(narrow));
	real = (double)narrow;
	memcpy(&value, &real, sizeof(value));
	return value;
}

static void add_values(const struct itt_domain *domain, const char *key, int type, size_t count,
                       const char *data, struct op_here here)
{
	uint64_t values[OP_DETAILS_MAX];
	struct op_details details = { OP_DETAIL_NONE, 0, values };

	if (!data || type < ITT_U64 || type > ITT_DOUBLE)
		return;
	details.kind = value_types[type].detail;
	for (size_t i = 0; i < count && i < OP_DETAILS_MAX; i++, details.count++)
		values[i] = load(data + i * value_types[type].bytes, value_types[type]);
	mark(domain, key, "metadata", here, &details);
}

typedef void metadata_add(const struct itt_domain *domain, struct itt_id id,
                          const struct itt_string *key, int type, size_t count, void *data);
static void hook_metadata_add(const struct itt_domain *domain, struct itt_id id,
                              const struct itt_string *key, int type, size_t count, void *data)
{
	metadata_add *forward = THEIRS(metadata_add, METADATA_ADD);

	add_values(domain, text_of(key), type, count, data, OP_HERE());
	if (unlikely(forward))
		forward(domain, id, key, type, count, data);
}

// "KEY: TEXT", until there are too many of them; then only "KEY". LENGTH 0: up to the NUL.
static void add_text(const struct itt_domain *domain, const char *key, const char *text,
                     size_t length, struct op_here here)
{
	char all[TEXT_MAX];
	size_t at = 0;

	if (!key || !text)
		return;
	at = append(all, at, key, strlen(key));
	if (__atomic_load_n(&metadata_count, __ATOMIC_RELAXED) < METADATA_TEXTS) {
		__atomic_add_fetch(&metadata_count, 1, __ATOMIC_RELAXED);
		at = append(all, at, ": ", 2);
		at = append(all, at, text, strnlen(text, length ? length : TEXT_MAX));
	}
	all[at] = '\0';
	mark(domain, all, "metadata", here, NULL);
}

typedef void metadata_text_add(const struct itt_domain *domain, struct itt_id id,
                               const struct itt_string *key, const char *text, size_t length);
static void hook_metadata_text_add(const struct itt_domain *domain, struct itt_id id,
                                   const struct itt_string *key, const char *text, size_t length)
{
	metadata_text_add *forward = THEIRS(metadata_text_add, METADATA_TEXT_ADD);

	add_text(domain, text_of(key), text, length, OP_HERE());
	if (unlikely(forward))
		forward(domain, id, key, text, length);
}

/* Counters: what each is after a change is a mark's value. */

static void tell_counter(struct itt_counter *c, uint16_t kind, uint64_t value, struct op_here here)
{
	struct op_details details = { kind, 1, &value };
	struct op_thread *t = op_enter();

	if (!t)
		return;
	struct domain *d = c->domain ? add_domain(c->domain) : &nameless;
	op_mark(t, name_of_kind(t, d, c->name, OP_COUNTER), here, &details);
	op_leave(t);
}

// More may be taken away than is there: it has a sign then.
static void change(struct itt_counter *c, uint64_t delta, struct op_here here)
{
	if (!c || value_types[c->type].detail == OP_DETAIL_DOUBLE)
		return;
	uint64_t value = itt_counter_add(c, delta);
	tell_counter(c, (int64_t)value < 0 ? OP_DETAIL_SIGNED : value_types[c->type].detail, value,
	             here);
}

static void set(struct itt_counter *c, const void *value, struct op_here here)
{
	if (!c || !value)
		return;
	uint64_t now = load(value, value_types[c->type]);
	__atomic_store_n(&c->value, now, __ATOMIC_RELAXED);
	tell_counter(c, value_types[c->type].detail, now, here);
}

static struct itt_counter *counter_in(const struct itt_domain *domain, const struct itt_string *s)
{
	return itt_counter_called(domain_of(domain)->text, s && s->text ? s->text : UNNAMED,
	                          ITT_U64);
}

// What the program gets is the other collector's, if there is one.
static void *make_counter(const char *name, const char *domain, int type, bool forwarded,
                          void *handle)
{
	struct itt_counter *c = name ? itt_counter_called(domain, name, type) : NULL;

	if (!forwarded)
		return c;
	if (c)
		itt_counter_alias(handle, c);
	return handle;
}

typedef void *counter_create(const char *name, const char *domain);
static void *hook_counter_create(const char *name, const char *domain)
{
	counter_create *forward = THEIRS(counter_create, COUNTER_CREATE);

	return make_counter(name, domain, ITT_U64, forward, forward ? forward(name, domain) : NULL);
}

typedef void *counter_create_typed(const char *name, const char *domain, int type);
static void *hook_counter_create_typed(const char *name, const char *domain, int type)
{
	counter_create_typed *forward = THEIRS(counter_create_typed, COUNTER_CREATE_TYPED);

	return make_counter(name, domain, type, forward,
	                    forward ? forward(name, domain, type) : NULL);
}

typedef void *counter_create_v3(const struct itt_domain *domain, const char *name, int type);
static void *hook_counter_create_v3(const struct itt_domain *domain, const char *name, int type)
{
	counter_create_v3 *forward = THEIRS(counter_create_v3, COUNTER_CREATE_V3);

	return make_counter(name, domain_of(domain)->text, type, forward,
	                    forward ? forward(domain, name, type) : NULL);
}

typedef void counter_step(void *id);
#define COUNTER_STEP(function, hook, sign)                                                         \
	static void function(void *id)                                                             \
	{                                                                                          \
		counter_step *forward = THEIRS(counter_step, hook);                                \
                                                                                                   \
		change(itt_counter_of(id), (uint64_t)(sign), OP_HERE());                           \
		if (unlikely(forward))                                                             \
			forward(id);                                                               \
	}
COUNTER_STEP(hook_counter_inc, COUNTER_INC, 1)
COUNTER_STEP(hook_counter_dec, COUNTER_DEC, -1)

typedef void counter_delta(void *id, unsigned long long delta);
#define COUNTER_DELTA(function, hook, sign)                                                        \
	static void function(void *id, unsigned long long delta)                                   \
	{                                                                                          \
		counter_delta *forward = THEIRS(counter_delta, hook);                              \
                                                                                                   \
		change(itt_counter_of(id), (uint64_t)(sign)*delta, OP_HERE());                     \
		if (unlikely(forward))                                                             \
			forward(id, delta);                                                        \
	}
COUNTER_DELTA(hook_counter_inc_delta, COUNTER_INC_DELTA, 1)
COUNTER_DELTA(hook_counter_dec_delta, COUNTER_DEC_DELTA, -1)

typedef void counter_step_v3(const struct itt_domain *domain, const struct itt_string *name);
#define COUNTER_STEP_V3(function, hook, sign)                                                      \
	static void function(const struct itt_domain *domain, const struct itt_string *name)       \
	{                                                                                          \
		counter_step_v3 *forward = THEIRS(counter_step_v3, hook);                          \
                                                                                                   \
		change(counter_in(domain, name), (uint64_t)(sign), OP_HERE());                     \
		if (unlikely(forward))                                                             \
			forward(domain, name);                                                     \
	}
COUNTER_STEP_V3(hook_counter_inc_v3, COUNTER_INC_V3, 1)
COUNTER_STEP_V3(hook_counter_dec_v3, COUNTER_DEC_V3, -1)

typedef void counter_delta_v3(const struct itt_domain *domain, const struct itt_string *name,
                              unsigned long long delta);
#define COUNTER_DELTA_V3(function, hook, sign)                                                     \
	static void function(const struct itt_domain *domain, const struct itt_string *name,       \
	                     unsigned long long delta)                                             \
	{                                                                                          \
		counter_delta_v3 *forward = THEIRS(counter_delta_v3, hook);                        \
                                                                                                   \
		change(counter_in(domain, name), (uint64_t)(sign)*delta, OP_HERE());               \
		if (unlikely(forward))                                                             \
			forward(domain, name, delta);                                              \
	}
COUNTER_DELTA_V3(hook_counter_inc_delta_v3, COUNTER_INC_DELTA_V3, 1)
COUNTER_DELTA_V3(hook_counter_dec_delta_v3, COUNTER_DEC_DELTA_V3, -1)

typedef void counter_set(void *id, void *value);
static void hook_counter_set(void *id, void *value)
{
	counter_set *forward = THEIRS(counter_set, COUNTER_SET);

	set(itt_counter_of(id), value, OP_HERE());
	if (unlikely(forward))
		forward(id, value);
}

static void hook_counter_set_v3(void *id, void *value)
{
	counter_set *forward = THEIRS(counter_set, COUNTER_SET_V3);

	set(itt_counter_of(id), value, OP_HERE());
	if (unlikely(forward))
		forward(id, value);
}

typedef void counter_set_ex(void *id, void *clock, unsigned long long time, void *value);
static void hook_counter_set_ex(void *id, void *clock, unsigned long long time, void *value)
{
	counter_set_ex *forward = THEIRS(counter_set_ex, COUNTER_SET_EX);

	if (is_now(clock, time))
		set(itt_counter_of(id), value, OP_HERE());
	if (unlikely(forward))
		forward(id, clock, time, value);
}

/* Events: each nests by itself. */

#define EVENT_OWNER(e) OP_OWNER(OP_ITT, 0x800000 | ((e)->number & 0x7fffff))

typedef int event_create(const char *name, int length);
static int hook_event_create(const char *name, int length)
{
	event_create *forward = THEIRS(event_create, EVENT_CREATE);
	int event = forward ? forward(name, length) : 0;
	char text[PROTOCOL_NAME_TEXT] = "";
	size_t size = name && length > 0 ? strnlen(name, (size_t)length) : 0;

	memcpy(text, name, size < sizeof(text) ? size : sizeof(text) - 1);
	int number = itt_event_called(size ? text : UNNAMED);
	if (forward)
		itt_event_alias(event, number);
	return forward ? event : number;
}

static void start_event(const struct itt_event *e, struct op_here here)
{
	struct op_thread *t = e ? op_enter() : NULL;

	if (!t)
		return;
	op_begin_in(t, EVENT_OWNER(e), name_of_kind(t, &nameless, e->name, "event"), here, NULL);
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
	event_change *forward = THEIRS(event_change, EVENT_START);

	start_event(itt_event_of(event), OP_HERE());
	return unlikely(forward) ? forward(event) : 0;
}

static int hook_event_end(int event)
{
	event_change *forward = THEIRS(event_change, EVENT_END);

	end_event(itt_event_of(event));
	return unlikely(forward) ? forward(event) : 0;
}

/* From pause to resume, whichever thread calls them. */

static uint32_t paused; // atomic

typedef void nothing(void);
static void hook_pause(void)
{
	nothing *forward = THEIRS(nothing, PAUSE);

	if (!__atomic_exchange_n(&paused, 1, __ATOMIC_ACQ_REL))
		start(NULL, PAUSE, &no_id, OP_PAUSED, NULL, OP_HERE());
	if (unlikely(forward))
		forward();
}

static void hook_resume(void)
{
	nothing *forward = THEIRS(nothing, RESUME);

	if (__atomic_exchange_n(&paused, 0, __ATOMIC_ACQ_REL))
		stop(NULL, PAUSE, &no_id);
	if (unlikely(forward))
		forward();
}

/* Threads, clock, version. */

static void name_thread(const char *text)
{
	struct op_thread *t = text ? op_enter() : NULL;

	if (!t)
		return;
	op_thread_name(t, t->tid, text);
	op_leave(t);
}

typedef void thread_set_name(const char *text);
static void hook_thread_set_name(const char *text)
{
	thread_set_name *forward = THEIRS(thread_set_name, THREAD_SET_NAME);

	name_thread(text);
	if (unlikely(forward))
		forward(text);
}

typedef int thread_set_name_old(const char *text, int length);
static int hook_thread_set_name_old(const char *text, int length)
{
	thread_set_name_old *forward = THEIRS(thread_set_name_old, THREAD_SET_NAME_OLD);

	name_thread(text);
	return unlikely(forward) ? forward(text, length) : 0;
}

typedef unsigned long long get_timestamp(void);
static unsigned long long hook_get_timestamp(void)
{
	get_timestamp *forward = THEIRS(get_timestamp, GET_TIMESTAMP);

	return unlikely(forward) ? forward() : clock_now_ns();
}

typedef const char *api_version(void);
static const char *hook_api_version(void)
{
	api_version *forward = THEIRS(api_version, API_VERSION);

	return unlikely(forward) ? forward() : VERSION;
}

/* How we get in. */

#define HOOK(function) ((itt_function *)(function))

static const struct {
	const char *name;
	itt_function *function;
} hooks[HOOKS] = {
	[DOMAIN_CREATE] = { "__itt_domain_create", HOOK(hook_domain_create) },
	[STRING_CREATE] = { "__itt_string_handle_create", HOOK(hook_string_create) },
	[TASK_BEGIN] = { "__itt_task_begin", HOOK(hook_task_begin) },
	[TASK_BEGIN_FN] = { "__itt_task_begin_fn", HOOK(hook_task_begin_fn) },
	[TASK_END] = { "__itt_task_end", HOOK(hook_task_end) },
	[TASK_BEGIN_EX] = { "__itt_task_begin_ex", HOOK(hook_task_begin_ex) },
	[TASK_BEGIN_FN_EX] = { "__itt_task_begin_fn_ex", HOOK(hook_task_begin_fn_ex) },
	[TASK_END_EX] = { "__itt_task_end_ex", HOOK(hook_task_end_ex) },
	[TASK_BEGIN_OVERLAPPED] = { "__itt_task_begin_overlapped",
	                            HOOK(hook_task_begin_overlapped) },
	[TASK_BEGIN_OVERLAPPED_EX] = { "__itt_task_begin_overlapped_ex",
	                               HOOK(hook_task_begin_overlapped_ex) },
	[TASK_END_OVERLAPPED] = { "__itt_task_end_overlapped", HOOK(hook_task_end_overlapped) },
	[TASK_END_OVERLAPPED_EX] = { "__itt_task_end_overlapped_ex",
	                             HOOK(hook_task_end_overlapped_ex) },
	[REGION_BEGIN] = { "__itt_region_begin", HOOK(hook_region_begin) },
	[REGION_END] = { "__itt_region_end", HOOK(hook_region_end) },
	[FRAME_BEGIN] = { "__itt_frame_begin_v3", HOOK(hook_frame_begin) },
	[FRAME_END] = { "__itt_frame_end_v3", HOOK(hook_frame_end) },
	[FRAME_SUBMIT] = { "__itt_frame_submit_v3", HOOK(hook_frame_submit) },
	[MARKER] = { "__itt_marker", HOOK(hook_marker) },
	[MARKER_EX] = { "__itt_marker_ex", HOOK(hook_marker_ex) },
	[METADATA_ADD] = { "__itt_metadata_add", HOOK(hook_metadata_add) },
	[METADATA_TEXT_ADD] = { "__itt_metadata_str_add", HOOK(hook_metadata_text_add) },
	[THREAD_SET_NAME] = { "__itt_thread_set_name", HOOK(hook_thread_set_name) },
	[THREAD_SET_NAME_OLD] = { "__itt_thr_name_set", HOOK(hook_thread_set_name_old) },
	[COUNTER_CREATE] = { "__itt_counter_create", HOOK(hook_counter_create) },
	[COUNTER_CREATE_TYPED] = { "__itt_counter_create_typed", HOOK(hook_counter_create_typed) },
	[COUNTER_CREATE_V3] = { "__itt_counter_create_v3", HOOK(hook_counter_create_v3) },
	[COUNTER_INC] = { "__itt_counter_inc", HOOK(hook_counter_inc) },
	[COUNTER_INC_DELTA] = { "__itt_counter_inc_delta", HOOK(hook_counter_inc_delta) },
	[COUNTER_DEC] = { "__itt_counter_dec", HOOK(hook_counter_dec) },
	[COUNTER_DEC_DELTA] = { "__itt_counter_dec_delta", HOOK(hook_counter_dec_delta) },
	[COUNTER_INC_V3] = { "__itt_counter_inc_v3", HOOK(hook_counter_inc_v3) },
	[COUNTER_INC_DELTA_V3] = { "__itt_counter_inc_delta_v3", HOOK(hook_counter_inc_delta_v3) },
	[COUNTER_DEC_V3] = { "__itt_counter_dec_v3", HOOK(hook_counter_dec_v3) },
	[COUNTER_DEC_DELTA_V3] = { "__itt_counter_dec_delta_v3", HOOK(hook_counter_dec_delta_v3) },
	[COUNTER_SET] = { "__itt_counter_set_value", HOOK(hook_counter_set) },
	[COUNTER_SET_EX] = { "__itt_counter_set_value_ex", HOOK(hook_counter_set_ex) },
	[COUNTER_SET_V3] = { "__itt_counter_set_value_v3", HOOK(hook_counter_set_v3) },
	[EVENT_CREATE] = { "__itt_event_create", HOOK(hook_event_create) },
	[EVENT_START] = { "__itt_event_start", HOOK(hook_event_start) },
	[EVENT_END] = { "__itt_event_end", HOOK(hook_event_end) },
	[PAUSE] = { "__itt_pause", HOOK(hook_pause) },
	[RESUME] = { "__itt_resume", HOOK(hook_resume) },
	[GET_TIMESTAMP] = { "__itt_get_timestamp", HOOK(hook_get_timestamp) },
	[API_VERSION] = { "__itt_api_version", HOOK(hook_api_version) },
};

static int hook_called(const char *name)
{
	for (int i = 0; i < HOOKS; i++)
		if (strcmp(hooks[i].name, name) == 0)
			return i;
	return -1;
}

static bool is_known(const struct itt_global *g)
{
	static const uint8_t magic[] = ITT_MAGIC;

	return g && memcmp(g->magic, magic, sizeof(magic)) == 0 && g->major == ITT_MAJOR &&
	       g->build > ITT_BUILD_OLD && g->list;
}

typedef void api_init(struct itt_global *g, int groups);
// NOLINTNEXTLINE(bugprone-reserved-identifier): the name is the API's
EXPORT void __itt_api_init(struct itt_global *g, int groups);

// Their collector finds its functions by the library that the program's part knows.
static bool initialize_theirs(struct itt_global *g, int groups)
{
	static void *library;
	static bool asked;

	chain_lock();
	if (!asked) {
		asked = true;
		library = chain_open(PROTOCOL_ENV_ITT_CHAIN, "INTEL_LIBITTNOTIFY64");
	}
	chain_unlock();
	api_init *init = (api_init *)chain_find(library, "__itt_api_init", (void *)__itt_api_init);
	if (!init)
		return false;
	g->library = library;
	init(g, groups);
	return true;
}

static void clear_list(const struct itt_global *g)
{
	for (struct itt_entry *e = g->list; e->name; e++)
		*e->function = e->absent;
}

static void install(const struct itt_global *g)
{
	for (struct itt_entry *e = g->list; e->name; e++) {
		int hook = hook_called(e->name);
		itt_function *there = *e->function;
		if (hook < 0)
			continue;
		if (there && there != e->initial && there != e->absent &&
		    there != hooks[hook].function)
			__atomic_store_n(&theirs[hook], there, __ATOMIC_RELEASE);
		*e->function = hooks[hook].function;
	}
}

void __itt_api_init(struct itt_global *g, int groups)
{
	wrap_start();
	if (!is_known(g))
		return;
	if (!initialize_theirs(g, groups))
		clear_list(g);
	if (op_is_on(OP_ITT))
		install(g);
}

// SPDX-License-Identifier: MIT
// Markers, and metadata: a mark within the task.
#include "tracer/agent/itt/itt_hooks.h"
#include "tracer/agent/itt/itt_object.h"
#include "tracer/agent/itt/itt_value.h"

#include <string.h>

#define unlikely(x)    __builtin_expect(!!(x), 0)
#define METADATA_TEXTS 1000 // distinct ones; each is a name

static uint32_t metadata_count; // atomic

static void mark(const struct itt_domain *domain, const char *text, const char *kind,
                 struct op_here here, const struct op_details *details)
{
	struct op_thread *t = op_enter();

	if (!t)
		return;
	struct itt_owner *d = itt_owner_of(domain);
	op_mark(t, kind ? itt_name_of_kind(t, d, text, kind) : itt_name(t, d, text), here, details);
	op_leave(t);
}

typedef void marker(const struct itt_domain *domain, struct itt_id id,
                    const struct itt_string *name, int scope);
static void hook_marker(const struct itt_domain *domain, struct itt_id id,
                        const struct itt_string *name, int scope)
{
	marker *forward = ITT_THEIRS(marker, MARKER);

	mark(domain, itt_text(name), NULL, OP_HERE(), NULL);
	if (unlikely(forward))
		forward(domain, id, name, scope);
}

typedef void marker_ex(const struct itt_domain *domain, void *clock, unsigned long long time,
                       struct itt_id id, const struct itt_string *name, int scope);
static void hook_marker_ex(const struct itt_domain *domain, void *clock, unsigned long long time,
                           struct itt_id id, const struct itt_string *name, int scope)
{
	marker_ex *forward = ITT_THEIRS(marker_ex, MARKER_EX);

	if (itt_is_now(clock, time))
		mark(domain, itt_text(name), NULL, OP_HERE(), NULL);
	if (unlikely(forward))
		forward(domain, clock, time, id, name, scope);
}

static void add_values(const struct itt_domain *domain, const char *key, int type, size_t count,
                       const char *data, struct op_here here)
{
	uint64_t values[OP_DETAILS_MAX];
	struct op_details details = { OP_DETAIL_NONE, 0, values };

	if (!data || type < ITT_U64 || type > ITT_DOUBLE)
		return;
	details.kind = itt_value_types[type].detail;
	for (size_t i = 0; i < count && i < OP_DETAILS_MAX; i++, details.count++)
		values[i] =
			itt_value(data + i * itt_value_types[type].bytes, itt_value_types[type]);
	mark(domain, key, "metadata", here, &details);
}

typedef void metadata_add(const struct itt_domain *domain, struct itt_id id,
                          const struct itt_string *key, int type, size_t count, void *data);
static void hook_metadata_add(const struct itt_domain *domain, struct itt_id id,
                              const struct itt_string *key, int type, size_t count, void *data)
{
	metadata_add *forward = ITT_THEIRS(metadata_add, METADATA_ADD);

	add_values(domain, itt_text(key), type, count, data, OP_HERE());
	if (unlikely(forward))
		forward(domain, id, key, type, count, data);
}

// "KEY: TEXT", until there are too many of them; then only "KEY". LENGTH 0: up to the NUL.
static void add_text(const struct itt_domain *domain, const char *key, const char *text,
                     size_t length, struct op_here here)
{
	char all[ITT_TEXT_MAX];
	size_t at = 0;

	if (!key || !text)
		return;
	at = itt_append(all, at, key, strlen(key));
	if (__atomic_load_n(&metadata_count, __ATOMIC_RELAXED) < METADATA_TEXTS) {
		__atomic_add_fetch(&metadata_count, 1, __ATOMIC_RELAXED);
		at = itt_append(all, at, ": ", 2);
		at = itt_append(all, at, text, strnlen(text, length ? length : ITT_TEXT_MAX));
	}
	all[at] = '\0';
	mark(domain, all, "metadata", here, NULL);
}

typedef void metadata_text_add(const struct itt_domain *domain, struct itt_id id,
                               const struct itt_string *key, const char *text, size_t length);
static void hook_metadata_text_add(const struct itt_domain *domain, struct itt_id id,
                                   const struct itt_string *key, const char *text, size_t length)
{
	metadata_text_add *forward = ITT_THEIRS(metadata_text_add, METADATA_TEXT_ADD);

	add_text(domain, itt_text(key), text, length, OP_HERE());
	if (unlikely(forward))
		forward(domain, id, key, text, length);
}

const struct itt_hook itt_mark_hooks[] = {
	ITT_HOOK(MARKER, "__itt_marker", hook_marker),
	ITT_HOOK(MARKER_EX, "__itt_marker_ex", hook_marker_ex),
	ITT_HOOK(METADATA_ADD, "__itt_metadata_add", hook_metadata_add),
	ITT_HOOK(METADATA_TEXT_ADD, "__itt_metadata_str_add", hook_metadata_text_add),
	{ 0 },
};

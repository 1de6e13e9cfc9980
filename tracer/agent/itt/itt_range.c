// SPDX-License-Identifier: MIT
// What has an id and may overlap: overlapped tasks, regions, frames; and the range "paused".
#include "base/clock.h"
#include "base/hash.h"
#include "tracer/agent/itt/itt_hooks.h"
#include "tracer/agent/itt/itt_object.h"
#include "tracer/agent/op/ranges.h"
#include "tracer/agent/table.h"

#define unlikely(x) __builtin_expect(!!(x), 0)

AGENT_TABLE static struct ranges ranges;

typedef void task_begin(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
                        const struct itt_string *name);
typedef void task_begin_ex(const struct itt_domain *domain, void *clock, unsigned long long time,
                           struct itt_id id, struct itt_id parent, const struct itt_string *name);

/* Ranges: known by their ids in a domain. */

static uint64_t range_key(const struct itt_owner *d, enum itt_hook_id kind, const struct itt_id *id)
{
	uint64_t key = hash_pair(hash_pair(id->address, id->number), d->owner) + kind;

	return key + 2 > 2 ? key : kind; // two numbers are no keys
}

static void start(const struct itt_domain *domain, enum itt_hook_id kind, const struct itt_id *id,
                  const char *text, const char *category, struct op_here here)
{
	struct op_thread *t = op_enter();

	if (!t)
		return;
	struct itt_owner *d = itt_owner_of(domain);
	uint32_t name = category ? itt_name_of_kind(t, d, text ? text : category, category)
	                         : itt_name(t, d, text);
	ranges_put(&ranges, range_key(d, kind, id), t, op_range_begin(t, name, here, NULL));
	op_leave(t);
}

static void stop(const struct itt_domain *domain, enum itt_hook_id kind, const struct itt_id *id)
{
	struct op_thread *t = op_enter();
	struct op_range range;

	if (!t)
		return;
	if (ranges_take(&ranges, range_key(itt_owner_of(domain), kind, id), t, &range))
		op_range_end(t, range);
	op_leave(t);
}

static void hook_task_begin_overlapped(const struct itt_domain *domain, struct itt_id id,
                                       struct itt_id parent, const struct itt_string *name)
{
	task_begin *forward = ITT_THEIRS(task_begin, TASK_BEGIN_OVERLAPPED);

	start(domain, ITT_HOOK_TASK_BEGIN_OVERLAPPED, &id, itt_text(name), NULL, OP_HERE());
	if (unlikely(forward))
		forward(domain, id, parent, name);
}

static void hook_task_begin_overlapped_ex(const struct itt_domain *domain, void *clock,
                                          unsigned long long time, struct itt_id id,
                                          struct itt_id parent, const struct itt_string *name)
{
	task_begin_ex *forward = ITT_THEIRS(task_begin_ex, TASK_BEGIN_OVERLAPPED_EX);

	if (itt_is_now(clock, time))
		start(domain, ITT_HOOK_TASK_BEGIN_OVERLAPPED, &id, itt_text(name), NULL, OP_HERE());
	if (unlikely(forward))
		forward(domain, clock, time, id, parent, name);
}

typedef void end_by_id(const struct itt_domain *domain, struct itt_id id);
static void hook_task_end_overlapped(const struct itt_domain *domain, struct itt_id id)
{
	end_by_id *forward = ITT_THEIRS(end_by_id, TASK_END_OVERLAPPED);

	stop(domain, ITT_HOOK_TASK_BEGIN_OVERLAPPED, &id);
	if (unlikely(forward))
		forward(domain, id);
}

typedef void end_by_id_ex(const struct itt_domain *domain, void *clock, unsigned long long time,
                          struct itt_id id);
static void hook_task_end_overlapped_ex(const struct itt_domain *domain, void *clock,
                                        unsigned long long time, struct itt_id id)
{
	end_by_id_ex *forward = ITT_THEIRS(end_by_id_ex, TASK_END_OVERLAPPED_EX);

	if (itt_is_now(clock, time))
		stop(domain, ITT_HOOK_TASK_BEGIN_OVERLAPPED, &id);
	if (unlikely(forward))
		forward(domain, clock, time, id);
}

static void hook_region_begin(const struct itt_domain *domain, struct itt_id id,
                              struct itt_id parent, const struct itt_string *name)
{
	task_begin *forward = ITT_THEIRS(task_begin, REGION_BEGIN);

	start(domain, ITT_HOOK_REGION_BEGIN, &id, itt_text(name), "region", OP_HERE());
	if (unlikely(forward))
		forward(domain, id, parent, name);
}

static void hook_region_end(const struct itt_domain *domain, struct itt_id id)
{
	end_by_id *forward = ITT_THEIRS(end_by_id, REGION_END);

	stop(domain, ITT_HOOK_REGION_BEGIN, &id);
	if (unlikely(forward))
		forward(domain, id);
}

// A frame has no name: its domain is one. Without an id it is the domain's only one.
static const struct itt_id no_id;

typedef void frame_change(const struct itt_domain *domain, struct itt_id *id);
static void hook_frame_begin(const struct itt_domain *domain, struct itt_id *id)
{
	frame_change *forward = ITT_THEIRS(frame_change, FRAME_BEGIN);

	start(domain, ITT_HOOK_FRAME_BEGIN, id ? id : &no_id, "frame", "frame", OP_HERE());
	if (unlikely(forward))
		forward(domain, id);
}

static void hook_frame_end(const struct itt_domain *domain, struct itt_id *id)
{
	frame_change *forward = ITT_THEIRS(frame_change, FRAME_END);

	stop(domain, ITT_HOOK_FRAME_BEGIN, id ? id : &no_id);
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
		op_count(t, itt_name_of_kind(t, itt_owner_of(domain), "frame", "frame"),
		         end_ns - begin_ns);
	op_leave(t);
}

typedef void frame_submit(const struct itt_domain *domain, struct itt_id *id,
                          unsigned long long begin, unsigned long long end);
static void hook_frame_submit(const struct itt_domain *domain, struct itt_id *id,
                              unsigned long long begin_time, unsigned long long end_time)
{
	frame_submit *forward = ITT_THEIRS(frame_submit, FRAME_SUBMIT);

	// With a collector that has a clock of its own we cannot tell.
	if (!ITT_THEIRS(itt_function, GET_TIMESTAMP))
		count_frame(domain, begin_time, end_time);
	if (unlikely(forward))
		forward(domain, id, begin_time, end_time);
}

/* From pause to resume, whichever thread calls them. */

static uint32_t paused; // atomic

typedef void nothing(void);
static void hook_pause(void)
{
	nothing *forward = ITT_THEIRS(nothing, PAUSE);

	if (!__atomic_exchange_n(&paused, 1, __ATOMIC_ACQ_REL))
		start(NULL, ITT_HOOK_PAUSE, &no_id, OP_PAUSED, NULL, OP_HERE());
	if (unlikely(forward))
		forward();
}

static void hook_resume(void)
{
	nothing *forward = ITT_THEIRS(nothing, RESUME);

	if (__atomic_exchange_n(&paused, 0, __ATOMIC_ACQ_REL))
		stop(NULL, ITT_HOOK_PAUSE, &no_id);
	if (unlikely(forward))
		forward();
}

const struct itt_hook itt_range_hooks[] = {
	ITT_HOOK(TASK_BEGIN_OVERLAPPED, "__itt_task_begin_overlapped", hook_task_begin_overlapped),
	ITT_HOOK(TASK_BEGIN_OVERLAPPED_EX, "__itt_task_begin_overlapped_ex",
	         hook_task_begin_overlapped_ex),
	ITT_HOOK(TASK_END_OVERLAPPED, "__itt_task_end_overlapped", hook_task_end_overlapped),
	ITT_HOOK(TASK_END_OVERLAPPED_EX, "__itt_task_end_overlapped_ex",
	         hook_task_end_overlapped_ex),
	ITT_HOOK(REGION_BEGIN, "__itt_region_begin", hook_region_begin),
	ITT_HOOK(REGION_END, "__itt_region_end", hook_region_end),
	ITT_HOOK(FRAME_BEGIN, "__itt_frame_begin_v3", hook_frame_begin),
	ITT_HOOK(FRAME_END, "__itt_frame_end_v3", hook_frame_end),
	ITT_HOOK(FRAME_SUBMIT, "__itt_frame_submit_v3", hook_frame_submit),
	ITT_HOOK(PAUSE, "__itt_pause", hook_pause),
	ITT_HOOK(RESUME, "__itt_resume", hook_resume),
	{ 0 },
};

// SPDX-License-Identifier: MIT
// Rung 3: no perf events. The target samples itself by CPU-time timers (tracer/agent); the rest,
// and processes that the agent cannot get into, is seen through /proc.
//
// Alone in this folder it includes tracer/reader, as the perf sources include the kernel's rings.
#include "sampler/agent/agent_source.h"

#include "base/clock.h"
#include "base/error.h"
#include "sampler/agent/follow.h"
#include "sampler/agent/op_records.h"
#include "sampler/event/source.h"
#include "tracer/reader/reader.h"

#include <errno.h>

#define COUNTS_NS NS_PER_SEC // how often ops that left no records are counted

enum phase {
	AT_REST,
	IN_RECORDS,
	IN_LOOKS
};

struct agent_source {
	struct source base;
	struct follow *follow;
	struct reader *reader;  // NULL: rung 4
	struct op_records *ops; // NULL: none are wanted
	struct event op;        // of theirs, to be given next
	bool has_op;
	uint64_t counted_ns;
	enum phase phase;
	uint64_t now_ns; // when the round began
};

static void agent_source_free(struct agent_source *s)
{
	if (!s)
		return;
	follow_free(s->follow);
	reader_free(s->reader);
	op_records_free(s->ops);
	free(s);
}

CLEANUP(agent_source, struct agent_source *, agent_source_free)

// CPU-time timers are looked at in the kernel's tick, and only then; the coarse clock ticks along.
static uint32_t tick_hz(void)
{
	struct timespec tick;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) < 0 || tick.tv_nsec <= 0)
		return 250;
	return (uint32_t)(NS_PER_SEC / (uint64_t)tick.tv_nsec);
}

struct source *agent_source_open(const struct source_ops *ops, const struct source_request *request,
                                 const char *directory, struct error *err)
{
	cleanup(agent_source) struct agent_source *s = calloc(1, sizeof(*s));

	if (!s) {
		error_set(err, ENOMEM, "could not follow process %d", (int)request->child);
		return NULL;
	}
	s->base.ops = ops;
	s->follow = request->attached
	                    ? follow_running(request->attached, request->attached_count, err)
	                    : follow_new((uint32_t)request->child, err);
	if (!s->follow)
		return NULL;
	s->reader = directory ? reader_new(directory, err) : NULL;
	if (directory && (!s->reader || reader_find_owners(s->reader, err) < 0))
		return NULL;
	if (s->reader && request->ops && !(s->ops = op_records_new(request->ops))) {
		error_set(err, ENOMEM, "could not start following ops");
		return NULL;
	}
	uint32_t tick = tick_hz();
	s->base.facts = (struct source_facts){
		.kernel_samples = true, // each sample knows which it is
		.switches = true,
		.switches_estimated = true,
		.frequency_hz = request->frequency_hz < tick ? request->frequency_hz : tick,
	};
	return &steal(s)->base;
}

static struct source *open_agent(const struct source_request *request, struct error *err)
{
	if (request->attached) // nothing is put into it
		return NULL;
	if (!request->agent_directory) {
		error_set(err, 0, "the agent cannot get into the target");
		error_hint(err, "Allow perf_event_open, or use a dynamically linked program.");
		return NULL;
	}
	struct source *source =
		agent_source_open(&agent_source, request, request->agent_directory, err);
	if (source && request->frequency_hz > source->facts.frequency_hz)
		snprintf(
			source->facts.note, sizeof(source->facts.note),
			"CPU-time timers follow the kernel's tick: %u samples a second; loops in step "
			"with it are sampled at one place, or not at all",
			source->facts.frequency_hz);
	return source;
}

int agent_source_fd(const struct source *source)
{
	(void)source;
	return -1;
}

int agent_source_timeout_ms(const struct source *source, uint64_t now_ns, int limit_ms)
{
	const struct agent_source *s = (const struct agent_source *)source;
	uint64_t due = follow_due_ns(s->follow);
	int wait = due > now_ns ? (int)((due - now_ns + NS_PER_MS - 1) / NS_PER_MS) : 0;

	return wait < limit_ms ? wait : limit_ms;
}

static void forget(void *context, uint32_t pid)
{
	struct agent_source *s = context;

	if (!s->reader)
		return;
	reader_process_gone(s->reader, pid);
	if (s->ops)
		reader_count_ops_of(s->reader, pid, s->now_ns);
}

// An agent says why a process is not seen any more.
static void take_note(struct agent_source *s, const struct record *record)
{
	const char *text = (const char *)((const struct record_note *)record + 1);

	snprintf(s->base.facts.note, sizeof(s->base.facts.note), "%s", text);
}

// The next record's events. False if there are no more records.
static bool take_record(struct agent_source *s, uint64_t until_ns)
{
	uint64_t image_ns;
	const struct record *record =
		s->reader ? reader_next(s->reader, until_ns, &image_ns) : NULL;

	if (!record)
		return false;
	if (record->type == RECORD_NOTE)
		take_note(s, record);
	s->has_op = s->ops && op_records_take(s->ops, record, image_ns, &s->op);
	// A wait is also time off the CPU.
	if (!s->has_op || record->type == RECORD_WAIT)
		follow_record(s->follow, record);
	return true;
}

// No record is as old as that: what end_records() has had counted is given alone.
static const struct event *next_count(struct agent_source *s)
{
	while (s->ops && take_record(s, 0))
		if (s->has_op) {
			s->has_op = false;
			return &s->op;
		}
	return NULL;
}

// At the end of the run there is no other round.
static void end_records(struct agent_source *s, uint64_t until_ns)
{
	if (s->ops && until_ns == UINT64_MAX)
		reader_count_ops(s->reader, s->now_ns);
	// Nor have those been seen that were written during the round.
	follow_end(s->follow, until_ns < s->now_ns ? until_ns : s->now_ns, forget, s);
}

static void begin_round(struct agent_source *s)
{
	s->now_ns = clock_now_ns();
	if (s->reader)
		reader_poll(s->reader);
	if (s->ops && s->now_ns - s->counted_ns > COUNTS_NS) {
		s->counted_ns = s->now_ns;
		reader_count_ops(s->reader, s->now_ns);
	}
	follow_begin(s->follow, s->now_ns);
	s->phase = IN_RECORDS;
}

const struct event *agent_source_next(struct source *source, uint64_t until_ns, struct error *err)
{
	struct agent_source *s = (struct agent_source *)source;
	const struct event *event;

	(void)err;
	if (s->phase == AT_REST)
		begin_round(s);
	for (;;) {
		// What has been counted of a process comes before its end.
		event = s->phase == IN_LOOKS ? next_count(s) : NULL;
		if (!event)
			event = follow_next(s->follow);
		if (event)
			return event;
		if (s->has_op) {
			s->has_op = false;
			return &s->op;
		}
		if (s->phase == IN_LOOKS) {
			s->phase = AT_REST;
			return NULL;
		}
		if (take_record(s, until_ns))
			continue;
		end_records(s, until_ns);
		s->phase = IN_LOOKS;
	}
}

uint64_t agent_source_lost(struct source *source, bool exact)
{
	const struct agent_source *s = (const struct agent_source *)source;
	uint64_t damaged = s->reader ? reader_damaged(s->reader) : 0;

	if (exact && damaged)
		snprintf(
			source->facts.note, sizeof(source->facts.note),
			"the target has written over, or cut short, %lu of the rings that hold its "
			"samples",
			(unsigned long)damaged);
	if (!s->reader)
		return 0;
	return reader_dropped(s->reader) + (s->ops ? op_records_nameless(s->ops) : 0);
}

static uint64_t handlers_ns(const struct source *source)
{
	const struct agent_source *s = (const struct agent_source *)source;

	return s->reader ? reader_handlers_ns(s->reader) : 0;
}

static uint64_t unseen_threads(const struct source *source)
{
	const struct agent_source *s = (const struct agent_source *)source;

	return s->reader ? reader_unsampled(s->reader) : 0;
}

static uint64_t strangers(const struct source *source)
{
	const struct agent_source *s = (const struct agent_source *)source;

	return s->reader ? reader_strangers(s->reader) : 0;
}

void agent_source_close(struct source *source)
{
	agent_source_free((struct agent_source *)source);
}

const struct source_ops agent_source = {
	.rung = RUNG_AGENT,
	.open = open_agent,
	.close = agent_source_close,
	.fd = agent_source_fd,
	.timeout_ms = agent_source_timeout_ms,
	.next = agent_source_next,
	.lost = agent_source_lost,
	.handlers_ns = handlers_ns,
	.unseen_threads = unseen_threads,
	.strangers = strangers,
};

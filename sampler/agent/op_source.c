// SPDX-License-Identifier: MIT
#include "sampler/agent/op_source.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "sampler/agent/agent_records.h"
#include "sampler/agent/op_records.h"
#include "sampler/proc/proc_task.h"
#include "tracer/reader/reader.h"

#include <errno.h>
#include <string.h>

#define COUNTS_NS NS_PER_SEC // how often ops that left no records are counted
#define BUSY_MS   1          // rings fill up: look again at once
#define LIVELY_MS 10
#define MANY      2000 // records in a round: soon a ring would be full

struct ended {
	uint32_t pid;
	bool gone; // and events were right
	uint64_t time_ns;
};

struct op_source {
	struct op_records *records;
	struct reader *reader;
	struct ended *ended; // whose files or names may be there yet
	size_t ended_count, ended_capacity;
	struct event event;
	uint64_t counted_ns;
	uint64_t taken;  /* records of this round */
	uint64_t before; /* and of the one before */
};

struct op_source *op_source_new(const char *directory, struct ops *ops, struct error *err)
{
	cleanup(op_source) struct op_source *s = calloc(1, sizeof(*s));

	if (!s || !(s->records = op_records_new(ops))) {
		error_set(err, ENOMEM, "could not start following ops");
		return NULL;
	}
	s->reader = reader_new(directory, err);
	return s->reader && reader_find_owners(s->reader, err) == 0 ? steal(s) : NULL;
}

void op_source_take_older(struct op_source *s)
{
	reader_take_older(s->reader);
}

void op_source_free(struct op_source *s)
{
	if (!s)
		return;
	op_records_free(s->records);
	reader_free(s->reader);
	free(s->ended);
	free(s);
}

void op_source_forget(struct op_source *s, uint32_t pid, uint64_t time_ns)
{
	if (array_reserve(&s->ended, &s->ended_capacity, s->ended_count + 1))
		s->ended[s->ended_count++] = (struct ended){ .pid = pid, .time_ns = time_ns };
}

// False once nothing of the process is left. Events may have been lost: who lives on keeps all.
static bool is_left(struct op_source *s, struct ended *ended)
{
	struct proc_task task;

	if (!ended->gone) {
		ended->gone = !proc_task_lives(ended->pid, ended->time_ns, &task);
	} else if (!reader_has_process(s->reader, ended->pid)) {
		op_records_forget(s->records, ended->pid);
		return false;
	}
	// Each time: a last file of it may have been found after the one before.
	if (ended->gone)
		reader_process_gone(s->reader, ended->pid);
	return true;
}

static void release_ended(struct op_source *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->ended_count; i++)
		if (is_left(s, &s->ended[i]))
			s->ended[kept++] = s->ended[i];
	s->ended_count = kept;
}

void op_source_poll(struct op_source *s, uint64_t now_ns)
{
	s->before = s->taken;
	s->taken = 0;
	release_ended(s);
	reader_poll(s->reader);
	if (now_ns - s->counted_ns < COUNTS_NS)
		return;
	s->counted_ns = now_ns;
	reader_count_ops(s->reader, now_ns);
}

// Of a process that samples itself, or a tick that the agent has seen fall into the kernel, where
// the samples from elsewhere see none.
static bool take_sample(const struct record_sample *sample, struct event *event)
{
	bool look = sample->kind == SAMPLE_LOOK && sample->head.flags & SAMPLE_VECTORS;

	if ((!look && !(sample->head.flags & (SAMPLE_KERNEL | SAMPLE_PYTHON))) ||
	    sample->head.flags & SAMPLE_NO_USER)
		return false;
	event->sample = agent_sample(sample);
	if (look)
		event->sample.kind = SAMPLE_LOOK;
	return true;
}

static bool take(struct op_source *s, const struct record *record, uint64_t image_ns)
{
	struct event *event = &s->event;

	*event = (struct event){ .type = (enum record_type)record->type,
		                 .pid = record->pid,
		                 .tid = record->tid,
		                 .time_ns = record->time_ns };
	if (record->type == RECORD_SAMPLE)
		return take_sample((const struct record_sample *)record, event);
	return agent_python_take(record, event) ||
	       op_records_take(s->records, record, image_ns, event);
}

const struct event *op_source_next(struct op_source *s, uint64_t until_ns)
{
	const struct record *record;
	uint64_t image_ns;

	while ((record = reader_next(s->reader, until_ns, &image_ns))) {
		s->taken++;
		if (take(s, record, image_ns))
			return &s->event;
	}
	return NULL;
}

void op_source_conclude(struct op_source *s, uint32_t pid, uint64_t now_ns)
{
	reader_poll(s->reader);
	reader_count_ops_of(s->reader, pid, now_ns);
}

int op_source_timeout_ms(const struct op_source *s, int limit_ms)
{
	uint64_t recent = s->taken > s->before ? s->taken : s->before;
	int wait = recent > MANY ? BUSY_MS : recent ? LIVELY_MS : limit_ms;

	return wait < limit_ms ? wait : limit_ms;
}

const char *op_source_note(const struct op_source *s)
{
	return op_records_note(s->records);
}

uint64_t op_source_lost(const struct op_source *s)
{
	return reader_dropped(s->reader) + op_records_nameless(s->records);
}

uint64_t op_source_unseen_threads(const struct op_source *s)
{
	return reader_unsampled(s->reader);
}

uint64_t op_source_strangers(const struct op_source *s)
{
	return reader_strangers(s->reader);
}

uint64_t op_source_handlers_ns(const struct op_source *s)
{
	return reader_handlers_ns(s->reader);
}

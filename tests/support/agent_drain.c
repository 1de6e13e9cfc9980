// SPDX-License-Identifier: MIT
// Apart from agent_run.c, because <signal.h> has REG_* of its own.
#include "tests/support/agent_drain.h"

#include "base/array.h"
#include "tracer/reader/reader.h"

struct seen {
	uint32_t *ids;
	size_t count, capacity;
};

static uint64_t add(struct seen *seen, uint32_t id)
{
	for (size_t i = 0; i < seen->count; i++)
		if (seen->ids[i] == id)
			return 0;
	if (!array_reserve(&seen->ids, &seen->capacity, seen->count + 1))
		abort();
	seen->ids[seen->count++] = id;
	return 1;
}

struct agent_drain {
	struct reader *reader;
	struct seen pids, tids;
};

struct agent_drain *agent_drain_new(const char *directory)
{
	struct agent_drain *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->reader = reader_new(directory, NULL);
	if (d->reader)
		return d;
	free(d);
	return NULL;
}

void agent_drain_free(struct agent_drain *d)
{
	if (!d)
		return;
	reader_free(d->reader);
	free(d->pids.ids);
	free(d->tids.ids);
	free(d);
}

static void count_sample(struct agent_run *run, const struct record_sample *sample,
                         struct seen *pids, struct seen *tids)
{
	run->samples++;
	run->weight_ns += sample->weight_ns;
	if (sample->weight_ns > run->widest_ns)
		run->widest_ns = sample->weight_ns;
	if (sample->head.flags & SAMPLE_NO_USER)
		run->stackless_ns += sample->weight_ns;
	run->stack_bytes += sample->stack_bytes;
	run->pids += add(pids, sample->head.pid);
	run->tids += add(tids, sample->head.tid);
}

static void count(struct agent_run *run, const struct record *record, struct seen *pids,
                  struct seen *tids)
{
	const struct record_fork *fork = (const struct record_fork *)record;

	run->records++;
	run->execs += record->type == RECORD_EXEC;
	run->exits += record->type == RECORD_EXIT;
	run->maps += record->type == RECORD_MAP;
	run->notes += record->type == RECORD_NOTE;
	run->forks += record->type == RECORD_FORK;
	run->thread_forks += record->type == RECORD_FORK && fork->parent_pid == record->pid;
	if (record->type == RECORD_SAMPLE)
		count_sample(run, (const struct record_sample *)record, pids, tids);
}

void agent_drain_round(struct agent_drain *d, struct agent_run *run,
                       const struct agent_run_options *options)
{
	reader_poll(d->reader);
	for (const struct record *r; (r = reader_next(d->reader, UINT64_MAX, NULL));) {
		count(run, r, &d->pids, &d->tids);
		if (options->visit)
			options->visit(options->context, r);
	}
	run->dropped = reader_dropped(d->reader);
	run->unsampled = reader_unsampled(d->reader);
	run->damaged = reader_damaged(d->reader);
}

// SPDX-License-Identifier: MIT
#include "sampler/agent/timeline.h"

#define SAME_NS UINT64_C(1000000) // between two readings of when a wait began

void timeline_start(struct timeline *t, uint64_t now_ns, uint64_t cpu_ns, uint64_t wait_ns)
{
	*t = (struct timeline){
		.start_ns = now_ns,
		.start_cpu_ns = cpu_ns,
		.start_wait_ns = wait_ns,
		.emitted_ns = now_ns,
	};
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t at_most(uint64_t value, uint64_t limit)
{
	return value < limit ? value : limit;
}

// What is not yet in closed intervals.
static uint64_t off_to_tell(const struct timeline *t, uint64_t now_ns, uint64_t cpu_ns)
{
	uint64_t life = less(now_ns, t->start_ns);
	uint64_t off = less(life, less(cpu_ns, t->start_cpu_ns));

	return less(off, t->off_ns);
}

static uint64_t wait_to_tell(const struct timeline *t, uint64_t wait_ns)
{
	return less(less(wait_ns, t->start_wait_ns), t->waited_ns);
}

static size_t add(struct timeline *t, struct timeline_switch *out, size_t count, uint64_t time_ns,
                  bool in, bool preempted)
{
	out[count] = (struct timeline_switch){ time_ns, in, preempted, false };
	t->emitted_ns = time_ns;
	t->out = !in;
	return count + 1;
}

// Closes the interval that began at BEGIN after OFF_NS, of which the thread could have run for the
// last part.
static size_t close_interval(struct timeline *t, uint64_t begin_ns, uint64_t off_ns,
                             uint64_t wait_ns, struct timeline_switch *out, size_t count)
{
	uint64_t waited = at_most(wait_to_tell(t, wait_ns), off_ns);
	uint64_t turn = begin_ns + off_ns - waited;

	if (waited && (t->out || turn > begin_ns)) {
		if (!t->out)
			count = add(t, out, count, begin_ns, false, false);
		count = add(t, out, count, turn, true, false);
		count = add(t, out, count, turn, false, true);
	} else if (!t->out) {
		count = add(t, out, count, begin_ns, false, waited != 0);
	}
	count = add(t, out, count, begin_ns + off_ns, true, false);
	t->off_ns += off_ns;
	t->waited_ns += waited;
	return count;
}

uint64_t timeline_off_ns(const struct timeline *t, uint64_t now_ns, uint64_t cpu_ns)
{
	return off_to_tell(t, now_ns, cpu_ns);
}

uint64_t timeline_from_ns(const struct timeline *t)
{
	return t->out ? t->out_since_ns : t->emitted_ns;
}

// A look has found it as it was under way: since when, it can only tell from the totals.
bool timeline_is_open(const struct timeline *t, const struct timeline_wait *wait)
{
	return t->out && wait->begin_ns <= t->out_since_ns + SAME_NS &&
	       wait->end_ns > t->out_since_ns;
}

size_t timeline_waited(struct timeline *t, const struct timeline_wait *wait, uint64_t off_ns,
                       uint64_t wait_ns, uint64_t slack_ns,
                       struct timeline_switch out[TIMELINE_SWITCHES_MAX])
{
	bool open = timeline_is_open(t, wait);
	uint64_t begin = t->out ? t->out_since_ns : t->emitted_ns;
	size_t count = 0;

	if (wait->end_ns <= t->emitted_ns)
		return 0;
	if (!open) {
		uint64_t off = at_most(off_ns, less(wait->begin_ns, begin));
		if (t->out && begin + off < t->emitted_ns)
			off = t->emitted_ns - begin;
		if (t->out || (off && off >= slack_ns))
			count = close_interval(t, begin, off, wait_ns, out, count);
		begin = wait->begin_ns > t->emitted_ns ? wait->begin_ns : t->emitted_ns;
		if (begin >= wait->end_ns)
			return count;
		count = add(t, out, count, begin, false, false);
		out[count - 1].reported = true;
	}
	count = add(t, out, count, wait->end_ns, true, false);
	t->off_ns += wait->end_ns - begin;
	t->waited_ns += at_most(wait->ready_ns, wait->end_ns - begin);
	return count;
}

size_t timeline_running(struct timeline *t, uint64_t now_ns, uint64_t cpu_ns, uint64_t wait_ns,
                        uint64_t slack_ns, struct timeline_switch out[TIMELINE_SWITCHES_MAX])
{
	uint64_t begin = t->out ? t->out_since_ns : t->emitted_ns;
	uint64_t off = at_most(off_to_tell(t, now_ns, cpu_ns), less(now_ns, begin));

	if (now_ns < t->emitted_ns)
		return 0;
	size_t count = 0;
	// An open interval cannot end before what has been said of it.
	if (t->out && begin + off < t->emitted_ns)
		off = t->emitted_ns - begin;
	if (!t->out && wait_ns == TIMELINE_NO_CPU && off > slack_ns) {
		count = close_interval(t, now_ns - off, off - 1, wait_ns, out, 0);
		off = 0;
	} else if (t->out || (off && off >= slack_ns)) {
		count = close_interval(t, begin, off, wait_ns, out, 0);
		off = 0;
	}
	// Up to here it has run for CPU_NS; what is left to tell is laid behind this point.
	if (now_ns - off > t->emitted_ns)
		t->emitted_ns = now_ns - off;
	return count;
}

size_t timeline_blocked(struct timeline *t, uint64_t now_ns, uint64_t cpu_ns, uint64_t wait_ns,
                        struct timeline_switch out[TIMELINE_SWITCHES_MAX])
{
	uint64_t off = off_to_tell(t, now_ns, cpu_ns);
	size_t count = 0;

	if (now_ns < t->emitted_ns || off == 0)
		return 0;
	if (t->out) {
		uint64_t open = less(now_ns, t->out_since_ns);
		uint64_t ran = less(open, off);
		if (ran == 0)
			return 0; // it has been there all the time
		// It ran in between, and blocks again since.
		count = close_interval(t, t->out_since_ns, off, wait_ns, out, 0);
		count = add(t, out, count, now_ns, false, false);
		t->out_since_ns = now_ns;
		return count;
	}
	off = at_most(off, now_ns - t->emitted_ns);
	t->out_since_ns = now_ns - off;
	// What it has waited for a CPU by now was before it blocked, and must not become the end of
	// the wait that is under way.
	uint64_t waited = at_most(wait_to_tell(t, wait_ns), off);
	if (waited) {
		count = add(t, out, count, t->out_since_ns, false, true);
		t->out_since_ns += waited;
		count = add(t, out, count, t->out_since_ns, true, false);
		t->off_ns += waited;
		t->waited_ns += waited;
	}
	return add(t, out, count, t->out_since_ns, false, false);
}

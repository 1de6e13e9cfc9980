// SPDX-License-Identifier: MIT
#include "sampler/sampler.h"

#include "base/clock.h"
#include "base/error.h"
#include "sampler/agent/op_source.h"
#include "sampler/backlog.h"
#include "sampler/budget.h"
#include "sampler/event/source.h"
#include "sampler/ladder.h"
#include "sampler/priority.h"
#include "sampler/thinning.h"
#include "sampler/tracker/tracker.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>

// Events come from several rings: one that is being written may be this much behind.
#define SETTLE_NS          NS_PER_MS

#define IDLE_TIMEOUT_MS    100
#define DEEP_TIMEOUT_MS    4 // the rest of a stack is soon another
#define DEEP_NS            NS_PER_SEC
#define HOUSEKEEPING_NS    NS_PER_SEC
#define AGENTS_NS          (100 * NS_PER_MS) // how often missing agents and titles are looked for
#define FREQUENCY_MIN      49
#define FREQUENCY_MAX      10000
#define STACK_BYTES_MIN    512
#define STACK_BYTES_MAX    65528
#define LOST_SHARE_TOO_BIG 50  // one event in so many
#define COLLECTOR_SHARE    2   // of a CPU: one in so many
#define TIMED_EVERY        17  // one event in so many is timed; odd, as they come in pairs
#define TIMED_ENOUGH       500 // of more events in a window fewer are timed
#define ATTACHED_FREQUENCY                                                                         \
	399 // 1 % of the time of what is in use already, where interrupts cost 20 us
#define EAGER_FREQUENCY 149 // each sample interrupts what runs a second time, for the collector

#define GIVE_WAY_PART   4 // what takes less than that part of all else does not help

struct sampler {
	struct sampler_options options;
	struct sampler_status status;
	struct tracker *tracker;
	struct source *source;
	bool eager;            // samples are handed on at once
	struct op_source *ops; // NULL: the source has them, or there are none
	int epoll;
	pid_t child; // 0: it runs what was there already
	struct priority priority;
	uint64_t deep, deep_ns; // stacks deeper than their copies so far, and when the last came
	bool busy;              // the collector takes more of a CPU than it should
	bool finishing;
	uint64_t attached_ns;
	struct budget budget;
	uint64_t agents_due_ns;
	struct thinning thinning;
	uint32_t untimed;     // events since the last that was timed
	uint32_t timed_every; // one in so many is
	uint32_t timed;       // since that was so
	struct backlog backlog;
	bool ends; // nothing more will come

	struct {
		uint64_t since_ns, cpu_ns, events, lost;
		uint64_t target_cpu_ns; // as samples show it
		uint64_t handlers_ns, hooks_ns;
		// What was timed, as much as it stands for: of samples, of stacks of waits, of all
		// else.
		uint64_t ticks_ns, switches_ns, rest_ns;
		uint64_t switches;
	} window; // since the last housekeeping
};

static uint32_t clamp(uint32_t value, uint32_t otherwise, uint32_t low, uint32_t high)
{
	if (!value)
		return otherwise;
	return value < low ? low : value > high ? high : value;
}

// A look at the thread's CPU clock is a system call, and takes as long as many an event.
static void time_one_in(struct sampler *s, uint64_t events)
{
	s->timed_every = events > TIMED_EVERY ? (uint32_t)events | 1 : TIMED_EVERY;
	s->timed = 0;
}

struct sampler *sampler_new(const struct sampler_options *options, struct modules *modules,
                            const struct sampler_sink *sink, struct error *err)
{
	cleanup(sampler) struct sampler *s = calloc(1, sizeof(*s));
	if (!s) {
		error_set(err, errno, "could not start the sampler");
		return NULL;
	}
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0) {
		error_set(err, errno, "could not start the sampler");
		return NULL;
	}
	s->options = *options;
	s->options.frequency_hz =
		clamp(options->frequency_hz, SAMPLER_FREQUENCY_DEFAULT, 1, FREQUENCY_MAX);
	s->options.stack_bytes = clamp(options->stack_bytes, SAMPLER_STACK_BYTES_DEFAULT,
	                               STACK_BYTES_MIN, STACK_BYTES_MAX);
	s->budget.percent = options->budget_percent;
	s->thinning.enough = options->enough;
	time_one_in(s, 0);
	s->tracker = tracker_new(modules, options->unwinder, sink, err);
	if (!s->tracker)
		return NULL;
	tracker_set_kernel_names(s->tracker, options->kernel_names);
	tracker_set_wrappers(s->tracker, options->op_is_wrapper, options->op_context);
	tracker_set_codes(s->tracker, options->codes);
	tracker_set_ops(s->tracker, options->ops);
	return steal(s);
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	priority_give_back(&s->priority);
	if (s->source)
		s->source->ops->close(s->source);
	op_source_free(s->ops);
	tracker_free(s->tracker);
	close_at_scope_end(&s->epoll);
	free(s);
}

static int wait_for_source(struct sampler *s, struct error *err)
{
	int fd = s->source->ops->fd(s->source);
	struct epoll_event wanted = { .events = EPOLLIN };

	if (fd >= 0 && epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &wanted) < 0)
		return error_set(err, errno, "could not wait for samples");
	return 0;
}

static void report_rung(struct sampler *s, const struct ladder_report *report)
{
	struct sampler_status *status = &s->status;
	const struct source_facts *facts = &s->source->facts;

	status->rung = s->source->ops->rung;
	status->kernel_stacks = facts->kernel_stacks;
	status->off_cpu_exact = facts->switches && !facts->switches_estimated && s->options.off_cpu;
	status->frequency_hz = facts->frequency_hz;
	memcpy(status->rung_reason, report->reason, sizeof(status->rung_reason));
	memcpy(status->rung_remedy, report->remedy, sizeof(status->rung_remedy));
	memcpy(status->rung_note, facts->note, sizeof(status->rung_note));
}

// On rung 3 ops and samples come in the same rings.
static int open_ops(struct sampler *s, bool attached, struct error *err)
{
	if (!s->options.op_directory || s->status.rung == RUNG_AGENT)
		return 0;
	s->ops = op_source_new(s->options.op_directory, s->options.ops, err);
	if (s->ops && attached)
		op_source_take_older(s->ops);
	return s->ops ? 0 : -1;
}

static int open_source(struct sampler *s, pid_t child, const pid_t *attached, size_t attached_count,
                       struct error *err)
{
	struct ladder_report report;
	size_t count;
	const struct source_ops *const *rungs = ladder_rungs(&count);
	bool usual = s->options.frequency_hz == SAMPLER_FREQUENCY_DEFAULT;
	s->eager = attached && tracker_finds_python(attached, attached_count);
	if (attached && usual)
		s->options.frequency_hz = s->eager ? EAGER_FREQUENCY : ATTACHED_FREQUENCY;
	struct source_request request = {
		.child = child,
		.attached = attached,
		.attached_count = attached_count,
		.eager = s->eager,
		.frequency_hz = s->options.frequency_hz,
		.stack_bytes = s->options.stack_bytes,
		.fewer_stack_bytes = s->options.stack_bytes == SAMPLER_STACK_BYTES_DEFAULT,
		.fewer_samples = usual,
		.off_cpu = s->options.off_cpu,
		.agent_directory = s->options.agent_directory,
		.ops = s->options.op_directory ? s->options.ops : NULL,
	};

	s->source = ladder_climb(rungs, count, s->options.best_rung, &request, &report, err);
	if (!s->source)
		return error_wrap(err, "could not sample process %d", (int)child);
	report_rung(s, &report);
	s->window.since_ns = s->attached_ns = clock_now_ns();
	if (tracker_start(s->tracker, &s->source->facts, s->options.off_cpu, err) < 0 ||
	    open_ops(s, attached != NULL, err) < 0)
		return -1;
	s->child = attached ? 0 : child;
	return wait_for_source(s, err);
}

int sampler_attach(struct sampler *s, pid_t child, struct error *err)
{
	return open_source(s, child, NULL, 0, err);
}

int sampler_follow(struct sampler *s, const pid_t *pids, size_t count, struct error *err)
{
	if (s->options.codes && !tracker_read_python(s->tracker))
		return error_set(err, ENOMEM, "could not start the sampler");
	return open_source(s, pids[0], pids, count, err);
}

void sampler_begin(struct sampler *s)
{
	s->window.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	priority_ask(&s->priority);
}

static bool is_overrun(uint64_t events, uint64_t lost)
{
	return lost * LOST_SHARE_TOO_BIG > events;
}

// What the first change was for stands in the report, with what became of the rate.
static void note_rate(struct sampler *s, uint64_t now_ns, uint32_t before, const char *why)
{
	struct sampler_status *status = &s->status;

	if (!status->lowered_from_hz) {
		status->lowered_from_hz = before;
		status->lowered_after_ns = now_ns - s->attached_ns;
		snprintf(status->lowered_why, sizeof(status->lowered_why), "%s", why);
	}
	status->frequency_hz = s->source->facts.frequency_hz;
}

static void lower_frequency(struct sampler *s, uint64_t now_ns, uint32_t lower, const char *why)
{
	struct source *source = s->source;
	uint32_t before = source->facts.frequency_hz;

	if (lower < FREQUENCY_MIN || lower >= before || source->ops->rung == RUNG_PROC)
		return;
	source->facts.frequency_hz = lower;
	s->thinning.period_ns = NS_PER_SEC / lower;
	tracker_adjust(s->tracker, &source->facts);
	note_rate(s, now_ns, before, why);
}

static double part_of(const struct sampler *s, uint64_t some)
{
	uint64_t all = s->window.ticks_ns + s->window.switches_ns + s->window.rest_ns;

	return some ? (double)some / (double)all : 0;
}

static uint64_t hooks_ns(const struct sampler *s)
{
	return s->options.hooks_ns ? s->options.hooks_ns(s->options.hooks) : 0;
}

// Ticks come from the source, or beside it from the ops' rings.
static uint64_t handlers_ns(const struct sampler *s)
{
	uint64_t ns = s->ops ? op_source_handlers_ns(s->ops) : 0;

	return ns + (s->source->ops->handlers_ns ? s->source->ops->handlers_ns(s->source) : 0);
}

static uint64_t unseen_threads(const struct sampler *s)
{
	uint64_t threads = s->ops ? op_source_unseen_threads(s->ops) : 0;

	return threads +
	       (s->source->ops->unseen_threads ? s->source->ops->unseen_threads(s->source) : 0);
}

static uint64_t strangers(const struct sampler *s)
{
	uint64_t processes = s->ops ? op_source_strangers(s->ops) : 0;

	return processes + (s->source->ops->strangers ? s->source->ops->strangers(s->source) : 0);
}

static uint64_t rise(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static void limit_switches(struct sampler *s, uint32_t per_second)
{
	if (per_second && s->source->ops->limit_switches)
		s->source->ops->limit_switches(s->source, per_second);
}

// What takes more of a CPU than it should gives way, whatever the budget is.
static void give_way(struct sampler *s, uint64_t now_ns, uint64_t wall_ns)
{
	uint64_t per_second = s->window.switches * NS_PER_SEC / wall_ns;
	uint64_t most = s->window.ticks_ns > s->window.switches_ns ? s->window.ticks_ns
	                                                           : s->window.switches_ns;

	if (most * GIVE_WAY_PART < s->window.rest_ns)
		return;
	if (most == s->window.ticks_ns)
		lower_frequency(s, now_ns, s->source->facts.frequency_hz / 2,
		                "the collector used more than half of a CPU, mostly for samples");
	else
		limit_switches(s, (uint32_t)(per_second / 2 > BUDGET_SWITCHES_MIN
		                                     ? per_second / 2
		                                     : BUDGET_SWITCHES_MIN));
}

static void keep_budget(struct sampler *s, uint64_t now_ns, uint64_t wall_ns, uint64_t cpu_ns)
{
	uint32_t frequency = s->source->facts.frequency_hz;
	struct budget_window window = {
		.wall_ns = wall_ns,
		.target_cpu_ns = s->window.target_cpu_ns,
		.collector_ns = cpu_ns,
		.ticks = part_of(s, s->window.ticks_ns),
		.switches = part_of(s, s->window.switches_ns),
		.switch_count = s->window.switches,
		.handlers_ns = rise(handlers_ns(s), s->window.handlers_ns),
		.hooks_ns = rise(hooks_ns(s), s->window.hooks_ns),
	};
	struct budget_verdict verdict = budget_judge(&s->budget, &window, frequency);
	char why[sizeof(s->status.lowered_why)];

	snprintf(why, sizeof(why),
	         "samples cost %.2f of %.2f %% overhead, above the budget of %g %%",
	         s->budget.samples_cost, s->budget.cost, s->budget.percent);
	if (verdict.frequency_hz < frequency)
		lower_frequency(s, now_ns, verdict.frequency_hz, why);
	limit_switches(s, verdict.switches_per_second);
	if (s->budget.helpless && s->budget.cost > s->status.over_percent)
		s->status.over_percent = s->budget.cost;
}

// A collector that finds no CPU works on what waits without an end, after which the house would be
// kept.
static void see_backlog(struct sampler *s)
{
	const struct source *source = s->source;

	if (s->ends || !source->ops->backlog)
		return;
	uint64_t now_ns = clock_now_ns();
	if (backlog_grows(&s->backlog, source->ops->backlog(source), now_ns))
		lower_frequency(s, now_ns, source->facts.frequency_hz / 2,
		                "bottleneck got too little of a CPU for all samples");
}

static void keep_house(struct sampler *s, uint64_t now_ns)
{
	uint64_t wall = now_ns - s->window.since_ns;
	if (wall < HOUSEKEEPING_NS)
		return;

	uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t lost = s->source->ops->lost(s->source, false);
	uint64_t events = tracker_events(s->tracker);
	uint32_t half = s->source->facts.frequency_hz / 2;
	s->busy = (cpu - s->window.cpu_ns) * COLLECTOR_SHARE > wall;
	if (is_overrun(events - s->window.events, lost - s->window.lost))
		lower_frequency(s, now_ns, half, "samples were lost");
	else if (s->busy && s->options.budget_percent > 0)
		give_way(s, now_ns, wall);
	else
		keep_budget(s, now_ns, wall, cpu - s->window.cpu_ns);
	time_one_in(s, (events - s->window.events) / TIMED_ENOUGH);
	s->window.since_ns = now_ns;
	s->window.cpu_ns = cpu;
	s->window.events = events;
	s->window.lost = lost;
	s->window.handlers_ns = handlers_ns(s);
	s->window.hooks_ns = hooks_ns(s);
	s->window.target_cpu_ns = s->window.ticks_ns = s->window.rest_ns = 0;
	s->window.switches_ns = s->window.switches = 0;
	tracker_flush(s->tracker, now_ns - SETTLE_NS);
}

static void update_status(struct sampler *s)
{
	s->status.records = tracker_events(s->tracker);
	s->status.lost = s->source->ops->lost(s->source, s->finishing);
	s->status.handlers_ns = handlers_ns(s);
	s->status.gaps = s->source->gaps.count;
	s->status.gaps_ns = s->source->gaps.ns;
	s->status.unseen_threads = unseen_threads(s);
	s->status.threads_with_enough = s->thinning.gave_way;
	s->status.strangers = strangers(s);
	memcpy(s->status.rung_note, s->source->facts.note, sizeof(s->status.rung_note));
	tracker_report(s->tracker, &s->status);
	if (!s->ops)
		return;
	s->status.lost_ops += op_source_lost(s->ops);
	snprintf(s->status.op_note, sizeof(s->status.op_note), "%s", op_source_note(s->ops));
}

static void handle_ops(struct sampler *s, uint64_t until_ns)
{
	const struct event *event;

	while (s->ops && (event = op_source_next(s->ops, until_ns)))
		tracker_handle(s->tracker, event);
}

static void handle_tick(struct sampler *s, const struct event *event)
{
	uint64_t weight_ns;

	s->window.target_cpu_ns += event->sample.weight_ns;
	if (!thinning_takes(&s->thinning, event->tid, &event->sample, &weight_ns))
		return;
	if (weight_ns == event->sample.weight_ns) {
		tracker_handle(s->tracker, event);
		return;
	}
	struct event heavier = *event;
	heavier.sample.weight_ns = weight_ns;
	tracker_handle(s->tracker, &heavier);
}

// Of what came before EVENT the other source's part is handled first.
static void handle_ops_before(struct sampler *s, const struct event *event)
{
	handle_ops(s, event->time_ns);
	if (!s->ops || event->type != RECORD_EXIT)
		return;
	// A process that ends is forgotten: what its ops have left comes first.
	op_source_conclude(s->ops, event->pid, event->time_ns);
	handle_ops(s, event->time_ns);
}

static void forget_ended(struct sampler *s, const struct event *event)
{
	if (s->ops && event->type == RECORD_EXIT && !tracker_has_process(s->tracker, event->pid))
		op_source_forget(s->ops, event->pid, event->time_ns);
}

static bool is_tick(const struct event *event)
{
	return event->type == RECORD_SAMPLE && event->sample.kind == SAMPLE_ON_CPU;
}

static uint64_t stopwatch(bool timed)
{
	return timed ? clock_ns(CLOCK_THREAD_CPUTIME_ID) : 0;
}

// The two sources' events in the order of time. False if there are no more, or the source is
// broken.
static bool handle_next(struct sampler *s, uint64_t until_ns, struct error *err)
{
	bool timed = ++s->untimed >= s->timed_every;
	uint64_t start = stopwatch(timed);
	const struct event *event = s->source->ops->next(s->source, until_ns, err);

	if (!event)
		return false;
	if (timed) {
		s->untimed = 0;
		see_backlog(s);
	}
	bool tick = is_tick(event);
	bool wait = event->type == RECORD_SAMPLE && event->sample.kind == SAMPLE_SWITCH;
	uint64_t taken = stopwatch(timed);
	handle_ops_before(s, event);
	uint64_t turn = stopwatch(timed);
	if (tick)
		handle_tick(s, event);
	else
		tracker_handle(s->tracker, event);
	forget_ended(s, event);
	uint64_t own = (taken - start + stopwatch(timed) - turn) * s->timed_every;
	s->window.ticks_ns += tick ? own : 0;
	s->window.switches_ns += wait ? own : 0;
	s->window.switches += wait;
	s->status.switch_stacks += wait;
	s->status.wakeups += event->type == RECORD_WAKING;
	s->window.rest_ns += (turn - taken) * s->timed_every + (tick || wait ? 0 : own);
	if (timed && ++s->timed == TIMED_ENOUGH)
		time_one_in(s, (uint64_t)s->timed_every * 2);
	return true;
}

static int handle_until(struct sampler *s, uint64_t until_ns, struct error *err)
{
	struct error why = { 0 };

	if (s->ops)
		op_source_poll(s->ops, clock_now_ns());
	while (handle_next(s, until_ns, &why))
		;
	handle_ops(s, until_ns);
	update_status(s);
	if (why.text[0]) {
		if (err)
			*err = why;
		return -1;
	}
	return tracker_check(s->tracker, err);
}

int sampler_fd(const struct sampler *s)
{
	return s->epoll;
}

int sampler_timeout_ms(const struct sampler *s)
{
	uint64_t now = clock_now_ns();
	int timeout = IDLE_TIMEOUT_MS;

	if (s->source && s->source->ops->timeout_ms)
		timeout = s->source->ops->timeout_ms(s->source, now, timeout);
	if (s->ops)
		timeout = op_source_timeout_ms(s->ops, timeout);
	if (!s->busy && now - s->deep_ns < DEEP_NS && timeout > DEEP_TIMEOUT_MS)
		timeout = DEEP_TIMEOUT_MS;
	return tracker_timeout_ms(s->tracker, now, timeout);
}

static bool child_has_ended(const struct sampler *s)
{
	siginfo_t info = { 0 };

	if (!s->child)
		return false; // nobody waits for it
	return waitid(P_PID, (id_t)s->child, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
	       info.si_pid != 0;
}

// What the kernel records has its time. What is looked at, as the state of a thread that waits, has
// that of the look, which has to come when it is due.
static bool is_urgent(struct sampler *s, uint64_t now_ns)
{
	return !s->source || !s->source->facts.switch_samples ||
	       priority_is_late(&s->priority, now_ns);
}

static void choose_priority(struct sampler *s, uint64_t now_ns)
{
	// The caller reaps a child that has ended, see priority.h.
	if (s->busy || child_has_ended(s) || !is_urgent(s, now_ns))
		priority_eager(&s->priority);
	else
		priority_urgent(&s->priority);
}

static void look_at_processes(struct sampler *s, uint64_t now_ns)
{
	bool wanted = s->options.agent_directory || s->options.op_directory;

	if (now_ns < s->agents_due_ns)
		return;
	tracker_look_for_titles(s->tracker, now_ns);
	if (wanted)
		tracker_look_for_agents(s->tracker, now_ns);
	s->agents_due_ns = now_ns + AGENTS_NS;
}

int sampler_drain(struct sampler *s, struct error *err)
{
	uint64_t now = clock_now_ns();
	// Threads that go on while they are read do not wait for others' events to settle: what led
	// to an event, as a thread's own do to its next one, was written before it.
	int result = handle_until(s, s->eager ? now : now - SETTLE_NS, err);

	if (tracker_deep(s->tracker) > s->deep)
		s->deep_ns = now;
	s->deep = tracker_deep(s->tracker);
	if (result == 0) {
		uint64_t start = stopwatch(true);
		tracker_probe(s->tracker, clock_now_ns());
		s->window.rest_ns += stopwatch(true) - start;
		keep_house(s, now);
		look_at_processes(s, now);
		start = stopwatch(true);
		tracker_look_at_goroutines(s->tracker, now);
		tracker_look_at_tasks(s->tracker, now);
		s->window.rest_ns += stopwatch(true) - start;
	}
	choose_priority(s, now);
	return result;
}

int sampler_finish(struct sampler *s, struct error *err)
{
	if (!s->source)
		return 0;
	uint64_t now = clock_now_ns();
	s->ends = true;
	int result = handle_until(s, now, err);

	s->finishing = true;
	tracker_finish(s->tracker, now);
	update_status(s);
	priority_give_back(&s->priority);
	if (s->source->ops->finish)
		s->source->ops->finish(s->source);
	return result;
}

const struct sampler_status *sampler_status(const struct sampler *s)
{
	return &s->status;
}

// SPDX-License-Identifier: MIT
#include "merge/record/collector.h"

#include "base/clock.h"
#include "merge/record/ahead.h"
#include "merge/record/checkpoint.h"
#include "merge/record/hooks.h"
#include "merge/record/machine.h"
#include "merge/record/recorder.h"
#include "sampler/proc/proc_io.h"
#include "sampler/sampler.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define IO_NS         (50 * NS_PER_MS)
#define RSS_NS        (20 * NS_PER_MS) // in the first second
#define RSS_COST_PART 100              // readings take one of so many parts of the time

static uint64_t usage_cpu_ns(const struct rusage *usage)
{
	return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * NS_PER_SEC +
	       (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * NS_PER_US;
}

static uint64_t own_cpu_ns(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) == 0 ? usage_cpu_ns(&usage) : 0;
}

void collector_drain(struct collector *c)
{
	if (!c->broken.text[0] && sampler_drain(c->sampler, &c->broken) == 0)
		c->broken.text[0] = '\0';
}

static void take_sampler_facts(struct collector *c)
{
	const struct sampler_status *status = sampler_status(c->sampler);
	struct run *run = &c->run;

	run->rung = status->rung;
	run->rung_reason = status->rung_reason;
	run->rung_remedy = status->rung_remedy;
	run->kernel_stacks = status->kernel_stacks;
	run->off_cpu_exact = status->off_cpu_exact;
	run->frequency_hz =
		status->self_samples * 2 > status->samples ? c->self_hz : status->frequency_hz;
	run->samples = status->samples;
	run->lost = status->lost;
	run->truncated = status->truncated;
	run->joined = status->joined;
	run->guessed = status->guessed;
	run->handlers_ns = status->handlers_ns;
	run->hooks_ops_ns = hooks_ops_ns(&c->recorder->hooks);
	run->hooks_cupti_ns = c->recorder->hooks.cupti_ns;
	run->hooks_memory_ns = c->recorder->hooks.ns[OP_MALLOC];
	memcpy(run->hooks_ns, c->recorder->hooks.ns, sizeof(run->hooks_ns));
	run->unseen_processes = status->unseen_processes;
	run->unseen_name = status->unseen_name;
	run->agentless_processes = 0;
	for (int i = ABSENCE_NONE + 1; i < ABSENCE_COUNT; i++)
		run->agentless_processes += status->absences.count[i];
}

static void take_time(struct collector *c)
{
	const struct machine now = machine_now();

	c->run.wall_ns = clock_now_ns() - c->run.start_ns;
	machine_tell(c->machine, &now, &c->run);
	limits_look(&c->limits, clock_now_ns());
	limits_tell(&c->limits, &c->run);
	recorded_tell(&c->recorder->recorded, &c->run);
}

// Of a zombie root alone may read them: for others what was read last has to do.
static void take_io(struct collector *c)
{
	struct proc_io io;

	if (!proc_io_read((uint32_t)c->target, &io))
		return;
	c->run.read_bytes = io.read_bytes;
	c->run.read_calls = io.read_calls;
	c->run.write_bytes = io.write_bytes;
	c->run.write_calls = io.write_calls;
}

static void take_io_if_due(struct collector *c, uint64_t now_ns)
{
	if (now_ns < c->io_due_ns)
		return;
	take_io(c);
	c->io_due_ns = now_ns + IO_NS;
}

// As often as the clock of the CPU, see merge/record/cpu_clock.h, and as cheap.
static void take_resident(struct collector *c, uint64_t now_ns)
{
	uint64_t run_ns = now_ns - c->run.start_ns;
	uint64_t wait_ns = run_ns < NS_PER_SEC        ? RSS_NS
	                   : run_ns < 10 * NS_PER_SEC ? 5 * RSS_NS
	                                              : 25 * RSS_NS;

	if (now_ns < c->rss_due_ns)
		return;
	uint64_t bytes = recorder_resident(c->recorder);
	uint64_t cost_ns = (clock_now_ns() - now_ns) * RSS_COST_PART;
	c->rss_due_ns = now_ns + (cost_ns > wait_ns ? cost_ns : wait_ns);
	if (bytes) // else all have ended
		profile_add_rss(c->profile, now_ns, bytes);
}

static void tell_memory(struct collector *c, uint64_t now_ns)
{
	c->run.memory_curves = profile_tell_memory(c->profile, now_ns);
	c->curves_due_ns = now_ns + NS_PER_SEC;
}

// Whatever still runs in the background goes on without us: nobody waits for it, nor do we.
static void note_background(struct collector *c)
{
	const char *name;

	c->background = recorder_count_running(c->recorder, (uint32_t)c->target, &name);
	snprintf(c->background_name, sizeof(c->background_name), "%s", name);
}

void collector_begin(struct collector *c)
{
	c->own_cpu_ns = own_cpu_ns();
	c->broken.text[0] = '\0';
	c->run.exit_status = -1;
	cpu_clock_init(&c->clock, CPU_CLOCK_ROOT, (uint32_t)c->target, c->run.start_ns);
	limits_init(&c->limits, "", (uint32_t)c->target, c->run.start_ns);
	limits_maybe(&c->limits, clock_now_ns());
	sampler_begin(c->sampler);
}

int collector_timeout_ms(const struct collector *c, int limit_ms)
{
	uint64_t now_ns = clock_now_ns();
	int timeout_ms = c->broken.text[0] ? limit_ms : sampler_timeout_ms(c->sampler);

	if (timeout_ms < 0 || timeout_ms > limit_ms)
		timeout_ms = limit_ms;
	if (ahead_is_idle(c->ahead)) // else it may be due, and would not be done
		timeout_ms = checkpoint_timeout_ms(c->checkpoint, now_ns, timeout_ms);
	timeout_ms = ahead_timeout_ms(c->ahead, now_ns, timeout_ms);
	timeout_ms = limits_timeout_ms(&c->limits, now_ns, timeout_ms);
	uint64_t rss_ms = c->rss_due_ns > now_ns ? (c->rss_due_ns - now_ns) / NS_PER_MS + 1 : 0;
	if (rss_ms < (uint64_t)timeout_ms)
		timeout_ms = (int)rss_ms;
	return cpu_clock_timeout_ms(&c->clock, now_ns, timeout_ms);
}

void collector_look(struct collector *c)
{
	checkpoint_reap(c->checkpoint, false);
	take_io(c);
}

void collector_step(struct collector *c)
{
	if (cpu_clock_maybe(&c->clock, clock_now_ns()))
		cpu_clock_tell(&c->clock, &c->run);
	if (limits_maybe(&c->limits, clock_now_ns()))
		limits_tell(&c->limits, &c->run);
	take_io_if_due(c, clock_now_ns());
	take_resident(c, clock_now_ns());
	if (clock_now_ns() >= c->curves_due_ns)
		tell_memory(c, clock_now_ns());
	take_sampler_facts(c);
	c->run.wall_ns = clock_now_ns() - c->run.start_ns;
	recorded_tell(&c->recorder->recorded, &c->run);
	ahead_maybe(c->ahead, c->profile, clock_now_ns());
	// A fork waits for whoever is in the middle of an allocation, be he ever so slow.
	if (ahead_is_idle(c->ahead))
		checkpoint_maybe(c->checkpoint, c->profile, &c->run, clock_now_ns());
}

void collector_end(struct collector *c, int status, const struct rusage *usage)
{
	struct error finish;

	c->run.exit_status = status;
	take_time(c);
	c->run.target_cpu_ns = usage_cpu_ns(usage);
	c->run.peak_rss_bytes = (uint64_t)usage->ru_maxrss * 1024;
	collector_drain(c);
	note_background(c);
	checkpoint_reap(c->checkpoint, true);
	if (sampler_finish(c->sampler, &finish) < 0 && !c->broken.text[0])
		c->broken = finish;
	profile_end_gpu(c->profile);
	tell_memory(c, clock_now_ns());
	profile_end_wall(c->profile, c->run.start_ns + c->run.wall_ns);
	take_sampler_facts(c);
	recorded_tell(&c->recorder->recorded, &c->run);
	c->run.collector_cpu_ns = own_cpu_ns() - c->own_cpu_ns + c->checkpoint->cpu_ns;
	c->run.complete = true;
}

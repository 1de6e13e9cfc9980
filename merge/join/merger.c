// SPDX-License-Identifier: MIT
#include "merge/join/merger.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "merge/join/merger_data.h"
#include "merge/profile/run_fields.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define NODES        (1u << 21)
#define CELLS        (1u << 21)
#define SAME_BOOT_NS (10 * (int64_t)NS_PER_SEC) // what setting the clock may do to one host's

// Of several jobs, or of one that has run several times, ranks have the same numbers.
static void add_number(struct merge_plan *plan, bool numbered, uint32_t number)
{
	if (!numbered || number >= MERGER_RANKS)
		return;
	uint64_t *bits = &plan->numbers[number / 64], bit = UINT64_C(1) << number % 64;

	plan->by_place |= (*bits & bit) != 0;
	*bits |= bit;
}

static void add_numbers(struct merge_plan *plan, const struct profile *facts)
{
	const struct ranks *ranks = &facts->ranks;

	if (!ranks->count)
		add_number(plan, facts->run.has_rank, facts->run.rank);
	for (uint32_t i = 0; i < ranks->count; i++) {
		add_number(plan, ranks->ranks[i].numbered, ranks->ranks[i].number);
		// Its processes are called by their places among the files that it was made of.
		plan->by_place |= plan->count && !ranks->ranks[i].numbered;
	}
}

void merge_plan_add(struct merge_plan *plan, const struct profile *facts)
{
	const struct run *run = profile_run(facts);
	uint64_t start = run->start_realtime_ns, end = start + run->wall_ns;

	add_numbers(plan, facts);
	plan->slices += facts->slices.kept;
	plan->ranks += facts->ranks.count ? facts->ranks.count : 1;
	if (!plan->count++) {
		plan->first_ns = plan->latest_start_ns = start;
		plan->earliest_end_ns = plan->last_ns = end;
		return;
	}
	plan->first_ns = start < plan->first_ns ? start : plan->first_ns;
	plan->latest_start_ns = start > plan->latest_start_ns ? start : plan->latest_start_ns;
	plan->earliest_end_ns = end < plan->earliest_end_ns ? end : plan->earliest_end_ns;
	plan->last_ns = end > plan->last_ns ? end : plan->last_ns;
	plan->by_start = plan->latest_start_ns > plan->earliest_end_ns;
}

static void forget_part(struct merger *m)
{
	uint32_t **maps[] = { &m->modules, &m->locations, &m->nodes,   &m->chains,
		              &m->ops,     &m->processes, &m->threads, &m->devices,
		              &m->streams, &m->works,     &m->models };

	m->profile->held = NULL;
	m->profile->held_count = 0;
	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		free(*maps[i]);
		*maps[i] = NULL;
	}
	m->part = NULL;
}

void merger_free(struct merger *m)
{
	if (!m)
		return;
	if (m->profile)
		forget_part(m);
	profile_free(m->profile);
	merger_slots_fini(&m->process_slots);
	merger_slots_fini(&m->thread_slots);
	free(m->hosts);
	meetings_fini(&m->meetings);
	free(m);
}

struct merger *merger_new(const struct merge_plan *plan, struct error *err)
{
	const struct profile_limits limits = { NODES, CELLS, MERGER_THREADS };
	cleanup(merger) struct merger *m = calloc(1, sizeof(*m));

	if (m)
		m->profile = profile_alloc(&limits, err);
	if (m && m->profile) {
		m->profile->modules = m->profile->own_modules = modules_new();
		m->profile->ops = m->profile->own_ops = ops_new();
	}
	if (!m || !m->profile || !m->profile->modules || !m->profile->ops) {
		error_set(err, ENOMEM, "could not start to merge");
		return NULL;
	}
	profile_set_timeline(m->profile, plan->timeline);
	m->plan = *plan;
	m->apart = plan->ranks <= MERGER_APART;
	m->run = (struct run){ .complete = true, .kernel_stacks = true, .off_cpu_exact = true };
	return steal(m);
}

bool merger_text(struct merger *m, uint32_t id, uint32_t *text)
{
	*text = strings_add(m->profile->strings, strings_get(m->part->strings, id));
	return *text || !id;
}

__attribute__((format(printf, 2, 3))) static void note(struct merger *m, const char *format, ...)
{
	size_t used = strlen(m->notes);
	char line[512];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (strstr(m->notes, line) || used + strlen(line) + 2 > sizeof(m->notes))
		return; // many parts say the same
	snprintf(m->notes + used, sizeof(m->notes) - used, "%s%s", used ? "\n" : "", line);
}

// The host of the part, made if it is new. NULL if there is no memory.
static struct merger_host *host_of(struct merger *m)
{
	const struct run *run = &m->part->run;
	uint32_t name = strings_add(m->profile->strings, run->host ? run->host : "?");

	for (uint32_t i = 0; i < m->host_count; i++)
		if (m->hosts[i].name == name)
			return &m->hosts[i];
	if (!name || !array_reserve(&m->hosts, &m->host_capacity, (size_t)m->host_count + 1))
		return NULL;
	m->hosts[m->host_count] = (struct merger_host){
		.name = name, .boot_ns = (int64_t)(run->start_realtime_ns - run->start_ns)
	};
	return &m->hosts[m->host_count++];
}

// By the first part of a host its clock is put right; START is where it would begin without that.
static bool compare_clocks(struct merger *m, struct merger_host *host, int64_t start)
{
	if (!merger_compare_clocks(m, m->shift_ns + start, &m->clock))
		return false;
	if (m->clock.count < MEETINGS_LEAST || host->met)
		return true;
	host->met = true;
	// What all are compared with is right.
	if (host != m->hosts)
		host->ahead_ns = m->clock.ahead_ns;
	return true;
}

/*
 * Time 0 of the profile is a second before the first start, so that no time is 0. Of one host all
 * parts move alike, however its time of day was set meanwhile; unless it was started anew.
 */
static bool align(struct merger *m)
{
	const struct run *run = &m->part->run;
	struct merger_host *host = host_of(m);
	int64_t boot = (int64_t)(run->start_realtime_ns - run->start_ns);

	if (!host)
		return false;
	host->cpus = run->cpus > host->cpus ? run->cpus : host->cpus;
	if (llabs(boot - host->boot_ns) < SAME_BOOT_NS)
		boot = host->boot_ns;
	else
		host->boot_ns = boot;
	m->shift_ns = m->meeting_shift_ns = (int64_t)NS_PER_SEC - (int64_t)run->start_ns;
	m->clock = (struct meetings_clock){ 0 };
	if (m->plan.by_start)
		return true;
	int64_t start = boot + (int64_t)run->start_ns - (int64_t)m->plan.first_ns;
	if (!compare_clocks(m, host, start))
		return false;
	start -= host->ahead_ns;
	m->meeting_shift_ns += start;
	// Never before time 0, where the clock was set back between two starts.
	m->shift_ns += start > 0 ? start : 0;
	return true;
}

static int worse_status(int a, int b)
{
	bool killed_a = a >= 0 && WIFSIGNALED(a), killed_b = b >= 0 && WIFSIGNALED(b);

	if (killed_a || killed_b)
		return killed_a ? a : b;
	return a ? a : b;
}

static void add_up_fields(struct run *run, const struct run *part)
{
	for (size_t i = 0; i < run_field_count; i++) {
		const struct run_field *field = &run_fields[i];
		if (field->type == RUN_U64)
			*(uint64_t *)run_at(run, field) += *(uint64_t *)run_at(part, field);
	}
	run->machine_cpus = run->machine_busy_ns = run->machine_steal_ns = 0; // told several times
	run->unseen_processes += part->unseen_processes;
	run->agentless_processes += part->agentless_processes;
	run->kernel_stacks &= part->kernel_stacks;
	run->off_cpu_exact &= part->off_cpu_exact;
	run->complete &= part->complete;
	run->exit_status = worse_status(run->exit_status, part->exit_status);
	run->unseen_name = run->unseen_name ? run->unseen_name : part->unseen_name;
}

// Of the limits of memory that which came nearest. Quotas and who had the CPUs are each part's own.
static void add_limits(struct merger *m, const struct run *before)
{
	const struct run *part = &m->part->run;
	const struct run *from =
		(double)part->memory_held_bytes * (double)before->memory_limit_bytes >=
					(double)before->memory_held_bytes *
						(double)part->memory_limit_bytes &&
				part->memory_limit_bytes
			? part
			: before;

	m->run.memory_group = from->memory_group;
	m->run.memory_limit_bytes = from->memory_limit_bytes;
	m->run.memory_held_bytes = from->memory_held_bytes;
	m->unmerged_quotas += part->quota_millicpus > 0;
}

// What is no sum: the largest, the worst, what the first one says.
static void add_facts(struct merger *m)
{
	const struct run *part = &m->part->run;
	struct run before = m->run;
	struct run *run = &m->run;
	uint64_t begin = part->start_ns + (uint64_t)m->shift_ns - NS_PER_SEC;

	add_up_fields(run, part);
	run->peak_rss_bytes = part->peak_rss_bytes > before.peak_rss_bytes ? part->peak_rss_bytes
	                                                                   : before.peak_rss_bytes;
	run->wall_ns =
		begin + part->wall_ns > before.wall_ns ? begin + part->wall_ns : before.wall_ns;
	add_limits(m, &before);
	run->recorded_from_ns = run->recorded_to_ns = run->recorded_ns = 0;
	run->recorded_nothing = run->recorded_remedy = NULL;
	run->start_ns = NS_PER_SEC;
	run->start_realtime_ns = m->plan.first_ns;
	if (m->parts && part->frequency_hz != before.frequency_hz)
		note(m,
		     "the parts were sampled at different rates: rows of those at higher ones are "
		     "more exact");
	if (part->frequency_hz > run->frequency_hz)
		run->frequency_hz = part->frequency_hz;
	if (part->rung > run->rung || !m->parts) {
		run->rung = part->rung;
		run->rung_reason = part->rung_reason;
		run->rung_remedy = part->rung_remedy;
	}
	if (!m->parts) {
		run->command = part->command;
		run->directory = part->directory;
		run->host = part->host;
		run->kernel = part->kernel;
		run->version = part->version;
		run->environment = part->environment;
	} else if (part->environment && run->environment &&
	           strcmp(part->environment, run->environment) != 0)
		note(m, "the parts differ in what they ran on or with: --env has the first one's "
		        "alone, bottleneck report --env that of each");
}

static void note_facts(struct merger *m)
{
	const struct profile *part = m->part;
	char *copy = strdup(part->run.notes ? part->run.notes : ""), *rest = copy;

	for (char *line = strsep(&rest, "\n"); copy && line; line = strsep(&rest, "\n"))
		if (*line)
			note(m, "%s", line);
	free(copy);
	m->unmerged_repeats += part->repeats.count != 0;
	m->profile->lost += part->lost;
	m->profile->lost_ns += part->lost_ns;
}

// The run's texts must not be those of a part, which is gone by the end.
static int keep_run(struct merger *m, struct error *err)
{
	if (profile_set_run(m->profile, &m->run, err) < 0)
		return -1;
	m->run = m->profile->run;
	return 0;
}

static bool make_maps(struct merger *m)
{
	const struct profile *part = m->part;
	const struct {
		uint32_t **map;
		size_t count;
	} maps[] = {
		{ &m->modules, modules_count(part->modules) },
		{ &m->locations, part->locations.count },
		{ &m->nodes, part->paths.count },
		{ &m->chains, part->chains.count },
		{ &m->ops, part->ops ? ops_count(part->ops) : 0 },
		{ &m->processes, part->threads.process_count },
		{ &m->threads, part->threads.thread_count },
		{ &m->devices, part->gpu.device_count },
		{ &m->streams, part->gpu.stream_count },
		{ &m->works, part->gpu.works.count },
		{ &m->models, part->gpu.device_count },
	};

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		*maps[i].map = calloc(maps[i].count + 1, sizeof(uint32_t));
		if (!*maps[i].map)
			return false;
	}
	return true;
}

static bool add_tables(struct merger *m)
{
	// Folding drops locations that nothing stands at, and gives others new numbers: room is
	// made before there are any of this part, and its times, which may need more, come last.
	return make_maps(m) && profile_make_room(m->profile, m->part->paths.count) &&
	       merger_add_modules(m) && merger_add_op_names(m) && merger_add_threads(m) &&
	       merger_add_locations(m) && merger_add_nodes(m) && merger_add_chains(m) &&
	       merger_add_ops(m) && merger_add_memory(m) && merger_add_counts(m) &&
	       merger_add_sources(m) && merger_add_gpu(m) && merger_add_gpu_lines(m);
}

static int add_all(struct merger *m, struct error *err)
{
	if (merger_find_meetings(m, err) < 0)
		return -1;
	if (!align(m) || !add_tables(m))
		return error_set(err, ENOMEM, "could not merge a profile");
	if (merger_add_slices(m, err) < 0)
		return -1;
	if (!merger_add_cells(m))
		return error_set(err, ENOMEM, "could not merge a profile");
	uint32_t before = m->profile->ranks.count;
	if (merger_add_rank(m, err) < 0)
		return -1;
	if (!merger_add_wall(m, before))
		return error_set(err, ENOMEM, "could not merge a profile");
	return 0;
}

int merger_add(struct merger *m, const struct profile *part, struct error *err)
{
	m->part = part;
	if (!m->profile->cells.origin_ns)
		m->profile->cells.origin_ns = m->profile->op_table.origin_ns = NS_PER_SEC;
	int failed = add_all(m, err);
	if (!failed) {
		add_facts(m);
		note_facts(m);
		failed = keep_run(m, err);
		m->parts++;
	}
	forget_part(m);
	return failed;
}

void merger_leave_out(struct merger *m)
{
	m->left_out++;
}

static void note_clocks(struct merger *m)
{
	const struct ranks *ranks = &m->profile->ranks;
	uint64_t residual_ns = 0;
	uint32_t met = 0;

	for (uint32_t i = 1; i < m->host_count; i++)
		met += m->hosts[i].met;
	for (uint32_t i = 0; i < ranks->count; i++)
		if (ranks->ranks[i].residual_ns > residual_ns)
			residual_ns = ranks->ranks[i].residual_ns;
	if (met)
		note(m,
		     "clocks of %u hosts are put right by when collective operations of MPI ended, "
		     "which differs by %.0f us still (median, of the worst rank)",
		     met + 1, (double)residual_ns / (double)NS_PER_US);
	if (met + 1 < m->host_count)
		note(m,
		     "times of %u hosts are put together by their clocks, which may differ by "
		     "milliseconds",
		     met ? m->host_count - met - 1 : m->host_count);
}

static void note_what_is_missing(struct merger *m)
{
	if (m->left_out)
		note(m, "%u more profile%s could not be read, and %s left out", m->left_out,
		     m->left_out == 1 ? "" : "s", m->left_out == 1 ? "was" : "were");
	if (m->plan.by_start)
		note(m,
		     "the runs did not overlap: their times are laid over each other at the starts");
	else if (m->host_count > 1)
		note_clocks(m);
	if (m->gpus_shared)
		note(m,
		     "%u GPU%s in use in other profiles, too: each has a row for it, and how busy it "
		     "was for all of them at once is not known",
		     m->gpus_shared, m->gpus_shared == 1 ? " was" : "s were");
	if (m->gpus_left_out)
		note(m,
		     "when GPUs were busy is reported for the first %u: for %u more, only what ran "
		     "there is known",
		     GPU_DEVICES_MAX, m->gpus_left_out);
	if (m->streams_left_out)
		note(m, "of the streams of GPUs %u are left out", m->streams_left_out);
	if (m->unmerged_series)
		note(m,
		     "warm-up and steps are those of the first profile alone: %u others have "
		     "theirs in the table of ranks",
		     m->unmerged_series);
	if (m->unmerged_quotas)
		note(m,
		     "%u of the profiles ran under a CPU quota (cgroup): what it took is in these alone",
		     m->unmerged_quotas);
	if (m->unmerged_slices)
		note(m,
		     "single calls and waits, for timelines, are those of the first profile alone");
	if (m->unmerged_repeats)
		note(m,
		     "what bottleneck bench has measured in %u of the profiles is not merged: its "
		     "runs belong to one machine and time, see bottleneck diff",
		     m->unmerged_repeats);
	if (m->profile->allocations.exact && m->parts > 1)
		note(m,
		     "the peak of memory is the sum of all peaks, which need not have been at one "
		     "time");
}

struct profile *merger_finish(struct merger *m, struct error *err)
{
	const struct ranks *ranks = &m->profile->ranks;
	char command[4096];

	for (uint32_t i = 0; i < m->host_count; i++)
		m->run.cpus = i ? m->run.cpus + m->hosts[i].cpus : m->hosts[i].cpus;
	const char *of =
		ranks->count ? strings_get(m->profile->strings, ranks->ranks[0].command) : NULL;
	snprintf(command, sizeof(command), "%u profile%s of %s", ranks->count,
	         ranks->count == 1 ? "" : "s", of ? of : "?");
	note_what_is_missing(m);
	m->run.command = command;
	m->run.notes = m->notes;
	m->profile->last_ns = NS_PER_SEC + m->run.wall_ns;
	if (m->profile->wall_time.root &&
	    !wall_time_sum(&m->profile->wall_time, &m->profile->cells, &m->profile->paths)) {
		error_set(err, ENOMEM, "could not merge the wall time");
		return NULL;
	}
	return profile_set_run(m->profile, &m->run, err) < 0 ? NULL : steal(m->profile);
}

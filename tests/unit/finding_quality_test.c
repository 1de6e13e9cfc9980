// SPDX-License-Identifier: MIT
// Findings on the measurement itself.
#include "tests/unit/finding_fixture.h"

#include "merge/profile/profile_data.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(finding_quality, .init = begin, .fini = end);

// A run of one second of 100 samples, but for what CHANGE makes of it.
static struct findings *look_at_run(void (*change)(struct run *))
{
	struct run run = {
		.start_ns = 1000 * MS,
		.wall_ns = 1000 * MS,
		.command = "app",
		.cpus = 2,
		.rung = 1,
		.samples = 100,
		.target_cpu_ns = 1000 * MS,
		.off_cpu_exact = true,
		.complete = true,
	};

	end();
	begin();
	add(&f, 1, METRIC_ON_CPU, 1000, "main a.c:3 > work a.c:5");
	change(&run);
	name_all(&f);
	cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
	return look(NULL);
}

static void lose_one(struct run *run)
{
	run->samples = 99;
	run->lost = 1;
}

static void lose_two(struct run *run)
{
	run->samples = 98;
	run->lost = 2;
}

static void lose_many(struct run *run)
{
	run->samples = 89;
	run->lost = 11;
}

static void cost_five_percent(struct run *run)
{
	run->handlers_ns = 20 * MS;
	run->setup_ns = 17 * MS;
	run->kernel_ns = 10 * MS;
}

// They are in no row of the program's.
static void cost_in_hooks(struct run *run)
{
	run->hooks_ops_ns = 100 * MS;
	run->hooks_memory_ns = 100 * MS;
	run->hooks_waits_ns = 100 * MS;
}

static void cost_six_percent(struct run *run)
{
	run->handlers_ns = 60 * MS;
}

static void cost_a_quarter(struct run *run)
{
	run->handlers_ns = 250 * MS;
}

static void cost_others_nothing(struct run *run)
{
	run->collector_cpu_ns = 300 * MS;
	run->machine_cpus = 4;
	run->machine_busy_ns = 3500 * MS;
}

static void cost_on_a_full_machine(struct run *run)
{
	run->collector_cpu_ns = 60 * MS;
	run->machine_cpus = 4;
	run->machine_busy_ns = 3600 * MS;
}

static void cost_on_its_only_cpu(struct run *run)
{
	run->collector_cpu_ns = 60 * MS;
	run->cpus = 1;
}

static void take_a_second(struct run *run)
{
	run->wall_ns = 1000 * MS;
}

static void take_half_a_second(struct run *run)
{
	run->wall_ns = 500 * MS;
}

static void take_no_time(struct run *run)
{
	run->wall_ns = 50 * MS;
}

static void see_the_kernel(struct run *run)
{
	run->rung = 1;
}

static void see_no_kernel(struct run *run)
{
	run->rung = 2;
	run->rung_remedy = "Lower the setting.";
}

static void see_waits_only(struct run *run)
{
	run->rung = 4;
}

static void see_one_sample(struct run *run)
{
	run->samples = 1;
}

struct judged {
	const char *id;
	void (*change)(struct run *);
	int severity; // -1: silent
};

Test(finding_quality, rules_on_the_measurement)
{
	static const struct judged table[] = {
		{ "MEAS-LOST", lose_one, -1 },
		{ "MEAS-LOST", lose_two, SEVERITY_WARN },
		{ "MEAS-LOST", lose_many, SEVERITY_ERROR },
		{ "MEAS-OVERHEAD", cost_five_percent, -1 },
		{ "MEAS-OVERHEAD", cost_in_hooks, -1 },
		{ "MEAS-OVERHEAD", cost_six_percent, SEVERITY_INFO },
		{ "MEAS-OVERHEAD", cost_a_quarter, SEVERITY_WARN },
		{ "MEAS-OVERHEAD", cost_others_nothing, -1 },
		{ "MEAS-OVERHEAD", cost_on_a_full_machine, SEVERITY_INFO },
		{ "MEAS-OVERHEAD", cost_on_its_only_cpu, SEVERITY_INFO },
		{ "MEAS-SHORT", take_a_second, -1 },
		{ "MEAS-SHORT", take_half_a_second, SEVERITY_INFO },
		{ "MEAS-SHORT", take_no_time, SEVERITY_WARN },
		{ "MEAS-FALLBACK", see_the_kernel, -1 },
		{ "MEAS-FALLBACK", see_no_kernel, SEVERITY_INFO },
		{ "MEAS-FALLBACK", see_waits_only, SEVERITY_WARN },
		{ "MEAS-EMPTY", see_one_sample, -1 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		cleanup(findings) struct findings *findings = look_at_run(table[i].change);
		const struct finding *finding = finding_of(findings, table[i].id);
		cr_expect_eq(finding ? (int)finding->severity : -1, table[i].severity,
		             "row %zu: %s", i, table[i].id);
		cr_expect(!finding || !finding->saving_ns, "%s saves nothing", table[i].id);
	}
}

static void cost_at_starts(struct run *run)
{
	cost_on_a_full_machine(run);
	run->setup_ns = 70 * MS;
}

static void cost_in_the_kernel(struct run *run)
{
	run->kernel_ns = 70 * MS;
}

static void cost_of_threads(struct run *run)
{
	cost_in_the_kernel(run);
	run->samples = 2;
}

static void cost_at_the_rate_of_an_attached_python(struct run *run)
{
	cost_on_a_full_machine(run);
	run->frequency_hz = 149;
}

Test(finding_quality, overhead_names_the_rows_that_it_inflates)
{
	static const struct {
		void (*change)(struct run *run);
		const char *rows, *advice;
	} table[] = {
		{ cost_six_percent, "inflates all rows alike:", "Lower the sampling rate" },
		{ cost_on_a_full_machine, "inflates waits for a free CPU:", "Leave it a CPU" },
		{ cost_at_the_rate_of_an_attached_python,
		  "inflates waits for a free CPU:", "sampling rate: -F 74." },
		{ cost_at_starts,
		  "inflates the rows of exec, dynamic linking and exit:", "--no-ops" },
		{ cost_in_the_kernel, "inflates all rows alike:", "Lower the sampling rate" },
		{ cost_of_threads,
		  "inflates the rows of code that starts threads:", "Lower the sampling rate" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		cleanup(findings) struct findings *findings = look_at_run(table[i].change);
		const struct finding *finding = finding_of(findings, "MEAS-OVERHEAD");
		cr_assert(finding != NULL, "row %zu", i);
		cr_expect(strstr(finding->advice, table[i].advice), "row %zu: %s", i,
		          finding->advice);
		cr_expect(strstr(finding->fact, table[i].rows), "row %zu: %s", i, finding->fact);
	}
}

Test(finding_quality, nothing_measured)
{
	finish(1000, 2);
	const struct run run = { .start_ns = 1000 * MS, .wall_ns = 100 * MS, .command = "app" };
	cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_assert(findings->shown > 0);
	cr_expect_str_eq(findings->items[0].rule->id, "MEAS-EMPTY");
	cr_expect_eq(findings->items[0].severity, SEVERITY_ERROR);
}

// On a processor that others have for a part of the time.
static void share_cpu(uint64_t waited_ms)
{
	end();
	begin();
	add(&f, 1, METRIC_ON_CPU, 1000 - waited_ms, "main a.c:3 > work a.c:5");
	add(&f, 1, METRIC_OFF_RUNNABLE, waited_ms, "main a.c:3 > work a.c:5");
	finish(1000, 2);
}

Test(finding_quality, others_on_the_cpus)
{
	static const struct {
		uint64_t waited_ms;
		int severity;
	} table[] = {
		{ 50, -1 }, { 60, SEVERITY_INFO }, { 200, SEVERITY_INFO }, { 210, SEVERITY_WARN }
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		share_cpu(table[i].waited_ms);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "MEAS-NOISE");
		cr_expect_eq(finding ? (int)finding->severity : -1, table[i].severity, "%lu ms",
		             (unsigned long)table[i].waited_ms);
	}
}

// Of two seconds that the machine's CPUs had work, STEAL_MS were another machine's.
static void lose_to_hypervisor(uint64_t steal_ms, bool alone)
{
	struct run run = { .start_ns = 1000 * MS,
		           .wall_ns = 1000 * MS,
		           .cpus = alone ? 1 : 2,
		           .samples = 1000,
		           .off_cpu_exact = true,
		           .machine_cpus = 2,
		           .machine_busy_ns = (2000 - steal_ms) * MS,
		           .machine_steal_ns = steal_ms * MS };

	end();
	begin();
	add(&f, 1, METRIC_ON_CPU, 1000, "main a.c:3 > work a.c:5");
	name_all(&f);
	cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
}

Test(finding_quality, cpus_that_the_hypervisor_gives_to_others)
{
	static const struct {
		uint64_t steal_ms;
		bool alone;
		int severity;
	} table[] = {
		{ 0, false, -1 },
		{ 100, false, -1 },
		{ 120, false, SEVERITY_INFO },
		{ 120, true, SEVERITY_INFO }, // also where the program has all CPUs itself
		{ 500, false, SEVERITY_WARN },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		lose_to_hypervisor(table[i].steal_ms, table[i].alone);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "MEAS-NOISE");
		cr_expect_eq(finding ? (int)finding->severity : -1, table[i].severity, "row %zu",
		             i);
		cr_expect(!finding || strstr(finding->fact, "hypervisor") != NULL);
	}
}

Test(finding_quality, files_without_names)
{
	for (int i = 0; i < 2; i++) {
		add(&f, 1, METRIC_ON_CPU, i ? 1 : 100, "main a.c:3 > ?@libc");
		add(&f, 1, METRIC_ON_CPU, i ? 0 : 900, "main a.c:3 > work a.c:5");
		f.symbolizer.status = (struct debug_status){ .level = DEBUG_LINES };
		finish(1000, 2);
		// The fixture has one status for all: that of the C library alone is wanted.
		f.symbolizer.status =
			(struct debug_status){ .level = DEBUG_NONE, .remedy = "install libc-dbg" };
		for (uint32_t id = 1; id <= modules_count(f.modules); id++)
			if (strstr(modules_get(f.modules, id)->path, "libc"))
				f.profile->facts[id - 1].level = DEBUG_NONE;
		cleanup(findings) struct findings *findings = look(NULL);
		cr_expect_eq(finding_of(findings, "MEAS-SYMBOLS") != NULL, i == 1, "%d", i);
	}
}

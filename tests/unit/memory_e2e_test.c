// SPDX-License-Identifier: MIT
// What the agent says of programs that know what they allocate, and what it does to those that
// allocate in hard places.
#include "base/array.h"
#include "base/cleanup.h"
#include "base/record.h"
#include "tests/support/agent_run.h"
#include "tests/support/expect.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS     256
#define SITES_MAX 8

struct sample {
	uint64_t address, bytes, weight;
	uint64_t stack[WORDS];
	uint32_t words, pid;
	bool freed;
};

struct site {
	char name[16];
	uint64_t from, to, bytes, live;
	/* What the samples say; variances are of the estimates. */
	double estimate, variance, live_estimate, live_variance;
	uint64_t samples;
};

static struct told {
	struct sample *samples;
	size_t count, capacity;
	uint64_t allocations, frees, allocated, freed; /* of all processes */
	uint64_t records, unknown_frees;
	uint64_t live, peak; /* said last */
} told;

static struct agent_run with, without;
static struct site sites[SITES_MAX];

static void add_sample(const struct record_alloc *alloc)
{
	if (!array_reserve(&told.samples, &told.capacity, told.count + 1))
		abort();
	struct sample *sample = &told.samples[told.count++];
	*sample = (struct sample){ .address = alloc->address,
		                   .bytes = alloc->bytes,
		                   .weight = alloc->weight_bytes,
		                   .pid = alloc->head.pid };
	sample->words = alloc->stack_bytes / 8 < WORDS ? alloc->stack_bytes / 8 : WORDS;
	memcpy(sample->stack, alloc + 1, sample->words * sizeof(uint64_t));
}

// The youngest one of that address.
static void add_free(const struct record_free *record)
{
	for (size_t i = told.count; i > 0; i--) {
		struct sample *sample = &told.samples[i - 1];
		if (sample->address != record->address || sample->pid != record->head.pid)
			continue;
		told.unknown_frees += sample->freed;
		sample->freed = true;
		return;
	}
	told.unknown_frees++;
}

static void visit(void *context, const struct record *record)
{
	const struct record_memory *memory = (const struct record_memory *)record;

	(void)context;
	if (record->type == RECORD_ALLOC)
		add_sample((const struct record_alloc *)record);
	if (record->type == RECORD_FREE)
		add_free((const struct record_free *)record);
	if (record->type != RECORD_MEMORY)
		return;
	told.records++;
	told.allocations += memory->allocations;
	told.frees += memory->frees;
	told.allocated += memory->allocated_bytes;
	told.freed += memory->freed_bytes;
	told.live = memory->live_bytes;
	told.peak = memory->peak_bytes;
}

static const struct agent_run_options plain = { .without = true };
static const struct agent_run_options agent = { .silent = true,
	                                        .malloc_bytes = 524288,
	                                        .visit = visit };

static void forget(void)
{
	free(told.samples);
	told = (struct told){ 0 };
}

TestSuite(memory_e2e, .fini = forget);

// Both ways: status and output must be the same.
static void run_both(char *const argv[])
{
	forget();
	agent_run(&without, &plain, argv);
	agent_run(&with, &agent, argv);
	cr_expect(eq(int, with.status, without.status), "%s %s", argv[0], argv[1]);
	cr_expect(eq(str, with.output, without.output), "%s %s", argv[0], argv[1]);
	cr_expect(eq(u64, with.damaged, 0), "%s %s", argv[0], argv[1]);
}

static void run_mode(const char *mode, const char *n)
{
	char *argv[] = { TARGET, (char *)mode, (char *)n, NULL };

	run_both(argv);
}

// With the agent alone: what is printed differs, as addresses do.
static void run_told(const char *mode, const char *n)
{
	char *argv[] = { TARGET, (char *)mode, (char *)n, NULL };

	forget();
	agent_run(&with, &agent, argv);
	cr_assert(lt(u64, with.dropped, 20)); // on a machine that is busy
}

static size_t parse_sites(void)
{
	size_t count = 0;
	cleanup_free char *copy = strdup(with.output);
	char *rest = copy;

	for (char *line; (line = strsep(&rest, "\n")) && count < SITES_MAX;) {
		struct site *site = &sites[count];
		*site = (struct site){ 0 };
		count += sscanf(line, "site %15s %lx %lx %lu %lu", site->name, &site->from,
		                &site->to, &site->bytes, &site->live) == 5;
	}
	return count;
}

static struct site *site_of(const struct sample *sample, size_t count)
{
	for (uint32_t w = 0; w < sample->words; w++)
		for (size_t i = 0; i < count; i++)
			if (sample->stack[w] > sites[i].from && sample->stack[w] <= sites[i].to)
				return &sites[i];
	return NULL;
}

// An allocation that stands for W and is S large varies by w (w - s), seen over all chances.
static void estimate(size_t count)
{
	for (size_t i = 0; i < told.count; i++) {
		const struct sample *sample = &told.samples[i];
		struct site *site = site_of(sample, count);
		double w = (double)sample->weight, variance = w * (w - (double)sample->bytes);
		if (!site)
			continue;
		site->samples++;
		site->estimate += w;
		site->variance += variance;
		if (sample->freed)
			continue;
		site->live_estimate += w;
		site->live_variance += variance;
	}
}

Test(memory_e2e, sites_are_estimated_as_well_as_the_number_of_samples_allows)
{
	double estimated = 0, bytes = 0, variance = 0;

	run_told("sites", "15000");
	size_t count = parse_sites();
	cr_assert(eq(sz, count, 7), "%s", with.output);
	estimate(count);
	for (size_t i = 0; i < count; i++) {
		const struct site *site = &sites[i];
		double off = site->estimate - (double)site->bytes;
		double live_off = site->live_estimate - (double)site->live;
		fprintf(stderr, "%-8s %6lu samples: %+.2f %%, sigma %.2f %%\n", site->name,
		        site->samples, 100 * off / (double)site->bytes,
		        100 * sqrt(site->variance) / (double)site->bytes);
		cr_expect(gt(u64, site->samples, 30), "%s", site->name);
		cr_expect(lt(dbl, fabs(off), 5 * sqrt(site->variance)), "%s", site->name);
		// Of few samples the variance is itself not well known: one more sample.
		double one = (double)site->bytes / (double)site->samples;
		cr_expect(lt(dbl, fabs(live_off), 5 * (sqrt(site->live_variance) + 2 * one)), "%s",
		          site->name);
		estimated += site->estimate;
		bytes += (double)site->bytes;
		variance += site->variance;
	}
	fprintf(stderr, "all      %6zu samples: %+.2f %%, sigma %.2f %%\n", told.count,
	        100 * (estimated - bytes) / bytes, 100 * sqrt(variance) / bytes);
	cr_expect(lt(dbl, fabs(estimated - bytes), 5 * sqrt(variance)));
	cr_expect(eq(u64, told.unknown_frees, 0));
}

static void expect_within(uint64_t value, uint64_t wanted, uint64_t slack, const char *mode)
{
	cr_expect(ge(u64, value + slack, wanted), "%s", mode);
	cr_expect(le(u64, value, wanted + slack), "%s", mode);
}

// Runs N rounds and none: the difference is the rounds' own, and known, but for what libc
// allocates for THREADS: 16 bytes more now and then, where less would be left over than a block.
static void expect_exact(const char *mode, const char *none, const char *n, uint64_t threads)
{
	uint64_t allocations, allocated, frees, freed;

	run_told(mode, none);
	struct told before = told;
	told.samples = NULL;
	run_told(mode, n);
	free(before.samples);
	const char *total = strstr(with.output, "total ");
	cr_assert(total != NULL, "%s: %s", mode, with.output);
	cr_assert(
		eq(int,
	           sscanf(total, "total %lu %lu %lu %lu", &allocations, &allocated, &frees, &freed),
	           4));
	cr_expect(eq(u64, told.allocations - before.allocations, allocations), "%s", mode);
	expect_within(told.allocated - before.allocated, allocated, 16 * threads, mode);
	cr_expect(eq(u64, told.frees - before.frees, frees), "%s", mode);
	expect_within(told.freed - before.freed, freed, 16 * threads, mode);
}

Test(memory_e2e, totals_are_exact)
{
	expect_exact("sites", "0", "200", 0);
}

Test(memory_e2e, totals_of_threads_that_free_what_others_allocated_are_exact)
{
	expect_exact("threads", "0", "20000", 64);
}

Test(memory_e2e, totals_are_exact_where_a_program_leaves_at_once)
{
	expect_exact("quick-exit", "0", "5000", 0);
}

Test(memory_e2e, a_program_at_a_fixed_place_that_takes_mallocs_address_is_counted)
{
	char *argv[] = { AT_A_FIXED_PLACE, "quick-exit", "5000", NULL };

	run_both(argv);
	cr_expect(ge(u64, told.allocated, 5000000));
	cr_expect(eq(u64, with.notes, 0));
}

Test(memory_e2e, the_peak_is_right)
{
	uint64_t peak = 0;

	run_told("peak", "200");
	sscanf(strstr(with.output, "peak"), "peak %lu", &peak);
	cr_expect(ge(dbl, (double)told.peak, 0.99 * (double)peak));
	cr_expect(le(dbl, (double)told.peak, 1.01 * (double)peak + 300000));
	cr_expect(lt(u64, told.live, 300000));
}

Test(memory_e2e, what_a_killed_program_allocated_is_nearly_all_there)
{
	static const char *const modes[] = { "killed", "abort", "overflow" };

	for (int i = 0; i < 3; i++) {
		run_mode(modes[i], "2000000");
		// Of the last 5 ms nothing need be known: a few hundred thousand of them.
		cr_expect(ge(u64, told.allocated, 2000000 * UINT64_C(1000) * 3 / 4), "%s",
		          modes[i]);
	}
}

Test(memory_e2e, two_thousand_short_children_do_what_they_do)
{
	run_mode("forks", "2000");
	run_mode("vforks", "100");
}

Test(memory_e2e, threads_that_come_and_go_do_what_they_do)
{
	run_mode("churn", "5000");
}

Test(memory_e2e, handlers_may_allocate)
{
	run_mode("signals", "20000");
}

Test(memory_e2e, the_standard_holds)
{
	run_mode("manners", "0");
}

static void run_preloaded(const char *library)
{
	void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);

	if (handle || access(library, R_OK) != 0)
		return;
	setenv("LD_PRELOAD", library, 1);
	expect_exact("sites", "0", "50", 0);
	run_mode("churn", "100");
	run_mode("forks", "100");
	run_mode("quick-exit", "100");
	unsetenv("LD_PRELOAD");
}

Test(memory_e2e, other_allocators_stand_behind_ours)
{
	run_preloaded("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2");
	run_preloaded("/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4");
	run_preloaded("/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4");
}

Test(memory_e2e, sanitizers_and_allocators_of_the_programs_own_are_left_alone_and_named)
{
	static const char *const programs[] = { WITH_ASAN, WITH_TSAN, WITH_OWN_MALLOC };

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		char *argv[] = { (char *)programs[i], "churn", "50", NULL };
		if (!programs[i][0])
			continue; // there is no such runtime here
		run_both(argv);
		cr_expect(eq(u64, told.records, 0), "%s", programs[i]);
		cr_expect(eq(u64, with.notes, 1), "%s", programs[i]);
	}
}

Test(memory_e2e, valgrind_finds_nothing_of_ours)
{
	char *argv[] = { "valgrind", "-q", TARGET, "manners", NULL };

	if (access("/usr/bin/valgrind", X_OK) != 0)
		cr_skip("/usr/bin/valgrind is not there");
	agent_run(&without, &plain, argv);
	agent_run(&with, &agent, argv);
	cr_expect(eq(int, with.status, without.status));
	// Process ids differ, and where the program calls from; since 3.22 it says, too, what is
	// wrong with the sizes that the program asks for.
	static const char *const faults[] = { "Invalid read", "Invalid write", "Invalid free" };
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		cr_expect(strstr(with.output, faults[i]) == NULL, "%s", with.output);
	cr_expect(eq(u64, with.notes, 1));
}

Test(memory_e2e, real_programs_do_what_they_do)
{
	char *programs[][5] = {
		{ "bash", "-c",
		  "for i in {1..3000}; do x=$x$i; done; echo ${#x}; (exit 3); echo $?", NULL },
		{ "perl", "-e", "my %h; $h{$_} = 'x' x $_ for 1..3000; print scalar(%h), \"\\n\"",
		  NULL },
		{ "gcc", "-x", "c", "/dev/null", NULL },
		{ "sh", "-c", "seq 100000 | sort -R --random-source=/bin/true | md5sum", NULL },
		{ "python3", "-c",
		  "import multiprocessing as m, threading as t\n"
		  "def f(n): return len([bytearray(i) for i in range(n)])\n"
		  "r = []\n"
		  "x = [t.Thread(target=lambda: r.append(f(3000))) for _ in range(4)]\n"
		  "[i.start() for i in x]; [i.join() for i in x]\n"
		  "print(r, m.get_context('fork').Pool(2).map(f, [1000, 2000]))\n",
		  NULL },
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		run_both(programs[i]);
		cr_expect(gt(u64, told.records, 0), "%s", programs[i][0]);
	}
}

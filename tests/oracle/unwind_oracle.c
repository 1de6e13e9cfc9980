// SPDX-License-Identifier: MIT
/*
 * unwind_oracle [-n SAMPLES] [-F HZ] [-s STACK_BYTES] [--min PERCENT] [-v] -- COMMAND...
 *
 * Samples COMMAND, unwinds every sample by our table and by libunwind, and
 * compares: one line with the number of stacks that are identical, longer,
 * shorter or different, and what a frame costs either way. Exits with 1 if
 * fewer than PERCENT are identical or longer and it is more than one stack,
 * with 77 if perf_event_open is refused. -v shows the stacks that differ.
 */
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "oracle/capture.h"
#include "sampler/unwind/unwinder.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#define PASSES 5

struct result {
	struct frame *frames; // STACK_MAX_FRAMES of each sample
	uint32_t *counts;
	uint64_t *times; // PASSES of each sample
	uint64_t total;  // frames
	double ns;       // for all of them
	struct unwinder_stats stats;
};

struct tally {
	size_t identical, longer, shorter, different;
};

static int compare_times(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

/* Unwinds sample I into FRAMES. The stack is copied first, as the kernel has just done when a
   sample is taken, and FRAMES are used again for the next one: only the unwinding counts. */
static uint64_t timed(struct unwinder *u, const struct captured_sample *captured, uint8_t *stack,
                      struct frame *frames, uint32_t *count)
{
	struct event_sample sample = captured->sample;
	uint32_t flags;

	memcpy(stack, sample.stack, sample.stack_bytes);
	sample.stack = stack;
	uint64_t start = clock_now_ns();
	size_t all =
		unwinder_unwind(u, captured->space, &sample, 0, frames, STACK_MAX_FRAMES, &flags);
	uint64_t end = clock_now_ns();
	*count = (uint32_t)(all - !!(flags & STACK_TRUNCATED));
	return end - start;
}

/* What reading the clock costs, which is no unwinding. */
static uint64_t clock_cost(void)
{
	uint64_t times[101];

	for (size_t i = 0; i < 101; i++) {
		uint64_t start = clock_now_ns();
		times[i] = clock_now_ns() - start;
	}
	qsort(times, 101, sizeof(times[0]), compare_times);
	return times[50];
}

/* Unwinds all samples several times and keeps the frames, without marks. A sample's time is the
   median of its own, so that it does not matter when somebody else had the CPU; the cold first
   time counts like the others. */
static void run(struct unwinder *u, const struct capture *capture, struct result *result)
{
	static uint8_t stack[UINT16_MAX + 1];
	static struct frame frames[STACK_MAX_FRAMES];
	double cost = (double)clock_cost();

	for (size_t i = 0; i < capture->count * PASSES; i++) {
		size_t sample = i % capture->count, pass = i / capture->count;
		result->times[sample * PASSES + pass] =
			timed(u, &capture->samples[sample], stack, frames, &result->counts[sample]);
		memcpy(&result->frames[sample * STACK_MAX_FRAMES], frames,
		       result->counts[sample] * sizeof(struct frame));
	}
	for (size_t i = 0; i < capture->count; i++) {
		uint64_t *times = &result->times[i * PASSES];
		qsort(times, PASSES, sizeof(*times), compare_times);
		result->ns += (double)times[PASSES / 2] - cost;
		result->total += result->counts[i];
	}
	result->stats = *unwinder_stats(u);
}

static int unwind_all(const struct capture *capture, struct modules *modules,
                      enum unwinder_mode mode, struct result *result, struct error *err)
{
	cleanup(unwinder) struct unwinder *u = unwinder_new(modules, mode, err);

	result->frames = calloc(capture->count, STACK_MAX_FRAMES * sizeof(struct frame));
	result->counts = calloc(capture->count, sizeof(uint32_t));
	result->times = calloc(capture->count * PASSES, sizeof(uint64_t));
	if (!u || !result->frames || !result->counts || !result->times)
		return -1;
	run(u, capture, result);
	return 0;
}

static void show(const struct modules *modules, const char *title, const struct frame *frames,
                 uint32_t count, uint32_t from)
{
	fprintf(stderr, "  %s: %u frames\n", title, count);
	for (uint32_t i = from > 2 ? from - 2 : 0; i < count && i < from + 4; i++) {
		const struct module *module = modules_get(modules, frames[i].module);
		fprintf(stderr, "    #%u %s+%#lx kind %u\n", i, module ? module->path : "?",
		        frames[i].address, frames[i].kind);
	}
}

static bool same_frame(struct frame a, struct frame b)
{
	return a.address == b.address && a.module == b.module && a.kind == b.kind;
}

/* Sorts sample I into TALLY; true if the stacks are not the same. COMMON gets the number of
   innermost frames that are. */
static bool judge(const struct result *ours, const struct result *theirs, size_t i,
                  struct tally *tally, uint32_t *common)
{
	const struct frame *a = &ours->frames[i * STACK_MAX_FRAMES];
	const struct frame *b = &theirs->frames[i * STACK_MAX_FRAMES];
	uint32_t n = ours->counts[i], m = theirs->counts[i];
	uint32_t outer = 0;

	for (*common = 0; *common < n && *common < m && same_frame(a[*common], b[*common]);)
		++*common;
	while (outer < m - *common && outer < n - *common &&
	       same_frame(a[n - 1 - outer], b[m - 1 - outer]))
		outer++;

	// Longer: all that libunwind has found, and frames that it has not: beyond its end, or a
	// leaf without a frame whose caller it has skipped.
	if (n == m && *common == n)
		tally->identical++;
	else if (n > m && *common + outer == m)
		tally->longer++;
	else if (*common == n)
		tally->shorter++;
	else
		tally->different++;
	return n != m || *common != n;
}

struct options {
	struct capture_options capture;
	double min_percent;
	int verbose;
};

static int parse(int argc, char **argv, struct options *options)
{
	static const struct option names[] = { { "min", required_argument, NULL, 'm' }, { 0 } };
	int option;

	while ((option = getopt_long(argc, argv, "+n:F:s:v", names, NULL)) != -1) {
		switch (option) {
		case 'n':
			options->capture.samples_max = strtoul(optarg, NULL, 10);
			break;
		case 'F':
			options->capture.frequency_hz = (uint32_t)strtoul(optarg, NULL, 10);
			break;
		case 's':
			options->capture.stack_bytes = (uint32_t)strtoul(optarg, NULL, 10);
			break;
		case 'm':
			options->min_percent = strtod(optarg, NULL);
			break;
		case 'v':
			options->verbose++;
			break;
		default:
			return -1;
		}
	}
	return optind < argc ? 0 : -1;
}

static int report(const struct options *options, const char *name, const struct capture *capture,
                  const struct modules *modules, struct result *ours, struct result *theirs)
{
	struct tally tally = { 0 };
	uint32_t common;

	for (size_t i = 0; i < capture->count; i++) {
		if (!judge(ours, theirs, i, &tally, &common) || !options->verbose)
			continue;
		fprintf(stderr, "sample %zu, %u bytes of stack, %u frames in common\n", i,
		        capture->samples[i].sample.stack_bytes, common);
		show(modules, "table", &ours->frames[i * STACK_MAX_FRAMES], ours->counts[i],
		     common);
		show(modules, "libunwind", &theirs->frames[i * STACK_MAX_FRAMES], theirs->counts[i],
		     common);
	}

	double percent = 100.0 * (double)(tally.identical + tally.longer) / (double)capture->count;
	double table_ns = ours->ns / (double)ours->total;
	double libunwind_ns = theirs->ns / (double)theirs->total;
	printf("%-14.14s %6zu stacks %5.1f frames  identical %6zu longer %3zu shorter %3zu "
	       "different %3zu  %7.3f %%  cut %5.2f %%  table %5.1f libunwind %6.1f ns/frame "
	       "(%.0fx)  tables %.1f MB %.1f ms\n",
	       name, capture->count, (double)ours->total / (double)capture->count, tally.identical,
	       tally.longer, tally.shorter, tally.different, percent,
	       100.0 * (double)ours->stats.truncated / (double)(capture->count * PASSES), table_ns,
	       libunwind_ns, libunwind_ns / table_ns, (double)ours->stats.table_bytes / 1e6,
	       (double)ours->stats.table_build_ns / 1e6);
	// libunwind errs, too, as where destructors begin: a single stack is not held against us.
	return percent >= options->min_percent || tally.shorter + tally.different <= 1 ? 0 : 1;
}

static void free_result(struct result *result)
{
	free(result->frames);
	free(result->counts);
	free(result->times);
}

int main(int argc, char **argv)
{
	struct options options = {
		.capture = { .samples_max = 5000, .frequency_hz = 1999, .stack_bytes = 32768 }
	};
	cleanup(modules) struct modules *modules = modules_new();
	struct result ours = { 0 }, theirs = { 0 };
	struct capture capture = { 0 };
	struct error err = { 0 };
	char message[ERROR_TEXT_SIZE + 128];
	int status = 2;

	if (!modules || parse(argc, argv, &options) < 0) {
		fprintf(stderr, "usage: unwind_oracle [-n SAMPLES] [-F HZ] [-s STACK_BYTES] "
		                "[--min PERCENT] [-v] -- COMMAND...\n");
		return 2;
	}
	int captured = capture_run(&capture, &options.capture, modules, argv + optind, &err);
	if (captured < 0) {
		fprintf(stderr, "unwind_oracle: %s\n",
		        error_message(&err, message, sizeof(message)));
		status = captured == CAPTURE_REFUSED ? 77 : 2;
	} else if (!capture.count) {
		fprintf(stderr, "unwind_oracle: no samples of %s\n", argv[optind]);
	} else if (unwind_all(&capture, modules, UNWIND_BY_TABLE, &ours, &err) == 0 &&
	           unwind_all(&capture, modules, UNWIND_BY_LIBUNWIND, &theirs, &err) == 0) {
		const char *slash = strrchr(argv[optind], '/');
		status = report(&options, slash ? slash + 1 : argv[optind], &capture, modules,
		                &ours, &theirs);
	}
	free_result(&ours);
	free_result(&theirs);
	capture_fini(&capture);
	return status;
}

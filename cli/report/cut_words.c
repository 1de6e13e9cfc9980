// SPDX-License-Identifier: MIT
#include "base/format.h"
#include "cli/report/cut.h"
#include "merge/profile/profile.h"

#include <stdio.h>
#include <stdlib.h>

// The window, how much of the run that is, and what it was meant to be.
static void put_window(const struct view *view, const struct profile *profile, const char *sep,
                       FILE *out)
{
	static const char *const phases[] = {
		[PHASE_ALL] = "",
		[PHASE_STARTUP] = ": the start",
		[PHASE_WARMUP] = ": the warm-up",
		[PHASE_STEADY] = ": after the warm-up",
	};
	uint64_t wall = profile_run(profile)->wall_ns;
	uint64_t end = view->to_ns && view->to_ns < wall ? view->to_ns : wall;
	uint64_t begin = view->from_ns < end ? view->from_ns : end;
	bool steps = view->skip_first && !view->miss;
	bool cycle = view->schedule && view->cycle && !view->miss;
	int phase = view->miss ? PHASE_ALL : view->from_steady ? PHASE_STEADY : view->phase;

	fprintf(out, "%s %.3f to %.3f s (%s %% of the run)%s", sep, (double)begin / 1e9,
	        (double)end / 1e9, format_percent(end - begin, wall).text, phases[phase]);
	if (cycle)
		fprintf(out, ": cycle %u of the schedule", view->cycle);
	else if (view->schedule && !view->miss)
		fprintf(out, ": from the first cycle of the schedule to the last");
	if (steps)
		fprintf(out, "%s after the first %s step%s", *phases[phase] ? "," : ":",
		        format_count(view->skip_first).text, view->skip_first == 1 ? "" : "s");
}

char *cut_words(const struct view *view, const struct profile *profile)
{
	const char *sep = "only";
	char *words = NULL;
	size_t size;
	FILE *out = open_memstream(&words, &size);

	if (!out)
		return NULL;
	if (view->on_cpu != view->off_cpu)
		fprintf(out, "%s %s", sep, view->on_cpu ? "time on a CPU" : "waiting"), sep = ",";
	if (view->process)
		fprintf(out, "%s process %s", sep, view->process), sep = ",";
	if (view->thread)
		fprintf(out, "%s thread %s", sep, view->thread), sep = ",";
	if (view->from_ns || view->to_ns)
		put_window(view, profile, sep, out);
	if (fclose(out) == 0)
		return words;
	free(words);
	return NULL;
}

const char *cut_missed(const struct view *view)
{
	static const char *const misses[] = {
		[MISS_NONE] = NULL,
		[MISS_STARTUP] = "no start-up was seen: all of the run is shown",
		[MISS_WARMUP] = "no warm-up was found: all of the run is shown",
		[MISS_STEPS] = "no steps were found: all of the run is shown (see --steps)",
		[MISS_REST] = "there are not so many steps: all of the run is shown",
		[MISS_CYCLES] = "the schedule has no cycle in this run: there are too few steps",
		[MISS_CYCLE] = "the schedule has fewer cycles in this run: the whole run is shown",
	};

	return misses[view->miss];
}

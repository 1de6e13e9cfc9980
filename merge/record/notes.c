// SPDX-License-Identifier: MIT
#include "merge/record/notes.h"

#include "base/error.h"
#include "base/format.h"
#include "base/op.h"
#include "base/record.h"
#include "base/rung.h"
#include "merge/profile/profile.h"
#include "merge/query/query_ops.h"
#include "merge/record/recorded.h"
#include "merge/record/recording.h"
#include "merge/record/traced.h"
#include "sampler/go/go_layout.h"
#include "sampler/sampler.h"
#include "symbolize/loop/insn.h"
#include "tracer/protocol.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define OTHERS_WORTH 20 // one sample in so many is worth a word
#define OTHERS_MANY  50 // samples: more than the start of Python takes

void notes_add(struct notes *n, const char *format, ...)
{
	size_t used = strlen(n->text);
	va_list args;

	if (used + 1 >= sizeof(n->text))
		return;
	if (used)
		n->text[used++] = '\n';
	va_start(args, format);
	vsnprintf(n->text + used, sizeof(n->text) - used, format, args);
	va_end(args);
}

static void note_rate(struct notes *n, const struct notes_facts *f)
{
	const struct sampler_status *status = f->status;

	if (status->lowered_from_hz)
		notes_add(n, "sampling rate reduced from %u to %u Hz at %s: %s",
		          status->lowered_from_hz, status->frequency_hz,
		          format_duration(status->lowered_after_ns).text, status->lowered_why);
	if (status->threads_with_enough)
		notes_add(
			n,
			"%u thread%s with 20,000 samples: %s rate then fell in steps to 199 Hz, and "
			"each later sample stands for more time; -F or --exact samples keeps it",
			status->threads_with_enough, status->threads_with_enough == 1 ? "" : "s",
			status->threads_with_enough == 1 ? "its" : "their");
	if (status->over_percent > 0)
		notes_add(
			n,
			"overhead reached %.1f %%, above the budget of %g %%: the cause is not "
			"samples, but switches between threads, ops, allocations or new processes "
			"(--no-off-cpu, --no-ops, --no-malloc)",
			status->over_percent, f->options->budget_percent);
}

static void note_others(struct notes *n, const struct notes_facts *f)
{
	const struct sampler_status *status = f->status;
	uint64_t others = status->samples - status->self_samples;

	if (f->others_hz == f->options->frequency_hz)
		return;
	if (!status->self_samples && others >= OTHERS_MANY)
		notes_add(n,
		          "this Python did not sample itself: its functions are missing, and it "
		          "was sampled at %u Hz only",
		          f->others_hz);
	else if (status->self_samples && others * OTHERS_WORTH > status->samples)
		notes_add(n,
		          "what did not sample itself (other programs, the start of Python) was "
		          "sampled at %u Hz",
		          f->others_hz);
}

static void note_unseen_threads(struct notes *n, const struct notes_facts *f)
{
	uint64_t threads = f->status->unseen_threads;

	if (threads)
		notes_add(
			n,
			"%s thread%s had no ring buffer for %s ops and samples, or got one late: "
			"what %s did is reported in part. A process has buffers for 2,560 threads "
			"at a time, up to 2 MB each in $XDG_RUNTIME_DIR or /tmp: make room there, "
			"raise its limits on the size of files (ulimit -f) to 33 MB and on address "
			"space (ulimit -v) to 300 MB, or run fewer threads at a time",
			format_count(threads).text, threads == 1 ? "" : "s",
			threads == 1 ? "its" : "their", threads == 1 ? "it" : "they");
}

static void note_strangers(struct notes *n, const struct notes_facts *f)
{
	uint64_t count = f->status->strangers;

	if (count)
		notes_add(n,
		          "%s process%s in other PID namespaces ended before bottleneck could "
		          "identify %s: %s Python functions, ops and allocations are missing. "
		          "Processes with seccomp filters of their own, or without /proc, do "
		          "not announce themselves",
		          format_count(count).text, count == 1 ? "" : "es",
		          count == 1 ? "it" : "them", count == 1 ? "its" : "their");
}

static void note_absence(struct notes *n, const struct notes_facts *f, enum absence absence,
                         const char *why, const char *remedy)
{
	const struct absences *absences = &f->status->absences;
	uint32_t count = absences->count[absence];

	if (count)
		notes_add(
			n,
			"%u process%s (%s%s) ran without the agent, %s: %sPython functions, ops and "
			"allocations are missing. %s",
			count, count == 1 ? "" : "es", absences->name[absence],
			count == 1 ? "" : " ...", why,
			f->status->rung == RUNG_AGENT ? "samples, " : "", remedy);
}

static void note_absences(struct notes *n, const struct notes_facts *f)
{
	note_absence(
		n, f, ABSENCE_ENVIRONMENT, "started with another environment (sudo, su -, env -i)",
		"Start bottleneck inside (sudo -u USER bottleneck COMMAND), or change the user "
		"with setpriv or runuser -u, which keep the environment");
	note_absence(n, f, ABSENCE_PRIVILEGED,
	             "with rights of its file (setuid, setgid, capabilities), where the loader "
	             "preloads nothing",
	             "Run a copy of the program without them, as the user that it becomes");
	note_absence(n, f, ABSENCE_LIBRARY, "as another user who could not load it",
	             "Install bottleneck where that user can read " PROTOCOL_AGENT_LIBRARY
	             ", for example in /usr/local");
	note_absence(n, f, ABSENCE_DIRECTORY,
	             "as another user who could not reach the run's directory in "
	             "$XDG_RUNTIME_DIR or /tmp",
	             "Let all users pass one of these directories (chmod a+x)");
}

// What the program's own start() and stop() have come to.
static void note_goroutines(struct notes *n, const struct notes_facts *f)
{
	static const char *const why[] = {
		[GO_UNSEEN_STRIPPED] =
			"has no debug information that says where they are, and was not built by "
			"Go " GO_STRIPPED_KNOWN " for x86-64: link without -ldflags=-w and "
			"without -ldflags=-s",
		[GO_UNSEEN_UNKNOWN] = "has debug information that does not say where they are",
		[GO_UNSEEN_REFUSED] = "has memory that could not be read: see PERMISSIONS in "
				      "bottleneck(1)",
	};
	const struct goroutine_status *status = &f->status->goroutines;

	for (size_t i = 0; i < GO_UNSEEN_COUNT; i++) {
		uint32_t more = status->unseen[i] - 1;
		if (status->unseen[i] && more)
			notes_add(
				n,
				"goroutines are missing of %s, which %s; and of %u more process%s",
				status->name[i], why[i], more, more == 1 ? "" : "es");
		else if (status->unseen[i])
			notes_add(n, "goroutines are missing of %s, which %s", status->name[i],
			          why[i]);
	}
	if (status->most > status->looked)
		notes_add(
			n,
			"times of goroutines are estimates of %u drawn from up to %s at each look, "
			"ended ones among these",
			status->looked, format_count(status->most).text);
}

static void note_tasks(struct notes *n, const struct notes_facts *f)
{
	const struct task_status *status = &f->status->awaits;

	if (status->unseen)
		notes_add(
			n,
			"tasks of asyncio are missing of %s, whose version of Python does not say "
			"where they are: they are seen when bottleneck starts the program",
			status->name);
	if (!status->most)
		return;
	notes_add(
		n,
		"times of asyncio's tasks are estimates of %s look%s from outside, and a timer that is "
		"due counts as waiting: who blocked the loop, and short tasks, are seen when "
		"bottleneck starts the program",
		format_count(status->passes).text, status->passes == 1 ? "" : "s");
	if (status->most > status->looked)
		notes_add(n, "of up to %s tasks %s were drawn at each look",
		          format_count(status->most).text, format_count(status->looked).text);
}

static void note_gates(struct notes *n, const struct notes_facts *f)
{
	const struct recorded *recorded = f->recorded;

	if (recorded->overruled)
		notes_add(n, "start() and stop() of the program had no effect: --range or "
		             "--schedule with --steps says what is recorded");
	if (recorded->open_again_ns)
		notes_add(n,
		          "the program called start() at %.3f s, while all was recorded: what came "
		          "before is left out with --start-paused",
		          (double)recorded->open_again_ns / 1e9);
}

// "not traced, N of them as …: a, b". NULL: nothing is to be said.
static const char *const untraced[PATCH_REASONS] = {
	[PATCH_SHORT] = "too short",
	[PATCH_LOOPS] = "there are jumps into their first instructions",
	[PATCH_UNKNOWN] = "not all of their instructions are known",
	[PATCH_UNMOVABLE] = "their first instructions work in their place alone",
	[PATCH_SPECIAL] = "they return twice, or look at who called them",
	[PATCH_CHANGED] = "they are not in memory as in their file",
	[PATCH_FAR] = "there is no free memory near them",
	[PATCH_LOCKED] = "their code must not be changed here",
	[PATCH_BUSY] = "threads were running that may have been in them",
	[PATCH_SHADOWED] = "they begin with calls, and the program has shadow stacks (CET)",
};

static void note_untraced(struct notes *n, const struct traced_reason *r, const char *reason)
{
	char names[sizeof(r->names) + 16];
	uint64_t shown = r->count < TRACED_NAMES ? r->count : TRACED_NAMES;
	size_t used = 0;

	for (uint64_t i = 0; i < shown; i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
		                         r->names[i]);
	if (shown < r->count)
		notes_add(n, "not traced, as %s: %s and %s more", reason, names,
		          format_count(r->count - shown).text);
	else
		notes_add(n, "not traced, as %s: %s", reason, names);
}

// Of --trace: patterns that no function matched, and functions that matched and are not traced.
static void note_trace(struct notes *n, const struct notes_facts *f)
{
	const struct recording_options *options = f->options;

	for (size_t i = 0; i < options->trace_count && i < TRACED_PATTERNS; i++)
		if (!f->traced->matched[i])
			notes_add(n,
			          "--trace %.200s: no function of the program or its libraries "
			          "has this name, and none of Python's that was called. Static "
			          "ones are found only in files with symbols (not stripped)",
			          options->trace[i]);
	for (size_t i = 0; i < PATCH_REASONS; i++)
		if (untraced[i] && f->traced->reasons[i].count)
			note_untraced(n, &f->traced->reasons[i], untraced[i]);
	uint64_t many = f->traced->reasons[PATCH_MANY].count;
	if (many)
		notes_add(n,
		          "--trace asks for more functions than can be traced: %s of a process "
		          "were left out. Name fewer",
		          format_count(many).text);
}

__attribute__((format(printf, 3, 4))) static void
say_nothing(struct notes_nothing *out, const char *remedy, const char *cause, ...)
{
	va_list args;

	va_start(args, cause);
	vsnprintf(out->cause, sizeof(out->cause), cause, args);
	va_end(args);
	snprintf(out->remedy, sizeof(out->remedy), "%s", remedy);
}

void notes_nothing(struct notes_nothing *out, const struct notes_facts *f)
{
	const struct recording_options *options = f->options;
	const char *after = options->delay_ns ? " after --delay" : "";

	*out = (struct notes_nothing){ "", "" };
	if (f->recorded_ns || !recorded_is_partial(f->recorded))
		return;
	if (options->start_paused && !f->recorded->gates)
		say_nothing(out,
		            "Call start() of bottleneck's API where the recording is to begin, or "
		            "leave out --start-paused.",
		            "--start-paused waits for a start() that the program did not call");
	else if (options->delay_ns && options->delay_ns >= f->wall_ns)
		say_nothing(out, "Shorten --delay, or run more work.",
		            "--delay %s is longer than the run, which took %s",
		            format_duration(options->delay_ns).text,
		            format_duration(f->wall_ns).text);
	else if (options->range)
		say_nothing(out,
		            "The names are in the table of ops of a run without --range: "
		            "bottleneck report --ops.",
		            "--range %.100s matched no op%s", options->range, after);
	else if (options->steps)
		say_nothing(out,
		            "Run more steps, or take a name from the table of ops of a run without "
		            "--schedule: bottleneck report --ops.",
		            "no step of --steps %.100s was in --schedule %.60s", options->steps,
		            options->schedule);
	else
		say_nothing(out, "Record for longer.",
		            "--delay, --duration and the stop() of the program left nothing of "
		            "the run");
}

// Which part of the run was recorded, where that is not what was meant.
static void note_parts(struct notes *n, const struct notes_facts *f)
{
	const struct recording_options *options = f->options;

	struct notes_nothing nothing;
	notes_nothing(&nothing, f);
	if (nothing.cause[0])
		notes_add(n, "nothing was recorded: %s", nothing.cause);
	if (options->schedule && !options->steps)
		notes_add(n, "all of the run was recorded, not the cycles of the schedule alone: "
		             "name the op of the steps with --steps for that");
	if (f->background)
		notes_add(n,
		          "%u process%s still running in the background when the program ended "
		          "(%s%s): not followed any further",
		          f->background, f->background == 1 ? " was" : "es were",
		          f->background_name, f->background > 1 ? " ..." : "");
}

static void note_thinned(struct notes *n, const struct notes_facts *f)
{
	char whose[256] = "";
	uint64_t calls, unseen;

	for (int provider = 1; provider < OP_PROVIDERS; provider++) {
		size_t used = strlen(whose);
		profile_count_ops(f->profile, (enum op_provider)provider, &calls, &unseen);
		if (unseen)
			snprintf(whose + used, sizeof(whose) - used, "%s%s (%s %% of %s calls)",
			         used ? ", " : "", op_provider_name((enum op_provider)provider),
			         format_percent(calls - unseen, calls).text,
			         format_count(calls).text);
	}
	if (*whose)
		notes_add(n,
		          "ops recorded in part: %s; all of them would cost more than half of the "
		          "overhead budget (%g %%). Their calls and times are estimates (±: 95 %% "
		          "intervals); --exact ops records all",
		          whose, f->options->budget_percent);
}

static void note_thinned_allocations(struct notes *n, const struct notes_facts *f)
{
	struct memory_doubts doubts;

	query_memory_doubts(f->profile, &doubts);
	if (doubts.allocations_margin)
		notes_add(
			n,
			"allocations counted in part: counting each would cost more than a quarter "
			"of the overhead budget (%g %%). The number of calls (about %s, ± %s %%), "
			"bytes and live bytes are estimates (±: 95 %% interval); --exact malloc "
			"counts all",
			f->options->budget_percent, format_count(doubts.allocations).text,
			format_percent(doubts.allocations_margin, doubts.allocations).text);
}

void notes_at_end(struct notes *n, const struct notes_facts *f)
{
	uint64_t lost = f->status->lost_ops;
	char text[ERROR_TEXT_SIZE];

	if (f->options->attached && f->options->agent)
		notes_add(
			n,
			"attached to what ran already: the agent records ops of PyTorch, BLAS, "
			"LAPACK and FFTW, locks and allocations from then on, but no calls of statically "
			"linked functions or within the C library; other ops and calls of GPUs are "
			"seen when bottleneck starts the program. Its library stays in the process, "
			"idle");
	else if (f->options->attached)
		notes_add(
			n,
			"attached to what ran already: ops, allocations, locks by name and calls of "
			"GPUs are seen when bottleneck starts the program. For %slocks and "
			"allocations in a program that runs, --agent loads a library into it",
			f->has_torch ? "ops of PyTorch, " : "");
	if (*f->status->rung_note)
		notes_add(n, "%s", f->status->rung_note);
	note_rate(n, f);
	note_gates(n, f);
	note_parts(n, f);
	note_thinned(n, f);
	note_thinned_allocations(n, f);
	if (f->traced)
		note_trace(n, f);
	note_others(n, f);
	if (*f->status->op_note)
		notes_add(n, "%s", f->status->op_note);
	if (lost)
		notes_add(n, "%s record%s of ops and allocations %s lost", format_count(lost).text,
		          lost == 1 ? "" : "s", lost == 1 ? "was" : "were");
	note_unseen_threads(n, f);
	note_strangers(n, f);
	note_goroutines(n, f);
	note_tasks(n, f);
	if (!f->options->attached) // else no environment leads to the agent
		note_absences(n, f);
	if (!insn_decoder())
		notes_add(n, "kinds of hot loops were not identified: bottleneck was built without "
		             "libzydis");
	if (f->broken->text[0])
		notes_add(n, "sampling ended early: %s",
		          error_message(f->broken, text, sizeof(text)));
}

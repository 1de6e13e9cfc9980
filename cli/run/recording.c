// SPDX-License-Identifier: MIT
#include "cli/run/recording.h"

#include "base/clock.h"
#include "base/code.h"
#include "base/error.h"
#include "base/kallsyms.h"
#include "base/op.h"
#include "base/stop.h"
#include "cli/capability.h"
#include "cli/command.h"
#include "cli/format.h"
#include "cli/option.h"
#include "cli/progress.h"
#include "cli/run/agent_path.h"
#include "cli/run/collect.h"
#include "cli/run/ending.h"
#include "cli/state.h"
#include "merge/record/cubins.h"
#include "merge/record/op_wrapper.h"
#include "merge/record/traced.h"
#include "sampler/sampler.h"
#include "symbolize/early.h"
#include "symbolize/symbolizer.h"
#include "tracer/protocol.h"
#include "tracer/reader/session.h"
#include "tracer/reader/target.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define OTHERS_SHARE 5           /* of the rate, for who does not sample itself */
#define OTHERS_MIN   49          /* Hz */
#define OTHERS_WORTH 20          /* one sample in so many is worth a word */
#define OTHERS_MANY  50          /* samples: more than the start of Python takes */
#define MALLOC_BYTES (512 << 10) /* of allocations for each that is sampled */

__attribute__((format(printf, 2, 3))) static void add_fact(struct recording *r, const char *format,
                                                           ...)
{
	size_t used = strlen(r->facts_text);
	va_list args;

	if (used + 1 >= sizeof(r->facts_text))
		return;
	if (used)
		r->facts_text[used++] = '\n';
	va_start(args, format);
	vsnprintf(r->facts_text + used, sizeof(r->facts_text) - used, format, args);
	va_end(args);
}

int recording_open(struct recording *r, const struct run_options *options, struct error *err)
{
	struct error reason;
	char text[ERROR_TEXT_SIZE];

	memset(r, 0, sizeof(*r));
	r->options = options;
	r->job.fd = -1;
	r->launch = (struct launch){ .pid = -1, .pidfd = -1, .gate = -1, .exec = -1 };
	if (options->output) {
		if (state_check_output(options->output, err) < 0)
			return -1;
		snprintf(r->path, sizeof(r->path), "%s", options->output);
	} else if (state_prepare(r->path, sizeof(r->path), &reason) < 0) {
		// Nobody asked for a file, so the run goes on without one.
		r->path[0] = '\0';
		snprintf(r->kept, sizeof(r->kept), "the run is not kept for bottleneck report: %s",
		         error_message(&reason, text, sizeof(text)));
	}
	return 0;
}

static int out_of_memory(struct error *err)
{
	return error_set(err, ENOMEM, "could not start");
}

// Without a place for it the kernel is asked for its list each time.
static struct kallsyms *open_kernel_names(void)
{
	cleanup(kallsyms) struct kallsyms *names = kallsyms_new(KALLSYMS_PATH);
	char cache[PATH_MAX];

	if (names && state_kallsyms(cache, sizeof(cache), NULL) == 0 &&
	    kallsyms_set_cache(names, cache) < 0)
		return NULL;
	return steal(names);
}

static bool wants_ops(const struct run_options *options)
{
	return run_options_ops(options) || run_options_malloc(options) ||
	       run_options_waits(options);
}

static int open_sampler(struct recording *r, struct error *err)
{
	const struct run_options *options = r->options;

	r->kernel_names = open_kernel_names();
	r->modules = modules_new();
	r->ops = ops_new();
	r->codes = codes_new();
	if (!r->kernel_names || !r->modules || !r->ops || !r->codes)
		return out_of_memory(err);
	const char *directory = r->session ? session_directory(r->session) : NULL;
	struct sampler_options wanted = {
		.frequency_hz = r->others_hz,
		.stack_bytes = options->stack_bytes,
		.unwinder = (enum unwinder_kind)options->unwinder,
		.best_rung = (enum rung)(options->rung + 1),
		.off_cpu = !options->no_off_cpu,
		.budget_percent = options->budget_percent,
		.agent_directory = r->agent_role == ROLE_SAMPLES ? directory : NULL,
		.kernel_names = r->kernel_names,
		.op_directory =
			r->agent_role == ROLE_SAMPLES && !wants_ops(options) ? NULL : directory,
		.ops = r->ops,
		.codes = r->codes,
		.hooks_ns = recorder_hooks_ns,
		.hooks = &r->recorder,
		.op_is_wrapper = op_wrapper_is,
		.op_context = r->modules,
	};
	r->profile = profile_new(r->modules, NULL, err);
	if (!r->profile)
		return -1;
	profile_set_timeline(r->profile, options->timeline_limit);
	profile_set_ops(r->profile, r->ops);
	profile_set_codes(r->profile, r->codes);
	recorder_init(&r->recorder, r->profile, r->session ? r->modules : NULL, r->ops);
	recorded_init(&r->recorder.recorded, options->delay_ns, options->duration_ns,
	              options->range, r->ops);
	if (run_options_schedule(options) &&
	    recorded_schedule(&r->recorder.recorded, options->view.schedule, options->view.steps,
	                      err) < 0)
		return -1;
	if (options->start_paused)
		recorded_start_stopped(&r->recorder.recorded);
	struct sampler_sink sink = recorder_sink(&r->recorder);
	r->sampler = sampler_new(&wanted, r->modules, &sink, err);
	return r->sampler ? 0 : -1;
}

// As long as we hold them open, nobody at their other ends learns that the target closed them.
static void let_go_of_streams(const struct run_options *options)
{
	cleanup_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	dup3(null, STDIN_FILENO, O_CLOEXEC);
	if (!options->report_file || strcmp(options->report_file, "-") != 0)
		dup3(null, STDOUT_FILENO, O_CLOEXEC);
}

// The agent samples what the kernel refuses to, which must be known before the exec.
static enum agent_role role_of_agent(const struct run_options *options)
{
	enum rung best = (enum rung)(options->rung + 1);
	struct capability can = capability_probe();

	if (best > RUNG_AGENT)
		return ROLE_NONE;
	if (best == RUNG_AGENT || can.user_errno)
		return ROLE_SAMPLES;
	return best == RUNG_PERF_USER || can.kernel_errno ? ROLE_KERNEL_TIME : ROLE_NONE;
}

// Whether the agent is to be put into the program, in whose limits stands why not.
static bool can_take_agent(struct recording *r)
{
	const char *program = r->options->argv[0];
	enum target_kind kind = target_kind(program);
	struct rlimit space;
	struct error missing;

	if (kind != TARGET_GLIBC && r->agent_role == ROLE_SAMPLES)
		add_fact(r, "the agent cannot get into %s: %s", program, target_reason(kind));
	else if (kind != TARGET_GLIBC && kind != TARGET_UNKNOWN && wants_ops(r->options))
		add_fact(r, "no ops or allocations are seen in %s: %s", program,
		         target_reason(kind));
	// Another loader may refuse our library and with it the program. A static program at least
	// hands the environment to its children.
	if (kind == TARGET_OTHER_LIBC)
		return false;
	if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur < PROTOCOL_SPACE_LEAST) {
		add_fact(r,
		         "the agent is not loaded: the program may take %s of address space "
		         "(ulimit -v), and it needs %s. No ops, allocations or Python functions "
		         "are seen",
		         format_bytes(space.rlim_cur).text,
		         format_bytes(PROTOCOL_SPACE_LEAST).text);
		return false;
	}
	if (agent_path_find(r->agent, sizeof(r->agent), &missing) == 0)
		return true;
	add_fact(r, "%s. %s", missing.text, missing.hint);
	return false;
}

static int open_session(struct recording *r, struct error *err)
{
	const struct run_options *options = r->options;
	struct session_options wanted = {
		.library = r->agent,
		.stack_bytes = options->stack_bytes,
		.ops = run_options_ops(options),
		.malloc_bytes = run_options_malloc(options) ? MALLOC_BYTES : 0,
		.waits = run_options_waits(options),
		.count_calls = options->count_calls,
		.gpu = run_options_gpu(options),
		.launches = (uint32_t)options->gpu_callsites,
		.trace = options->trace.items,
		.trace_count = options->trace.count,
	};
	struct error reason;
	char text[ERROR_TEXT_SIZE];

	if (options->no_agent)
		return 0;
	r->agent_role = role_of_agent(options);
	// Any program may start Python, whose processes sample themselves.
	wanted.python_hz = options->rung + 1 > RUNG_AGENT ? 0 : options->frequency_hz;
	if ((!wanted.python_hz && !wants_ops(options)) || !can_take_agent(r))
		return 0;
	wanted.frequency_hz = r->agent_role ? options->frequency_hz : 0;
	wanted.kernel_only = r->agent_role == ROLE_KERNEL_TIME;
	r->session = session_new(&wanted, &reason);
	if (r->session)
		return 0;
	if (r->agent_role == ROLE_SAMPLES) {
		*err = reason;
		return -1;
	}
	add_fact(r, "no ops, allocations or Python functions are seen: %s",
	         error_message(&reason, text, sizeof(text)));
	return 0;
}

// A Python samples itself: what else takes samples of it would only cost once more. What it runs
// that is no Python is sampled less often for that.
static uint32_t rate_for_others(const struct recording *r)
{
	uint32_t wanted = r->options->frequency_hz, low = wanted / OTHERS_SHARE;

	if (!r->session || r->agent_role == ROLE_SAMPLES || !target_has_python(r->options->argv[0]))
		return wanted;
	if (low < OTHERS_MIN)
		low = OTHERS_MIN;
	return low < wanted ? low : wanted;
}

// Names are looked up ahead, unless that means to ask servers.
static int open_early(struct recording *r, struct error *err)
{
	struct symbolizer_options options = { .kernel_names = r->kernel_names };

	if (r->options->debuginfod)
		return 0;
	r->early = early_new(&options, err);
	return r->early ? 0 : -1;
}

// The child is forked before anything big is in memory: what we hold would count as its peak.
int recording_start(struct recording *r, int *status, struct error *err)
{
	char **argv = r->options->argv;

	*status = EXIT_OURS;
	if (open_session(r, err) < 0 || job_open(&r->job, err) < 0 ||
	    launch_start(&r->launch, argv, r->session, &r->job, err) < 0)
		return -1;
	r->job.child = r->launch.pid;
	r->others_hz = rate_for_others(r);
	let_go_of_streams(r->options);
	if (open_sampler(r, err) < 0 || sampler_attach(r->sampler, r->launch.pid, err) < 0)
		return -1;
	r->collector = (struct collector){
		.sampler = r->sampler,
		.profile = r->profile,
		.recorder = &r->recorder,
		.target = r->launch.pid,
		.checkpoint = &r->checkpoint,
		.ahead = &r->ahead,
		.self_hz = r->options->frequency_hz,
		.machine = &r->machine,
	};
	if (open_early(r, err) < 0)
		return -1;
	if (facts_take(&r->facts, argv, &r->collector.run) < 0)
		return out_of_memory(err);
	r->machine = machine_now();
	recorded_start(&r->recorder.recorded, r->collector.run.start_ns);
	checkpoint_init(&r->checkpoint, r->path[0] ? r->path : NULL, clock_now_ns());
	bool kernel = sampler_status(r->sampler)->kernel_stacks;
	ahead_init(&r->ahead, r->early, kernel ? r->kernel_names : NULL, clock_now_ns());
	return launch_release(&r->launch, argv[0], status, err);
}

static void note_rate(struct recording *r)
{
	const struct sampler_status *status = sampler_status(r->sampler);

	if (status->lowered_from_hz)
		add_fact(r, "from %s on the rate fell from %u Hz to %u Hz: %s",
		         format_duration(status->lowered_after_ns).text, status->lowered_from_hz,
		         status->frequency_hz, status->lowered_why);
	if (status->over_percent > 0)
		add_fact(
			r,
			"looking on took up to %.1f %% of a second, above the budget of %g %%, and "
			"fewer samples would not make it less: ops, allocations or new processes "
			"do (--no-malloc, --no-ops)",
			status->over_percent, r->options->budget_percent);
}

static void note_others(struct recording *r)
{
	const struct sampler_status *status = sampler_status(r->sampler);
	uint64_t others = status->samples - status->self_samples;

	if (r->others_hz == r->options->frequency_hz)
		return;
	if (!status->self_samples && others >= OTHERS_MANY)
		add_fact(r,
		         "the Python here did not sample itself: its functions are not seen, and "
		         "it was sampled at %u Hz only",
		         r->others_hz);
	else if (status->self_samples && others * OTHERS_WORTH > status->samples)
		add_fact(r,
		         "what did not sample itself (other programs, the start of Python) was "
		         "sampled at %u Hz",
		         r->others_hz);
}

static void add_trace_fact(void *context, const char *text)
{
	add_fact(context, "%s", text);
}

static void note_unseen_threads(struct recording *r)
{
	uint64_t threads = sampler_status(r->sampler)->unseen_threads;

	if (threads)
		add_fact(
			r,
			"%s thread%s found no room for %s ops and samples, or not at once: what "
			"%s did is reported in part. A process has room for 2,560 at a time, up to "
			"2 MB each in $XDG_RUNTIME_DIR or /tmp: make room there, raise its limits "
			"on the size of files (ulimit -f) to 33 MB and on address space (ulimit "
			"-v) to 300 MB, or run fewer at a time",
			format_count(threads).text, threads == 1 ? "" : "s",
			threads == 1 ? "its" : "their", threads == 1 ? "it" : "they");
}

static void note_strangers(struct recording *r)
{
	uint64_t count = sampler_status(r->sampler)->strangers;

	if (count)
		add_fact(r,
		         "%s process%s in other PID namespaces ended before bottleneck could "
		         "identify %s: %s Python functions, ops and allocations are missing. "
		         "Processes under seccomp filters of their own do not announce "
		         "themselves, nor do those without /proc",
		         format_count(count).text, count == 1 ? "" : "es",
		         count == 1 ? "it" : "them", count == 1 ? "its" : "their");
}

static void note_absence(struct recording *r, enum absence absence, const char *why,
                         const char *remedy)
{
	const struct absences *absences = &sampler_status(r->sampler)->absences;
	uint32_t count = absences->count[absence];

	if (count)
		add_fact(
			r,
			"%u process%s (%s%s) ran without the agent, %s: %sPython functions, ops and "
			"allocations are missing. %s",
			count, count == 1 ? "" : "es", absences->name[absence],
			count == 1 ? "" : " ...", why,
			sampler_status(r->sampler)->rung == RUNG_AGENT ? "samples, " : "", remedy);
}

static void note_absences(struct recording *r)
{
	note_absence(
		r, ABSENCE_ENVIRONMENT, "started with another environment (sudo, su -, env -i)",
		"Start bottleneck inside (sudo -u USER bottleneck COMMAND), or change the user "
		"with setpriv or runuser -u, which keep the environment");
	note_absence(r, ABSENCE_PRIVILEGED,
	             "with rights of its file (setuid, setgid, capabilities), where the loader "
	             "preloads nothing",
	             "Run a copy of the program without them, as the user that it becomes");
	note_absence(r, ABSENCE_LIBRARY, "as another user who could not load it",
	             "Install bottleneck where that user can read " PROTOCOL_AGENT_LIBRARY
	             ", for example in /usr/local");
	note_absence(r, ABSENCE_DIRECTORY,
	             "as another user who could not reach the run's directory in "
	             "$XDG_RUNTIME_DIR or /tmp",
	             "Let all users pass one of these directories (chmod a+x)");
}

// What the program's own start() and stop() have come to.
static void note_gates(struct recording *r)
{
	const struct recorded *recorded = &r->recorder.recorded;

	if (r->options->start_paused && !recorded->gates)
		add_fact(r, "nothing was recorded: --start-paused waits for a start() that the "
		            "program did not call");
	if (recorded->overruled)
		add_fact(r, "start() and stop() of the program had no effect: --range or "
		            "--schedule with --steps says what is recorded");
	if (recorded->open_again_ns)
		add_fact(r,
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

static void tell_untraced(const struct traced_reason *r, const char *reason,
                          void (*line)(void *context, const char *text), void *context)
{
	char text[sizeof(r->names) + 256];
	uint64_t shown = r->count < TRACED_NAMES ? r->count : TRACED_NAMES;
	size_t used = (size_t)snprintf(text, sizeof(text), "not traced, as %s: ", reason);

	for (uint64_t i = 0; i < shown; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? ", " : "",
		                         r->names[i]);
	if (shown < r->count)
		snprintf(text + used, sizeof(text) - used, " and %s more",
		         format_count(r->count - shown).text);
	line(context, text);
}

_Static_assert(TRACED_PATTERNS >= OPTION_LIST_MAX, "patterns of --trace");

// What the limits say of --trace: patterns that no function matched, and functions that matched and
// are not traced.
static void trace_notes(const struct traced *t, const struct option_list *patterns,
                        void (*line)(void *context, const char *text), void *context)
{
	char text[512];

	for (size_t i = 0; i < patterns->count; i++) {
		if (t->matched[i])
			continue;
		snprintf(text, sizeof(text),
		         "--trace %.200s: no function of the program or its libraries has this "
		         "name, and none of Python's that was called. Static ones are found only "
		         "in files with symbols (not stripped)",
		         patterns->items[i]);
		line(context, text);
	}
	for (size_t i = 0; i < PATCH_REASONS; i++)
		if (untraced[i] && t->reasons[i].count)
			tell_untraced(&t->reasons[i], untraced[i], line, context);
	uint64_t many = t->reasons[PATCH_MANY].count;
	if (many)
		snprintf(text, sizeof(text),
		         "--trace asks for more functions than can be traced: %s of a process were "
		         "left out. Name fewer",
		         format_count(many).text);
	if (many)
		line(context, text);
}

static void note_troubles(struct recording *r)
{
	const struct collector *c = &r->collector;
	const char *note = sampler_status(r->sampler)->rung_note;
	char text[ERROR_TEXT_SIZE];

	if (*note)
		add_fact(r, "%s", note);
	note_rate(r);
	note_gates(r);
	if (recorded_is_partial(&r->recorder.recorded) && !c->run.recorded_ns &&
	    !r->options->start_paused)
		add_fact(r,
		         "nothing was recorded: --delay, --duration, --range and --schedule left "
		         "nothing of the run");
	if (r->options->view.schedule && !run_options_schedule(r->options))
		add_fact(r,
		         "all of the run was recorded, not the cycles of the schedule alone: name "
		         "the op of the steps with --steps for that");
	if (c->background)
		add_fact(r,
		         "%u process%s still running in the background when the program ended "
		         "(%s%s): not followed any further",
		         c->background, c->background == 1 ? " was" : "es were", c->background_name,
		         c->background > 1 ? " ..." : "");
	if (r->session)
		trace_notes(&r->recorder.traced, &r->options->trace, add_trace_fact, r);
	note_others(r);
	note = sampler_status(r->sampler)->op_note;
	if (*note)
		add_fact(r, "%s", note);
	uint64_t lost = sampler_status(r->sampler)->lost_ops;
	if (lost)
		add_fact(r, "%s record%s of ops and allocations lost", format_count(lost).text,
		         lost == 1 ? " was" : "s were");
	note_unseen_threads(r);
	note_strangers(r);
	note_absences(r);
	if (c->broken.text[0])
		add_fact(r, "sampling ended early: %s",
		         error_message(&c->broken, text, sizeof(text)));
}

int recording_wait(struct recording *r, struct error *err)
{
	if (collect_until_exit(&r->collector, &r->job, &r->launch, err) < 0)
		return -1;
	note_troubles(r);
	r->collector.run.notes = r->facts_text;
	return profile_set_run(r->profile, &r->collector.run, err);
}

static int symbolize(struct recording *r, struct progress *progress, struct error *err)
{
	struct symbolizer_options options = {
		.debuginfod = r->options->debuginfod,
		.kernel_names = r->kernel_names,
		.progress = progress_tell,
		.progress_context = progress,
	};

	if (!r->early) {
		cleanup(symbolizer) struct symbolizer *s = symbolizer_new(&options, err);
		return s ? profile_symbolize(r->profile, s, err) : -1;
	}
	struct symbolizer *s = early_finish(r->early);
	symbolizer_set_progress(s, progress_tell, progress);
	int failed = profile_symbolize(r->profile, s, err);
	symbolizer_set_progress(s, NULL, NULL);
	return failed;
}

int recording_symbolize(struct recording *r, struct error *err)
{
	struct terminal terminal = terminal_of(stderr, 0, COLOR_NEVER);
	struct progress progress;

	if (r->session)
		cubins_name_lines(r->profile, session_directory(r->session));
	progress_start(&progress, &terminal);
	progress.wanted = progress.wanted && !r->options->view.quiet;
	int failed = symbolize(r, &progress, err);
	if (!failed && !profile_stamp_sources(r->profile))
		failed = error_set(err, ENOMEM, "could not name what was seen");
	progress_end(&progress);
	if (!failed || !stop_is_wanted())
		return failed;
	add_fact(r,
	         "%s came before all functions had their names: bottleneck report looks for the "
	         "others",
	         ending_signal());
	return profile_set_run(r->profile, &r->collector.run, err);
}

int recording_save(struct recording *r, struct error *err)
{
	sigset_t old;

	if (!r->path[0])
		return 0;
	// A Ctrl-C here would leave a temporary file behind.
	sigprocmask(SIG_BLOCK, &r->job.handled, &old);
	int failed = profile_write(r->profile, r->path, err);
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (failed)
		return error_wrap(err, "the profile is not kept");
	if (r->options->output)
		snprintf(r->kept, sizeof(r->kept), "profile: %s (bottleneck report %s)", r->path,
		         r->path);
	else
		snprintf(r->kept, sizeof(r->kept), "profile: %s (bottleneck report)%s", r->path,
		         state_is_moved() ? ": the home directory of the environment belongs to "
		                            "another user"
		                          : "");
	return 0;
}

void recording_close(struct recording *r)
{
	launch_close(&r->launch);
	early_free(r->early); // before what it reads
	sampler_free(r->sampler);
	if (r->kernel_names)
		kallsyms_save(r->kernel_names);
	kallsyms_free(r->kernel_names);
	session_free(r->session);
	profile_free(r->profile);
	ops_free(r->ops);
	codes_free(r->codes);
	modules_free(r->modules);
	recorder_fini(&r->recorder);
	facts_fini(&r->facts);
	if (r->job.fd >= 0)
		job_close(&r->job);
}

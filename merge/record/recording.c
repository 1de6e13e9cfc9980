// SPDX-License-Identifier: MIT
#include "merge/record/recording.h"

#include "base/clock.h"
#include "base/code.h"
#include "base/error.h"
#include "base/format.h"
#include "base/kallsyms.h"
#include "base/op.h"
#include "base/path.h"
#include "base/stop.h"
#include "merge/profile/profile.h"
#include "merge/query/query.h"
#include "merge/record/agent_path.h"
#include "merge/record/ahead.h"
#include "merge/record/capability.h"
#include "merge/record/checkpoint.h"
#include "merge/record/cpu_clock.h"
#include "merge/record/hooks.h"
#include "merge/record/jit_names.h"
#include "merge/record/limits.h"
#include "merge/record/machine.h"
#include "merge/record/notes.h"
#include "merge/record/op_wrapper.h"
#include "merge/record/prices.h"
#include "merge/record/recorder.h"
#include "merge/record/surroundings.h"
#include "sampler/inject/inject.h"
#include "sampler/proc/proc_io.h"
#include "sampler/proc/proc_stat.h"
#include "sampler/sampler.h"
#include "symbolize/early.h"
#include "symbolize/symbolizer.h"
#include "tracer/protocol.h"
#include "tracer/reader/session.h"
#include "tracer/reader/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define OTHERS_SHARE  5           // of the rate, for who does not sample itself
#define OTHERS_MIN    49          // Hz
#define MALLOC_BYTES  (512 << 10) // of allocations for each that is sampled
#define IO_NS         (50 * NS_PER_MS)
#define RSS_NS        (20 * NS_PER_MS) // in the first second
#define RSS_COST_PART 100              // readings take one of so many parts of the time

_Static_assert(RECORDING_TRACE_BYTES == PROTOCOL_TRACE_BYTES, "patterns of --trace");
_Static_assert((int)RECORDING_UNWIND_LIBUNWIND == (int)UNWINDER_LIBUNWIND, "unwinders");
_Static_assert((int)RECORDING_LAUNCHES_SAMPLED == (int)PROTOCOL_LAUNCHES_SAMPLED &&
                       (int)RECORDING_LAUNCHES_ALL == (int)PROTOCOL_LAUNCHES_ALL,
               "launches");

// What the agent tells of CPU time.
enum agent_role {
	ROLE_NONE,
	ROLE_KERNEL_TIME, // for whom the kernel worked, which perf events may not see
	ROLE_SAMPLES      // everything
};

// What would be less than one in so many of the program's time is not measured, at prices that are
// high; nor is anything where the report gives no percentage.
#define PRICES_SHARE      100
#define PRICES_CPU_NS_MIN (500 * NS_PER_MS)
#define KEPT_CPU_NS_MIN   (100 * NS_PER_MS) // where they are kept, and most runs measure nothing
#define WAITS_CPU_NS_MIN  (20 * NS_PER_MS)  // the same of a run that has waited
#define WAITS_WALL_NS_MIN (300 * NS_PER_MS) // for so long
#define PRICE_NS_MAX      (2 * NS_PER_MS)   // of a thread, a fork or an exec
#define SWITCH_NS_MAX     (50 * NS_PER_US)
#define TRAP_NS_MAX       (50 * NS_PER_US)

// The process's own at its end, and its parent's, who waits for it.
#define SWITCHES_OF_PROCESS UINT64_C(2)

// What of the agent works where it has not been from the start.
#define LATE_OPS (1u << OP_TORCH | 1u << OP_BLAS | 1u << OP_LAPACK | 1u << OP_FFTW)

struct recording {
	struct recording_options options;
	pid_t child;
	struct session *session; // of the agent; NULL if there is none
	size_t joined;           // of the attached ones, those that have the agent: the first ones
	uint64_t followed_ns;    // the processes from then on
	char agent[PATH_MAX];    // its library, where it is needed
	enum agent_role agent_role;
	uint32_t others_hz;            // the rate for who does not sample itself
	uint64_t switches;             // of the program's threads, by the kernel's count
	struct kallsyms *kernel_names; // for the sampler and for the symbolizer
	struct modules *modules;
	struct ops *ops;     // those of the profile; outlives it
	struct codes *codes; // the same
	struct profile *profile;
	struct sampler *sampler;
	struct recorder recorder;
	struct jit_names *jit_names; // NULL: they are as they are
	struct early *early;         // NULL: all names are looked up at the end
	struct ahead ahead;
	struct checkpoint checkpoint;
	struct run run;         // what is known of it so far
	struct machine machine; // at the start
	struct cpu_clock clock;
	struct limits limits;
	uint64_t io_due_ns;     // when bytes and calls are read next
	uint64_t rss_due_ns;    // the same of memory,
	uint64_t curves_due_ns; // and when it is told
	uint64_t own_cpu_ns;    // of this process, when it began
	uint32_t background;    // processes of the program that were still running at its end
	char background_name[64];
	struct error broken; // why sampling ended early; text is "" if it did not
	struct notes_nothing nothing;
	struct notes notes;  // lines for the limits of this and every later report
	char *environment;   // see merge/record/surroundings.h; NULL: not known yet
	pthread_t describer; // who finds that out; it reads modules and RUN
	bool describing;
};

struct recording_options recording_default(void)
{
	return (struct recording_options){
		.frequency_hz = SAMPLER_FREQUENCY_DEFAULT,
		.stack_bytes = SAMPLER_STACK_BYTES_DEFAULT,
		.best_rung = RUNG_PERF_KERNEL,
		.off_cpu = true,
		.budget_percent = SAMPLER_BUDGET_DEFAULT,
		.timeline_limit = PROFILE_TIMELINE,
		.launches = RECORDING_LAUNCHES_SAMPLED,
	};
}

static int out_of_memory(struct error *err)
{
	return error_set(err, ENOMEM, "could not start");
}

// What ops may take of the budget, in millionths of the program's time: the half. Samples, stacks
// of waits, allocations and the collector have the rest.
static uint32_t ops_allowed(double budget_percent)
{
	return (uint32_t)(budget_percent / 2 * 1e4);
}

// What counting allocations may take, the same: a quarter.
static uint32_t malloc_allowed(double budget_percent)
{
	return (uint32_t)(budget_percent / 4 * 1e4);
}

static bool wants_ops(const struct recording_options *options)
{
	return options->ops || options->malloc || options->waits;
}

// The agent samples what the kernel refuses to, which must be known before the exec.
static enum agent_role role_of_agent(enum rung best)
{
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
	const char *program = r->options.argv[0];
	enum target_kind kind = target_kind(program);
	struct rlimit space;
	struct error missing;

	if (kind != TARGET_GLIBC && r->agent_role == ROLE_SAMPLES)
		notes_add(&r->notes, "the agent cannot get into %s: %s", program,
		          target_reason(kind));
	else if (kind != TARGET_GLIBC && kind != TARGET_UNKNOWN && wants_ops(&r->options))
		notes_add(&r->notes, "no ops or allocations are seen in %s: %s", program,
		          target_reason(kind));
	// Another loader may refuse our library and with it the program. A static program at least
	// hands the environment to its children.
	if (kind == TARGET_OTHER_LIBC)
		return false;
	if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur < PROTOCOL_SPACE_LEAST) {
		notes_add(&r->notes,
		          "the agent is not loaded: the program may take %s of address space "
		          "(ulimit -v), and it needs %s. No ops, allocations or Python functions "
		          "are seen",
		          format_bytes(space.rlim_cur).text,
		          format_bytes(PROTOCOL_SPACE_LEAST).text);
		return false;
	}
	if (agent_path_find(r->agent, sizeof(r->agent), &missing) == 0)
		return true;
	notes_add(&r->notes, "%s. %s", missing.text, missing.hint);
	return false;
}

// Of what processes that run already can have of it.
static int open_late_session(struct recording *r, struct error *err)
{
	const struct session_options wanted = {
		.library = r->agent,
		.stack_bytes = r->options.stack_bytes,
		.ops = r->options.ops & LATE_OPS,
		.ops_allowed = r->options.exact_ops ? 0 : ops_allowed(r->options.budget_percent),
		.malloc_allowed =
			r->options.exact_malloc ? 0 : malloc_allowed(r->options.budget_percent),
		.malloc_bytes = r->options.malloc ? MALLOC_BYTES : 0,
		.waits = r->options.waits,
	};

	if (agent_path_find(r->agent, sizeof(r->agent), err) < 0)
		return -1;
	r->session = session_new(&wanted, err);
	return r->session ? 0 : -1;
}

static int open_session(struct recording *r, struct error *err)
{
	const struct recording_options *options = &r->options;
	struct session_options wanted = {
		.library = r->agent,
		.stack_bytes = options->stack_bytes,
		.ops = options->ops,
		.ops_allowed = options->exact_ops ? 0 : ops_allowed(options->budget_percent),
		.malloc_allowed =
			options->exact_malloc ? 0 : malloc_allowed(options->budget_percent),
		.malloc_bytes = options->malloc ? MALLOC_BYTES : 0,
		.waits = options->waits,
		.count_calls = options->count_calls,
		.gpu = (options->gpu_lines ? PROTOCOL_GPU_LINES : 0) |
		       (options->gpu_graph_nodes ? PROTOCOL_GPU_NODES : 0),
		.launches = options->launches,
		.trace = options->trace,
		.trace_count = options->trace_count,
	};
	struct error reason;
	char text[ERROR_TEXT_SIZE];

	if (!options->agent)
		return 0;
	if (options->attached)
		return open_late_session(r, err);
	r->agent_role = role_of_agent(options->best_rung);
	// Any program may start Python, whose processes sample themselves.
	wanted.python_hz = options->best_rung > RUNG_AGENT ? 0 : options->frequency_hz;
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
	notes_add(&r->notes, "no ops, allocations or Python functions are seen: %s",
	          error_message(&reason, text, sizeof(text)));
	return 0;
}

struct recording *recording_new(const struct recording_options *options, struct error *err)
{
	cleanup(recording) struct recording *r = calloc(1, sizeof(*r));

	if (!r) {
		out_of_memory(err);
		return NULL;
	}
	r->options = *options;
	if (open_session(r, err) < 0)
		return NULL;
	if (options->jit_names && !(r->jit_names = jit_names_new(options->argv, err)))
		return NULL;
	return steal(r);
}

// The last of them that has it leaves it, too, even if others cannot.
static void leave_attached(struct recording *r)
{
	struct error why;
	char text[ERROR_TEXT_SIZE];

	while (r->joined)
		if (inject_leave(r->options.attached[--r->joined], r->agent, &why) < 0)
			notes_add(&r->notes, "%s", error_message(&why, text, sizeof(text)));
}

// All of them get it, or nothing is recorded.
static int join_attached(struct recording *r, struct error *err)
{
	char config[256];

	if (!r->session || !r->options.attached)
		return 0;
	session_config(r->session, config, sizeof(config));
	for (; r->joined < r->options.attached_count; r->joined++)
		if (inject_join(r->options.attached[r->joined], r->agent,
		                session_directory(r->session), config, err) < 0) {
			leave_attached(r);
			return -1;
		}
	return 0;
}

void recording_free(struct recording *r)
{
	if (!r)
		return;
	if (r->describing)
		pthread_join(r->describer, NULL);
	leave_attached(r);
	early_free(r->early); // before what it reads
	jit_names_free(r->jit_names);
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
	free(r->environment);
	free(r);
}

void recording_export(const struct recording *r)
{
	if (r && r->session)
		session_export(r->session, NULL); // without it the program runs, unseen
	if (r && r->jit_names)
		jit_names_export(r->jit_names);
}

// A Python samples itself: what else takes samples of it would only cost once more. What it runs
// that is no Python is sampled less often for that.
static uint32_t rate_for_others(const struct recording *r)
{
	uint32_t wanted = r->options.frequency_hz, low = wanted / OTHERS_SHARE;

	if (!r->session || r->options.attached || r->agent_role == ROLE_SAMPLES ||
	    !target_has_python(r->options.argv[0]))
		return wanted;
	if (low < OTHERS_MIN)
		low = OTHERS_MIN;
	return low < wanted ? low : wanted;
}

// Without a file that keeps it the kernel is asked for its list each time.
static struct kallsyms *open_kernel_names(const char *cache)
{
	cleanup(kallsyms) struct kallsyms *names = kallsyms_new(KALLSYMS_PATH);

	if (names && cache && kallsyms_set_cache(names, cache) < 0)
		return NULL;
	return steal(names);
}

// Where the samples go, and what of them is recorded.
static int open_profile(struct recording *r, struct error *err)
{
	const struct recording_options *options = &r->options;
	struct recorded *recorded = &r->recorder.recorded;

	r->profile = profile_new(r->modules, NULL, err);
	if (!r->profile)
		return -1;
	profile_set_timeline(r->profile, options->timeline_limit);
	profile_set_ops(r->profile, r->ops);
	profile_set_codes(r->profile, r->codes);
	recorder_init(&r->recorder, r->profile, r->session ? r->modules : NULL, r->ops);
	r->recorder.joined = r->session && options->attached;
	recorded_init(recorded, options->delay_ns, options->duration_ns, options->range, r->ops);
	if (options->schedule && options->steps &&
	    recorded_schedule(recorded, options->schedule, options->steps, err) < 0)
		return -1;
	if (options->start_paused)
		recorded_start_stopped(recorded);
	return 0;
}

// Of a part of the run that was chosen all is recorded.
static bool looks_at_part(const struct recording_options *options)
{
	return options->delay_ns || options->duration_ns || options->range || options->schedule ||
	       options->start_paused;
}

static int open_sampler(struct recording *r, struct error *err)
{
	const struct recording_options *options = &r->options;
	const char *directory = r->session ? session_directory(r->session) : NULL;
	bool agent_samples = r->agent_role == ROLE_SAMPLES;
	struct sampler_options wanted = {
		.frequency_hz = r->others_hz,
		.stack_bytes = options->stack_bytes,
		.unwinder = (enum unwinder_kind)options->unwinder,
		.best_rung = options->best_rung,
		.off_cpu = options->off_cpu,
		.budget_percent = options->budget_percent,
		.enough = !options->exact_samples && !looks_at_part(options),
		.agent_directory = agent_samples ? directory : NULL,
		.kernel_names = r->kernel_names,
		.op_directory = agent_samples && !wants_ops(options) ? NULL : directory,
		.ops = r->ops,
		.codes = r->codes,
		.hooks_ns = recorder_hooks_ns,
		.hooks = &r->recorder,
		.op_is_wrapper = op_wrapper_is,
		.op_context = r->modules,
	};
	struct sampler_sink sink = recorder_sink(&r->recorder);

	r->sampler = sampler_new(&wanted, r->modules, &sink, err);
	return r->sampler ? 0 : -1;
}

static const char *kept_maps(const struct recording *r)
{
	return r->jit_names ? jit_names_directory(r->jit_names) : NULL;
}

// Names are looked up ahead, unless that means to ask servers.
static int open_early(struct recording *r, struct error *err)
{
	struct symbolizer_options options = { .kernel_names = r->kernel_names,
		                              .kept_maps = kept_maps(r),
		                              .names_directory = r->options.names };

	if (r->options.debuginfod)
		return 0;
	r->early = early_new(&options, err);
	return r->early ? 0 : -1;
}

int recording_attach(struct recording *r, pid_t child, struct error *err)
{
	r->child = child;
	r->others_hz = rate_for_others(r);
	r->kernel_names = open_kernel_names(r->options.kernel_names);
	r->modules = modules_new();
	r->ops = ops_new();
	r->codes = codes_new();
	if (!r->kernel_names || !r->modules || !r->ops || !r->codes)
		return out_of_memory(err);
	if (open_profile(r, err) < 0 || open_sampler(r, err) < 0)
		return -1;
	const pid_t *attached = r->options.attached;
	if (attached ? sampler_follow(r->sampler, attached, r->options.attached_count, err) < 0
	             : sampler_attach(r->sampler, child, err) < 0)
		return -1;
	r->followed_ns = clock_now_ns();
	return open_early(r, err) < 0 ? -1 : join_attached(r, err);
}

void recording_start(struct recording *r, const struct run *run)
{
	bool kernel = sampler_status(r->sampler)->kernel_stacks;

	r->run = *run;
	if (r->options.attached) // for the agent to join takes a while, in which threads are seen
		r->run.start_ns = r->followed_ns;
	r->machine = machine_now();
	recorded_start(&r->recorder.recorded, r->run.start_ns);
	checkpoint_init(&r->checkpoint, r->options.checkpoint, clock_now_ns());
	ahead_init(&r->ahead, r->early, kernel ? r->kernel_names : NULL, clock_now_ns());
}

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

void recording_drain(struct recording *r)
{
	if (!r->broken.text[0] && sampler_drain(r->sampler, &r->broken) == 0)
		r->broken.text[0] = '\0';
}

static void take_sampler_facts(struct recording *r)
{
	const struct sampler_status *status = sampler_status(r->sampler);
	struct run *run = &r->run;

	run->rung = status->rung;
	run->rung_reason = status->rung_reason;
	run->rung_remedy = status->rung_remedy;
	run->kernel_stacks = status->kernel_stacks;
	run->off_cpu_exact = status->off_cpu_exact;
	run->frequency_hz = status->self_samples * 2 > status->samples ? r->options.frequency_hz
	                                                               : status->frequency_hz;
	run->samples = status->samples;
	run->lost = sampler_lost_samples(status);
	run->truncated = status->truncated;
	run->joined = status->joined;
	run->guessed = status->guessed;
	run->handlers_ns = status->handlers_ns;
	run->hooks_ops_ns = hooks_ops_ns(&r->recorder.hooks);
	run->hooks_cupti_ns = r->recorder.hooks.cupti_ns;
	run->hooks_memory_ns = r->recorder.hooks.ns[OP_MALLOC];
	run->hooks_waits_ns = run->hooks_waits_most_ns = r->recorder.hooks.ns[OP_WAITS];
	run->setup_ns = r->recorder.hooks.ns[HOOKS_SETUP];
	memcpy(run->hooks_ns, r->recorder.hooks.ns, sizeof(run->hooks_ns));
	run->unseen_processes = status->unseen_processes;
	run->unseen_name = status->unseen_name;
	run->agentless_processes = 0;
	for (int i = ABSENCE_NONE + 1; i < ABSENCE_COUNT; i++)
		run->agentless_processes += status->absences.count[i];
}

static void take_time(struct recording *r)
{
	const struct machine now = machine_now();

	r->run.wall_ns = clock_now_ns() - r->run.start_ns;
	machine_tell(&r->machine, &now, &r->run);
	limits_look(&r->limits, clock_now_ns());
	limits_tell(&r->limits, &r->run);
	recorded_tell(&r->recorder.recorded, &r->run);
}

// Of a zombie root alone may read them: for others what was read last has to do.
static void take_io(struct recording *r)
{
	struct proc_io io;

	if (!proc_io_read((uint32_t)r->child, &io))
		return;
	r->run.read_bytes = io.read_bytes;
	r->run.read_calls = io.read_calls;
	r->run.write_bytes = io.write_bytes;
	r->run.write_calls = io.write_calls;
}

// These may be read of a zombie, too.
static void take_faults(struct recording *r)
{
	struct proc_stat stat;

	if (r->child && proc_stat_read((uint32_t)r->child, &stat))
		r->run.page_faults = stat.faults;
}

static void take_io_if_due(struct recording *r, uint64_t now_ns)
{
	if (now_ns < r->io_due_ns)
		return;
	take_io(r);
	r->io_due_ns = now_ns + IO_NS;
}

// As often as the clock of the CPU, see merge/record/cpu_clock.h, and as cheap.
static void take_resident(struct recording *r, uint64_t now_ns)
{
	uint64_t run_ns = now_ns - r->run.start_ns;
	uint64_t wait_ns = run_ns < NS_PER_SEC        ? RSS_NS
	                   : run_ns < 10 * NS_PER_SEC ? 5 * RSS_NS
	                                              : 25 * RSS_NS;

	if (now_ns < r->rss_due_ns)
		return;
	uint64_t bytes = recorder_resident(&r->recorder);
	uint64_t cost_ns = (clock_now_ns() - now_ns) * RSS_COST_PART;
	r->rss_due_ns = now_ns + (cost_ns > wait_ns ? cost_ns : wait_ns);
	if (bytes) // else all have ended
		profile_add_rss(r->profile, now_ns, bytes);
}

static void tell_memory(struct recording *r, uint64_t now_ns)
{
	r->run.memory_curves = profile_tell_memory(r->profile, now_ns);
	r->curves_due_ns = now_ns + NS_PER_SEC;
}

// Of a process that goes on, or has ended by now: then of the last look.
static void take_peak(struct recording *r, uint32_t pid)
{
	uint64_t bytes = proc_stat_peak_rss(pid);

	if (bytes > r->run.peak_rss_bytes)
		r->run.peak_rss_bytes = bytes;
}

// Whatever still runs in the background goes on without us: nobody waits for it, nor do we.
static void note_background(struct recording *r)
{
	const char *name;

	r->background = recorder_count_running(&r->recorder, (uint32_t)r->child, &name);
	snprintf(r->background_name, sizeof(r->background_name), "%s", name);
	r->run.background_processes = r->background;
	r->run.background_name = r->background ? r->background_name : NULL;
}

int recording_fd(const struct recording *r)
{
	return r->broken.text[0] ? -1 : sampler_fd(r->sampler);
}

void recording_begin(struct recording *r)
{
	r->own_cpu_ns = own_cpu_ns();
	r->broken.text[0] = '\0';
	r->run.exit_status = -1;
	cpu_clock_init(&r->clock, CPU_CLOCK_ROOT, (uint32_t)r->child, r->run.start_ns);
	limits_init(&r->limits, "", (uint32_t)r->child, r->run.start_ns);
	limits_maybe(&r->limits, clock_now_ns());
	sampler_begin(r->sampler);
}

int recording_timeout_ms(const struct recording *r, int limit_ms)
{
	uint64_t now_ns = clock_now_ns();
	int timeout_ms = r->broken.text[0] ? limit_ms : sampler_timeout_ms(r->sampler);

	if (timeout_ms < 0 || timeout_ms > limit_ms)
		timeout_ms = limit_ms;
	if (ahead_is_idle(&r->ahead)) // else it may be due, and would not be done
		timeout_ms = checkpoint_timeout_ms(&r->checkpoint, now_ns, timeout_ms);
	timeout_ms = ahead_timeout_ms(&r->ahead, now_ns, timeout_ms);
	timeout_ms = limits_timeout_ms(&r->limits, now_ns, timeout_ms);
	uint64_t rss_ms = r->rss_due_ns > now_ns ? (r->rss_due_ns - now_ns) / NS_PER_MS + 1 : 0;
	if (rss_ms < (uint64_t)timeout_ms)
		timeout_ms = (int)rss_ms;
	return cpu_clock_timeout_ms(&r->clock, now_ns, timeout_ms);
}

void recording_look(struct recording *r)
{
	checkpoint_reap(&r->checkpoint, false);
	take_io(r);
	take_faults(r);
}

void recording_step(struct recording *r)
{
	if (cpu_clock_maybe(&r->clock, clock_now_ns()))
		cpu_clock_tell(&r->clock, &r->run);
	if (limits_maybe(&r->limits, clock_now_ns()))
		limits_tell(&r->limits, &r->run);
	take_io_if_due(r, clock_now_ns());
	take_resident(r, clock_now_ns());
	if (clock_now_ns() >= r->curves_due_ns) {
		tell_memory(r, clock_now_ns());
		for (size_t i = 0; i < r->options.attached_count; i++)
			take_peak(r, (uint32_t)r->options.attached[i]);
	}
	take_sampler_facts(r);
	r->run.wall_ns = clock_now_ns() - r->run.start_ns;
	recorded_tell(&r->recorder.recorded, &r->run);
	if (r->jit_names)
		jit_names_look(r->jit_names, r->modules);
	ahead_maybe(&r->ahead, r->profile, clock_now_ns());
	// A fork waits for whoever is in the middle of an allocation, be he ever so slow.
	if (ahead_is_idle(&r->ahead))
		checkpoint_maybe(&r->checkpoint, r->profile, &r->run, clock_now_ns());
}

void recording_end(struct recording *r, int status, const struct rusage *usage)
{
	struct error finish;

	r->run.exit_status = status;
	leave_attached(r); // before the last that it has written is taken
	take_time(r);      // and threads are seen until then
	if (usage) {
		r->run.target_cpu_ns = usage_cpu_ns(usage);
		r->run.peak_rss_bytes = (uint64_t)usage->ru_maxrss * 1024;
		r->switches = (uint64_t)usage->ru_nvcsw + (uint64_t)usage->ru_nivcsw;
	}
	recording_drain(r);
	if (usage)
		note_background(r);
	checkpoint_reap(&r->checkpoint, true);
	if (sampler_finish(r->sampler, &finish) < 0 && !r->broken.text[0])
		r->broken = finish;
	profile_end_gpu(r->profile);
	tell_memory(r, clock_now_ns());
	profile_end_wall(r->profile, r->run.start_ns + r->run.wall_ns);
	if (!usage) {
		r->run.target_cpu_ns = query_on_cpu_ns(r->profile, 0, 0);
		for (size_t i = 0; i < r->options.attached_count; i++)
			take_peak(r, (uint32_t)r->options.attached[i]);
	}
	take_sampler_facts(r);
	recorded_tell(&r->recorder.recorded, &r->run);
	r->run.collector_cpu_ns = own_cpu_ns() - r->own_cpu_ns + r->checkpoint.cpu_ns;
	r->run.complete = true;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t beyond(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

// Of the times that a CPU had nothing of the run to do, those in which it idled.
static uint64_t idle_gaps(const struct recording *r)
{
	const struct sampler_status *status = sampler_status(r->sampler);
	uint64_t all_ns = r->run.wall_ns * r->run.machine_cpus;
	uint64_t idle_ns = beyond(all_ns, r->run.machine_busy_ns);

	if (!r->run.machine_cpus || status->gaps_ns <= idle_ns)
		return status->gaps;
	return (uint64_t)((double)status->gaps * (double)idle_ns / (double)status->gaps_ns);
}

// What no sample shows. Where the agent has been seen to take more for its starts, that holds.
static void tell_prices(struct recording *r)
{
	struct run *run = &r->run;
	const struct recorder *seen = &r->recorder;
	uint64_t stacks = sampler_status(r->sampler)->switch_stacks;
	uint64_t wakeups = sampler_status(r->sampler)->wakeups;
	uint64_t forks = seen->processes ? seen->processes - 1 : 0;
	uint64_t threads = seen->tasks > seen->processes ? seen->tasks - seen->processes : 0;
	uint64_t spawns = smaller(forks, seen->execs);
	uint64_t traps = sampler_status(r->sampler)->self_samples;
	uint64_t worth_ns = run->target_cpu_ns / PRICES_SHARE;
	struct prices_request request = {
		.kernel = run->kernel_stacks,
		.off_cpu = r->options.off_cpu,
		.frequency_hz = r->others_hz,
		.stack_bytes = r->options.stack_bytes,
		.threads = threads * PRICE_NS_MAX > worth_ns,
		.switches = (r->switches + stacks) * SWITCH_NS_MAX > worth_ns,
		.processes = (forks + seen->execs) * PRICE_NS_MAX > worth_ns,
		.locks = seen->hooks.stalls_ns > worth_ns,
		.traps = traps * TRAP_NS_MAX > worth_ns,
		.session = r->session,
		.agent = r->session ? r->agent : NULL,
		.program = r->options.pricer,
		.kept = r->options.prices,
	};

	if (run->rung > RUNG_PERF_USER || (!request.kept && run->target_cpu_ns < PRICES_CPU_NS_MIN))
		return;
	request.kept_only =
		run->target_cpu_ns < KEPT_CPU_NS_MIN &&
		(run->target_cpu_ns < WAITS_CPU_NS_MIN || run->wall_ns < WAITS_WALL_NS_MIN);
	const struct prices prices = prices_measure(&request);
	const uint64_t *price = prices.ns;
	// A rate that was lowered meanwhile only drops what the kernel still takes.
	const struct sampler_status *status = sampler_status(r->sampler);
	uint32_t hz = status->lowered_from_hz ? status->lowered_from_hz : status->frequency_hz;
	double samples = (double)run->target_cpu_ns * hz / (double)NS_PER_SEC;
	// Its price has these already.
	uint64_t priced =
		price[PRICE_SPAWN] ? smaller(SWITCHES_OF_PROCESS * forks, r->switches) : 0;
	uint64_t switches = r->switches - priced;
	if (priced) {
		double part = (double)switches / (double)r->switches;
		stacks = (uint64_t)((double)stacks * part);
		wakeups = (uint64_t)((double)wakeups * part);
	}
	const struct starts starts = { threads, spawns, forks - spawns, seen->execs - spawns };
	const struct starts_cost cost = prices_of_starts(&prices, &starts, run->target_cpu_ns);
	run->kernel_ns = (uint64_t)(samples * (double)price[PRICE_SAMPLE]) + cost.threads_ns +
	                 switches * price[PRICE_SWITCH] + traps * price[PRICE_TRAP];
	run->kernel_ns += idle_gaps(r) * beyond(price[PRICE_IDLE], price[PRICE_SWITCH]) +
	                  wakeups * beyond(price[PRICE_WAKEUP], price[PRICE_SWITCH]) +
	                  stacks * beyond(price[PRICE_STACK], price[PRICE_WAKEUP]);
	// A lock's word that has just been written delays who reads it first, which is the hook. Of
	// the time between the hook and libc's own function only the price of such a pair is the
	// hook's.
	uint64_t pair = price[PRICE_LOCKS] + price[PRICE_BARE_LOCKS];
	if (price[PRICE_LOCKS])
		run->hooks_waits_ns -= seen->hooks.stalls_ns -
		                       (uint64_t)((double)seen->hooks.stalls_ns *
		                                  (double)price[PRICE_LOCKS] / (double)pair);
	// Samples put all that a short process did before its first one where that was taken.
	if (price[PRICE_SPAWN])
		run->setup_ns = cost.processes_ns;
}

static bool has_torch(const struct recording *r)
{
	static const char library[] = "libtorch_cpu.so";

	for (uint32_t id = 1; id <= modules_count(r->modules); id++)
		if (strncmp(path_base(modules_get(r->modules, id)->path), library,
		            sizeof(library) - 1) == 0)
			return true;
	return false;
}

static void *describe(void *context)
{
	struct recording *r = context;

	r->environment = surroundings_text(r->options.argv, r->modules, &r->run);
	return NULL;
}

// Which versions ran is found in files, large ones among them, while addresses get their names.
static void start_describing(struct recording *r)
{
	sigset_t all, before;

	sigfillset(&all);
	sigdelset(&all, SIGBUS); // it is about what the thread itself does
	pthread_sigmask(SIG_BLOCK, &all, &before);
	r->describing = pthread_create(&r->describer, NULL, describe, r) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!r->describing)
		describe(r);
}

static int finish_describing(struct recording *r, struct error *err)
{
	if (r->describing)
		pthread_join(r->describer, NULL);
	r->describing = false;
	r->run.environment = r->environment;
	return profile_set_run(r->profile, &r->run, err);
}

int recording_finish(struct recording *r, struct error *err)
{
	const struct notes_facts facts = {
		.options = &r->options,
		.status = sampler_status(r->sampler),
		.recorded = &r->recorder.recorded,
		.recorded_ns = r->run.recorded_ns,
		.wall_ns = r->run.wall_ns,
		.others_hz = r->others_hz,
		.traced = r->session ? &r->recorder.traced : NULL,
		.background = r->background,
		.background_name = r->background_name,
		.has_torch = has_torch(r),
		.broken = &r->broken,
		.profile = r->profile,
	};

	if (r->jit_names)
		jit_names_stop(r->jit_names, &r->notes);
	notes_at_end(&r->notes, &facts);
	r->run.notes = r->notes.text;
	notes_nothing(&r->nothing, &facts);
	r->run.recorded_nothing = r->nothing.cause[0] ? r->nothing.cause : NULL;
	r->run.recorded_remedy = r->nothing.cause[0] ? r->nothing.remedy : NULL;
	// The program is over: what this takes is none of its time.
	tell_prices(r);
	if (profile_set_run(r->profile, &r->run, err) < 0)
		return -1;
	start_describing(r);
	return 0;
}

// Machine code of GPUs that the agents have kept, where instructions of it were sampled.
static uint8_t *load_cubin(int fd, size_t size)
{
	cleanup_free uint8_t *bytes = malloc(size);
	size_t used = 0;

	while (bytes && used < size) {
		ssize_t n = read(fd, bytes + used, size - used);
		if (n <= 0)
			return NULL;
		used += (size_t)n;
	}
	return steal(bytes);
}

// What is missing, or damaged, gives no lines.
static void name_cubin_lines(struct profile *p, const char *directory, uint64_t crc)
{
	char path[PATH_MAX];
	struct stat status;
	struct error err;

	snprintf(path, sizeof(path), "%s/" PROTOCOL_CUBIN_FILE, directory, (unsigned long long)crc);
	cleanup_close int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_nlink != 1 ||
	    status.st_size <= 0 || (size_t)status.st_size > PROTOCOL_CUBIN_BYTES)
		return;
	cleanup_free uint8_t *bytes = load_cubin(fd, (size_t)status.st_size);
	if (bytes)
		profile_name_gpu_lines(p, crc, (struct bytes){ bytes, (size_t)status.st_size },
		                       &err);
}

static int name_with(struct profile *p, struct symbolizer *s, struct error *err)
{
	if (profile_symbolize(p, s, err) < 0)
		return -1;
	profile_find_loops(p, s);
	return 0;
}

static int name_addresses(struct recording *r, void (*progress)(void *context, const char *what),
                          void *context, struct error *err)
{
	struct symbolizer_options options = {
		.debuginfod = r->options.debuginfod,
		.kernel_names = r->kernel_names,
		.kept_maps = kept_maps(r),
		.names_directory = r->options.names,
		.progress = progress,
		.progress_context = context,
	};

	if (!r->early) {
		cleanup(symbolizer) struct symbolizer *s = symbolizer_new(&options, err);
		return s ? name_with(r->profile, s, err) : -1;
	}
	struct symbolizer *s = early_finish(r->early);
	symbolizer_set_progress(s, progress, context);
	int failed = name_with(r->profile, s, err);
	symbolizer_set_progress(s, NULL, NULL);
	return failed;
}

int recording_symbolize(struct recording *r, void (*progress)(void *context, const char *what),
                        void *context, struct error *err)
{
	for (uint64_t crc = 0; r->session && profile_next_cubin(r->profile, &crc);)
		name_cubin_lines(r->profile, session_directory(r->session), crc);
	int failed = name_addresses(r, progress, context, err);
	struct error *why = failed ? NULL : err; // the first is said
	failed |= finish_describing(r, why);
	if (!failed && (!profile_stamp_sources(r->profile) || !profile_name_programs(r->profile)))
		failed = error_set(err, ENOMEM, "could not name what was recorded");
	if (!failed && r->jit_names)
		jit_names_clean(r->jit_names, r->modules);
	if (!failed || !stop_is_wanted())
		return failed;
	notes_add(&r->notes,
	          "%s came before all functions had their names: bottleneck report looks for the "
	          "others",
	          stop_signal_name());
	return profile_set_run(r->profile, &r->run, err);
}

struct profile *recording_profile(struct recording *r)
{
	return r->profile;
}

int recording_name_checkpoint(struct profile *p, bool debuginfod,
                              void (*progress)(void *context, const char *what), void *context,
                              struct error *err)
{
	const struct symbolizer_options options = {
		.debuginfod = debuginfod,
		.progress = progress,
		.progress_context = context,
	};
	cleanup(symbolizer) struct symbolizer *s = symbolizer_new(&options, err);

	return s ? name_with(p, s, err) : -1;
}

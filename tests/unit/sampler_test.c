// SPDX-License-Identifier: MIT
// Real programs under a real kernel: what a machine or a container forbids skips, and says so.
#include "base/clock.h"
#include "base/error.h"
#include "sampler/sampler.h"
#include "tests/support/expect.h"
#include "tests/support/turns.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS         UINT64_C(1000000)
#define TASKS_MAX  2048
#define NOBODY     65534
#define DEEP       28 // frames of spin_deep()
#define UNREADABLE "/tmp/bottleneck_unreadable"

struct seen_thread {
	uint32_t process, tid;
	char name[16];
	uint64_t start_ns, end_ns;
	uint64_t exact_ns[METRIC_COUNT];
	uint64_t weight_ns[METRIC_COUNT];
	bool exact;
};

struct seen_process {
	uint32_t parent;
	uint32_t execs;
	char command[64];
	bool ended;
};

// All that the sink was told. Index 0 stays empty.
static struct {
	struct modules *modules;
	struct seen_process processes[TASKS_MAX];
	struct seen_thread threads[TASKS_MAX];
	uint32_t process_count, thread_count, threads_ended;
	uint64_t weight_ns[METRIC_COUNT];
	uint64_t ticks, whole, deep, made_ns, kernel_ns;
	uint64_t mark_ns[MARK_FAULT + 1];
	struct sampler_status status;
	struct rusage usage;
	struct turns turns;
	int wait_status;
} seen;

static void see_process(void *context, const struct process_event *event)
{
	struct seen_process *process = &seen.processes[event->process];

	(void)context;
	cr_assert(lt(u32, event->process, TASKS_MAX));
	if (event->exec) {
		process->execs++;
	} else {
		cr_expect(eq(u32, event->process, ++seen.process_count), "numbers go in order");
		process->parent = event->parent;
	}
	snprintf(process->command, sizeof(process->command), "%s", event->command);
}

static void see_process_end(void *context, uint32_t process, uint64_t time_ns)
{
	(void)context;
	(void)time_ns;
	cr_expect(not(seen.processes[process].ended));
	seen.processes[process].ended = true;
}

static void see_thread(void *context, const struct thread_event *event)
{
	struct seen_thread *thread = &seen.threads[event->thread];

	(void)context;
	cr_assert(lt(u32, event->thread, TASKS_MAX));
	if (!thread->process) {
		cr_expect(eq(u32, event->thread, ++seen.thread_count), "numbers go in order");
		thread->start_ns = event->time_ns;
		thread->process = event->process;
		thread->tid = event->tid;
	}
	snprintf(thread->name, sizeof(thread->name), "%s", event->name);
}

static void see_thread_end(void *context, const struct thread_end *end)
{
	struct seen_thread *thread = &seen.threads[end->thread];

	(void)context;
	cr_expect(eq(u64, thread->end_ns, 0), "a thread ends once");
	thread->end_ns = end->time_ns;
	thread->exact = end->exact;
	memcpy(thread->exact_ns, end->ns, sizeof(end->ns));
	seen.threads_ended++;
}

static void see_stack(void *context, const struct stack *stack)
{
	struct frame leaf = stack->frames[0];
	const struct module *module = modules_get(seen.modules, leaf.module);

	(void)context;
	cr_assert(gt(u32, stack->count, 0));
	cr_expect(eq(u64, seen.threads[stack->thread].end_ns, 0), "no stack after the end");
	cr_expect(ne(u32, seen.threads[stack->thread].process, 0), "no stack before the start");
	seen.threads[stack->thread].weight_ns[stack->metric] += stack->weight_ns;
	seen.weight_ns[stack->metric] += stack->weight_ns;
	if (stack->metric != METRIC_ON_CPU)
		return;
	seen.ticks += stack->samples;
	if (leaf.kind == FRAME_MARK)
		seen.mark_ns[leaf.address] += stack->weight_ns;
	else if (module && module->kind == MODULE_KERNEL)
		seen.kernel_ns += stack->weight_ns;
	else if (module && module->kind == MODULE_JIT)
		seen.made_ns += stack->weight_ns;
	if (stack->count > 2 && !(stack->flags & STACK_TRUNCATED))
		seen.whole += stack->samples;
	if (stack->count > DEEP && !(stack->flags & STACK_TRUNCATED))
		seen.deep += stack->samples;
}

static void see(void *context, const struct sampled *what)
{
	if (what->kind == SAMPLED_PROCESS)
		see_process(context, what->process);
	else if (what->kind == SAMPLED_PROCESS_END)
		see_process_end(context, what->at.number, what->at.time_ns);
	else if (what->kind == SAMPLED_THREAD)
		see_thread(context, what->thread);
	else if (what->kind == SAMPLED_THREAD_END)
		see_thread_end(context, what->thread_end);
	else if (what->kind == SAMPLED_STACK)
		see_stack(context, what->stack);
}

static const struct sampler_sink sink = { .take = see };

static pid_t start(const char *const *argv, int *gate)
{
	int ends[2];

	cr_assert(eq(int, pipe(ends), 0));
	pid_t child = fork();
	if (child == 0) {
		char byte;
		close(ends[1]);
		if (read(ends[0], &byte, 1) < 0)
			_exit(126);
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	close(ends[0]);
	*gate = ends[1];
	return child;
}

// The CPU time of the program for which the collector of this test is kept from its work at first.
static uint64_t delay_cpu_ns;

static void wait_for_cpu(pid_t child)
{
	clockid_t clock;
	siginfo_t ended = { 0 };

	cr_assert(eq(int, clock_getcpuclockid(child, &clock), 0));
	while (!ended.si_pid && clock_ns(clock) < delay_cpu_ns) {
		usleep(10000);
		waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT);
	}
}

static void drain_until_exit(struct sampler *s, pid_t child)
{
	struct error err = { 0 };

	wait_for_cpu(child);
	seen.turns = (struct turns){ .last_ns = clock_now_ns() };
	while (wait4(child, &seen.wait_status, WNOHANG, &seen.usage) == 0) {
		struct pollfd work = { .fd = sampler_fd(s), .events = POLLIN };
		int timeout = sampler_timeout_ms(s);
		cr_expect(timeout >= 0 && timeout <= 100, "%d ms", timeout);
		poll(&work, 1, timeout < 10 ? timeout : 10);
		cr_assert(eq(int, sampler_drain(s, &err), 0), "%s", err.text);
		turns_count(&seen.turns, 10);
	}
	cr_expect(eq(int, sampler_finish(s, &err), 0), "%s", err.text);
}

// False if this machine allows nothing: then ERR says why.
static bool try_record(const char *const *argv, const struct sampler_options *options,
                       struct error *err)
{
	int gate;

	seen.modules = modules_new();
	struct sampler *s = sampler_new(options, seen.modules, &sink, err);
	cr_assert(s != NULL, "%s", err->text);
	pid_t child = start(argv, &gate);
	bool attached = sampler_attach(s, child, err) == 0;
	if (!attached)
		kill(child, SIGKILL);
	close(gate);
	sampler_begin(s);
	if (attached)
		drain_until_exit(s, child);
	else
		waitpid(child, NULL, 0);
	seen.status = *sampler_status(s);
	sampler_free(s);
	modules_free(seen.modules);
	return attached;
}

static void record_with(const char *const *argv, const struct sampler_options *options)
{
	struct error err = { 0 };

	if (!try_record(argv, options, &err))
		cr_skip("cannot sample here: %s: %s", err.text, strerror(err.errnum));
	if (seen.status.rung > RUNG_PERF_USER)
		cr_skip("no perf events here: %s", seen.status.rung_reason);
}

#define record(...) record_with((const char *const[]){ __VA_ARGS__, NULL }, &defaults)

static const struct sampler_options defaults = { .off_cpu = true };
static const struct sampler_options user_only = { .off_cpu = true, .best_rung = RUNG_PERF_USER };

// Others, or the host of a virtual machine, may take CPUs away, which makes a draw miss: a share is
// wrong if it is wrong at each of three draws. The last one is what has been SEEN.
static void record_until(bool (*right)(void), const char *const *argv,
                         const struct sampler_options *options)
{
	for (int draw = 0; draw < 3; draw++) {
		memset(&seen, 0, sizeof(seen));
		record_with(argv, options);
		if (right())
			return;
	}
}

#define record_drawn(right, ...)                                                                   \
	record_until(right, (const char *const[]){ __VA_ARGS__, NULL }, &defaults)

static void drop_privileges(void)
{
	if (getuid() != 0)
		return;
	cr_assert(eq(int, setgroups(0, NULL), 0));
	cr_assert(eq(int, setgid(NOBODY), 0));
	cr_assert(eq(int, setuid(NOBODY), 0));
	// A process that changed its user may not be looked at by others of the new one.
	cr_assert(eq(int, prctl(PR_SET_DUMPABLE, 1), 0));
	if (access(SAMPLER_CHILD, X_OK) != 0)
		cr_skip("nobody may not run %s", SAMPLER_CHILD);
}

static uint64_t cpu_ns_of_usage(void)
{
	return ((uint64_t)seen.usage.ru_utime.tv_sec + (uint64_t)seen.usage.ru_stime.tv_sec) *
	               NS_PER_SEC +
	       ((uint64_t)seen.usage.ru_utime.tv_usec + (uint64_t)seen.usage.ru_stime.tv_usec) *
	               NS_PER_US;
}

static double ratio(uint64_t a, uint64_t b)
{
	return (double)a / (double)b;
}

static double cpu_share(void)
{
	return ratio(seen.weight_ns[METRIC_ON_CPU], cpu_ns_of_usage());
}

static double kernel_share(void)
{
	return ratio(seen.mark_ns[MARK_KERNEL] + seen.mark_ns[MARK_FAULT],
	             seen.weight_ns[METRIC_ON_CPU]);
}

static bool has_all_cpu_time(void)
{
	return cpu_share() > 0.95 && cpu_share() < 1.05;
}

// Of programs that fork and exec, what they do in between is not all seen.
static bool has_most_cpu_time(void)
{
	return cpu_share() > 0.9 && cpu_share() < 1.05;
}

static double rate_share(void)
{
	return ratio(seen.ticks * 1001001, seen.weight_ns[METRIC_ON_CPU]);
}

static double whole_share(void)
{
	return ratio(seen.whole, seen.ticks);
}

static bool is_even_and_whole(void)
{
	return has_all_cpu_time() && rate_share() > 0.9 && rate_share() < 1.1 &&
	       whole_share() > 0.97;
}

// For every thread: its stacks weigh what it spent, and that is its lifetime.
static void expect_accounts_to_balance(void)
{
	cr_expect(eq(u32, seen.threads_ended, seen.thread_count));
	for (uint32_t i = 1; i <= seen.thread_count; i++) {
		const struct seen_thread *thread = &seen.threads[i];
		uint64_t life = 0;
		cr_expect(thread->exact);
		for (int m = 0; m < METRIC_COUNT; m++) {
			life += thread->exact_ns[m];
			cr_expect(eq(u64, thread->weight_ns[m], thread->exact_ns[m]),
			          "thread %u, metric %d", i, m);
		}
		cr_expect(eq(u64, life, thread->end_ns - thread->start_ns), "thread %u", i);
	}
	for (uint32_t i = 1; i <= seen.process_count; i++)
		cr_expect(seen.processes[i].ended, "process %u", i);
}

// For so long the rings hold all, at least.
static void expect_nothing_lost(void)
{
	if (seen.turns.longest_ns < 50 * MS)
		cr_expect(eq(u64, seen.status.lost, 0));
}

Test(sampler, a_busy_program_is_sampled_evenly_and_whole)
{
	record_drawn(is_even_and_whole, SAMPLER_CHILD, "spin", "300");
	expect_accounts_to_balance();
	cr_expect(eq(u32, seen.process_count, 1));
	cr_expect(eq(str, seen.processes[1].command, "sampler_child"));
	expect_nothing_lost();
	cr_expect(eq(u64, seen.ticks, seen.status.samples));
	cr_expect(eq(u32, seen.status.frequency_hz, 999));
	cr_expect(is_even_and_whole(), "%.3f of the CPU time, %.3f of the rate, %.3f whole",
	          cpu_share(), rate_share(), whole_share());
}

// Each spins for 30 ms.
static bool spinners_have_their_time(void)
{
	for (uint32_t i = 2; i <= seen.thread_count; i++) {
		uint64_t on_cpu = seen.threads[i].weight_ns[METRIC_ON_CPU];
		if (on_cpu <= 29 * MS || on_cpu >= 40 * MS)
			return false;
	}
	return true;
}

Test(sampler, every_thread_is_followed_and_has_its_name)
{
	record_drawn(spinners_have_their_time, SAMPLER_CHILD, "threads", "8");
	expect_accounts_to_balance();
	cr_assert(eq(u32, seen.thread_count, 9));
	cr_expect(spinners_have_their_time());
	for (uint32_t i = 2; i <= 9; i++)
		cr_expect(eq(str, seen.threads[i].name, "spinner"));
	cr_expect(eq(str, seen.threads[1].name, "sampler_child"));
}

Test(sampler, five_hundred_threads_are_followed)
{
	record(SAMPLER_CHILD, "crowd", "500");
	expect_accounts_to_balance();
	cr_expect(eq(u32, seen.thread_count, 501));
	cr_expect(eq(u32, seen.process_count, 1));
}

Test(sampler, forked_children_are_followed_and_know_their_parent)
{
	record_drawn(has_most_cpu_time, SAMPLER_CHILD, "forks", "20");
	expect_accounts_to_balance();
	cr_assert(eq(u32, seen.process_count, 21));
	for (uint32_t i = 2; i <= 21; i++) {
		cr_expect(eq(u32, seen.processes[i].parent, 1));
		cr_expect(eq(str, seen.processes[i].command, "sampler_child"));
	}
	cr_expect(has_most_cpu_time(), "%.3f of the CPU time", cpu_share());
}

Test(sampler, spawned_and_vforked_programs_are_followed)
{
	record(SAMPLER_CHILD, "spawns", "10");
	expect_accounts_to_balance();
	cr_assert(eq(u32, seen.process_count, 21));
	for (uint32_t i = 2; i <= 21; i++) {
		cr_expect(eq(str, seen.processes[i].command, "true"));
		cr_expect(eq(u32, seen.processes[i].execs, 1));
	}
}

Test(sampler, an_exec_is_the_same_process_with_another_name)
{
	record("sh", "-c", "exec sleep 0.05");
	expect_accounts_to_balance();
	cr_expect(eq(u32, seen.process_count, 1));
	cr_expect(eq(u32, seen.thread_count, 1));
	cr_expect(eq(u32, seen.processes[1].execs, 1));
	cr_expect(eq(str, seen.processes[1].command, "sleep"));
}

Test(sampler, an_exec_from_another_thread_ends_all_the_others)
{
	record_drawn(has_most_cpu_time, SAMPLER_CHILD, "thread-exec");
	expect_accounts_to_balance();
	cr_expect(eq(u32, seen.process_count, 1));
	cr_expect(eq(u32, seen.processes[1].execs, 1));
	cr_expect(has_most_cpu_time(), "%.3f of the CPU time", cpu_share());
}

Test(sampler, a_program_that_does_not_exist_is_no_error_of_ours)
{
	record("/no/such/program");
	cr_expect(eq(int, WEXITSTATUS(seen.wait_status), 127));
	cr_expect(eq(u32, seen.process_count, 0));
	cr_expect(eq(u64, seen.status.samples, 0));
}

Test(sampler, a_program_that_exits_at_once_is_seen)
{
	record("/bin/true");
	expect_accounts_to_balance();
	cr_expect(eq(u32, seen.process_count, 1));
	cr_expect(eq(str, seen.processes[1].command, "true"));
	cr_expect(gt(u64, seen.weight_ns[METRIC_ON_CPU], 0));
}

Test(sampler, a_program_may_end_by_a_signal_or_without_exit)
{
	static const char *const modes[] = { "killed", "no-exit" };

	for (int i = 0; i < 2; i++) {
		memset(&seen, 0, sizeof(seen));
		record(SAMPLER_CHILD, modes[i]);
		expect_accounts_to_balance();
		cr_expect(ge(u64, seen.weight_ns[METRIC_ON_CPU], 19 * MS), "%s", modes[i]);
	}
	cr_expect(eq(int, WEXITSTATUS(seen.wait_status), 7));
}

Test(sampler, a_daemon_that_outlives_the_program_is_closed_at_the_end)
{
	record(SAMPLER_CHILD, "daemon");
	expect_accounts_to_balance();
	cr_assert(eq(u32, seen.process_count, 3));
	// It holds this test's output open: whoever reads that would wait for it to end.
	cr_expect(eq(int, kill((pid_t)seen.threads[3].tid, SIGKILL), 0), "it is still there");
	cr_expect(eq(u32, seen.processes[3].parent, 2));
	cr_expect(gt(u64, seen.threads[3].weight_ns[METRIC_ON_CPU], 0));
	cr_expect(eq(u32, seen.status.unseen_processes, 0), "it is not unseen, only not over");
}

Test(sampler, waiting_has_its_cause)
{
	record(SAMPLER_CHILD, "sleep", "150");
	expect_accounts_to_balance();
	uint64_t slept = seen.weight_ns[METRIC_OFF_SLEEP];
	// A thread that has been woken waits on, for a CPU, without a record of the difference.
	cr_expect(slept >= 149 * MS, "%.1f ms", (double)slept / 1e6);
	cr_expect(seen.status.off_cpu_exact);
}

Test(sampler, without_off_cpu_nothing_is_said_of_waiting)
{
	static const struct sampler_options on_cpu_only = { .off_cpu = false };
	static const char *const argv[] = { SAMPLER_CHILD, "spin", "200", NULL };

	record_until(has_most_cpu_time, argv, &on_cpu_only);
	for (int m = 1; m < METRIC_COUNT; m++)
		cr_expect(eq(u64, seen.weight_ns[m], 0), "metric %d", m);
	cr_expect(not(seen.status.off_cpu_exact));
	cr_expect(has_most_cpu_time(), "%.3f of the CPU time", cpu_share());
}

Test(sampler, code_that_the_program_made_is_a_module_of_its_own)
{
	record(SAMPLER_CHILD, "made", "150");
	expect_accounts_to_balance();
	double made = ratio(seen.made_ns, seen.weight_ns[METRIC_ON_CPU]);
	cr_expect(made > 0.5, "%.3f of the time", made); // the rest is starting up
}

Test(sampler, kernel_time_is_found_with_and_without_the_right_to_look)
{
	static const char *const argv[] = { SAMPLER_CHILD, "calls", "300", NULL };

	record_with(argv, &defaults);
	if (!seen.status.kernel_stacks)
		cr_skip("no samples of the kernel here: %s", seen.status.rung_reason);
	double seen_share = ratio(seen.kernel_ns, seen.weight_ns[METRIC_ON_CPU]);
	memset(&seen, 0, sizeof(seen));
	record_with(argv, &user_only);
	cr_expect(eq(int, (int)seen.status.rung, RUNG_PERF_USER));
	cr_expect(eq(u64, seen.kernel_ns, 0));
	expect_accounts_to_balance();
	double share = kernel_share();
	cr_expect(seen_share > 0.5, "%.3f seen", seen_share);
	cr_expect(share > seen_share - 0.15 && share < seen_share + 0.15, "%.3f, seen %.3f", share,
	          seen_share);
}

static bool has_hardly_any_kernel_time(void)
{
	return kernel_share() < 0.03;
}

// While the host of a virtual machine has the CPU, the guest's clock runs on without samples.
Test(sampler, user_time_is_not_taken_for_kernel_time)
{
	static const char *const argv[] = { SAMPLER_CHILD, "spin", "300", NULL };

	record_until(has_hardly_any_kernel_time, argv, &user_only);
	cr_expect(has_hardly_any_kernel_time(), "%.3f", kernel_share());
}

static int read_paranoid(void)
{
	cleanup_fclose FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "r");
	int value = -1;

	return file && fscanf(file, "%d", &value) == 1 ? value : -1;
}

Test(sampler, a_user_without_rights_gets_exact_times_and_the_remedy)
{
	if (getuid() != 0 || read_paranoid() != 2)
		cr_skip("needs root to stop being root, and kernel.perf_event_paranoid at 2");
	drop_privileges();
	record(SAMPLER_CHILD, "spin", "200");
	expect_accounts_to_balance();
	cr_expect(eq(int, (int)seen.status.rung, RUNG_PERF_USER));
	expect_nothing_lost();
	cr_expect(strstr(seen.status.rung_reason, "perf_event_paranoid is 2") != NULL, "%s",
	          seen.status.rung_reason);
	cr_expect(strstr(seen.status.rung_remedy, "sysctl kernel.perf_event_paranoid=1") != NULL,
	          "%s", seen.status.rung_remedy);
}

static double deep_share(void)
{
	return ratio(seen.deep, seen.ticks);
}

static bool is_deep_at_a_lower_rate(void)
{
	return has_all_cpu_time() && rate_share() > 0.5 && rate_share() < 0.75 &&
	       deep_share() > 0.9;
}

Test(sampler, small_rings_hold_few_whole_stacks_and_all_callers_are_shown)
{
	struct rlimit none = { 0 };

	if (getuid() != 0 || read_paranoid() != 2)
		cr_skip("needs root to stop being root, and kernel.perf_event_paranoid at 2");
	cr_assert(eq(int, setrlimit(RLIMIT_MEMLOCK, &none), 0));
	drop_privileges();
	record_drawn(is_deep_at_a_lower_rate, SAMPLER_CHILD, "deep", "1000");
	if (!strstr(seen.status.rung_note, " of stack are copied at "))
		cr_skip("others of the same user have memory for rings: %s", seen.status.rung_note);
	expect_accounts_to_balance();
	expect_nothing_lost();
	cr_expect(has_all_cpu_time(), "%f", cpu_share());
	cr_expect(rate_share() > 0.5 && rate_share() < 0.75, "%f", rate_share());
	cr_expect(gt(dbl, deep_share(), 0.9));
}

static void copy_unreadable(void)
{
	char buffer[65536];
	int from = open("/bin/sleep", O_RDONLY);
	int to = open(UNREADABLE, O_WRONLY | O_CREAT | O_TRUNC, 0711);

	cr_assert(from >= 0 && to >= 0);
	for (ssize_t count; (count = read(from, buffer, sizeof(buffer))) > 0;)
		cr_assert(eq(sz, (size_t)write(to, buffer, (size_t)count), (size_t)count));
	cr_assert(eq(int, fchmod(to, 0711), 0));
	close(from);
	close(to);
}

Test(sampler, a_program_that_may_not_be_read_is_counted_by_name)
{
	if (getuid() != 0)
		cr_skip("needs root to make a program that we may not read");
	copy_unreadable();
	drop_privileges();
	record("sh", "-c", UNREADABLE " 0.2; true");
	cr_expect(eq(u32, seen.status.unseen_processes, 1));
	cr_expect(eq(str, seen.status.unseen_name, "bottleneck_unre"));
}

Test(sampler, forget_the_unreadable_program)
{
	unlink(UNREADABLE);
	cr_expect(ne(int, access(UNREADABLE, F_OK), 0));
}

Test(sampler, of_lost_records_as_many_are_samples_as_of_those_that_came)
{
	static const struct {
		struct sampler_status status;
		uint64_t samples;
	} rows[] = {
		{ { .lost = 27000, .records = 900000, .samples = 2000 }, 60 },
		{ { .lost = 30, .records = 100, .samples = 100 }, 30 },
		{ { .lost = 7 }, 7 }, // nothing has come
		{ { .records = 100, .samples = 50 }, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect(eq(u64, sampler_lost_samples(&rows[i].status), rows[i].samples), "%zu",
		          i);
}

Test(sampler, a_collector_that_cannot_keep_up_counts_what_it_lost_and_lowers_the_rate)
{
	static const struct sampler_options fast = { .off_cpu = true,
		                                     .frequency_hz = 10000,
		                                     .stack_bytes = 65528 };
	static const char *const argv[] = { SAMPLER_CHILD, "threads", "60", NULL };

	delay_cpu_ns = 1200 * MS; // of 1800
	record_with(argv, &fast);
	cr_expect(gt(u64, seen.status.lost, 100));
	cr_expect(gt(u64, seen.status.records, seen.status.samples));
	cr_expect(gt(u64, sampler_lost_samples(&seen.status), 0));
	cr_expect(lt(u64, sampler_lost_samples(&seen.status), seen.status.lost));
	cr_expect(lt(u32, seen.status.frequency_hz, 10000));
	cr_expect(gt(u64, seen.mark_ns[MARK_UNKNOWN], 0), "what was lost is marked");
	// Lost switches make the clocks run on, so there is no upper bound.
	double cpu = ratio(seen.weight_ns[METRIC_ON_CPU], cpu_ns_of_usage());
	cr_expect(cpu > 0.5, "%.3f of the CPU time", cpu);
}

Test(sampler, a_rate_above_the_budget_falls_and_the_weights_stay_right)
{
	static const struct sampler_options tight = { .off_cpu = true, .budget_percent = 0.001 };
	static const char *const argv[] = { SAMPLER_CHILD, "spin", "4500", NULL };

	record_with(argv, &tight);
	expect_accounts_to_balance();
	cr_expect(eq(u32, seen.status.lowered_from_hz, 999));
	cr_expect(lt(u32, seen.status.frequency_hz, 200));
	cr_expect(gt(u64, seen.status.lowered_after_ns, 1900 * MS));
	cr_expect(strstr(seen.status.lowered_why, "budget of 0.001 %") != NULL, "%s",
	          seen.status.lowered_why);
	double cpu = ratio(seen.weight_ns[METRIC_ON_CPU], cpu_ns_of_usage());
	cr_expect(cpu > 0.95 && cpu < 1.05, "%.3f of the CPU time", cpu);
	cr_expect(lt(u64, seen.ticks * 1001001, seen.weight_ns[METRIC_ON_CPU] * 9 / 10));
}

Test(sampler, without_a_budget_the_rate_stays)
{
	static const struct sampler_options free = { .off_cpu = true, .budget_percent = 0 };
	static const char *const argv[] = { SAMPLER_CHILD, "spin", "3500", NULL };

	record_with(argv, &free);
	cr_expect(eq(u32, seen.status.lowered_from_hz, 0));
	cr_expect(eq(u32, seen.status.frequency_hz, 999));
}

static void refuse_perf_events(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	cr_assert(eq(int, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0));
	cr_assert(eq(int, prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0));
}

Test(sampler, a_container_that_refuses_perf_events_is_told_how_to_allow_them)
{
	static const char *const argv[] = { SAMPLER_CHILD, "spin", "50", NULL };
	struct error err = { 0 };

	refuse_perf_events();
	if (try_record(argv, &defaults, &err)) {
		cr_expect(ge(int, (int)seen.status.rung, RUNG_AGENT));
		cr_expect(strstr(seen.status.rung_reason, "seccomp") != NULL, "%s",
		          seen.status.rung_reason);
		cr_expect(strstr(seen.status.rung_remedy, "PERFMON") != NULL, "%s",
		          seen.status.rung_remedy);
	} else {
		cr_expect(strstr(err.text, "seccomp") != NULL, "%s", err.text);
		cr_expect(strstr(err.hint, "PERFMON") != NULL, "%s", err.hint);
	}
}

// SPDX-License-Identifier: MIT
#include "tracer/agent/cupti/cupti.h"

#include "base/clock.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/cupti/cupti_buffers.h"
#include "tracer/agent/cupti/cupti_calls.h"
#include "tracer/agent/cupti/cupti_pc.h"
#include "tracer/agent/cupti/cupti_place.h"
#include "tracer/agent/cupti/cupti_session.h"
#include "tracer/agent/cupti/gpu_lane.h"
#include "tracer/agent/op/chain.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/provider.h"
#include "tracer/agent/wrap/wrap.h"
#include "tracer/protocol.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// A thread of ours in the target that has CUPTI give its records out, now and then, and at the end:
// there it may take no longer than a moment, whatever state the driver is in.
//
// It takes no signals but the CPU's own and, like all threads of the program, the sampler's.

#define LOOK_NS (10 * NS_PER_MS)

enum stage {
	NONE, // there is no thread
	RUNNING,
	ENDING, // the last flush is wanted
	ENDED
};

static uint32_t stage; // atomic: enum stage; a futex
static void (*flush)(bool last);
static uint64_t period_ns;

// Until STAGE is not EXPECTED any more, or LIMIT_NS have passed.
static void wait_while(uint32_t expected, uint64_t limit_ns)
{
	struct timespec limit = { (time_t)(limit_ns / NS_PER_SEC), (long)(limit_ns % NS_PER_SEC) };

	syscall(SYS_futex, &stage, FUTEX_WAIT_PRIVATE, expected, &limit, NULL, 0);
}

static void enter(uint32_t next)
{
	__atomic_store_n(&stage, next, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &stage, FUTEX_WAKE_PRIVATE, 1 << 30, NULL, NULL, 0);
}

static uint32_t current(void)
{
	return __atomic_load_n(&stage, __ATOMIC_SEQ_CST);
}

static void *run(void *argument)
{
	(void)argument;
	prctl(PR_SET_NAME, PROTOCOL_OWN_THREAD);
	while (current() == RUNNING) {
		wait_while(RUNNING, period_ns);
		if (current() == RUNNING)
			flush(false);
	}
	flush(true);
	enter(ENDED);
	return NULL;
}

// Faults are never to be blocked; nor is SIGTRAP, by which a process samples itself.
static void block_signals(sigset_t *before)
{
	static const int open[] = { SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGILL };
	sigset_t all;

	sigfillset(&all);
	for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++)
		sigdelset(&all, open[i]);
	pthread_sigmask(SIG_SETMASK, &all, before);
}

// FLUSH is called every PERIOD_NS with `last` false, and at the end with `last` true.
static bool cupti_flusher_start(void (*wanted)(bool last), uint64_t wanted_period_ns)
{
	typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	static void *next_create;
	create *make = (create *)wrap_next(&next_create, "pthread_create");
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t before;

	if (current() == RUNNING || pthread_attr_init(&attributes) != 0)
		return current() == RUNNING;
	flush = wanted;
	period_ns = wanted_period_ns;
	enter(RUNNING);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	block_signals(&before);
	bool made = make && make(&thread, &attributes, run, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	if (!made)
		enter(NONE);
	return made;
}

// Has the last flush done, and waits for it: for LIMIT_NS since PROGRESS() last gave another
// number, and for no more than LONGEST_NS. False: it took longer.
static bool cupti_flusher_finish(uint64_t (*progress)(void), uint64_t limit_ns, uint64_t longest_ns)
{
	uint64_t now = clock_now_ns(), last = now + longest_ns, until = now + limit_ns;
	uint64_t done = progress();
	uint32_t running = RUNNING;
	int error = errno;

	if (__atomic_compare_exchange_n(&stage, &running, ENDING, false, __ATOMIC_SEQ_CST,
	                                __ATOMIC_SEQ_CST))
		enter(ENDING); // wakes it
	for (; current() == ENDING && now < until && now < last; now = clock_now_ns()) {
		wait_while(ENDING, LOOK_NS);
		if (progress() != done)
			until = clock_now_ns() + limit_ns;
		done = progress();
	}
	errno = error;
	return current() != ENDING;
}

// In a forked child there is no such thread.
static void cupti_flusher_fork(void)
{
	stage = NONE;
}

#define NOT_RECORDED "GPU activity was not recorded: "
#define NOTE_MAX     256
// So much is lost of a program that is killed; and of samples the GPU's buffer must not fill.
#define PERIOD_NS  (100 * NS_PER_MS)
#define LIMIT_NS   (2 * NS_PER_SEC) // at the end, with nothing coming
#define LONGEST_NS (30 * NS_PER_SEC)

static struct agent *agent;
static bool flushing; // there is a thread that does
static bool started;  // also if nothing came of it

AGENT_SETUP static void start(struct agent *a)
{
	agent = a;
}

// Who CUPTI is refused by, and what helps.
static const char *reason(int result)
{
	switch (result) {
	case CUPTI_NO_PRIVILEGES:
	case CUPTI_VIRTUALIZED_NO_PRIVILEGES:
		return "CUPTI may not look; ask for NVreg_RestrictProfilingToAdminUsers=0";
	case CUPTI_VIRTUALIZED:
	case CUPTI_CONFIDENTIAL:
	case CUPTI_MIG:
		return "CUPTI does not support this kind of device (virtual, confidential, MIG)";
	case CUPTI_NOT_COMPATIBLE:
		return "libcupti and the driver do not fit; name another one in " CUPTI_LIBRARY_ENV;
	case CUPTI_UNKNOWN:
	case CUPTI_NOT_INITIALIZED: // so say CUPTI 11 and 12
		return "CUPTI finds no GPU, or no driver that it fits; update the driver";
	default:
		return "CUPTI failed";
	}
}

static void say_failure(int result, const char *other)
{
	const char *text = cupti_result_text(&cupti_session.f, result);
	char note[NOTE_MAX];

	if (result == CUPTI_BUSY)
		snprintf(note, sizeof(note),
		         NOT_RECORDED "CUPTI is in use by %s%s%s; run without it",
		         *other ? "\"" : "", *other ? other : "another tool (nsys, ncu, cuda-gdb)",
		         *other ? "\"" : "");
	else
		snprintf(note, sizeof(note), NOT_RECORDED "%s (%d %s)", reason(result), result,
		         text);
	op_say(note);
}

static void say_refusal(int result, uint32_t count)
{
	char note[NOTE_MAX];

	snprintf(note, sizeof(note), "GPU activity is incomplete: %u kind%s refused: %s (%d %s)",
	         count, count == 1 ? "" : "s", reason(result), result,
	         cupti_result_text(&cupti_session.f, result));
	op_say(note);
}

// In CUPTI's order. False: a note has said why.
static bool begin_session(void)
{
	char other[CUPTI_OTHER_NAME_MIN + 1];
	uint32_t refused;
	int result = cupti_session_subscribe(other, sizeof(other) - 1);

	other[sizeof(other) - 1] = '\0';
	if (result != CUPTI_OK) {
		say_failure(result, other);
		return false;
	}
	result = cupti_session_register();
	if (result != CUPTI_OK) {
		say_failure(result, "");
		cupti_session_unsubscribe();
		return false;
	}
	if (cupti_session.fitted)
		op_say("CUPTI keeps a clock of its own: GPU times are fitted to the program's");
	result = cupti_session_enable(true, &refused);
	if (refused)
		say_refusal(result, refused);
	return true;
}

static void set_live(bool live)
{
	__atomic_store_n(&cupti_session.live, live, __ATOMIC_RELEASE);
}

// What CUPTI has not told yet. Without a thread of ours there is nobody to wait for.
static void finish(void)
{
	int error = errno;

	if (!cupti_session_is_live())
		return;
	if (!flushing)
		cupti_session_flush_periodically(true);
	else if (!cupti_flusher_finish(gpu_lane_written, LIMIT_NS, LONGEST_NS))
		op_say("CUPTI did not give out its last records in time");
	set_live(false);
	errno = error;
}

// What atexit() is made of, which itself is in no shared library.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
extern int __cxa_atexit(void (*function)(void *), void *argument, void *dso);

static void end(void *unused)
{
	(void)unused;
	finish();
}

static void start_flushing(void)
{
	flushing = cupti_flusher_start(cupti_session_flush_periodically, PERIOD_NS);
}

static void attach(void)
{
	char why[NOTE_MAX];

	started = true;
	if (!cupti_library_open(&cupti_session.f, why, sizeof(why))) {
		op_say(why);
		return;
	}
	if (!gpu_lane_start(agent)) {
		op_say(NOT_RECORDED "there is no memory for its records");
		return;
	}
	cupti_place_start();
	cupti_calls_show(agent->config.launches);
	cupti_session.nodes = agent->config.gpu & PROTOCOL_GPU_NODES;
	if (agent->config.gpu & PROTOCOL_GPU_LINES)
		cupti_pc_start(agent, &cupti_session.f);
	cupti_session.pid = (uint32_t)getpid();
	cupti_session.bounds = cupti_library_bounds(&cupti_session.f);
	set_live(true); // its callbacks may come at once
	if (!begin_session()) {
		set_live(false);
		return;
	}
	start_flushing();
	__cxa_atexit(end, NULL, NULL);
}

// The user's own library comes first: if it wants CUPTI, it has it.
static void initialize_theirs(void)
{
	typedef int initialize(void);
	extern int InitializeInjection(void);
	static void *library;
	static bool asked;

	if (asked)
		return;
	asked = true;
	library = chain_open(OP_CUDA);
	initialize *theirs = (initialize *)chain_find(library, "InitializeInjection",
	                                              (void *)InitializeInjection);
	if (theirs)
		theirs();
}

// Called within cuInit(), by the driver. What we return decides on nothing.
EXPORT int InitializeInjection(void)
{
	int error = errno;

	wrap_start();
	chain_lock();
	initialize_theirs();
	if (!started && op_is_on(OP_CUDA) && agent) {
		cupti_session_lock();
		attach();
		cupti_session_unlock();
	}
	chain_unlock();
	errno = error;
	return 1;
}

static void fork_child(void)
{
	if (!started)
		return;
	cupti_session_fork();
	cupti_flusher_fork();
	cupti_buffers_fork();
	cupti_pc_fork();
	gpu_lane_fork();
}

// It was not the end after all.
static void resume(void)
{
	if (!started || !cupti_session.subscriber || cupti_session.pid != (uint32_t)getpid())
		return;
	set_live(true);
	start_flushing();
}

void cupti_restart(void)
{
	static bool restarted;

	if (restarted)
		return;
	restarted = true;
	set_live(begin_session());
}

static bool before_exec(void)
{
	finish();
	return true;
}

const struct agent_provider cuda_provider = {
	.start = start,
	.owns = cupti_session_holds,
	.prefix = "cupti",
	.choose = cupti_wrap_choose,
	.fork = fork_child,
	.before_exec = before_exec,
	.exec_failed = resume,
	.exit = finish,
};

// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/hold.h"
#include "tracer/agent/loaded.h"
#include "tracer/agent/loader.h"
#include "tracer/agent/old_glibc.h"
#include "tracer/agent/op/definition.h"
#include "tracer/agent/op/detour.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/precedence.h"
#include "tracer/agent/provider.h"
#include "tracer/agent/sample/threads.h"
#include "tracer/agent/store.h"
#include "tracer/agent/table.h"
#include "tracer/agent/wrap/late.h"
#include "tracer/agent/wrap/wrap.h"
#include "tracer/protocol.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

// Only glibc has these; elsewhere they are NULL, by which we know.
extern const char *gnu_get_libc_version(void) __attribute__((weak));
// NOLINTNEXTLINE(bugprone-reserved-identifier)
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
                             void *dso) __attribute__((weak));

AGENT_LARGE static struct agent agent;
// std::thread::_M_start_thread(): what its threads begin in stands beside it. 0: there is none.
#define STD_THREAD                                                                                 \
	"_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE"
#define STD_THREAD_NEAR 4096
#define ENTER_TURNS     2000 // 2 s and more

static bool stopped;
static bool joined;      // by bottleneck_agent_join(): a collector is going to end that
static bool withdrawing; // it has, but for what threads still use
static int entered;      // atomic: a thread joins or leaves
static void *std_thread;
static void *next_pthread_create, *next_thrd_create, *next_dlclose;

AGENT_SETUP static void before_fork(void)
{
	int error = errno;
	uint8_t untraced = agent_untraced;

	agent_untraced = AGENT_WRITING;
	if (agent.on)
		providers_before_fork();
	loader_before_fork();
	agent_before_fork();
	agent_untraced = untraced;
	errno = error;
}

AGENT_SETUP static void after_fork_in_parent(void)
{
	int error = errno;
	uint8_t untraced = agent_untraced;

	agent_untraced = AGENT_WRITING;
	loader_after_fork();
	agent_after_fork();
	if (agent.on)
		providers_after_fork();
	agent_untraced = untraced;
	errno = error;
}

AGENT_SETUP static void stop_child(void)
{
	entered = 0; // other threads are not there
	late_fork();
	op_stop_child(&agent);
	providers_idle();
}

AGENT_SETUP static void after_fork(void)
{
	int error = errno;
	uint8_t untraced = agent_untraced;

	agent_untraced = AGENT_OURS;
	if (!agent.on)
		loader_fork();
	else if (joined)
		stop_child(); // nobody would tell it to leave
	else if (untraced || op_is_inside())
		op_start_child_later(&agent);
	else
		op_start_child(&agent);
	agent_untraced = untraced;
	errno = error;
}

// It is given DIRECTORY and CONFIG once, or anew each time that it joins a process that runs.
AGENT_SETUP static bool begin(const char *directory, const char *config)
{
	static bool registered;

	if (!gnu_get_libc_version || !__register_atfork || !wrap_find_syscall() ||
	    (config_parse(config).frequency_hz != 0 && !wrap_start_signals(SIGNALS_TIMER)) ||
	    !agent_start(&agent, directory, config))
		return false;
	if (!registered)
		__register_atfork(before_fork, after_fork_in_parent, after_fork, NULL);
	registered = true;
	struct hold held = hold_long();
	loader_start();
	op_when_forked(providers_fork);
	bool traced = agent_samples(&agent) && precedence_is_traced();
	threads_start(&agent, traced);
	op_start(&agent);
	if (traced)
		threads_say_traced();
	// Not by dlsym(), which allocates memory to say that most programs have none.
	std_thread = definition_first(STD_THREAD);
	wrap_find_signals();
	wrap_next(&next_pthread_create, "pthread_create");
	wrap_next(&next_thrd_create, "thrd_create");
	wrap_next(&next_dlclose, "dlclose");
	wrap_start_close();
	wrap_start_exec();
	wrap_start_exit();
	wrap_start_seccomp();
	if (joined)
		late_begin();
	providers_start(&agent);
	if (detour_is_late(NULL)) // what was asked of a library that is closed is forgotten
		late_add("dlclose", next_dlclose);
	late_bind();
	hold_long_end(held);
	return true;
}

AGENT_SETUP __attribute__((constructor)) void wrap_start(void)
{
	static bool started;
	const char *directory = getenv(PROTOCOL_ENV_DIRECTORY);
	const char *config = getenv(PROTOCOL_ENV_CONFIG);
	int error = errno;

	if (started)
		return;
	started = true;
	if (directory && *directory)
		begin(directory, config);
	errno = error;
}

// libc stands before us in the loader's list where the program has loaded us itself, later.
AGENT_SETUP static int look_who_is_first(struct dl_phdr_info *info, size_t size, void *context)
{
	bool *late = context;

	(void)size;
	*late = loaded_holds(info, (uintptr_t)gnu_get_libc_version);
	return *late || loaded_holds(info, (uintptr_t)&agent);
}

bool wrap_is_late(void)
{
	static int known; // 0: not yet
	bool late = false;

	if (!known && gnu_get_libc_version)
		loader_each(look_who_is_first, &late);
	if (!known)
		known = late ? 1 : -1;
	return known > 0;
}

// A collector that was killed may have left a thread in the middle of it, which goes on by itself
// while the next collector borrows another one.
AGENT_SETUP static bool enter_alone(void)
{
	const struct timespec moment = { 0, NS_PER_MS };

	for (int i = 0; i < ENTER_TURNS; i++) {
		int nobody = 0;
		if (__atomic_compare_exchange_n(&entered, &nobody, 1, false, __ATOMIC_ACQUIRE,
		                                __ATOMIC_RELAXED))
			return true;
		syscall(SYS_nanosleep, &moment, NULL);
	}
	return false;
}

AGENT_SETUP static void go_out(void)
{
	__atomic_store_n(&entered, 0, __ATOMIC_RELEASE);
}

AGENT_SETUP static int leave(void)
{
	if (!withdrawing && (!joined || !agent.on || agent.pid != (uint32_t)getpid()))
		return 0;
	bool unbound = late_unbind(); // what comes until then is recorded
	if (!withdrawing) {
		providers_leave();
		providers_end();
		__atomic_store_n(&agent.on, false, __ATOMIC_SEQ_CST);
		op_stop();
		providers_idle();
	}
	withdrawing = !unbound || !op_withdraw(&agent);
	if (withdrawing)
		return 1;
	rings_abandon(&agent.rings);
	agent.process = NULL;
	joined = false;
	return 0;
}

AGENT_SETUP static int join(const char *directory, const char *config)
{
	if (agent.on && joined && rings_are_orphaned(&agent.rings))
		leave(); // the collector was killed, and could not say so
	if (withdrawing)
		leave(); // threads may be out of it by now
	if (agent.on)
		return PROTOCOL_JOIN_BUSY;
	if (stopped || withdrawing)
		return PROTOCOL_JOIN_FAILED;
	agent = (struct agent){ .joined = true };
	joined = true;
	if (begin(directory, config))
		return PROTOCOL_JOINED;
	agent.on = joined = false;
	return PROTOCOL_JOIN_FAILED;
}

// A thread of the program calls these, on behalf of a collector that has stopped it.
EXPORT int bottleneck_agent_leave(void);
AGENT_SETUP int bottleneck_agent_leave(void)
{
	if (!enter_alone())
		return 1;
	int stays = leave();
	go_out();
	return stays;
}

EXPORT int bottleneck_agent_join(const char *directory, const char *config);
AGENT_SETUP int bottleneck_agent_join(const char *directory, const char *config)
{
	if (!enter_alone())
		return PROTOCOL_JOIN_BUSY;
	int result = join(directory, config);
	go_out();
	return result;
}

AGENT_SETUP __attribute__((destructor)) static void finish(void)
{
	// A vfork child that calls exit() gets here in its parent's memory.
	if (!agent.on || agent.pid != (uint32_t)getpid())
		return;
	providers_end();
	if (agent.process)
		threads_finish(&agent);
	else
		threads_leave(&agent);
}

__attribute__((used)) void wrap_before_traceme(void)
{
	int error = errno;

	// A vfork child has no ticks.
	if (agent.on && agent.pid == (uint32_t)getpid()) {
		providers_before_traced();
		threads_leave_to_tracer();
	}
	errno = error;
}

bool wrap_is_stopped(void)
{
	return stopped;
}

void wrap_stop(const char *why)
{
	char *directory = getenv(PROTOCOL_ENV_DIRECTORY);

	// In a vfork child, which has its parent's memory, it is about the child alone.
	if (!agent.on || agent.pid != (uint32_t)getpid())
		return;
	providers_end();
	threads_hush();
	op_say(why);
	if (agent_tells(&agent))
		agent_write_maps(&agent);
	op_stop();
	agent.on = false;
	stopped = true;
	loader_hush();
	// A program that it becomes, or starts, lives under the same filter.
	if (directory)
		*directory = '\0';
}

// 0 if it is not known.
static size_t stack_size(const pthread_attr_t *attributes)
{
	pthread_attr_t defaults;
	size_t size = 0;

	if (!pthread_attr_getstacksize)
		return 0;
	if (attributes)
		return pthread_attr_getstacksize(attributes, &size) == 0 ? size : 0;
	if (pthread_attr_init(&defaults) != 0)
		return 0;
	if (pthread_attr_getstacksize(&defaults, &size) != 0)
		size = 0;
	pthread_attr_destroy(&defaults);
	return size;
}

struct beginning {
	void *(*start)(void *argument);
	void *argument;
};

static void *run_ours(void *own)
{
	struct beginning begin = *(const struct beginning *)own;

	prctl(PR_SET_NAME, PROTOCOL_OWN_THREAD);
	return begin.start(begin.argument);
}

// It is to be known as none of the program's.
static void mark_ours(void *(**start)(void *), void **argument)
{
	struct beginning *begin = store_take(sizeof(*begin));

	if (!begin)
		return;
	*begin = (struct beginning){ *start, *argument };
	*start = run_ours;
	*argument = begin;
}

// libstdc++ begins all its threads in one function of its own, which calls the third of the virtual
// functions of ARGUMENT: the name of that one tells what the program wants to be run.
static uintptr_t start_of(uintptr_t start, void *const *const *argument)
{
	uintptr_t known = (uintptr_t)__atomic_load_n(&std_thread, __ATOMIC_RELAXED);

	if (!known || !argument || start - known + STD_THREAD_NEAR > (uintptr_t)2 * STD_THREAD_NEAR)
		return start;
	return (uintptr_t)(*argument)[2];
}

// It may live for less than a sample: then that is all that there is to say of it. START is 0 if
// the thread that was told of last could not be made.
static void tell_birth(uintptr_t start)
{
	struct lane *lane = agent.on ? op_take_lane() : NULL;

	if (!lane)
		return;
	int error = errno;
	agent_write_birth(&agent, lane, start);
	op_give_lane();
	errno = error;
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start_routine)(void *), void *argument)
{
	typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	create *next = (create *)wrap_next(&next_pthread_create, "pthread_create");
	providers_before_thread();
	if (providers_own((uintptr_t)__builtin_return_address(0)))
		mark_ours(&start_routine, &argument);
	tell_birth(start_of((uintptr_t)start_routine, argument));
	struct lane *lane =
		agent.on ? threads_prepare(&agent, start_routine, argument, stack_size(attributes))
			 : NULL;

	int result = lane ? next(thread, attributes, threads_run, lane)
	                  : next(thread, attributes, start_routine, argument);
	if (result != 0)
		tell_birth(0);
	if (result != 0 && lane)
		threads_cancel(lane);
	return result;
}

// The C11 thread's function returns an int, which travels in the pointer as in glibc.
static int run_c11(void *lane)
{
	return (int)(intptr_t)threads_run(lane);
}

// What comes to lie in its place is not to be taken for it.
EXPORT int dlclose(void *handle)
{
	typedef int close(void *);
	close *next = (close *)wrap_next(&next_dlclose, "dlclose");
	int error = errno;

	agent_before_unload(&agent);
	errno = error;
	int result = next(handle);
	error = errno;
	agent_after_unload(&agent);
	definition_forget();
	errno = error;
	return result;
}

EXPORT int thrd_create(thrd_t *thread, thrd_start_t start_routine, void *argument)
{
	typedef int create(thrd_t *, thrd_start_t, void *);
	create *next = (create *)wrap_next(&next_thrd_create, "thrd_create");
	providers_before_thread();
	tell_birth((uintptr_t)start_routine);
	struct lane *lane =
		agent.on ? threads_prepare(&agent, (void *(*)(void *))(void *)start_routine,
	                                   argument, stack_size(NULL))
			 : NULL;

	int result = lane ? next(thread, run_c11, lane) : next(thread, start_routine, argument);
	if (result != thrd_success)
		tell_birth(0);
	if (result != thrd_success && lane)
		threads_cancel(lane);
	return result;
}

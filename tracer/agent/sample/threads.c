// SPDX-License-Identifier: MIT
#include "tracer/agent/sample/threads.h"

#include "base/clock.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/hold.h"
#include "tracer/agent/main_stack.h"
#include "tracer/agent/old_glibc.h"
#include "tracer/agent/sample/own_stack.h"
#include "tracer/agent/sample/tick.h"
#include "tracer/agent/sample/ticker.h"
#include "tracer/agent/sample/trap.h"
#include "tracer/agent/task_list.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SCAN_MIN_NS (100 * NS_PER_MS)
#define SCAN_MAX_NS (6400 * NS_PER_MS)
// Below a stack's nominal size lie guard, TLS and rounding: there the bounds are not sure.
#define STACK_MARGIN ((uintptr_t)64 << 10)
#define HUSH_TURNS   1000    // waits for ticks that are under way: at once,
#define HUSH_PAUSES  500     // and then in pauses, as the CPU may be another program's
#define HUSH_PAUSE   1000000 // ns
// A child that runs for less is as soon done as it has made its file.
#define WORTH_A_FILE_NS NS_PER_MS

// Static TLS: the handler must not be the first to touch lazily allocated memory.
#define OWN static __thread __attribute__((tls_model("initial-exec")))
OWN struct lane *mine;
OWN bool ended; // a last tick may still be under way
OWN unsigned blocked;
OWN bool paused; // its timer
OWN uintptr_t stack_low, stack_high;

static bool are_not_inside(void)
{
	return false;
}

static void give_nothing(void)
{
}

static void end_nothing(struct lane *lane)
{
	(void)lane;
}

static void say_nothing(const char *text)
{
	(void)text;
}

static const struct threads_ops no_ops = {
	.are_inside = are_not_inside,
	.give_lane = give_nothing,
	.end = end_nothing,
	.say = say_nothing,
};

static struct agent *agent;
static pthread_key_t end_key;
static bool have_key;
static int scanning;
static uint64_t next_scan_ns; // atomic
static uint64_t scan_gap_ns = SCAN_MIN_NS;
static uint32_t armed;   // atomic: threads with a timer
static uint32_t pending; // atomic: threads that are being made, and will arm themselves
static int fork_timer = -1;
static uint64_t begun_cpu_ns; // of the main thread's CPU clock, before it was sampled
static bool hushed;           // atomic
static void (*at_end[THREADS_AT_END])(void);
static const struct threads_ops *ops = &no_ops;
static uint32_t ticking; // atomic: threads in a tick

static uint32_t own_tid(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

static bool arm(struct lane *lane, uint32_t tid)
{
	if (!agent_has_timers(agent) || __atomic_load_n(&hushed, __ATOMIC_SEQ_CST))
		return false;
	if (!ticker_start(tid, agent->period_ns, &lane->timer))
		return false;
	__atomic_fetch_add(&armed, 1, __ATOMIC_RELAXED);
	return true;
}

static void disarm(struct lane *lane)
{
	if (lane->timer < 0)
		return;
	ticker_stop(lane->timer);
	lane->timer = -1;
	__atomic_fetch_sub(&armed, 1, __ATOMIC_RELAXED);
}

static void end(void *argument)
{
	struct lane *lane = argument;

	if (lane != mine || !agent_use(agent))
		return;
	// A vfork child that calls exit() runs destructors in its parent's memory.
	if (lane->tid != own_tid()) {
		agent_let_go(agent);
		return;
	}
	int error = errno;
	uint8_t untraced = agent_untraced;
	struct hold held = hold_signals();

	agent_untraced = AGENT_OURS;
	ops->end(lane);
	for (int i = 0; i < THREADS_AT_END && at_end[i]; i++)
		at_end[i]();
	disarm(lane);
	ended = true;
	mine = NULL;
	own_stack_release(); // no handler takes another one any more
	agent_write_end(agent, lane);
	rings_release(lane);
	agent_let_go(agent);
	agent_untraced = untraced;
	hold_end(held);
	errno = error;
}

void threads_use_ops(const struct threads_ops *those)
{
	ops = those;
}

void threads_at_end(void (*function)(void))
{
	int i = 0;

	while (i < THREADS_AT_END - 1 && at_end[i] && at_end[i] != function)
		i++;
	at_end[i] = function;
}

static void adopt(struct lane *lane)
{
	lane->stack_low = stack_low;
	lane->stack_high = stack_high;
	if (have_key)
		pthread_setspecific(end_key,
		                    lane); // low keys are in the thread itself: no allocation
	mine = lane;
}

static void find_main_stack(void)
{
	main_stack_find(&stack_low, &stack_high);
}

void threads_start(struct agent *a, bool traced)
{
	agent = a;
	hushed = traced;
	if (!have_key) // else the agent has been here before
		have_key = pthread_key_create && pthread_key_create(&end_key, end) == 0;
	// Another samples user code: this one begins like a forked child.
	if (!agent_tells(a)) {
		if (agent_samples(a) && !traced)
			ticker_start(own_tid(), a->period_ns, &fork_timer);
		return;
	}
	find_main_stack();
	struct lane *lane = rings_claim_patiently(&a->rings, own_tid());
	if (!lane)
		return;
	own_stack_take();
	adopt(lane);
	arm(lane, lane->tid);
}

void threads_fork(struct agent *a)
{
	// The child inherits no timer. Its lane comes with its first tick.
	agent = a;
	mine = NULL;
	ended = paused = false;
	armed = pending = ticking = 0;
	scanning = 0;
	fork_timer = -1;
	begun_cpu_ns = 0;
	if (hushed)
		return;
	if (agent_has_timers(a))
		ticker_start(own_tid(), a->period_ns, &fork_timer);
}

// Not for ever: a thread may be stopped.
static void wait_for_others(void)
{
	const struct timespec pause = { 0, HUSH_PAUSE };

	for (int i = 0; i < HUSH_TURNS + HUSH_PAUSES; i++) {
		if (!__atomic_load_n(&pending, __ATOMIC_SEQ_CST) &&
		    !__atomic_load_n(&ticking, __ATOMIC_SEQ_CST))
			return;
		if (i < HUSH_TURNS)
			sched_yield();
		else
			syscall(SYS_nanosleep, &pause, NULL);
	}
}

void threads_hush(void)
{
	if (!agent || __atomic_exchange_n(&hushed, true, __ATOMIC_SEQ_CST))
		return;
	for (uint32_t i = 0; i < agent->rings.lane_count; i++)
		if (__atomic_load_n(&agent->rings.lanes[i].tid, __ATOMIC_ACQUIRE))
			disarm(&agent->rings.lanes[i]);
	if (fork_timer >= 0)
		ticker_stop(fork_timer);
	fork_timer = -1;
	trap_stop();
	wait_for_others();
}

void threads_say_traced(void)
{
	if (agent_tells(agent) || agent->self != SELF_NOT)
		ops->say("a process was traced by a debugger or its like (ptrace): from then on it "
		         "did not sample itself, as a tracer sees each tick as a signal");
}

void threads_leave_to_tracer(void)
{
	if (threads_are_hushed())
		return;
	threads_hush();
	threads_say_traced();
}

bool threads_are_hushed(void)
{
	return __atomic_load_n(&hushed, __ATOMIC_SEQ_CST);
}

void threads_finish(struct agent *a)
{
	struct lane *lane = mine;

	if (!lane || lane->tid != own_tid())
		return;
	struct hold held = hold_signals();
	ops->end(lane);
	if (agent_tells(a))
		agent_write_maps(a);
	a->over = true;
	disarm(lane);
	mine = NULL;
	ended = true;
	agent_write_end(a, lane);
	hold_end(held);
}

static struct lane *prepare(struct agent *a, void *(*start)(void *), void *argument,
                            size_t stack_bytes)
{
	if (!a->on || !(agent_samples(a) || a->self) || a->pid != (uint32_t)getpid() ||
	    !agent_attach(a))
		return NULL;
	struct lane *lane = rings_claim_patiently(&a->rings, 0);
	if (!lane)
		return NULL;
	__atomic_fetch_add(&pending, 1, __ATOMIC_SEQ_CST);
	lane->argument = argument;
	lane->parent_tid = own_tid();
	lane->maker_pid = a->pid;
	lane->blocked = blocked;
	lane->stack_low = stack_bytes > STACK_MARGIN ? stack_bytes - STACK_MARGIN : 0;
	__atomic_store_n(&lane->start, start, __ATOMIC_RELEASE);
	return lane;
}

struct lane *threads_prepare(struct agent *a, void *(*start)(void *), void *argument,
                             size_t stack_bytes)
{
	struct hold held = hold_signals();
	struct lane *lane = prepare(a, start, argument, stack_bytes);

	hold_end(held);
	return lane;
}

// A handler may have forked since: the lane is the parent's.
static bool is_prepared(const struct lane *lane)
{
	return lane->maker_pid == (uint32_t)getpid();
}

void threads_cancel(struct lane *lane)
{
	__atomic_store_n(&lane->start, NULL, __ATOMIC_RELEASE);
	if (!is_prepared(lane))
		return;
	rings_release(lane);
	__atomic_fetch_sub(&pending, 1, __ATOMIC_SEQ_CST);
}

static void begin(struct lane *lane)
{
	uint32_t tid = own_tid();

	// glibc puts the thread's control block at the top of its stack.
	stack_high = (uintptr_t)pthread_self();
	stack_low = lane->stack_low ? stack_high - lane->stack_low : stack_high;
	blocked = lane->blocked;
	__atomic_store_n(&lane->tid, tid, __ATOMIC_RELEASE);
	own_stack_take();
	agent_write_begin(agent, lane);
	adopt(lane);
	arm(lane, tid);
	__atomic_fetch_sub(&pending, 1, __ATOMIC_SEQ_CST);
}

// Apart from threads_run(), which is to be left by a jump.
static __attribute__((noinline)) void begin_thread(struct lane *lane)
{
	struct hold held = hold_signals();
	bool prepared = is_prepared(lane);

	__atomic_store_n(&lane->start, NULL, __ATOMIC_RELEASE); // the caller has read it
	if (prepared)
		begin(lane);
	hold_end(held);
}

void *threads_run(void *argument)
{
	struct lane *lane = argument;
	void *(*start)(void *) = lane->start;
	void *start_argument = lane->argument;

	begin_thread(lane);
	return start(start_argument); // a tail call: no frame of ours stays on the stack
}

static void arm_other(uint32_t tid)
{
	struct lane *lane = rings_claim(&agent->rings, tid);

	if (!lane)
		return;
	lane->late = true;
	lane->parent_tid = agent->pid;
	// Its thread, which reads that, finds the lane by its number.
	__atomic_store_n(&lane->tid, tid, __ATOMIC_RELEASE);
	if (!arm(lane, tid))
		rings_release(lane);
}

static uint32_t arm_unknown(uint32_t tid)
{
	static uint32_t hint; // of one scan at a time

	if (rings_find(&agent->rings, tid, &hint))
		return 0;
	arm_other(tid);
	return 1;
}

// Threads that never ran our destructor.
static void bury_dead(void)
{
	for (uint32_t i = 1; i < agent->rings.lane_count; i++) {
		struct lane *lane = &agent->rings.lanes[i];
		uint32_t tid = __atomic_load_n(&lane->tid, __ATOMIC_ACQUIRE);
		// Since that look it may have ended by itself, and the lane may be another's.
		if (!tid || !task_list_lacks(agent->pid, tid) ||
		    !__atomic_compare_exchange_n(&lane->tid, &tid, 0, false, __ATOMIC_ACQ_REL,
		                                 __ATOMIC_RELAXED))
			continue;
		disarm(lane);
		rings_release(lane);
	}
}

// One call tells whether one is unknown. A thread that is about to arm itself is left to do so.
static bool all_known(void)
{
	uint32_t count;

	return __atomic_load_n(&pending, __ATOMIC_SEQ_CST) != 0 || !task_list_count(&count) ||
	       count == __atomic_load_n(&armed, __ATOMIC_RELAXED);
}

static void scan(void)
{
	uint32_t found;

	if (!task_list_each(arm_unknown, &found))
		return;
	bury_dead();
	scan_gap_ns = found                       ? SCAN_MIN_NS
	              : scan_gap_ns < SCAN_MAX_NS ? 2 * scan_gap_ns
	                                          : SCAN_MAX_NS;
}

static void scan_if_due(void)
{
	uint64_t now = clock_now_ns();
	int idle = 0;

	if (now < __atomic_load_n(&next_scan_ns, __ATOMIC_RELAXED) ||
	    !__atomic_compare_exchange_n(&scanning, &idle, 1, false, __ATOMIC_ACQUIRE,
	                                 __ATOMIC_RELAXED))
		return;
	if (!agent_has_timers(agent)) {
		bury_dead();
		scan_gap_ns = SCAN_MAX_NS;
	} else if (!all_known()) {
		scan();
	}
	__atomic_store_n(&next_scan_ns, now + scan_gap_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&scanning, 0, __ATOMIC_RELEASE);
}

static struct lane *claim_main(uint32_t tid)
{
	struct lane *lane = rings_claim(&agent->rings, tid);

	if (!lane)
		return NULL;
	lane->modes = agent->begun;
	lane->cpu_ns = begun_cpu_ns;
	if (fork_timer >= 0) {
		lane->timer = fork_timer;
		__atomic_fetch_add(&armed, 1, __ATOMIC_RELAXED);
	}
	return lane;
}

// A thread that was not made by a function of libc.
static struct lane *claim_other(uint32_t tid)
{
	struct lane *lane = rings_claim(&agent->rings, tid);

	if (lane)
		arm(lane, tid);
	return lane;
}

// The caller's lane on its first tick after a fork, or after a scan has found it.
static struct lane *find_lane(uint32_t tid)
{
	uint32_t hint = 0;

	if (ended || agent->pid != (uint32_t)getpid() || !agent_attach(agent))
		return NULL;
	struct lane *lane = rings_find(&agent->rings, tid, &hint);
	if (!lane && tid == agent->pid)
		lane = claim_main(tid);
	else if (!lane && agent->self == SELF_TRAPS)
		lane = claim_other(tid);
	if (!lane)
		return NULL;
	if (lane->late)
		agent_write_begin(agent, lane);
	adopt(lane);
	return lane;
}

// Of a child that has had no tick the time is known, and when it was there; where it ran is not.
static struct lane *lane_to_leave(uint32_t tid)
{
	struct lane *lane = mine;

	if (!lane && tid == agent->pid && clock_ns(CLOCK_THREAD_CPUTIME_ID) >= WORTH_A_FILE_NS)
		lane = find_lane(tid);
	return lane && lane->tid == tid ? lane : NULL;
}

void threads_leave(struct agent *a)
{
	uint8_t untraced = agent_untraced;

	// Nor what has interrupted a hook, and not in a vfork child, which has its parent's memory.
	if (!a->on || a != agent || a->over || ended || !agent_tells(a) || threads_are_hushed() ||
	    ops->are_inside() || a->pid != (uint32_t)getpid())
		return;
	struct hold held = hold_signals();
	agent_untraced = AGENT_OURS;
	struct lane *lane = lane_to_leave(own_tid());
	if (lane) {
		disarm(lane);
		mine = NULL;
		ended = true;
		agent_write_end(a, lane);
	}
	agent_untraced = untraced;
	hold_end(held);
}

void threads_bound_stack(struct lane *lane)
{
	if (lane->stack_high || lane->tid != agent->pid)
		return;
	if (!stack_high)
		find_main_stack();
	lane->stack_low = stack_low;
	lane->stack_high = stack_high;
}

// The caller's, or, in a vfork child, its parent's. Where another thread was the first to notice
// that this process was forked, that has given the lane away.
static struct lane *known_lane(uint32_t tid)
{
	if (mine && mine->tid != tid && agent->pid == (uint32_t)getpid())
		mine = NULL;
	return mine ? mine : find_lane(tid);
}

struct lane *threads_lane(void)
{
	uint32_t tid = own_tid();
	struct lane *lane = known_lane(tid);

	if (lane)
		return lane->tid == tid ? lane : NULL; // in a vfork child: its parent's
	if (ended || agent->pid != (uint32_t)getpid() || !agent_attach(agent))
		return NULL;
	lane = rings_claim(&agent->rings, tid);
	if (!lane)
		return NULL;
	lane->parent_tid = agent->pid;
	agent_write_begin(agent, lane);
	adopt(lane);
	arm(lane, tid);
	return lane;
}

bool threads_enter_tick(void)
{
	__atomic_fetch_add(&ticking, 1, __ATOMIC_SEQ_CST);
	return !threads_are_hushed();
}

void threads_leave_tick(void)
{
	__atomic_fetch_sub(&ticking, 1, __ATOMIC_SEQ_CST);
}

// The lane for a tick; NULL: it is not to be told.
static struct lane *enter(void)
{
	uint32_t tid = own_tid();
	struct lane *lane = known_lane(tid);

	// In a vfork child, thread-local memory is its parent's.
	return lane && lane->tid == tid && !ops->are_inside() ? lane : NULL;
}

static void leave(const struct lane *lane)
{
	if (lane) {
		ops->give_lane(); // of which the sample has taken some
		scan_if_due();
	}
}

// What looking on takes is told, too: in CPU time, as ticks come when threads take turns.
static void account(const struct lane *lane, uint64_t start_ns)
{
	struct protocol_file *file = lane ? agent->rings.files[0] : NULL;

	if (file)
		__atomic_fetch_add(&file->handlers_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns,
		                   __ATOMIC_RELAXED);
}

void threads_tick(void *context, uint32_t overrun)
{
	uint8_t untraced = agent_untraced;

	agent_untraced = AGENT_OURS;
	uint64_t start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct lane *lane = enter();

	if (lane) {
		own_stack_take_later(context);
		tick_by_timer(agent, lane, context, overrun);
	}
	account(lane, start_ns);
	leave(lane);
	agent_untraced = untraced;
}

void threads_trap(void *context, bool waited)
{
	uint8_t untraced = agent_untraced;

	agent_untraced = AGENT_OURS;
	uint64_t start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct lane *lane = enter();

	if (lane && agent->self == SELF_TRAPS) {
		own_stack_take_later(context);
		tick_by_trap(agent, lane, context, waited);
	}
	account(lane, start_ns);
	leave(lane);
	agent_untraced = untraced;
}

// What the calling thread has done until now is not its first sample's.
static void begin_now(void)
{
	uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	own_stack_take();
	if (own_tid() == agent->pid && stack_high == 0)
		find_main_stack();
	if (mine) {
		mine->cpu_ns = cpu;
		mine->stack_low = stack_low;
		mine->stack_high = stack_high;
	} else if (own_tid() == agent->pid) {
		begun_cpu_ns = cpu;
	}
}

static struct lane *other_lane(uint32_t tid)
{
	uint32_t hint = 0;
	struct lane *lane = rings_find(&agent->rings, tid, &hint);

	if (!lane)
		lane = rings_claim(&agent->rings, tid);
	if (lane)
		lane->late = true;
	return lane;
}

static uint32_t trap_other(uint32_t tid)
{
	return tid != own_tid() && other_lane(tid) &&
	       trap_start(tid, agent->period_ns, agent->config.kernel_only);
}

static uint32_t time_other(uint32_t tid)
{
	struct lane *lane = tid == own_tid() ? NULL : other_lane(tid);

	return lane && lane->timer < 0 && arm(lane, tid);
}

static void each_other(uint32_t visit(uint32_t tid))
{
	uint32_t count, found;

	if (task_list_count(&count) && count > 1 && agent_attach(agent))
		task_list_each(visit, &found);
}

bool threads_start_traps(void)
{
	begin_now();
	if (!trap_start(0, agent->period_ns, agent->config.kernel_only))
		return false;
	each_other(trap_other);
	return true;
}

bool threads_start_timers(void)
{
	if (agent_samples(agent))
		return true;
	begin_now();
	struct lane *lane = threads_lane();
	if (!lane || (lane->timer < 0 && !arm(lane, lane->tid)))
		return false;
	each_other(time_other);
	return true;
}

unsigned threads_blocked(void)
{
	return blocked;
}

void threads_set_blocked(unsigned now_blocked)
{
	blocked = now_blocked;
}

static int own_timer(void)
{
	if (mine)
		return mine->tid == own_tid() ? mine->timer : -1;
	return agent && own_tid() == agent->pid ? fork_timer : -1;
}

void threads_pause_timer(void)
{
	int timer = own_timer();

	if (timer < 0 || paused)
		return;
	paused = true;
	ticker_pause(timer);
	ops->say(
		"a thread blocks SIGURG and was sent one: it was not sampled until it let that in");
}

void threads_resume_timer(void)
{
	int error = errno, timer = paused ? own_timer() : -1;

	if (timer >= 0)
		ticker_resume(timer, agent->period_ns);
	paused = false;
	errno = error;
}

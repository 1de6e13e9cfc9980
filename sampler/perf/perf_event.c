// SPDX-License-Identifier: MIT
#include "sampler/perf/perf_event.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/perf_refused.h"
#include "sampler/perf/perf_closer.h"
#include "sampler/perf/perf_keeper.h"
#include "sampler/perf/perf_ring.h"
#include "sampler/perf/perf_storm.h"
#include "sampler/perf/perf_wakeup.h"
#include "sampler/priority.h"
#include "sampler/proc/proc_stat.h"
#include "sampler/proc/proc_tree.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define RING_MIN_BYTES   ((size_t)64 * 1024)
#define RING_MAX_BYTES   ((size_t)32 * 1024 * 1024)
#define RING_HOLDS_MS    50
#define RINGS_FREE_BYTES ((size_t)64 * 1024 * 1024) // up to here rings may be larger than needed,
#define RING_SPARE       2                          // at most by so much,
#define RING_SPARE_QUEUE 4 // or by this, for a collector that queues for a CPU as all do
#define STACK_BYTES_MAX  65528
#define FORMAT_LOST      (1u << 4) // PERF_FORMAT_LOST, which headers before Linux 6.0 do not have
#define HEADERS_BYTES    640       // of a sample beside its stack: registers and a kernel chain
#define REGISTERS_BYTES  256       // the same without a chain
#define STARVED_MS       200       // that rings hold which cannot be larger
#define STARVED_STACK    2048      // bytes of stack that samples in those have at least
#define WHOLE_SHARE      16        // of the samples in those, one in so many has a whole stack
#define WHOLE_HZ_MIN     10        // at a lower rate that is not worth it

// Every switch has a sample, as long as all threads together keep to bursts of so many, and to so
// many a second in the long run. In frequency mode the kernel sees to it for each thread, but two
// switches in quick succession raise the period, and all short processes inherit it: at 4999 Hz an
// eighth of what the processes of a make of small recipes were blocked went unseen.
#define SWITCHES_BURST      500
#define SWITCHES_PER_SECOND 3000
#define ATTACHED_PART       5 // of them, where a process in use is attached to

// They have rings of their own: a storm of them crowds out nothing else, and what a ring holds is
// all that the storm can cost between two looks at it.
#define SWITCH_RING_BYTES ((size_t)1024 * 1024)

// The same of wakeups, which have no stacks: one costs the one that wakes about a microsecond.
static const struct perf_storm_budget wakeup_budget = { .burst = 4000, .per_second = 20000 };
#define WAKEUP_RING_BYTES ((size_t)256 * 1024)

struct cpu_events {
	int cpu;
	int clock_fd;  // has the ring of the same number
	int whole_fd;  // writes there as well, whole stacks; -1: clock_fd has them
	int switch_fd; // has a ring behind all of those; -1: no switch samples
	int wakeup_fd; // has one behind those; -1: no wakeups
	bool hung_up;  // no followed task is left that could run here
};

// While it is attached to a program, that may start threads: then all is listed once more.
#define ATTACH_TRIES 5

struct perf_source {
	struct source base;
	struct cpu_events *cpus; // of the first thread
	size_t cpu_count;
	struct cpu_events *more; // of other threads that ran already: in turns for each of CPUS
	size_t more_count, more_capacity;
	struct proc_tree found; // these threads
	size_t found_at;        // the one that is reported next
	uint64_t found_ns;
	size_t ring_bytes;
	bool queues;     // the collector may have no real-time priority
	bool is_limited; // rings do not hold what they should: larger ones could not be mapped
	struct perf_event_plan plan; // whole_hz 0: there is none
	uint32_t whole_bytes;        // of its whole stacks
	uint64_t looked_until_ns;    // UNTIL_NS of the last look at the rings
	uint64_t lost;               // by PERF_RECORD_LOST so far
	struct perf_storm switches, wakeups;
	struct perf_storm_budget switch_budget;
	uint64_t began_ns;                // the first look at the rings
	struct perf_wakeup_format wakeup; // id 0: there are none
	int epoll;
	struct event event;
	struct perf_rings rings;
	struct perf_keeper keeper; // from the first look on
	pthread_t closer;          // closes the events while the report is made
	bool closing;
	int last_event; // to be closed behind all events: see perf_closer.h; -1: there is none
};

size_t perf_event_ring_bytes(uint32_t frequency_hz, uint32_t stack_bytes)
{
	uint64_t needed = (uint64_t)frequency_hz * RING_HOLDS_MS / 1000 *
	                  ((uint64_t)stack_bytes + HEADERS_BYTES);
	size_t bytes = RING_MIN_BYTES * 4;

	while (bytes < needed && bytes < RING_MAX_BYTES)
		bytes *= 2;
	return bytes;
}

uint32_t perf_event_stack_bytes(size_t ring_bytes, uint32_t frequency_hz, uint32_t stack_bytes,
                                bool kernel)
{
	uint64_t samples = (uint64_t)frequency_hz * STARVED_MS / 1000;
	uint64_t beside = kernel ? HEADERS_BYTES : REGISTERS_BYTES;

	while (stack_bytes / 2 >= STARVED_STACK && samples * (stack_bytes + beside) > ring_bytes)
		stack_bytes /= 2;
	return stack_bytes & ~7u;
}

// The rate at which so many bytes hold samples for STARVED_MS.
static uint32_t rate_in(size_t bytes, uint64_t sample_bytes)
{
	return (uint32_t)((uint64_t)bytes * 1000 / STARVED_MS / sample_bytes);
}

static uint32_t at_most(uint32_t value, uint32_t limit)
{
	return value < limit ? value : limit;
}

struct perf_event_plan perf_event_plan(size_t ring_bytes, uint32_t frequency_hz,
                                       uint32_t stack_bytes, bool kernel, bool fewer)
{
	uint64_t beside = kernel ? HEADERS_BYTES : REGISTERS_BYTES;
	struct perf_event_plan plan = {
		.short_bytes =
			perf_event_stack_bytes(ring_bytes, frequency_hz, stack_bytes, kernel),
		.short_hz = frequency_hz,
	};
	uint32_t whole_hz =
		at_most(frequency_hz / WHOLE_SHARE, rate_in(ring_bytes / 2, stack_bytes + beside));
	size_t whole_bytes = (size_t)whole_hz * (stack_bytes + beside) * STARVED_MS / 1000;

	// An event of a low rate comes first when a thread has run for its whole period: threads
	// that end before have fewer samples. Where half of the stack is copied few are cut.
	if (plan.short_bytes >= (stack_bytes & ~7u) / 2 || whole_hz < WHOLE_HZ_MIN)
		return plan;
	plan.whole_hz = whole_hz;
	plan.short_hz = frequency_hz - whole_hz;
	if (fewer)
		plan.short_hz = at_most(plan.short_hz, rate_in(ring_bytes - whole_bytes,
		                                               plan.short_bytes + beside));
	return plan;
}

// A busy machine may keep the collector waiting for longer than that. What a ring holds is memory
// that the kernel clears before a run starts, 0.9 ms for 4 MB: perf_keeper sees to a ring that is
// half full.
static size_t with_spare(size_t bytes, int most)
{
	size_t rings = (size_t)sysconf(_SC_NPROCESSORS_ONLN);

	for (int spare = 1; spare < most && bytes * 2 * rings <= RINGS_FREE_BYTES; spare *= 2)
		bytes *= 2;
	return bytes;
}

static int open_event(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

// How much is written before we wake.
static uint32_t watermark_of(const struct source_request *request)
{
	return (uint32_t)(perf_event_ring_bytes(request->frequency_hz, request->stack_bytes) / 4);
}

void perf_event_clock_attr(const struct source_request *request, bool kernel,
                           struct perf_event_attr *attr)
{
	uint32_t stack = request->stack_bytes & ~7u;

	*attr = (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = NS_PER_SEC / request->frequency_hz,
		.sample_type = PERF_RECORD_SAMPLE_TYPE | (kernel ? PERF_SAMPLE_CALLCHAIN : 0),
		.sample_regs_user = PERF_RECORD_REGS,
		.sample_stack_user = stack < STACK_BYTES_MAX ? stack : STACK_BYTES_MAX,
		.read_format = PERF_FORMAT_ID | FORMAT_LOST,
		.disabled = 1,
		.enable_on_exec = !request->attached,
		.inherit = 1,
		.exclude_kernel = !kernel,
		.exclude_callchain_user = 1,
		.exclude_hv = 1,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		// Without the kernel the time between switches is all that tells of kernel time.
		.context_switch = request->off_cpu || !kernel,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		// By samples alone: records of switches would wake who makes more of them.
		.watermark = !request->eager,
		.wakeup_watermark = request->eager ? 1 : watermark_of(request),
	};
}

static void drop_side_band(struct perf_event_attr *attr)
{
	attr->mmap = attr->mmap2 = attr->comm = attr->comm_exec = attr->task = 0;
	attr->context_switch = 0;
}

static struct perf_event_attr whole_attr(const struct perf_event_attr *clock,
                                         const struct perf_event_plan *plan, uint32_t stack_bytes)
{
	struct perf_event_attr attr = *clock;

	attr.sample_period = NS_PER_SEC / plan->whole_hz;
	attr.sample_stack_user = stack_bytes & ~7u;
	drop_side_band(&attr);
	return attr;
}

// The stack of a thread that leaves the CPU.
static struct perf_event_attr switch_attr(const struct perf_event_attr *clock)
{
	struct perf_event_attr attr = *clock;

	// The stack of a thread that waits stays as it is: what is missing can be read from there.
	attr.sample_stack_user = clock->sample_stack_user / 2 & ~7u;
	attr.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	attr.sample_period = 1;
	attr.watermark = 1;
	attr.wakeup_watermark = (uint32_t)(SWITCH_RING_BYTES / 4);
	drop_side_band(&attr);
	return attr;
}

static struct perf_event_attr wakeup_attr(const struct perf_event_attr *clock, uint64_t tracepoint)
{
	struct perf_event_attr attr = *clock;

	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = tracepoint;
	attr.sample_period = 1;
	attr.sample_type = PERF_RECORD_WAKEUP_TYPE;
	attr.sample_regs_user = 0;
	attr.sample_stack_user = 0;
	attr.exclude_callchain_user = 0;
	attr.watermark = 1;
	attr.wakeup_watermark = (uint32_t)(WAKEUP_RING_BYTES / 4);
	drop_side_band(&attr);
	return attr;
}

// False with an errno: there are none.
static bool open_events(struct perf_source *s, struct perf_event_attr *attr, pid_t child, int cpu,
                        struct cpu_events *events)
{
	*events =
		(struct cpu_events){ .cpu = cpu, .whole_fd = -1, .switch_fd = -1, .wakeup_fd = -1 };
	events->clock_fd = open_event(attr, child, cpu);
	if (events->clock_fd < 0 && errno == EINVAL && attr->read_format & FORMAT_LOST) {
		attr->read_format &= ~(uint64_t)FORMAT_LOST; // before Linux 6.0
		events->clock_fd = open_event(attr, child, cpu);
	}
	if (events->clock_fd < 0)
		return false;
	if (s->plan.whole_hz) {
		struct perf_event_attr other = whole_attr(attr, &s->plan, s->whole_bytes);
		events->whole_fd = open_event(&other, child, cpu);
		if (events->whole_fd < 0)
			return false;
	}
	if (s->base.facts.switch_samples) {
		struct perf_event_attr other = switch_attr(attr);
		events->switch_fd = open_event(&other, child, cpu);
		s->base.facts.switch_samples &= events->switch_fd >= 0;
	}
	if (s->wakeup.id) {
		struct perf_event_attr other = wakeup_attr(attr, s->wakeup.id);
		events->wakeup_fd = open_event(&other, child, cpu);
		if (events->wakeup_fd < 0)
			s->wakeup.id = 0;
	}
	return true;
}

static int open_cpus(struct perf_source *s, const struct source_request *request)
{
	struct perf_event_attr attr;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	perf_event_clock_attr(request, s->base.facts.kernel_samples, &attr);
	s->cpus = calloc((size_t)cpus, sizeof(*s->cpus));
	s->rings.rings = calloc((size_t)cpus * 3, sizeof(*s->rings.rings));
	if (!s->cpus || !s->rings.rings)
		return ENOMEM;
	for (int cpu = 0; cpu < cpus; cpu++) {
		// ENODEV: a CPU that is offline
		bool open = open_events(s, &attr, request->child, cpu, &s->cpus[s->cpu_count]);
		s->cpu_count += open;
		if (!open && errno != ENODEV)
			return errno;
	}
	return s->cpu_count ? 0 : ENODEV;
}

static size_t map_bytes(size_t ring_bytes)
{
	return ring_bytes + (size_t)sysconf(_SC_PAGESIZE);
}

static void unmap_rings(struct perf_source *s, size_t from)
{
	while (s->rings.count > from) {
		struct perf_ring *ring = &s->rings.rings[--s->rings.count];
		perf_ring_fini(ring);
		munmap(ring->page, map_bytes(ring->mask + 1));
	}
}

static int map_ring(struct perf_source *s, int fd, size_t bytes)
{
	struct perf_ring *ring = &s->rings.rings[s->rings.count];
	void *page = mmap(NULL, map_bytes(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		return errno;
	perf_ring_init(ring, page, bytes);
	ring->format.kernel = s->base.facts.kernel_stacks;
	s->rings.count++;
	return 0;
}

static bool share_ring(int fd, int owner)
{
	return owner < 0 || (fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, owner) == 0);
}

static int map_clock_rings(struct perf_source *s)
{
	for (size_t i = 0; i < s->cpu_count; i++) {
		const struct cpu_events *cpu = &s->cpus[i];
		int errnum = map_ring(s, cpu->clock_fd, s->ring_bytes);
		if (!errnum && cpu->whole_fd >= 0 && !share_ring(cpu->whole_fd, cpu->clock_fd))
			errnum = errno;
		if (errnum) {
			unmap_rings(s, 0);
			return errnum;
		}
	}
	return 0;
}

static bool map_switch_rings(struct perf_source *s)
{
	for (size_t i = 0; i < s->cpu_count; i++) {
		int fd = s->cpus[i].switch_fd;
		struct perf_ring *ring = &s->rings.rings[s->rings.count];
		if (map_ring(s, fd, SWITCH_RING_BYTES)) {
			unmap_rings(s, s->cpu_count);
			return false;
		}
		ring->format.switches = true;
	}
	return true;
}

static bool map_wakeup_rings(struct perf_source *s)
{
	size_t before = s->rings.count;

	for (size_t i = 0; i < s->cpu_count; i++) {
		struct perf_ring *ring = &s->rings.rings[s->rings.count];
		if (map_ring(s, s->cpus[i].wakeup_fd, WAKEUP_RING_BYTES)) {
			unmap_rings(s, before);
			return false;
		}
		ring->format.wakeup = &s->wakeup;
	}
	return true;
}

// What an unprivileged user may lock is limited: smaller rings are better than none.
static int map_largest_rings(struct perf_source *s, size_t wanted, struct error *err)
{
	int errnum;

	if (!s->is_limited)
		s->ring_bytes = with_spare(wanted, s->queues ? RING_SPARE_QUEUE : RING_SPARE);

	while ((errnum = map_clock_rings(s)) && s->ring_bytes > RING_MIN_BYTES) {
		s->ring_bytes /= 2;
		s->is_limited = true;
	}
	if (errnum) {
		error_set(err, errnum, "could not map %zu rings of %zu KB for perf events",
		          s->cpu_count, s->ring_bytes / 1024);
		return error_hint(err, "Raise kernel.perf_event_mlock_kb or `ulimit -l`.");
	}
	if (s->ring_bytes < wanted)
		snprintf(s->base.facts.note, sizeof(s->base.facts.note),
		         "the rings hold %zu KB instead of %zu KB (kernel.perf_event_mlock_kb, "
		         "ulimit -l): samples may be lost",
		         s->ring_bytes / 1024, wanted / 1024);
	return 0;
}

static bool wait_for_ring(struct perf_source *s, int fd, size_t cpu)
{
	struct epoll_event wanted = { .events = EPOLLIN, .data.u64 = cpu };

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &wanted) == 0;
}

static int wait_for_rings(struct perf_source *s, struct error *err)
{
	for (size_t i = 0; i < s->cpu_count; i++)
		if (!wait_for_ring(s, s->cpus[i].clock_fd, i) ||
		    (s->base.facts.switch_samples && !wait_for_ring(s, s->cpus[i].switch_fd, i)) ||
		    (s->wakeup.id && !wait_for_ring(s, s->cpus[i].wakeup_fd, i)))
			return error_set(err, errno, "could not wait for a perf event");
	return 0;
}

// The events of all threads, one CPU after the other.
static struct cpu_events *events_at(struct perf_source *s, size_t i)
{
	return i < s->cpu_count ? &s->cpus[i] : &s->more[i - s->cpu_count];
}

static size_t events_count(const struct perf_source *s)
{
	return s->cpu_count + s->more_count;
}

// All CPUs have them or none, so that off_cpu knows what to expect.
static void drop_switch_events(struct perf_source *s)
{
	s->base.facts.switch_samples = false;
	for (size_t i = 0; i < events_count(s); i++) {
		close_at_scope_end(&events_at(s, i)->switch_fd);
		events_at(s, i)->switch_fd = -1;
	}
}

// The same: where some wakeups are not seen, the last one that is may not be the one that counts.
static void drop_wakeup_events(struct perf_source *s)
{
	s->wakeup.id = 0;
	for (size_t i = 0; i < events_count(s); i++) {
		close_at_scope_end(&events_at(s, i)->wakeup_fd);
		events_at(s, i)->wakeup_fd = -1;
	}
}

// What runs already.
//
// An event follows one thread and those that it starts from then on. So each thread that is there
// has events of its own, which write into the rings of the first one's.

static void close_more(struct perf_source *s)
{
	for (size_t i = 0; i < s->more_count; i++) {
		close_at_scope_end(&s->more[i].wakeup_fd);
		close_at_scope_end(&s->more[i].switch_fd);
		close_at_scope_end(&s->more[i].clock_fd);
	}
	s->more_count = 0;
}

// A thread that has ended in the meantime is none the less. 0 or an errno.
static int follow_found(struct perf_source *s, struct perf_event_attr *attr, pid_t tid)
{
	for (size_t i = 0; i < s->cpu_count; i++) {
		const struct cpu_events *owner = &s->cpus[i];
		if (!array_reserve(&s->more, &s->more_capacity, s->more_count + 1))
			return ENOMEM;
		struct cpu_events *events = &s->more[s->more_count];
		if (!open_events(s, attr, tid, owner->cpu, events)) {
			if (errno == ESRCH)
				return 0;
			return errno;
		}
		s->more_count++;
		if (!share_ring(events->clock_fd, owner->clock_fd))
			return errno;
		if (!share_ring(events->switch_fd, owner->switch_fd))
			drop_switch_events(s);
		if (!share_ring(events->wakeup_fd, owner->wakeup_fd))
			drop_wakeup_events(s);
	}
	return 0;
}

// Threads that are started meanwhile, by one that is followed or by one that is not yet, would be
// seen twice or never: then it begins anew.
static int follow_all_found(struct perf_source *s, const struct source_request *request)
{
	struct perf_event_attr attr;
	struct proc_tree now = { 0 };
	bool again = true;
	int errnum = 0;

	perf_event_clock_attr(request, s->base.facts.kernel_samples, &attr);
	for (int try = 0; again && !errnum && try < ATTACH_TRIES; try++) {
		again = false;
		close_more(s);
		if (!proc_tree_list(&s->found, request->attached, request->attached_count))
			errnum = ENOMEM;
		for (size_t i = 0; !errnum && i < s->found.count; i++)
			if ((pid_t)s->found.threads[i].tid != request->child)
				errnum = follow_found(s, &attr, (pid_t)s->found.threads[i].tid);
		if (!errnum && !proc_tree_list(&now, request->attached, request->attached_count))
			errnum = ENOMEM;
		for (size_t i = 0; !errnum && i < now.count; i++)
			again |= !proc_tree_has(&s->found, now.threads[i].tid);
	}
	// Until all events were there, who waited may have come to run, and who ran to wait.
	if (!errnum && !again) {
		struct proc_tree before = s->found;
		s->found = now;
		now = before;
	}
	proc_tree_fini(&now);
	if (again && !*s->base.facts.note)
		snprintf(s->base.facts.note, sizeof(s->base.facts.note),
		         "the program starts threads all the time: some that began while it was "
		         "attached to may be missing");
	return errnum;
}

// The first listed thread may not be that of the rings, which has ended by now.
static int attach(struct perf_source *s, const struct source_request *request)
{
	int errnum = follow_all_found(s, request);

	if (errnum)
		return errnum;
	if (!proc_tree_has(&s->found, (uint32_t)request->child))
		return ESRCH;
	s->found_ns = clock_now_ns();
	for (size_t i = 0; i < events_count(s); i++) {
		const struct cpu_events *events = events_at(s, i);
		if (ioctl(events->clock_fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
			return errno;
		if (events->switch_fd >= 0)
			ioctl(events->switch_fd, PERF_EVENT_IOC_ENABLE, 0);
		if (events->wakeup_fd >= 0)
			ioctl(events->wakeup_fd, PERF_EVENT_IOC_ENABLE, 0);
	}
	return 0;
}

// One that waits is on its CPU next when its wait is over.
static const struct event *next_found(struct perf_source *s)
{
	const struct proc_tree_thread *thread = &s->found.threads[s->found_at++];

	s->event = (struct event){
		.type = RECORD_FOUND,
		.pid = thread->pid,
		.tid = thread->tid,
		.time_ns = s->found_ns,
		.found = { .parent_pid = thread->parent_pid, .blocked = thread->blocked },
	};
	return &s->event;
}

// A limit that the user may raise is raised: each thread has several descriptors on each CPU.
static void allow_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void *close_events(void *context)
{
	struct perf_source *s = context;

	unmap_rings(s, 0);
	close_more(s);
	for (size_t i = 0; i < s->cpu_count; i++) {
		close_at_scope_end(&s->cpus[i].wakeup_fd);
		close_at_scope_end(&s->cpus[i].switch_fd);
		close_at_scope_end(&s->cpus[i].whole_fd);
		close_at_scope_end(&s->cpus[i].clock_fd);
	}
	s->cpu_count = 0;
	close_at_scope_end(&s->last_event);
	return NULL;
}

// To unmap large rings and to close the events of many threads takes a while, too.
static void finish_source(struct source *source)
{
	struct perf_source *s = (struct perf_source *)source;
	sigset_t all, before;

	perf_keeper_stop(&s->keeper);
	if (s->wakeup.id && s->cpu_count)
		s->last_event = perf_closer_start(s->cpus[0].wakeup_fd);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	s->closing = pthread_create(&s->closer, NULL, close_events, s) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void close_source(struct source *source)
{
	struct perf_source *s = (struct perf_source *)source;

	if (!s)
		return;
	perf_keeper_stop(&s->keeper);
	if (s->closing)
		pthread_join(s->closer, NULL);
	else
		close_events(s);
	perf_closer_reap();
	free(s->more);
	proc_tree_fini(&s->found);
	close_at_scope_end(&s->epoll);
	free(s->cpus);
	free(s->rings.rings);
	free(s);
}

// LIMITED_BYTES: of the largest rings that there can be, and what they are to hold, whole stacks of
// WHOLE_BYTES; 0: not known yet.
static struct source *open_rings(const struct source_request *request, size_t limited_bytes,
                                 const struct perf_event_plan *plan, uint32_t whole_bytes,
                                 const struct source_ops *ops, struct error *err)
{
	bool kernel = ops->rung == RUNG_PERF_KERNEL;
	struct perf_source *s = calloc(1, sizeof(*s));
	if (!s) {
		error_set(err, errno, "could not open perf events");
		return NULL;
	}
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->last_event = -1;
	s->ring_bytes = limited_bytes;
	s->is_limited = limited_bytes != 0;
	s->queues = !priority_may();
	s->whole_bytes = whole_bytes;
	if (plan)
		s->plan = *plan;
	uint64_t part = request->attached ? ATTACHED_PART : 1;
	s->switch_budget = (struct perf_storm_budget){ .burst = (int64_t)(SWITCHES_BURST / part),
		                                       .per_second = SWITCHES_PER_SECOND / part };
	size_t wanted = perf_event_ring_bytes(request->frequency_hz, request->stack_bytes);
	s->base = (struct source){
		.ops = ops,
		.facts = {
			.kernel_samples = kernel,
			.kernel_stacks = kernel,
			.switches = request->off_cpu || !kernel,
			// In user mode only, the event opens but never counts a switch.
			.switch_samples = request->off_cpu && kernel,
			.frequency_hz = request->frequency_hz + s->plan.whole_hz,
			.short_stacks = s->plan.whole_hz ||
			                (s->queues && request->fewer_stack_bytes),
		},
	};
	if (kernel && request->off_cpu && !perf_wakeup_find(&s->wakeup))
		s->wakeup.id = 0;
	if (request->attached)
		allow_descriptors();
	int errnum = s->epoll < 0 ? errno : open_cpus(s, request);
	if (errnum) {
		perf_refused(err, errnum, kernel, perf_paranoid());
		close_source(&s->base);
		return NULL;
	}
	if (map_largest_rings(s, wanted, err) < 0) {
		close_source(&s->base);
		return NULL;
	}
	s->rings.small = s->is_limited || s->queues;
	s->rings.short_bytes = request->fewer_stack_bytes ? request->stack_bytes : 0;
	if (!s->base.facts.switch_samples || !map_switch_rings(s))
		drop_switch_events(s);
	if (!s->wakeup.id || !map_wakeup_rings(s))
		drop_wakeup_events(s);
	if (wait_for_rings(s, err) < 0) {
		close_source(&s->base);
		return NULL;
	}
	errnum = request->attached ? attach(s, request) : 0;
	if (errnum) {
		perf_refused(err, errnum, kernel, perf_paranoid());
		close_source(&s->base);
		return NULL;
	}
	return &s->base;
}

static void note_plan(struct perf_source *s, uint32_t frequency_hz)
{
	const struct perf_event_plan *plan = &s->plan;
	char *note = s->base.facts.note;
	size_t size = sizeof(s->base.facts.note);

	if (*note)
		return;
	if (plan->whole_hz)
		snprintf(
			note, size,
			"%u bytes of stack are copied at %u Hz and %u at %u Hz, instead of these at "
			"%u Hz: rings are limited to %zu KB (kernel.perf_event_mlock_kb, ulimit -l)",
			plan->short_bytes, plan->short_hz, s->whole_bytes, plan->whole_hz,
			frequency_hz, s->ring_bytes / 1024);
	else
		snprintf(note, size,
		         "%u bytes of stack are copied instead of %u: rings are limited to %zu KB "
		         "(kernel.perf_event_mlock_kb, ulimit -l)",
		         plan->short_bytes, s->whole_bytes, s->ring_bytes / 1024);
}

// How much stack is copied is settled when an event is opened, how large its ring may be is seen
// after that: so where the rings are too small, all is opened once more. What lies beyond the copy
// is read from the process, as with any deep stack, or taken from one that was copied whole.
static struct source *open_source(const struct source_request *request,
                                  const struct source_ops *ops, struct error *err)
{
	struct source *source = open_rings(request, 0, NULL, 0, ops, err);
	struct perf_source *s = (struct perf_source *)source;

	if (!s || !(s->is_limited || s->queues) || !request->fewer_stack_bytes)
		return source;
	struct perf_event_plan plan =
		perf_event_plan(s->ring_bytes, request->frequency_hz, request->stack_bytes,
	                        ops->rung == RUNG_PERF_KERNEL, request->fewer_samples);
	struct source_request fewer = *request;
	if (request->attached) { // its threads have so many events already
		plan.whole_hz = 0;
		plan.short_hz = request->frequency_hz;
	}
	fewer.stack_bytes = plan.short_bytes;
	fewer.frequency_hz = plan.short_hz;
	if (fewer.stack_bytes == request->stack_bytes)
		return source;
	size_t limited_bytes = s->ring_bytes;
	close_source(source);
	source = open_rings(&fewer, limited_bytes, &plan, request->stack_bytes, ops, err);
	if (source)
		note_plan((struct perf_source *)source, request->frequency_hz);
	return source;
}

static struct source *open_kernel(const struct source_request *request, struct error *err)
{
	return open_source(request, &perf_kernel_source, err);
}

static struct source *open_user(const struct source_request *request, struct error *err)
{
	return open_source(request, &perf_user_source, err);
}

static int source_fd(const struct source *source)
{
	return ((const struct perf_source *)source)->epoll;
}

// A descriptor hangs up when the last task that could write to its ring is gone, and is then
// always readable: what is left is drained by timeout.
static void drop_hung_up(struct perf_source *s)
{
	struct epoll_event ready[64];
	int count = epoll_wait(s->epoll, ready, 64, 0);

	for (int i = 0; i < count; i++) {
		struct cpu_events *cpu = &s->cpus[ready[i].data.u64];
		if (ready[i].events & (EPOLLHUP | EPOLLERR) && !cpu->hung_up) {
			cpu->hung_up = true;
			epoll_ctl(s->epoll, EPOLL_CTL_DEL, cpu->clock_fd, NULL);
			if (cpu->switch_fd >= 0)
				epoll_ctl(s->epoll, EPOLL_CTL_DEL, cpu->switch_fd, NULL);
			if (cpu->wakeup_fd >= 0)
				epoll_ctl(s->epoll, EPOLL_CTL_DEL, cpu->wakeup_fd, NULL);
		}
	}
}

// Reaches the inherited events too. Without samples of switches waits are looked at instead, and
// without wakeups it is inferred who ended them.
static void change_events(struct perf_source *s, enum perf_storm_change change, bool wakeups)
{
	unsigned long request =
		change == PERF_STORM_PAUSE ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE;

	for (size_t i = 0; change != PERF_STORM_SAME && i < events_count(s); i++)
		ioctl(wakeups ? events_at(s, i)->wakeup_fd : events_at(s, i)->switch_fd, request,
		      0);
}

static void keep_budgets(struct perf_source *s, uint64_t now_ns)
{
	if (s->base.facts.switch_samples)
		change_events(s, perf_storm_look(&s->switches, &s->switch_budget, now_ns), false);
	if (s->wakeup.id)
		change_events(s, perf_storm_look(&s->wakeups, &wakeup_budget, now_ns), true);
}

// What was lost has cost the program nearly as much as what was not. True if s->event is nothing
// else.
static bool charge(struct perf_source *s, const struct perf_ring *ring)
{
	bool lost = s->event.type == RECORD_LOST;

	if (!ring->format.switches && !ring->format.wakeup)
		return false;
	perf_storm_charge(ring->format.wakeup ? &s->wakeups : &s->switches,
	                  lost ? s->event.lost : 1);
	return lost;
}

// Threads of the run that leave and enter the CPU of a ring.
static void count_gaps(struct perf_source *s, struct perf_ring *ring)
{
	const struct event *event = &s->event;

	if (event->type != RECORD_SWITCH)
		return;
	uint64_t gap_ns = event->sched.in && ring->left_ns && event->time_ns > ring->left_ns
	                          ? event->time_ns - ring->left_ns
	                          : 0;
	if (gap_ns >= SOURCE_IDLE_NS) {
		s->base.gaps.count++;
		s->base.gaps.ns += gap_ns;
	}
	ring->left_ns = event->sched.in ? 0 : event->time_ns;
}

static void begin(struct perf_source *s)
{
	perf_keeper_start(&s->keeper, &s->rings);
	s->began_ns = clock_now_ns();
}

// Two events sample the same time: what comes as often as both stands for that much less.
static void share_period(const struct perf_source *s, struct event_sample *sample)
{
	if (sample->kind == SAMPLE_ON_CPU)
		sample->weight_ns = NS_PER_SEC / (s->plan.short_hz + s->plan.whole_hz);
}

static const struct event *next_event(struct source *source, uint64_t until_ns, struct error *err)
{
	struct perf_source *s = (struct perf_source *)source;
	const struct perf_event_header *record;
	struct perf_ring *ring;

	if (!s->keeper.rings)
		begin(s);
	if (s->found_at < s->found.count && s->found_ns <= until_ns)
		return next_found(s);
	if (s->looked_until_ns != until_ns) {
		s->looked_until_ns = until_ns;
		drop_hung_up(s);
		keep_budgets(s, clock_now_ns());
		if (perf_rings_look(&s->rings, err) < 0)
			return NULL;
	}
	while ((record = perf_rings_next(&s->rings, until_ns, &ring, err))) {
		enum perf_verdict verdict =
			perf_record_decode(&ring->format, record, record->size, &s->event);
		if (verdict == PERF_RECORD_DAMAGED) {
			error_set(err, 0,
			          "the kernel wrote a record of type %u that cannot be read",
			          record->type);
			return NULL;
		}
		if (verdict == PERF_RECORD_EVENT && !charge(s, ring)) {
			if (s->plan.whole_hz && s->event.type == RECORD_SAMPLE)
				share_period(s, &s->event.sample);
			if (s->event.type == RECORD_LOST)
				s->lost += s->event.lost;
			count_gaps(s, ring);
			return &s->event;
		}
	}
	return NULL;
}

static uint64_t read_lost(int fd)
{
	struct {
		uint64_t value, id, lost;
	} counter = { 0 };

	return fd >= 0 && read(fd, &counter, sizeof(counter)) == sizeof(counter) ? counter.lost : 0;
}

#define THINNED_PERCENT 2 // of the time: less is not worth a word

// Of the whole run, in per cent; 0: hardly.
static unsigned paused_percent(const struct perf_source *s, const struct perf_storm *storm)
{
	uint64_t passed_ns = storm->credited_ns - s->began_ns;

	if (storm->credited_ns <= s->began_ns ||
	    storm->paused_ns * 100 <= passed_ns * THINNED_PERCENT)
		return 0;
	return (unsigned)(storm->paused_ns * 100 / passed_ns);
}

static void note_pauses(struct perf_source *s)
{
	uint64_t passed_ns = s->wakeups.credited_ns - s->began_ns;
	uint64_t paused_ns = s->wakeups.paused_ns;
	unsigned percent = s->base.facts.switch_samples ? paused_percent(s, &s->switches) : 0;

	if (!*s->base.facts.note && percent)
		snprintf(
			s->base.facts.note, sizeof(s->base.facts.note),
			"where threads wait was recorded for %u %% of the time, and looked up for the "
			"rest: more than %u waits a second",
			100 - percent, (unsigned)s->switch_budget.per_second);
	if (!*s->base.facts.note && s->wakeup.id && paused_ns * 100 > passed_ns * THINNED_PERCENT)
		snprintf(s->base.facts.note, sizeof(s->base.facts.note),
		         "who woke whom was recorded for %u %% of the time: threads were woken "
		         "more than %u times a second",
		         (unsigned)(100 - paused_ns * 100 / passed_ns),
		         (unsigned)wakeup_budget.per_second);
}

// PERF_RECORD_LOST is written only when a later record fits, so it falls short; the counters
// are exact, but reading one visits every inherited copy of the event.
static uint64_t count_lost(struct source *source, bool exact)
{
	struct perf_source *s = (struct perf_source *)source;
	uint64_t lost = 0;

	if (exact && s->keeper.rings)
		note_pauses(s);
	for (size_t i = 0; exact && i < events_count(s); i++)
		lost += read_lost(events_at(s, i)->clock_fd) + read_lost(events_at(s, i)->whole_fd);
	return lost > s->lost ? lost : s->lost;
}

static double backlog(const struct source *source)
{
	return perf_rings_kept(&((const struct perf_source *)source)->rings);
}

static void limit_switches(struct source *source, uint32_t per_second)
{
	struct perf_source *s = (struct perf_source *)source;
	int64_t burst = (int64_t)per_second * SWITCHES_BURST / SWITCHES_PER_SECOND;

	if (per_second < s->switch_budget.per_second)
		s->switch_budget = (struct perf_storm_budget){ .burst = burst ? burst : 1,
			                                       .per_second = per_second };
}

#define PERF_SOURCE(rung_, open_)                                                                  \
	{                                                                                          \
		.rung = (rung_), .open = (open_), .close = close_source, .fd = source_fd,          \
		.next = next_event, .lost = count_lost, .limit_switches = limit_switches,          \
		.backlog = backlog, .finish = finish_source,                                       \
	}

const struct source_ops perf_kernel_source = PERF_SOURCE(RUNG_PERF_KERNEL, open_kernel);
const struct source_ops perf_user_source = PERF_SOURCE(RUNG_PERF_USER, open_user);

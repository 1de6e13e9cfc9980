// SPDX-License-Identifier: MIT
#include "sampler/priority.h"

#include "base/clock.h"
#include "sampler/proc/proc_stat.h"

#include <linux/capability.h>
#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EAGER_NICE     (-20)
#define SHORT_SLICE_NS 100000 // the shortest that there is

#define LOOK_NS        (20 * NS_PER_MS)
#define LATE_DIVISOR   10         // waiting for a CPU for this part of the time is too much
#define CALM_NS        NS_PER_SEC // so long without it, and the hurry is over

/* Of sched_setattr(2), which older C libraries do not know. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};
_Static_assert(sizeof(struct attributes) == 48, "the first version of struct sched_attr");

// Who takes short turns gets them soon: behind five hundred threads after some 2 ms instead of some
// 500. No privilege is needed. Before Linux 6.12 the kernel has no use for the number.
static void take_turns_of(uint64_t slice_ns)
{
	struct attributes own;

	if (syscall(SYS_sched_getattr, 0, &own, sizeof(own), 0) < 0 || own.policy != SCHED_OTHER)
		return;
	own.runtime_ns = slice_ns;
	syscall(SYS_sched_setattr, 0, &own, 0);
}

static bool set_policy(int policy, int level)
{
	struct sched_param param = { .sched_priority = level };

	// The flag stays on: to take it off is a privilege.
	return sched_setscheduler(0, policy | SCHED_RESET_ON_FORK, &param) == 0;
}

bool priority_may(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = { 0 };
	struct rlimit limit;

	int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
	if (policy != SCHED_OTHER) // somebody has chosen it
		return policy == SCHED_FIFO || policy == SCHED_RR;
	if (getrlimit(RLIMIT_RTPRIO, &limit) == 0 && limit.rlim_cur > 0)
		return true;
	return syscall(SYS_capget, &header, caps) == 0 &&
	       caps[CAP_TO_INDEX(CAP_SYS_NICE)].effective & CAP_TO_MASK(CAP_SYS_NICE);
}

void priority_ask(struct priority *p)
{
	*p = (struct priority){ .asked = true, .own_nice = getpriority(PRIO_PROCESS, 0) };
	// Otherwise somebody has chosen a policy for us, as with chrt(1).
	p->real_time = sched_getscheduler(0) == SCHED_OTHER && set_policy(SCHED_OTHER, 0);
	take_turns_of(SHORT_SLICE_NS);
	if (p->real_time)
		setpriority(PRIO_PROCESS, 0, EAGER_NICE);
}

bool priority_is_late(struct priority *p, uint64_t now_ns)
{
	uint64_t run_ns, delay_ns;

	if (now_ns >= p->looked_ns + LOOK_NS) {
		if (!proc_stat_own_times(&run_ns, &delay_ns))
			return true;
		if (p->looked_ns && (delay_ns - p->delay_ns) * LATE_DIVISOR > now_ns - p->looked_ns)
			p->late_ns = now_ns;
		p->delay_ns = delay_ns;
		p->looked_ns = now_ns;
	}
	return p->late_ns && now_ns < p->late_ns + CALM_NS;
}

void priority_urgent(struct priority *p)
{
	if (!p->real_time || p->urgent)
		return;
	p->urgent = p->real_time = set_policy(SCHED_RR, sched_get_priority_min(SCHED_RR));
}

void priority_eager(struct priority *p)
{
	if (!p->urgent || !set_policy(SCHED_OTHER, 0))
		return;
	p->urgent = false;
	take_turns_of(SHORT_SLICE_NS); // forgotten with the policy
}

void priority_give_back(struct priority *p)
{
	if (!p->asked)
		return;
	priority_eager(p);
	setpriority(PRIO_PROCESS, 0, p->own_nice);
	take_turns_of(0); // the kernel's own
	p->asked = false;
}

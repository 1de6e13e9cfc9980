// SPDX-License-Identifier: MIT
#include "sampler/proc/priority.h"

#include <sched.h>
#include <sys/resource.h>

#define EAGER_NICE (-20)

static bool set_policy(int policy, int level)
{
	struct sched_param param = { .sched_priority = level };

	// The flag stays on: to take it off is a privilege.
	return sched_setscheduler(0, policy | SCHED_RESET_ON_FORK, &param) == 0;
}

void priority_ask(struct priority *p)
{
	*p = (struct priority){ .asked = true, .own_nice = getpriority(PRIO_PROCESS, 0) };
	// Otherwise somebody has chosen a policy for us, as with chrt(1).
	p->real_time = sched_getscheduler(0) == SCHED_OTHER && set_policy(SCHED_OTHER, 0);
	if (p->real_time)
		setpriority(PRIO_PROCESS, 0, EAGER_NICE);
}

void priority_urgent(struct priority *p)
{
	if (!p->real_time || p->urgent)
		return;
	p->urgent = p->real_time = set_policy(SCHED_RR, sched_get_priority_min(SCHED_RR));
}

void priority_eager(struct priority *p)
{
	if (p->urgent)
		p->urgent = !set_policy(SCHED_OTHER, 0);
}

void priority_give_back(struct priority *p)
{
	if (!p->asked)
		return;
	priority_eager(p);
	setpriority(PRIO_PROCESS, 0, p->own_nice);
	p->asked = false;
}

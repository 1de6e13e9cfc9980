// SPDX-License-Identifier: MIT
#include "base/hash.h"
#include "sampler/off_cpu/off_cpu_python.h"
#include "sampler/tracker/tracker_state.h"

// The youngest one that has had TID and has ended; 0: none that is remembered.
static uint32_t find_ended(const struct tracker *t, uint32_t pid, uint32_t tid)
{
	uint32_t count = t->ended_thread_count;

	for (uint32_t i = 1; i <= count && i <= TRACKER_ENDED_THREADS; i++) {
		const struct tracker_ended_thread *ended =
			&t->ended_threads[(count - i) % TRACKER_ENDED_THREADS];
		if (ended->pid == pid && ended->tid == tid)
			return ended->number;
	}
	return 0;
}

// Who had TID up to UNTIL_NS. A number may be given to another thread at once, and a lock may be
// held by another process: nobody is made for that.
static uint32_t number_of(const struct tracker *t, uint32_t pid, const struct wait_part *part)
{
	const struct thread *thread =
		part->tid ? tasks_find_thread(t->tasks, pid, part->tid) : NULL;

	if (!part->tid)
		return 0;
	if (thread && thread->start_ns < part->until_ns)
		return thread->number;
	uint32_t ended = find_ended(t, pid, part->tid);
	return ended || !thread ? ended : thread->number;
}

// Whose data is at the address that was waited at, and where it was initialized.
static const struct tracker_resource *resource_of(struct tracker *t, const struct process *process,
                                                  const struct event_wait *wait)
{
	uint64_t hashed = hash_pair(wait->address, process->number);
	struct tracker_resource *r = &t->resources[hashed % TRACKER_RESOURCES];
	uint64_t fingerprint = address_space_fingerprint(process->space);
	int pid = (int)process->pid;

	if (r->process == process->number && r->address == wait->address &&
	    r->made_at == wait->made_at && r->fingerprint == fingerprint)
		return r;
	*r = (struct tracker_resource){ .process = process->number,
		                        .address = wait->address,
		                        .made_at = wait->made_at,
		                        .fingerprint = fingerprint };
	r->data = unwinder_data(t->unwinder, process->space, wait->address, pid);
	if (wait->made_at)
		r->made = unwinder_frame(t->unwinder, process->space, pid, wait->made_at);
	r->made.kind = FRAME_RETURN;
	return r;
}

void tracker_on_wait(struct tracker *t, const struct event *event)
{
	const struct event_wait *from = &event->wait;
	const struct thread *thread = tasks_find_thread(t->tasks, event->pid, event->tid);
	struct wait_event wait = {
		.begin_ns = from->begin_ns,
		.end_ns = event->time_ns,
		.address = from->address,
		.kind = from->kind,
		.flags = from->flags,
		.count = from->count < TRACKER_SHARES ? from->count : TRACKER_SHARES,
		.parts = t->shares,
	};

	// Whoever scribbles in the files may have it end before it begins.
	if (wait.begin_ns > wait.end_ns)
		return;
	wait.thread = thread ? thread->number : find_ended(t, event->pid, event->tid);
	if (!wait.thread) {
		thread = tracker_thread(t, event, true);
		if (!thread)
			return;
		wait.thread = thread->number;
	}
	uint64_t last_ns = wait.begin_ns;
	for (uint32_t i = 0; i < wait.count; i++) {
		const struct wait_part *part = &from->parts[i];
		uint64_t until_ns = part->until_ns > wait.end_ns ? wait.end_ns : part->until_ns;
		last_ns = until_ns > last_ns ? until_ns : last_ns;
		t->shares[i] =
			(struct wait_share){ last_ns, number_of(t, event->pid, part), part->how };
	}
	wait.gil = thread && off_cpu_python_is_gil(thread, wait.address);
	if (thread && wait.kind != HELD_JOIN) {
		const struct tracker_resource *r = resource_of(t, thread->process, from);
		wait.made = r->made;
		wait.module = r->data.module;
		wait.address = wait.module ? r->data.address : wait.address;
	}
	tracker_tell(t, &(struct sampled){ .kind = SAMPLED_WAIT, .wait = &wait });
}

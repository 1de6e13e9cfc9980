// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/hash.h"
#include "sampler/off_cpu/off_cpu.h"
#include "sampler/off_cpu/off_cpu_python.h"
#include "sampler/tracker/mapper.h"
#include "sampler/tracker/tracker_state.h"

#include <stdio.h>
#include <stdlib.h>

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
static uint32_t number_of(const struct tracker *t, uint32_t pid, bool shared,
                          const struct wait_part *part)
{
	const struct thread *thread =
		part->tid ? tasks_find_thread(t->tasks, pid, part->tid) : NULL;

	if (shared && part->tid && !thread)
		thread = tasks_find_tid(t->tasks, part->tid);
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

// So long what was read counts.
#define IDENTITY_NS (2 * NS_PER_SEC)

static uint64_t read_identity(uint32_t pid, uint64_t address)
{
	char path[32];
	cleanup_free char *line = NULL;
	struct event_map map;
	size_t room = 0;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	cleanup_fclose FILE *maps = fopen(path, "re");
	while (maps && getline(&line, &room, maps) > 0)
		if (mapper_parse(line, &map) && map.inode && address >= map.start &&
		    address - map.start < map.length) {
			uint64_t file = hash_pair(map.inode, (uint64_t)map.device_major << 32 |
			                                             map.device_minor);
			return hash_pair(file, address - map.start + map.file_offset) | 1;
		}
	return 0;
}

// What PROCESS shares with others at ADDRESS; 0: that is not known.
static uint64_t identity_of(struct tracker *t, uint32_t pid, uint64_t address, uint64_t now_ns)
{
	uint32_t process = tracker_process(t, pid);
	struct tracker_shared *s = &t->shared[hash_pair(address, process) % TRACKER_SHARED];

	bool same = s->process == process && s->address == address;
	if (same && now_ns < s->read_ns + IDENTITY_NS)
		return s->identity;
	if (!allowance_begin(&t->maps_allowance, now_ns))
		return same ? s->identity : 0;
	uint64_t identity = read_identity(pid, address);
	// A process that has ended has no mappings.
	*s = (struct tracker_shared){ process, address, identity || !same ? identity : s->identity,
		                      now_ns };
	allowance_end(&t->maps_allowance);
	return s->identity;
}

static void keep_post(struct tracker *t, uint32_t pid, uint32_t thread, uint64_t address,
                      uint64_t time_ns)
{
	uint64_t identity = identity_of(t, pid, address, time_ns);

	if (identity)
		t->posts[t->post_count++ % TRACKER_POSTS] =
			(struct tracker_post){ identity, time_ns, thread };
}

// "Pid:	4711"
static uint32_t read_pidfd(uint32_t pid, uint32_t fd)
{
	char path[64], line[256];
	unsigned to = 0;

	snprintf(path, sizeof(path), "/proc/%u/fdinfo/%u", pid, fd);
	cleanup_fclose FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Pid: %u", &to) == 1)
			return to;
	return 0;
}

static uint32_t pid_of_pidfd(struct tracker *t, uint32_t pid, uint32_t fd, uint64_t now_ns)
{
	uint32_t process = tracker_process(t, pid);
	struct tracker_pidfd *p = &t->pidfds[hash_pair(fd, process) % TRACKER_PIDFDS];

	bool same = p->process == process && p->fd == fd;
	if (same && p->pid && now_ns < p->read_ns + IDENTITY_NS)
		return p->pid;
	if (!allowance_begin(&t->maps_allowance, now_ns))
		return same ? p->pid : 0;
	*p = (struct tracker_pidfd){ process, fd, read_pidfd(pid, fd), now_ns };
	allowance_end(&t->maps_allowance);
	return p->pid;
}

// THREAD of PID was about to send the signal FROM.
static void tell_signal(struct tracker *t, uint32_t pid, uint32_t thread,
                        const struct event_wait *from, uint64_t time_ns)
{
	struct signal_event signal = { .thread = thread, .time_ns = time_ns };
	uint32_t to = from->count ? from->parts[0].tid : 0;

	if (from->flags & HELD_TO_PIDFD)
		to = pid_of_pidfd(t, pid, (uint32_t)from->address, time_ns);
	const struct thread *receiver =
		from->flags & HELD_TO_THREAD && to ? tasks_find_tid(t->tasks, to) : NULL;
	const struct process *process = receiver ? receiver->process
	                                : from->flags & HELD_TO_THREAD
	                                        ? NULL
	                                        : tasks_find_process(t->tasks, to);
	if (!process || !process->announced || (receiver && receiver->number == thread))
		return;
	signal.process = process->number;
	signal.to = receiver ? receiver->number : 0;
	tracker_tell(t, &(struct sampled){ .kind = SAMPLED_SIGNAL, .signal = &signal });
}

static void add_share(struct tracker *t, struct wait_event *wait, uint64_t until_ns,
                      uint32_t thread, uint32_t how)
{
	if (wait->count < TRACKER_SHARES)
		t->shares[wait->count++] = (struct wait_share){ until_ns, thread, how };
}

// Threads of other processes have let go within the wait: they are who was waited for, one after
// the other. A semaphore's last one has ended it.
static void take_posts(struct tracker *t, uint32_t pid, struct wait_event *wait)
{
	uint64_t identity = identity_of(t, pid, wait->address, wait->end_ns);
	uint32_t first = t->post_count > TRACKER_POSTS ? t->post_count - TRACKER_POSTS : 0;
	bool any = false;

	for (uint32_t i = first; identity && i < t->post_count; i++) {
		const struct tracker_post *post = &t->posts[i % TRACKER_POSTS];
		if (post->identity != identity || post->time_ns < wait->begin_ns ||
		    post->time_ns > wait->end_ns || post->thread == wait->thread)
			continue;
		if (!any)
			wait->count = 0; // what its own process knows of it is less
		any = true;
		add_share(t, wait, post->time_ns, post->thread,
		          wait->kind == HELD_MUTEX ? HELD_BY_OWNER : HELD_BY_WAKER);
	}
	if (any && wait->kind == HELD_MUTEX)
		add_share(t, wait, wait->end_ns, 0, HELD_BY_NOBODY);
}

// What stands for a semaphore, of whatever process. What is shared, and not known by its file, is
// at one address in those who were forked.
static uint64_t object_of(struct tracker *t, const struct event *event)
{
	const struct event_wait *wait = &event->wait;
	bool shared = wait->flags & HELD_SHARED;
	uint64_t identity = shared ? identity_of(t, event->pid, wait->address, event->time_ns) : 0;

	if (identity)
		return identity;
	return hash_pair(wait->address, shared ? 0 : tracker_process(t, event->pid)) | 1;
}

// THREAD (NULL: it has ended) begins a call that waits for a disk or a child, or returns from it.
static void take_call(struct tracker *t, struct thread *thread, const struct event *event)
{
	const struct event_wait *from = &event->wait;
	struct frame frames[2];

	if (!thread || !t->off_cpu)
		return;
	if (!(from->flags & HELD_BEGUN)) {
		off_cpu_returned(t->off_cpu, thread, from->begin_ns, event->time_ns);
		return;
	}
	int pid = (int)thread->process->pid;
	frames[0] = unwinder_frame(t->unwinder, thread->process->space, pid, from->address);
	frames[1] = unwinder_frame(t->unwinder, thread->process->space, pid, from->made_at);
	frames[1].kind = FRAME_RETURN;
	off_cpu_call(t->off_cpu, thread,
	             from->kind == HELD_CHILD ? METRIC_OFF_CHILD : METRIC_OFF_FILE, frames,
	             event->time_ns);
}

void tracker_on_wait(struct tracker *t, const struct event *event)
{
	const struct event_wait *from = &event->wait;
	struct thread *thread = tasks_find_thread(t->tasks, event->pid, event->tid);
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
	if (wait.kind == HELD_FILE || wait.kind == HELD_CHILD) {
		take_call(t, thread, event);
		return;
	}
	if (from->flags & HELD_POSTED) {
		if (wait.thread && wait.kind == HELD_SIGNAL)
			tell_signal(t, event->pid, wait.thread, from, event->time_ns);
		else if (wait.thread)
			keep_post(t, event->pid, wait.thread, from->address, event->time_ns);
		return;
	}
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
		t->shares[i] = (struct wait_share){
			last_ns, number_of(t, event->pid, from->flags & HELD_SHARED, part),
			part->how
		};
	}
	if (from->flags & HELD_SHARED)
		take_posts(t, event->pid, &wait);
	if (wait.kind == HELD_SEMAPHORE)
		wait.object = object_of(t, event);
	wait.gil = thread && off_cpu_python_is_gil(thread, wait.address);
	wait.step_ns = wait.gil ? off_cpu_python_gil_step_ns(thread, wait.address) : 0;
	if (thread && wait.kind != HELD_JOIN) {
		const struct tracker_resource *r = resource_of(t, thread->process, from);
		wait.made = r->made;
		wait.module = r->data.module;
		wait.address = wait.module ? r->data.address : wait.address;
	}
	tracker_tell(t, &(struct sampled){ .kind = SAMPLED_WAIT, .wait = &wait });
}

// The processes that are followed, each by its first thread.
struct each_process {
	void (*visit)(void *data, uint32_t pid);
	void *data;
};

static void visit_process(void *context, struct thread *thread)
{
	const struct each_process *each = context;

	if (thread->tid == thread->process->pid)
		each->visit(each->data, thread->process->pid);
}

static void each_process(void *context, void (*visit)(void *data, uint32_t pid), void *data)
{
	struct each_process each = { visit, data };

	tasks_each_thread(context, visit_process, &each);
}

// False: nobody is known to be at the other ends by now.
static bool give_peers(struct tracker *t, const struct thread *thread, const struct wait_on *on,
                       uint64_t time_ns)
{
	struct peer_end end = { 0 };
	uint32_t processes[PEERS_MAX];
	struct peers_event event = { .thread = thread->number,
		                     .time_ns = time_ns,
		                     .processes = processes };

	if ((!t->peers && !(t->peers = peers_new())) ||
	    !peers_find(t->peers, thread->process->pid, on, time_ns, each_process, t->tasks, &end))
		return false;
	event.inode = end.inode;
	event.descriptors = end.descriptors;
	event.outside = end.outside;
	for (uint32_t i = 0; i < end.count; i++) {
		const struct process *process = tasks_find_process(t->tasks, end.pids[i]);
		if (process && process->announced)
			processes[event.count++] = process->number;
	}
	if (event.count)
		tracker_tell(t, &(struct sampled){ .kind = SAMPLED_PEERS, .peers = &event });
	return event.count > 0;
}

// So long it takes until a wait that nobody is known of is asked about for the first time; then
// twice as long, and so on.
#define ASK_AFTER_NS   (20 * NS_PER_MS)
#define ASK_AT_MOST_NS NS_PER_SEC
#define SAME_WAIT_NS   NS_PER_MS // a sample may come before the record of its switch

void tracker_waits_on(void *context, struct thread *thread, const struct wait_on *on,
                      uint64_t time_ns)
{
	struct tracker *t = context;
	struct tracker_asked *free = &t->asked[0];

	if (give_peers(t, thread, on, time_ns))
		return;
	// Its other end may be made in a moment, or there was no time to look. Short waits go.
	for (size_t i = 0; i < TRACKER_ASKED; i++) {
		struct tracker_asked *a = &t->asked[i];
		if (a->thread == thread->number || a->since_ns < free->since_ns)
			free = a;
		if (a->thread == thread->number)
			break;
	}
	*free = (struct tracker_asked){ .pid = thread->process->pid,
		                        .tid = thread->tid,
		                        .thread = thread->number,
		                        .on = *on,
		                        .since_ns = time_ns,
		                        .next_ns = time_ns + ASK_AFTER_NS,
		                        .pause_ns = ASK_AFTER_NS };
	t->ask_again_ns = t->ask_again_ns && t->ask_again_ns < free->next_ns ? t->ask_again_ns
	                                                                     : free->next_ns;
}

// Whether A's thread is in the same wait still.
static struct thread *still_waits(struct tracker *t, const struct tracker_asked *a)
{
	struct thread *thread = tasks_find_thread(t->tasks, a->pid, a->tid);

	return thread && thread->number == a->thread && thread->off_cpu.out &&
	                       thread->off_cpu.since_ns <= a->since_ns + SAME_WAIT_NS
	               ? thread
	               : NULL;
}

void tracker_ask_again(struct tracker *t, uint64_t now_ns)
{
	if (!t->ask_again_ns || now_ns < t->ask_again_ns)
		return;
	t->ask_again_ns = 0;
	for (size_t i = 0; i < TRACKER_ASKED; i++) {
		struct tracker_asked *a = &t->asked[i];
		if (!a->thread)
			continue;
		struct thread *thread = still_waits(t, a);
		if (!thread || (a->next_ns <= now_ns && give_peers(t, thread, &a->on, now_ns))) {
			*a = (struct tracker_asked){ 0 };
			continue;
		}
		if (a->next_ns <= now_ns) {
			a->pause_ns *= a->pause_ns < ASK_AT_MOST_NS ? 2 : 1;
			a->next_ns = now_ns + a->pause_ns;
		}
		if (!t->ask_again_ns || a->next_ns < t->ask_again_ns)
			t->ask_again_ns = a->next_ns;
	}
}

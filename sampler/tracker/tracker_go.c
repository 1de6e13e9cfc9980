// SPDX-License-Identifier: MIT
// Goroutines: which processes are Go programs, and when they are looked at.
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/foreign_file.h"
#include "base/hash.h"
#include "sampler/go/go_layout.h"
#include "sampler/go/go_remote.h"
#include "sampler/tracker/mapper.h"
#include "sampler/tracker/tracker.h"
#include "sampler/tracker/tracker_state.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

// What has begun just now may exec, and most processes end soon.
#define FIRST_NS (10 * NS_PER_MS)
// Between two passes, by chance: a program may do what it does at regular times.
#define LEAST_NS (25 * NS_PER_MS)
#define MOST_NS  (75 * NS_PER_MS)
// A pass takes at most one part in so many of one CPU.
#define COST_PART 100
// Passes that fail before it is given up.
#define FAILURES_MAX 40
// Of a file's debug information.
#define FILE_BYTES_MAX (UINT64_C(1) << 30)

struct look {
	struct tracker *tracker;
	uint64_t now_ns;
};

static void note_unseen(struct tracker *t, struct process *process, enum go_unseen why)
{
	struct goroutine_status *status = &t->goroutines;

	process->go.due_ns = UINT64_MAX;
	if (!status->unseen[why]++)
		snprintf(status->name[why], sizeof(status->name[why]), "%s", process->command);
}

static bool is_file(const struct tracker_file *file, const struct tracker_file *wanted)
{
	return file->inode == wanted->inode && file->device == wanted->device &&
	       file->changed_ns == wanted->changed_ns;
}

static const struct tracker_go_file *find_file(const struct tracker *t,
                                               const struct tracker_file *wanted)
{
	for (size_t i = 0; i < TRACKER_GO_FILES; i++)
		if (t->go_files[i].found != GO_NONE && is_file(&t->go_files[i].id, wanted))
			return &t->go_files[i];
	return NULL;
}

// A build starts the same few programs again and again.
static bool is_other(struct tracker *t, const struct tracker_file *wanted, int fd)
{
	for (size_t i = 0; i < TRACKER_GO_OTHERS; i++)
		if (is_file(&t->go_others[i], wanted))
			return true;
	if (go_layout_is_go(fd))
		return false;
	t->go_others[t->go_other_count++ % TRACKER_GO_OTHERS] = *wanted;
	return true;
}

// What has been read takes the place of the oldest.
static void take_read(struct tracker *t)
{
	struct tracker_go_file *file = &t->go_files[t->go_file_count % TRACKER_GO_FILES];

	if (!t->go_reader ||
	    !go_reader_done(t->go_reader, &t->go_reading.found, &t->go_reading.layout))
		return;
	go_reader_free(t->go_reader);
	t->go_reader = NULL;
	if (t->go_reading.found == GO_NONE)
		t->go_reading.found = GO_UNKNOWN; // it has changed meanwhile
	*file = t->go_reading;
	t->go_file_count++;
}

// NULL: PROCESS is no Go program, or its file is being read: then it is due again.
static const struct tracker_go_file *file_of(struct tracker *t, struct process *process,
                                             uint64_t now_ns)
{
	static const struct foreign_rules rules = { .max_bytes = FILE_BYTES_MAX };
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u/exe", process->pid);
	cleanup_close int fd = foreign_open(path, &rules, &st, NULL);
	if (fd < 0)
		return NULL;
	const struct tracker_file wanted = {
		.device = st.st_dev,
		.inode = st.st_ino,
		.changed_ns =
			(uint64_t)st.st_mtim.tv_sec * NS_PER_SEC + (uint64_t)st.st_mtim.tv_nsec,
	};
	take_read(t);
	const struct tracker_go_file *file = find_file(t, &wanted);
	if (file)
		return file;
	if (is_other(t, &wanted, fd))
		return NULL;
	if (!t->go_reader) {
		t->go_reading.id = wanted;
		t->go_reader = go_reader_new(steal_fd(&fd));
	}
	if (t->go_reader)
		process->go.due_ns = now_ns + FIRST_NS;
	return NULL;
}

// Whether PROCESS is a Go program, and where its goroutines are.
static void ask(struct tracker *t, struct process *process, uint64_t now_ns)
{
	uint64_t bias;

	process->go.due_ns = UINT64_MAX;
	const struct tracker_go_file *file = file_of(t, process, now_ns);
	if (!file)
		return;
	if (file->found != GO_KNOWN) {
		note_unseen(t, process,
		            file->found == GO_STRIPPED ? GO_UNSEEN_STRIPPED : GO_UNSEEN_UNKNOWN);
		return;
	}
	if (!go_layout_bias(&file->layout, process->pid, &bias)) {
		note_unseen(t, process, GO_UNSEEN_REFUSED);
		return;
	}
	if (!t->go_room && !(t->go_room = go_room_new()))
		return;
	process->go.remote = go_remote_new(&file->layout, bias, t->go_room);
	if (process->go.remote)
		process->go.due_ns = now_ns;
}

// The function that GROUP began in, and its places: the number of these.
static uint32_t frames_of(struct tracker *t, struct process *process, const struct go_group *group,
                          uint64_t now_ns, struct frame *start, struct frame frames[GO_FRAMES_MAX])
{
	int pid = (int)process->pid;

	*start = unwinder_frame(t->unwinder, process->space, pid, group->start);
	// Where nothing in the program reports what is mapped, no stack has asked for it, either.
	if (!start->module && mapper_reread(t->modules, process, now_ns))
		*start = unwinder_frame(t->unwinder, process->space, pid, group->start);
	start->kind = FRAME_EXACT;
	for (uint32_t i = 0; i < group->count; i++) {
		frames[i] = unwinder_frame(t->unwinder, process->space, pid, group->frames[i]);
		if (!frames[i].module)
			return i;
		frames[i].kind = FRAME_RETURN;
	}
	return group->count;
}

static void tell(struct tracker *t, struct process *process, const struct go_group *groups,
                 size_t count, uint64_t now_ns)
{
	uint64_t since_ns = now_ns - process->go.last_ns;
	struct frame frames[GO_FRAMES_MAX];

	t->go_passes++;
	for (size_t i = 0; i < count; i++) {
		const struct go_group *group = &groups[i];
		struct goroutines_event event = {
			.process = process->number,
			.pass = t->go_passes,
			.time_ns = now_ns,
			.count = group->goroutines,
			.ns = group->goroutines * since_ns,
			.state = group->state,
			.reason = group->reason,
			.frames = frames,
		};
		event.frame_count = frames_of(t, process, group, now_ns, &event.start, frames);
		if (event.start.module)
			tracker_tell(t, &(struct sampled){ .kind = SAMPLED_GOROUTINES,
			                                   .goroutines = &event });
	}
}

static void note_pass(struct tracker *t, const struct go_remote *remote)
{
	struct goroutine_status *status = &t->goroutines;

	status->passes++;
	if (go_remote_listed(remote) > status->most) {
		status->most = go_remote_listed(remote);
		status->looked = go_remote_looked(remote);
	}
}

static void pass(struct tracker *t, struct process *process, uint64_t now_ns)
{
	struct go_watch *go = &process->go;
	uint64_t begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	pid_t pid = (pid_t)process->pid;
	size_t count;
	const struct go_group *groups = go_remote_pass(go->remote, go_read_process, &pid, &count);

	if (groups) {
		tell(t, process, groups, count, now_ns);
		note_pass(t, go->remote);
		go->failures = 0;
		go->last_ns = now_ns;
	} else if (++go->failures == FAILURES_MAX) {
		note_unseen(t, process, GO_UNSEEN_REFUSED);
		return;
	}
	t->go_random = hash_mix(t->go_random + now_ns);
	uint64_t pause_ns = LEAST_NS + t->go_random % (MOST_NS - LEAST_NS);
	uint64_t cost_ns = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns) * COST_PART;
	go->due_ns = now_ns + (pause_ns > cost_ns ? pause_ns : cost_ns);
}

static void look_at(void *context, struct thread *thread)
{
	const struct look *look = context;
	struct process *process = thread->process;
	struct go_watch *go = &process->go;

	if (go->due_ns <= look->now_ns && !go->due_ns && !go->remote) {
		go->due_ns = look->now_ns + FIRST_NS;
		go->last_ns = look->now_ns;
	} else if (go->due_ns <= look->now_ns) {
		if (!go->remote)
			ask(look->tracker, process, look->now_ns);
		if (go->remote)
			pass(look->tracker, process, look->now_ns);
	}
	if (go->due_ns < look->tracker->go_due_ns)
		look->tracker->go_due_ns = go->due_ns;
}

void tracker_look_at_goroutines(struct tracker *t, uint64_t now_ns)
{
	struct look look = { t, now_ns };

	if (!t->tell_off_cpu || now_ns < t->go_due_ns)
		return;
	t->go_due_ns = now_ns + MOST_NS;
	tasks_each_thread(t->tasks, look_at, &look);
}

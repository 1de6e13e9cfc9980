// SPDX-License-Identifier: MIT
#include "tracer/reader/owners.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/record.h"
#include "tracer/reader/door.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIELD_START  22         // of /proc/PID/stat, numbered as in proc(5)
#define SCANS_NEEDED 2          // of all of /proc, before a process counts as ended
#define SCAN_SHARE   20         // a scan takes at most one in so many of the time
#define NO_THREAD    0x40000000 // numbers of threads that have ended: the kernel gives none of them

struct thread {
	uint32_t inner, outer;
	bool ended;
};

struct owner {
	unsigned shares;
	struct owner_claim claim;
	bool foreign; // in another PID namespace
	uint32_t pid, parent_pid;
	struct thread *threads; // by their inner tids
	size_t thread_count, thread_capacity;
};

// A process in another PID namespace.
struct inhabitant {
	uint32_t namespace;
	struct namespace_pids pids;
};

struct owners {
	struct namespaces own;
	uint64_t start_ticks; // when the collector itself began
	uint32_t next_thread; // of those that have ended
	struct door *door;
	// What this round has seen.
	struct inhabitant *inhabitants;
	size_t count, capacity;
	bool walked, scanned;
	uint64_t scan_due_ns;
};

static bool read_text(const char *path, char *text, size_t size)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t count = fd >= 0 ? read(fd, text, size - 1) : -1;

	text[count > 0 ? count : 0] = '\0';
	return count > 0;
}

// False if there is no such process.
static bool read_start(uint32_t pid, uint64_t *ticks)
{
	char path[32], text[1024];

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (!read_text(path, text, sizeof(text)))
		return false;
	// Behind the name, which may hold anything, comes field 3.
	const char *at = strrchr(text, ')');
	for (int field = 2; at && field < FIELD_START; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return false;
	*ticks = strtoull(at, NULL, 10);
	return true;
}

static bool read_pids(const char *path, struct namespace_pids *pids)
{
	char text[4096];

	return read_text(path, text, sizeof(text)) && namespaces_parse_pids(text, pids);
}

// Whoever was there before the collector has been started by somebody else.
static bool is_older(const struct owners *o, uint32_t pid)
{
	uint64_t ticks;

	return read_start(pid, &ticks) && ticks < o->start_ticks;
}

struct owners *owners_new(int directory)
{
	cleanup(owners) struct owners *o = calloc(1, sizeof(*o));

	if (!o || !(o->door = door_open(directory)))
		return NULL;
	namespaces_read(&o->own);
	read_start((uint32_t)getpid(), &o->start_ticks);
	o->next_thread = NO_THREAD;
	return steal(o);
}

void owners_free(struct owners *o)
{
	if (!o)
		return;
	door_close(o->door);
	free(o->inhabitants);
	free(o);
}

void owners_take_older(struct owners *o)
{
	o->start_ticks = 0;
}

void owners_begin_round(struct owners *o)
{
	o->walked = o->scanned = false;
	o->count = 0;
	door_listen(o->door);
}

// False unless PID lives in another namespace.
static bool look_at(const struct owners *o, uint32_t pid, struct inhabitant *seen)
{
	char path[64];
	struct stat status;

	snprintf(path, sizeof(path), "/proc/%u/ns/pid", pid);
	if (stat(path, &status) < 0 || (uint32_t)status.st_ino == o->own.pid)
		return false;
	seen->namespace = (uint32_t)status.st_ino;
	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	return read_pids(path, &seen->pids) && seen->pids.depth >= 2;
}

static void see(struct owners *o, uint32_t pid)
{
	struct inhabitant seen;

	if (look_at(o, pid, &seen) && !is_older(o, pid) &&
	    array_reserve(&o->inhabitants, &o->capacity, o->count + 1))
		o->inhabitants[o->count++] = seen;
}

static DIR *open_threads(uint32_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	return opendir(path);
}

struct walk {
	uint32_t *pids; // seen or to be seen
	size_t count, capacity;
};

static void add_children(struct walk *w, uint32_t pid, const char *tid)
{
	char path[320], text[16384]; // some 2,000 children of one thread
	char *end;

	snprintf(path, sizeof(path), "/proc/%u/task/%s/children", pid, tid);
	if (!read_text(path, text, sizeof(text)))
		return;
	for (const char *at = text;; at = end) {
		unsigned long child = strtoul(at, &end, 10);
		if (end == at || *end != ' ' ||
		    !array_reserve(&w->pids, &w->capacity, w->count + 1))
			return;
		w->pids[w->count++] = (uint32_t)child;
	}
}

// All descendants of the collector.
static void walk(struct owners *o)
{
	struct walk w = { 0 };
	uint32_t pid = (uint32_t)getpid();

	o->walked = true;
	for (size_t at = 0;; pid = w.pids[at++]) {
		DIR *threads = open_threads(pid);
		for (struct dirent *entry; threads && (entry = readdir(threads));)
			if (isdigit((unsigned char)entry->d_name[0]))
				add_children(&w, pid, entry->d_name);
		if (threads)
			closedir(threads);
		if (at == w.count)
			break;
		see(o, w.pids[at]);
	}
	free(w.pids);
}

// All of /proc: a process whose parent has ended may be no descendant any more.
static bool scan(struct owners *o)
{
	uint64_t begin = clock_now_ns();

	if (o->scanned)
		return true;
	if (begin < o->scan_due_ns)
		return false;
	DIR *processes = opendir("/proc");
	o->scanned = true;
	for (struct dirent *entry; processes && (entry = readdir(processes));)
		if (isdigit((unsigned char)entry->d_name[0]))
			see(o, (uint32_t)strtoul(entry->d_name, NULL, 10));
	if (processes)
		closedir(processes);
	uint64_t end = clock_now_ns();
	o->scan_due_ns = end + (end - begin) * SCAN_SHARE;
	return true;
}

// Numbers are given again, also those of namespaces: who has begun after what CLAIM is of is
// another.
static bool is_too_young(const struct owner_claim *claim, uint32_t pid)
{
	uint64_t tick_ns = NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK), ticks;
	uint64_t asleep_ns = clock_ns(CLOCK_BOOTTIME) - clock_now_ns(); // ticks go on meanwhile
	uint64_t image_ns = claim->image_ns - (uint64_t)claim->namespaces.monotonic_ns;

	return claim->image_ns && read_start(pid, &ticks) && ticks * tick_ns > image_ns + asleep_ns;
}

// Of several that may be meant, as the namespace is unknown, none is.
static const struct inhabitant *match(const struct owners *o, const struct owner_claim *claim)
{
	const struct inhabitant *found = NULL;

	for (size_t i = 0; i < o->count; i++) {
		const struct inhabitant *one = &o->inhabitants[i];
		if (one->pids.inner != claim->pid ||
		    (claim->namespaces.pid && one->namespace != claim->namespaces.pid) ||
		    is_too_young(claim, one->pids.outer))
			continue;
		if (found && found->pids.outer != one->pids.outer)
			return NULL;
		found = one;
	}
	return found;
}

// Who has introduced itself, dead or alive.
static bool find_visitor(struct owners *o, const struct owner_claim *claim, uid_t user,
                         struct inhabitant *found)
{
	struct visitor visitor = { .pid_namespace = claim->namespaces.pid,
		                   .pid = claim->pid,
		                   .image_ns = claim->image_ns };

	if (!door_find(o->door, &visitor, user, &visitor) || is_older(o, visitor.outer))
		return false;
	if (look_at(o, visitor.outer, found) && found->namespace == visitor.pid_namespace &&
	    found->pids.inner == visitor.pid)
		return true;
	// It has ended, and its parent is known if that has introduced itself, too.
	*found = (struct inhabitant){ .namespace = visitor.pid_namespace,
		                      .pids = { .outer = visitor.outer, .inner = visitor.pid } };
	struct visitor parent = { .pid_namespace = visitor.pid_namespace,
		                  .pid = visitor.parent_pid };
	if (parent.pid && door_find(o->door, &parent, user, &parent))
		found->pids.parent = parent.outer;
	return true;
}

static const struct inhabitant *search(struct owners *o, const struct owner_claim *claim)
{
	if (!o->walked)
		walk(o);
	return match(o, claim);
}

static bool is_foreign(const struct owners *o, const struct owner_claim *claim)
{
	return claim->namespaces.pid && o->own.pid && claim->namespaces.pid != o->own.pid;
}

static struct owner *make_owner(const struct owner_claim *claim, const struct inhabitant *found)
{
	struct owner *owner = calloc(1, sizeof(*owner));

	if (!owner)
		return NULL;
	owner->shares = 1;
	owner->claim = *claim;
	owner->foreign = found != NULL;
	owner->pid = found ? found->pids.outer : claim->pid;
	owner->parent_pid = found ? found->pids.parent : 0;
	owner_look(owner);
	return owner;
}

enum owner_answer owners_find(struct owners *o, const struct owner_claim *claim, uid_t user,
                              unsigned *tries, struct owner **owner)
{
	struct inhabitant visitor;
	const struct inhabitant *found = NULL;

	if (is_foreign(o, claim) && find_visitor(o, claim, user, &visitor)) {
		*owner = make_owner(claim, &visitor);
		return *owner ? OWNER_FOUND : OWNER_REFUSED;
	}
	// Without /proc in there, the namespace is unknown: the number is the collector's unless a
	// process in another namespace has it.
	if (is_foreign(o, claim) || !claim->namespaces.pid)
		found = search(o, claim);
	if (!found && is_foreign(o, claim)) {
		bool all = scan(o);
		found = match(o, claim);
		if (!found) {
			*tries += all;
			return *tries < SCANS_NEEDED ? OWNER_LATER : OWNER_REFUSED;
		}
	}
	// Nor is the first process of a namespace, the number of which is in each of them.
	if (!found && (claim->pid <= 1 || is_older(o, claim->pid)))
		return OWNER_REFUSED;
	*owner = make_owner(claim, found);
	return *owner ? OWNER_FOUND : OWNER_REFUSED;
}

bool owners_may_write(uint32_t pid, uid_t user)
{
	char path[32], text[4096];
	uint32_t users[4]; // real, effective, saved, of the file system

	if (user == geteuid())
		return true;
	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	if (!read_text(path, text, sizeof(text)))
		return true;
	const char *line = strstr(text, "\nUid:");
	if (!line ||
	    sscanf(line, "\nUid: %u %u %u %u", &users[0], &users[1], &users[2], &users[3]) != 4)
		return false;
	return user == users[0] || user == users[1] || user == users[2] || user == users[3];
}

uint32_t owners_pid_now(struct owners *o, const struct owner_claim *claim, uid_t user)
{
	struct inhabitant visitor;
	const struct inhabitant *found = NULL;

	if (is_foreign(o, claim)) {
		if (find_visitor(o, claim, user, &visitor))
			return visitor.pids.outer;
		found = search(o, claim);
		return found ? found->pids.outer : 0;
	}
	return claim->pid <= 1 || is_older(o, claim->pid) ? 0 : claim->pid;
}

struct owner *owner_share(struct owner *owner)
{
	owner->shares++;
	return owner;
}

void owner_release(struct owner *owner)
{
	if (!owner || --owner->shares)
		return;
	free(owner->threads);
	free(owner);
}

bool owner_is(const struct owner *owner, const struct owner_claim *claim)
{
	return owner->claim.pid == claim->pid && owner->claim.image_ns == claim->image_ns &&
	       owner->claim.namespaces.pid == claim->namespaces.pid;
}

uint32_t owner_pid(const struct owner *owner)
{
	return owner->pid;
}

static size_t place_of(const struct owner *owner, uint32_t inner)
{
	return array_search(owner->thread_count, i, owner->threads[i].inner < inner);
}

static struct thread *find_thread(const struct owner *owner, uint32_t inner)
{
	size_t at = place_of(owner, inner);

	return at < owner->thread_count && owner->threads[at].inner == inner ? &owner->threads[at]
	                                                                     : NULL;
}

static void set_thread(struct owner *owner, uint32_t inner, uint32_t outer)
{
	struct thread *known = find_thread(owner, inner);
	size_t at = place_of(owner, inner);

	if (known) {
		if (known->outer != outer)
			*known = (struct thread){ inner, outer, false };
		return;
	}
	if (!array_reserve(&owner->threads, &owner->thread_capacity, owner->thread_count + 1))
		return;
	memmove(owner->threads + at + 1, owner->threads + at,
	        (owner->thread_count++ - at) * sizeof(*owner->threads));
	owner->threads[at] = (struct thread){ inner, outer, false };
}

static bool is_known(const struct owner *owner, uint32_t outer)
{
	for (size_t i = 0; i < owner->thread_count; i++)
		if (owner->threads[i].outer == outer)
			return true;
	return false;
}

void owner_look(struct owner *owner)
{
	DIR *threads = owner->foreign ? open_threads(owner->pid) : NULL;

	for (struct dirent *entry; threads && (entry = readdir(threads));) {
		char path[320];
		struct namespace_pids pids;
		uint32_t outer = (uint32_t)strtoul(entry->d_name, NULL, 10);
		if (!isdigit((unsigned char)entry->d_name[0]) || is_known(owner, outer))
			continue;
		snprintf(path, sizeof(path), "/proc/%u/task/%s/status", owner->pid, entry->d_name);
		if (read_pids(path, &pids))
			set_thread(owner, pids.inner, outer);
	}
	if (threads)
		closedir(threads);
}

static uint32_t outer_tid(struct owners *o, struct owner *owner, uint32_t inner)
{
	if (!inner)
		return 0; // of no thread
	if (inner == owner->claim.pid)
		return owner->pid;
	struct thread *known = find_thread(owner, inner);
	if (!known) {
		owner_look(owner);
		known = find_thread(owner, inner);
	}
	if (known)
		return known->outer;
	// It has ended: a number that no other thread has.
	uint32_t made = o->next_thread++;
	set_thread(owner, inner, made);
	return made;
}

// The number of a thread that has ended may be given to another one.
static void note_life(struct owner *owner, const struct record *record)
{
	struct thread *known = find_thread(owner, record->tid);

	if (!known)
		return;
	if (record->type == RECORD_EXIT)
		known->ended = true;
	else if (record->type == RECORD_FORK && known->ended) {
		size_t at = (size_t)(known - owner->threads);
		memmove(known, known + 1, (--owner->thread_count - at) * sizeof(*known));
	}
}

static void translate_fork(struct owners *o, struct owner *owner, struct record_fork *fork,
                           bool is_process)
{
	if (!is_process) {
		if (owner->foreign) {
			fork->parent_pid = owner->pid;
			fork->parent_tid = outer_tid(o, owner, fork->parent_tid);
		}
		return;
	}
	if (owner->foreign)
		fork->parent_pid = fork->parent_tid = owner->parent_pid;
	// Its parent may have ended, and it has been given to one that is none of the run's.
	if (!fork->parent_pid || is_older(o, fork->parent_pid))
		fork->parent_pid = fork->parent_tid = owner->pid;
}

static void translate_wait(struct owners *o, struct owner *owner, struct record_wait *wait)
{
	struct wait_part *parts = (struct wait_part *)(wait + 1);

	for (uint32_t i = 0; i < wait->count; i++)
		parts[i].tid = outer_tid(o, owner, parts[i].tid);
}

void owner_translate(struct owners *o, struct owner *owner, struct record *record)
{
	bool is_process = record->tid == owner->claim.pid;

	record->pid = owner->pid;
	if (owner->foreign) {
		note_life(owner, record);
		record->tid = outer_tid(o, owner, record->tid);
	}
	if (record->type == RECORD_FORK)
		translate_fork(o, owner, (struct record_fork *)record, is_process);
	if (record->type == RECORD_OP_END && owner->foreign) {
		struct record_op_end *end = (struct record_op_end *)record;
		end->begin_tid = outer_tid(o, owner, end->begin_tid);
	}
	if (record->type == RECORD_WAIT && owner->foreign)
		translate_wait(o, owner, (struct record_wait *)record);
}

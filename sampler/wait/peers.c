// SPDX-License-Identifier: MIT
#include "sampler/wait/peers.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "sampler/wait/allowance.h"
#include "sampler/wait/connections.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

// So long what was found counts. What a program opens anew is seen after that.
#define FRESH_NS (100 * NS_PER_MS)
#define ENTRIES  256
// What a set has is read again after this, as it lies on the stack mostly.
#define SET_NS (10 * NS_PER_MS)
#define SETS   32
// A thread that is read late has gone on, and its set is overwritten: where it waits there again
// and again, the set is the last one that led to somebody.
#define LAST_NS NS_PER_SEC

// Gathering all descriptors takes at most one part of the time in this.
#define GATHER_SHARE    200

#define DESCRIPTORS_MAX 64 // of a set; more are left out

enum end_kind {
	END_NONE,
	END_PIPE,
	END_SOCKET
};

struct entry {
	uint32_t pid;
	int fd;
	uint64_t seen_ns; // 0: free, or nothing is known of it yet
	bool found;
	uint64_t nobody; // the socket that it was when nobody of the run was seen at its other end
	struct peer_end end;
};

struct set {
	uint32_t pid;
	struct wait_on on;
	uint64_t seen_ns; // 0: free
	size_t count;
	int fds[DESCRIPTORS_MAX];
	struct peer_end last; // what it led to, when that was something
	uint64_t last_ns;
	struct peer_end answer; // to who asked last, at ANSWERED_NS (0: nobody)
	bool answered;
	uint64_t answered_ns;
};

struct held {
	uint64_t inode;
	uint32_t pid;
	int fd;
	enum end_kind kind;
};

struct peers {
	struct entry entries[ENTRIES];
	struct held *held;
	size_t held_count, held_capacity;
	uint64_t gathered_ns; // when; 0: never
	uint64_t gather_ns;   // CPU time that it took
	struct set sets[SETS];
	struct allowance allowance;
	struct connections *connections;
};

struct peers *peers_new(void)
{
	return calloc(1, sizeof(struct peers));
}

void peers_free(struct peers *p)
{
	if (!p)
		return;
	connections_free(p->connections);
	free(p->held);
	free(p);
}

static enum end_kind kind_of(uint32_t pid, const char *fd, uint64_t *inode)
{
	char path[64], target[64];
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/%u/fd/%s", pid, fd);
	size = readlink(path, target, sizeof(target) - 1);
	if (size <= 0)
		return END_NONE;
	target[size] = '\0';
	bool pipe = strncmp(target, "pipe:[", 6) == 0;
	if (!pipe && strncmp(target, "socket:[", 8) != 0)
		return END_NONE;
	*inode = strtoull(target + (pipe ? 6 : 8), NULL, 10);
	return pipe ? END_PIPE : END_SOCKET;
}

// O_RDONLY, O_WRONLY or O_RDWR; -1: it cannot be seen.
static int access_of(uint32_t pid, const char *fd)
{
	char path[64], text[256];
	cleanup_close int file = -1;
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/%u/fdinfo/%s", pid, fd);
	file = open(path, O_RDONLY | O_CLOEXEC);
	size = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
	text[size > 0 ? size : 0] = '\0';
	const char *flags = strstr(text, "flags:");
	return flags ? (int)strtoul(flags + strlen("flags:"), NULL, 8) & O_ACCMODE : -1;
}

// Asks the kernel for what SHOW says of Unix sockets in STATES: of INODE, or with NLM_F_DUMP in
// FLAGS of all. The descriptor for the answer; -1: there is none.
static int ask_unix(uint16_t flags, uint32_t states, uint64_t inode, uint32_t show)
{
	cleanup_close int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	struct {
		struct nlmsghdr head;
		struct unix_diag_req ask;
	} request = {
		.head = { .nlmsg_len = sizeof(request),
		          .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		          .nlmsg_flags = NLM_F_REQUEST | flags },
		.ask = { .sdiag_family = AF_UNIX,
		         .udiag_states = states,
		         .udiag_ino = (uint32_t)inode,
		         .udiag_show = show,
		         .udiag_cookie = { UINT32_MAX, UINT32_MAX } },
	};

	if (fd < 0 || send(fd, &request, sizeof(request), 0) < 0)
		return -1;
	return steal_fd(&fd);
}

// False: INODE is no Unix socket. *PEER is the one at its other end; 0: it is not connected, or
// that is not accepted yet.
static bool unix_peer(uint64_t inode, uint64_t *peer)
{
	cleanup_close int fd = ask_unix(0, UINT32_MAX, inode, UDIAG_SHOW_PEER);
	union {
		struct nlmsghdr head;
		char bytes[1024];
	} answer;

	*peer = 0;
	if (fd < 0)
		return false;
	ssize_t size = recv(fd, &answer, sizeof(answer), 0);
	const size_t body = NLMSG_LENGTH(sizeof(struct unix_diag_msg));
	if (size < (ssize_t)body || answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    answer.head.nlmsg_len > (size_t)size || answer.head.nlmsg_len < body)
		return false;
	const struct unix_diag_msg *message = NLMSG_DATA(&answer.head);
	int left = (int)(answer.head.nlmsg_len - body);
	for (const struct rtattr *a = (const struct rtattr *)(message + 1); RTA_OK(a, left);
	     a = RTA_NEXT(a, left))
		if (a->rta_type == UNIX_DIAG_PEER && RTA_PAYLOAD(a) >= sizeof(uint32_t))
			*peer = *(const uint32_t *)RTA_DATA(a);
	return true;
}

#define LISTEN 10 // TCP_LISTEN, which Unix sockets have, too

// Whether INODE is among those that have connected to HEAD's socket, and are not accepted.
static bool is_pending(const struct nlmsghdr *head, uint64_t inode)
{
	const struct unix_diag_msg *message = NLMSG_DATA(head);
	int left = (int)(head->nlmsg_len - NLMSG_LENGTH(sizeof(*message)));

	for (const struct rtattr *a = (const struct rtattr *)(message + 1); RTA_OK(a, left);
	     a = RTA_NEXT(a, left)) {
		const uint32_t *inodes = RTA_DATA(a);
		for (size_t i = 0;
		     a->rta_type == UNIX_DIAG_ICONS && i < RTA_PAYLOAD(a) / sizeof(*inodes); i++)
			if (inodes[i] == (uint32_t)inode)
				return true;
	}
	return false;
}

// The Unix socket to which INODE has connected, and that has not accepted it; 0: there is none.
static uint64_t unix_listener(uint64_t inode)
{
	cleanup_close int fd = ask_unix(NLM_F_DUMP, 1u << LISTEN, 0, UDIAG_SHOW_ICONS);
	union {
		struct nlmsghdr head;
		char bytes[16384];
	} answer;
	ssize_t size;

	while (fd >= 0 && (size = recv(fd, &answer, sizeof(answer), 0)) > 0) {
		int left = (int)size;
		for (const struct nlmsghdr *head = &answer.head; NLMSG_OK(head, (unsigned)left);
		     head = NLMSG_NEXT(head, left)) {
			if (head->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
			    head->nlmsg_len < NLMSG_LENGTH(sizeof(struct unix_diag_msg)))
				return 0; // the end, or an error
			if (is_pending(head, inode))
				return ((const struct unix_diag_msg *)NLMSG_DATA(head))->udiag_ino;
		}
	}
	return 0;
}

// Which process has which pipes and sockets, of all that may have some.
static void add_held(struct peers *p, uint32_t pid, const char *fd)
{
	uint64_t inode = 0;
	enum end_kind kind = kind_of(pid, fd, &inode);

	if (kind != END_NONE && array_reserve(&p->held, &p->held_capacity, p->held_count + 1))
		p->held[p->held_count++] =
			(struct held){ inode, pid, (int)strtol(fd, NULL, 10), kind };
}

static void gather(void *data, uint32_t pid)
{
	struct peers *p = data;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	DIR *directory = opendir(path);
	if (!directory)
		return;
	for (const struct dirent *entry; (entry = readdir(directory));)
		if (entry->d_name[0] != '.')
			add_held(p, pid, entry->d_name);
	closedir(directory);
}

// To read all descriptors of many processes takes milliseconds: it is done when FOUND is false, or
// what is known is old, but not so often that it would take much of the time.
static bool gather_again(struct peers *p, bool found, uint64_t now_ns, peers_each *each,
                         void *context)
{
	uint64_t age_ns = now_ns - p->gathered_ns;

	if (p->gathered_ns &&
	    (age_ns < p->gather_ns * GATHER_SHARE || (found && age_ns < FRESH_NS)))
		return false;
	uint64_t start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	p->held_count = 0;
	each(context, gather, p);
	p->gather_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns;
	p->gathered_ns = now_ns;
	p->allowance.start_ns += p->gather_ns; // it has a bound of its own
	return true;
}

struct search {
	uint32_t pid; // who asks
	enum end_kind kind;
	int access; // of the end of who asks, where it is a pipe's
	struct peer_end *end;
};

static bool is_end(const struct held *held, const struct search *search)
{
	char fd[16];

	if (held->kind != search->kind || held->inode != search->end->inode)
		return false;
	snprintf(fd, sizeof(fd), "%d", held->fd);
	// A pipe that is open for both is at its own other end.
	return search->kind == END_SOCKET || access_of(held->pid, fd) != search->access;
}

// Who holds the other end, in the order in which they are. Returns whether it is the own process.
static bool find_holders(const struct peers *p, const struct search *search)
{
	struct peer_end *end = search->end;
	bool own = false;

	end->count = 0;
	for (size_t i = 0; end->inode && i < p->held_count; i++) {
		const struct held *held = &p->held[i];
		if (!is_end(held, search))
			continue;
		own |= held->pid == search->pid;
		if (held->pid != search->pid && end->count < PEERS_MAX &&
		    (!end->count || end->pids[end->count - 1] != held->pid))
			end->pids[end->count++] = held->pid;
	}
	return own;
}

static uint64_t tcp_peer(struct peers *p, uint32_t pid, uint64_t inode, uint64_t now_ns,
                         bool *known)
{
	if (!p->connections && !(p->connections = connections_new()))
		return 0;
	uint64_t start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t peer = connections_peer(p->connections, pid, inode, now_ns, known);
	// It has a bound of its own: else who connects anew for each request leaves no time to ask
	// for the other end of a pipe.
	p->allowance.start_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns;
	return peer;
}

// False: FD leads to no pipe or socket, or if *KNOWN is false, it is not known where it does.
// NOBODY is the socket that FD was when nobody of the run had its other end.
//
// Who serves a connection for a few milliseconds has closed it before it is looked for: that nobody
// of the run has it is known when a second look at the same connection says so.
static bool look(struct peers *p, uint32_t pid, int fd, uint64_t now_ns, peers_each *each,
                 void *context, struct peer_end *end, uint64_t *nobody, bool *known)
{
	char name[16];
	struct search search = { .pid = pid, .end = end };
	uint64_t inode = 0;

	*known = true;
	snprintf(name, sizeof(name), "%d", fd);
	search.kind = kind_of(pid, name, &inode);
	if (search.kind == END_NONE)
		return false;
	end->inode = inode;
	if (search.kind == END_PIPE)
		search.access = access_of(pid, name);
	else if (!unix_peer(inode, &end->inode))
		end->inode = tcp_peer(p, pid, inode, now_ns, known);
	else if (!end->inode)
		end->inode = unix_listener(inode);
	uint64_t still = 0;
	// A connection that is closed meanwhile is in no table.
	if (search.kind == END_SOCKET && !end->inode)
		*known &= kind_of(pid, name, &still) == END_SOCKET && still == inode;
	if (!*known)
		return false;
	bool own = find_holders(p, &search);
	if (end->inode && gather_again(p, end->count || own, now_ns, each, context))
		own = find_holders(p, &search);
	// Who holds it may have it since the descriptors were gathered.
	*known = search.kind != END_SOCKET || !end->inode || end->count || own ||
	         p->gathered_ns == now_ns;
	if (!*known)
		return false;
	// Of a pair within one process nobody else has an end.
	end->outside = search.kind == END_SOCKET && !end->count && !own;
	*known = !end->outside || *nobody == inode;
	*nobody = end->outside ? inode : 0;
	return *known;
}

static bool is_entry(const struct entry *e, uint32_t pid, int fd)
{
	return e->pid == pid && e->fd == fd;
}

static bool find_one(struct peers *p, uint32_t pid, int fd, uint64_t now_ns, peers_each *each,
                     void *context, struct peer_end *end)
{
	struct entry *oldest = &p->entries[0];

	for (size_t i = 0; i < ENTRIES; i++) {
		struct entry *e = &p->entries[i];
		if (is_entry(e, pid, fd)) {
			oldest = e;
			break;
		}
		if (e->seen_ns < oldest->seen_ns)
			oldest = e;
	}
	bool same = oldest->seen_ns && is_entry(oldest, pid, fd);
	if (!same || (now_ns > oldest->seen_ns + FRESH_NS)) {
		if (!allowance_begin(&p->allowance, now_ns)) {
			if (same)
				*end = oldest->end;
			return same && oldest->found;
		}
		struct entry new = { .pid = pid, .fd = fd, .seen_ns = now_ns };
		new.nobody = is_entry(oldest, pid, fd) ? oldest->nobody : 0;
		bool known;
		new.found = look(p, pid, fd, now_ns, each, context, &new.end, &new.nobody, &known);
		allowance_end(&p->allowance);
		// A client that connects anew for each request mostly does so to the same server.
		if (known)
			*oldest = new;
		else if (same)
			oldest->nobody = new.nobody;
		else
			*oldest = (struct entry){ .pid = pid, .fd = fd, .nobody = new.nobody };
		if (!known && !same)
			return false;
	}
	*end = oldest->end;
	return oldest->found;
}

static void add_end(struct peer_end *to, const struct peer_end *end)
{
	if (end->count && !to->count)
		to->inode = end->inode;
	to->outside |= end->outside;
	for (uint32_t i = 0; i < end->count; i++) {
		uint32_t k = 0;
		while (k < to->count && to->pids[k] != end->pids[i])
			k++;
		if (k == to->count && to->count < PEERS_MAX)
			to->pids[to->count++] = end->pids[i];
	}
}

#define SELECT_FDS 1024 // a larger set of select() is read so far

struct found {
	int *fds;
	size_t count;
};

static void add_fd(struct found *f, int fd)
{
	if (fd >= 0 && f->count < DESCRIPTORS_MAX)
		f->fds[f->count++] = fd;
}

// Up to SIZE bytes of PID's memory at ADDRESS. Returns how many.
static size_t read_memory(uint32_t pid, uint64_t address, void *buffer, size_t size)
{
	struct iovec local = { buffer, size };
	// NOLINTNEXTLINE(performance-no-int-to-ptr): an address in the other process
	struct iovec remote = { (void *)(uintptr_t)address, size };
	ssize_t got = process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0);

	return got > 0 ? (size_t)got : 0;
}

static void add_polled(struct found *f, uint32_t pid, uint64_t address, uint64_t count)
{
	struct pollfd polled[DESCRIPTORS_MAX];
	size_t size = (size_t)(count < DESCRIPTORS_MAX ? count : DESCRIPTORS_MAX);

	size = read_memory(pid, address, polled, size * sizeof(*polled)) / sizeof(*polled);
	for (size_t i = 0; i < size; i++)
		add_fd(f, polled[i].fd);
}

static bool is_in(const uint8_t *set, size_t fd)
{
	return set[fd / 8] >> fd % 8 & 1;
}

static void add_selected(struct found *f, uint32_t pid, uint64_t count, const uint64_t sets[2])
{
	uint8_t bits[2][SELECT_FDS / 8] = { { 0 } };
	size_t fds = count < SELECT_FDS ? (size_t)count : SELECT_FDS;

	for (int i = 0; i < 2; i++)
		if (sets[i])
			read_memory(pid, sets[i], bits[i], (fds + 7) / 8);
	for (size_t fd = 0; fd < fds; fd++)
		if (is_in(bits[0], fd) || is_in(bits[1], fd))
			add_fd(f, (int)fd);
}

// "tfd:        5 events:       19 data: ..."
static void add_epoll(struct found *f, uint32_t pid, uint64_t set)
{
	char path[64], line[256];
	unsigned fd;

	snprintf(path, sizeof(path), "/proc/%u/fdinfo/%d", pid, (int)set);
	cleanup_fclose FILE *file = fopen(path, "re");
	while (file && f->count < DESCRIPTORS_MAX && fgets(line, sizeof(line), file))
		if (sscanf(line, "tfd: %u", &fd) == 1 && fd <= INT_MAX)
			add_fd(f, (int)fd);
}

// Writes the descriptors that ON, poll, select or epoll, has a set of to FDS. Returns how many.
static size_t descriptors_of(uint32_t pid, const struct wait_on *on, int fds[DESCRIPTORS_MAX])
{
	struct found f = { .fds = fds };

	switch (on->how) {
	case WAIT_EMPTY_SET_1:
		add_polled(&f, pid, on->arguments[0], on->arguments[1]);
		break;
	case WAIT_EMPTY_SET_0:
		add_selected(&f, pid, on->arguments[0], on->arguments + 1);
		break;
	case WAIT_EPOLL:
		add_epoll(&f, pid, on->arguments[0]);
		break;
	case WAIT_PLAIN:
	case WAIT_BY_DESCRIPTOR:
		break;
	}
	return f.count;
}

static bool is_same(const struct set *set, uint32_t pid, const struct wait_on *on)
{
	return set->seen_ns && set->pid == pid && set->on.how == on->how &&
	       memcmp(set->on.arguments, on->arguments, sizeof(on->arguments)) == 0;
}

// The descriptors of ON, as they were a moment ago or are now. NULL: they may not be read by now.
static struct set *set_of(struct peers *p, uint32_t pid, const struct wait_on *on, uint64_t now_ns)
{
	struct set *oldest = &p->sets[0];

	for (size_t i = 0; i < SETS; i++) {
		if (is_same(&p->sets[i], pid, on)) {
			oldest = &p->sets[i];
			break;
		}
		if (p->sets[i].seen_ns < oldest->seen_ns)
			oldest = &p->sets[i];
	}
	bool same = is_same(oldest, pid, on);
	if (same && now_ns <= oldest->seen_ns + SET_NS)
		return oldest;
	if (!allowance_begin(&p->allowance, now_ns))
		return same ? oldest : NULL;
	if (!same)
		*oldest = (struct set){ .pid = pid, .on = *on };
	oldest->seen_ns = now_ns;
	oldest->count = descriptors_of(pid, on, oldest->fds);
	allowance_end(&p->allowance);
	return oldest;
}

static bool find_all(struct peers *p, uint32_t pid, const int *fds, size_t count, uint64_t now_ns,
                     peers_each *each, void *context, struct peer_end *end)
{
	bool found = false;

	end->descriptors = hash_bytes(fds, count * sizeof(*fds)) | 1;
	for (size_t i = 0; i < count; i++) {
		struct peer_end one = { 0 };
		if (!find_one(p, pid, fds[i], now_ns, each, context, &one))
			continue;
		if (!found)
			end->inode = one.inode;
		found = true;
		add_end(end, &one);
	}
	return found;
}

bool peers_find(struct peers *p, uint32_t pid, const struct wait_on *on, uint64_t now_ns,
                peers_each *each, void *context, struct peer_end *end)
{
	bool is_set =
		on->how == WAIT_EMPTY_SET_0 || on->how == WAIT_EMPTY_SET_1 || on->how == WAIT_EPOLL;
	int fd = on->arguments[0] <= INT_MAX ? (int)on->arguments[0] : -1;

	*end = (struct peer_end){ 0 };
	if (!is_set)
		return find_all(p, pid, &fd, fd >= 0, now_ns, each, context, end);
	struct set *set = set_of(p, pid, on, now_ns);
	if (!set)
		return false;
	// It may have hundreds of descriptors, and wait thousands of times a second.
	if (set->answered_ns && now_ns <= set->answered_ns + SET_NS) {
		*end = set->answer;
		return set->answered;
	}
	bool found = find_all(p, pid, set->fds, set->count, now_ns, each, context, end);
	if (end->count) {
		set->last = *end;
		set->last_ns = now_ns;
	} else if (set->last.count && now_ns <= set->last_ns + LAST_NS) {
		*end = set->last;
		found = true;
	}
	set->answer = *end;
	set->answered = found;
	set->answered_ns = now_ns;
	return found;
}

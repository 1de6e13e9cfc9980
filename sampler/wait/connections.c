// SPDX-License-Identifier: MIT
#include "sampler/wait/connections.h"

#include "base/array.h"
#include "base/clock.h"
#include "sampler/wait/allowance.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Of a socket that is not known, the files are not asked again sooner.
#define FRESH_NS   (100 * NS_PER_MS)
#define TABLE_MAX  (1u << 20) // bytes of a file; the rest is left out

#define SYN_SENT   2  // TCP_SYN_SENT of the kernel: its other end may be yet to come
#define CLOSE_WAIT 8  // TCP_CLOSE_WAIT: its other end may have been here
#define LISTEN     10 // TCP_LISTEN

struct connection {
	char local[48], remote[48]; // "0100007F:1F90", as the kernel writes them
	uint64_t inode;             // 0: nobody has accepted it yet
	unsigned state;
};

struct connections {
	uint64_t network; // the namespace's inode, as far as it may be seen
	uint64_t read_ns; // 0: never
	struct allowance allowance;
	struct connection *known;
	size_t count, capacity;
	bool sorted; // by ends
	char *text;
};

struct connections *connections_new(void)
{
	return calloc(1, sizeof(struct connections));
}

void connections_free(struct connections *c)
{
	if (!c)
		return;
	free(c->known);
	free(c->text);
	free(c);
}

// An IPv4 address that the kernel writes as an IPv6 one is written as the other end has it.
static void unmap(char *end)
{
	static const char mapped[] = "0000000000000000FFFF0000";
	size_t length = sizeof(mapped) - 1;

	if (strncmp(end, mapped, length) == 0 && strcspn(end, ":") == length + 8)
		memmove(end, end + length, strlen(end + length) + 1);
}

void connections_add(struct connections *c, const char *text)
{
	for (const char *line = text, *end; line; line = end ? end + 1 : NULL) {
		struct connection new = { .inode = 0 };
		unsigned long long inode;
		end = strchr(line, '\n');
		// "  0: local remote st tx:rx tr:when retrnsmt uid timeout inode ..."
		if (sscanf(line, " %*u: %47[0-9A-F:] %47[0-9A-F:] %2x %*s %*s %*s %*u %*u %llu",
		           new.local, new.remote, &new.state, &inode) != 4)
			continue;
		if (!array_reserve(&c->known, &c->capacity, c->count + 1))
			return;
		unmap(new.local);
		unmap(new.remote);
		new.inode = inode;
		c->known[c->count++] = new;
	}
	c->sorted = false;
}

static int compare(const void *a, const void *b)
{
	const struct connection *x = a, *y = b;
	int local = strcmp(x->local, y->local);

	return local ? local : strcmp(x->remote, y->remote);
}

// The socket that listens for connections to LOCAL; 0: none of the namespace does.
static uint64_t find_listener(const struct connections *c, const char *local)
{
	const char *port = strrchr(local, ':');
	uint64_t any = 0;

	for (size_t i = 0; port && i < c->count; i++) {
		const struct connection *l = &c->known[i];
		const char *own = strrchr(l->local, ':');
		if (l->state != LISTEN || !own || strcmp(own, port) != 0)
			continue;
		if (strcmp(l->local, local) == 0)
			return l->inode;
		if (strspn(l->local, "0") == (size_t)(own - l->local))
			any = l->inode;
	}
	return any;
}

// The place of INODE; the number of places: it has none.
static size_t find_own(const struct connections *c, uint64_t inode)
{
	size_t own = 0;

	while (own < c->count && (!inode || c->known[own].inode != inode))
		own++;
	return own;
}

uint64_t connections_find(struct connections *c, uint64_t inode, bool *settled)
{
	struct connection other;
	size_t own;

	*settled = false;
	if (!c->sorted && c->count)
		qsort(c->known, c->count, sizeof(*c->known), compare);
	c->sorted = true;
	own = find_own(c, inode);
	if (own == c->count)
		return 0;
	memcpy(other.local, c->known[own].remote, sizeof(other.local));
	memcpy(other.remote, c->known[own].local, sizeof(other.remote));
	const struct connection *found =
		bsearch(&other, c->known, c->count, sizeof(*c->known), compare);
	unsigned state = c->known[own].state;
	*settled = found ? found->inode != 0 : state != SYN_SENT && state != CLOSE_WAIT;
	return !found ? 0 : found->inode ? found->inode : find_listener(c, other.local);
}

static void read_file(struct connections *c, uint32_t pid, const char *family)
{
	char path[64];
	size_t size = 0;

	snprintf(path, sizeof(path), "/proc/%u/net/%s", pid, family);
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || (!c->text && !(c->text = malloc(TABLE_MAX))))
		return;
	for (ssize_t got;
	     size < TABLE_MAX - 1 && (got = read(fd, c->text + size, TABLE_MAX - 1 - size)) > 0;)
		size += (size_t)got;
	c->text[size] = '\0';
	connections_add(c, c->text);
}

static uint64_t network_of(uint32_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u/ns/net", pid);
	return stat(path, &st) == 0 ? st.st_ino : 0;
}

uint64_t connections_peer(struct connections *c, uint32_t pid, uint64_t inode, uint64_t now_ns,
                          bool *known)
{
	uint64_t network = network_of(pid), peer;
	bool same = c->read_ns && network && c->network == network;
	bool settled = false;

	peer = same ? connections_find(c, inode, &settled) : 0;
	*known = settled || peer;
	if (settled || (same && now_ns < c->read_ns + FRESH_NS) ||
	    !allowance_begin(&c->allowance, now_ns))
		return peer;
	c->count = 0;
	c->network = network;
	c->read_ns = now_ns;
	read_file(c, pid, "tcp");
	read_file(c, pid, "tcp6");
	allowance_end(&c->allowance);
	peer = connections_find(c, inode, &settled);
	// What is in no table is no connection at all.
	*known = settled || peer || find_own(c, inode) == c->count;
	return peer;
}

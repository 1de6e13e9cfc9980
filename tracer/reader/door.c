// SPDX-License-Identifier: MIT
#include "tracer/reader/door.h"

#include "base/array.h"
#include "tracer/protocol.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define VISITORS_MAX 4096 // that are remembered; as many may wait outside
#define SILENT_MAX   32   // that have come and said nothing yet

struct door {
	int fd;
	int silent[SILENT_MAX];
	size_t silent_count;
	uint64_t count; // of all that have come: the last VISITORS_MAX are kept
	struct visitor *visitors;
	size_t capacity;
};

static int open_socket(int directory)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	// A path by which any directory can be reached, however long its own is.
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", directory,
	         PROTOCOL_DOOR);
	cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	// Whoever may pass the directory may connect.
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    fchmodat(directory, PROTOCOL_DOOR, 0666, 0) < 0 || listen(fd, VISITORS_MAX) < 0)
		return -1;
	return steal_fd(&fd);
}

struct door *door_open(int directory)
{
	struct door *d = calloc(1, sizeof(*d));

	if (d)
		d->fd = open_socket(directory);
	return d;
}

void door_close(struct door *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->silent_count; i++)
		close(d->silent[i]);
	if (d->fd >= 0)
		close(d->fd);
	free(d->visitors);
	free(d);
}

static void keep(struct door *d, int fd, const struct protocol_introduction *said)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	// A process that this namespace has no number for has 0.
	if (said->magic != PROTOCOL_MAGIC || !said->pid || !said->pid_namespace ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.pid <= 1)
		return;
	if (d->count < VISITORS_MAX && !array_reserve(&d->visitors, &d->capacity, d->count + 1))
		return;
	d->visitors[d->count++ % VISITORS_MAX] = (struct visitor){
		.pid_namespace = said->pid_namespace,
		.pid = said->pid,
		.parent_pid = said->parent_pid,
		.image_ns = said->image_ns,
		.outer = (uint32_t)peer.pid,
		.user = peer.uid,
	};
}

// False if it has not said anything so far.
static bool hear(struct door *d, int fd)
{
	struct protocol_introduction said;
	ssize_t size = recv(fd, &said, sizeof(said), MSG_DONTWAIT);

	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (size == sizeof(said))
		keep(d, fd, &said);
	close(fd);
	return true;
}

// Of too many that are silent, the one that has been for longest is sent away.
static void wait_for(struct door *d, int fd)
{
	if (d->silent_count == SILENT_MAX) {
		close(d->silent[0]);
		memmove(d->silent, d->silent + 1, --d->silent_count * sizeof(d->silent[0]));
	}
	d->silent[d->silent_count++] = fd;
}

void door_listen(struct door *d)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->silent_count; i++)
		if (!hear(d, d->silent[i]))
			d->silent[kept++] = d->silent[i];
	d->silent_count = kept;
	for (int i = 0, fd; d->fd >= 0 && i < VISITORS_MAX; i++) {
		fd = accept4(d->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0)
			return;
		if (!hear(d, fd))
			wait_for(d, fd);
	}
}

static bool is_wanted(const struct visitor *v, const struct visitor *wanted, uid_t user)
{
	return v->pid == wanted->pid && v->pid_namespace == wanted->pid_namespace &&
	       v->user == user && (!wanted->image_ns || v->image_ns == wanted->image_ns);
}

static bool find_kept(const struct door *d, const struct visitor *wanted, uid_t user,
                      struct visitor *found)
{
	for (uint64_t i = d->count; i > 0 && d->count - i < VISITORS_MAX; i--) {
		const struct visitor *v = &d->visitors[(i - 1) % VISITORS_MAX];
		if (is_wanted(v, wanted, user)) {
			*found = *v;
			return true;
		}
	}
	return false;
}

bool door_find(struct door *d, const struct visitor *wanted, uid_t user, struct visitor *found)
{
	if (find_kept(d, wanted, user, found))
		return true;
	door_listen(d);
	return find_kept(d, wanted, user, found);
}

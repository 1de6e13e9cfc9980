// SPDX-License-Identifier: MIT
#include "sampler/wait/peers.h"

#include "base/clock.h"
#include "tests/support/expect.h"

#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static void visit_child(void *context, void (*visit)(void *data, uint32_t pid), void *data)
{
	visit(data, *(const uint32_t *)context);
}

static int listen_at(int family, struct sockaddr_storage *address, socklen_t *size)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*address = (struct sockaddr_storage){ .ss_family = (sa_family_t)family };
	// A Unix socket gets a name of the kernel's.
	*size = family == AF_UNIX ? sizeof(sa_family_t) : sizeof(struct sockaddr_in);
	if (family == AF_INET)
		((struct sockaddr_in *)address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_assert(fd >= 0);
	cr_assert(eq(int, bind(fd, (struct sockaddr *)address, *size), 0));
	cr_assert(eq(int, listen(fd, 4), 0));
	*size = sizeof(*address);
	cr_assert(eq(int, getsockname(fd, (struct sockaddr *)address, size), 0));
	return fd;
}

// The child alone has the listener, and is slow to accept.
static uint32_t begin_server(int listener)
{
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	close(listener);
	return (uint32_t)child;
}

Test(peers, a_connection_that_is_not_accepted_is_of_who_listens)
{
	static const int families[] = { AF_UNIX, AF_INET };

	for (size_t i = 0; i < 2; i++) {
		cleanup(peers) struct peers *p = peers_new();
		struct sockaddr_storage address;
		struct peer_end end;
		socklen_t size;
		uint32_t child = begin_server(listen_at(families[i], &address, &size));
		int fd = socket(families[i], SOCK_STREAM | SOCK_CLOEXEC, 0);
		cr_assert(eq(int, connect(fd, (struct sockaddr *)&address, size), 0));
		const struct wait_on on = { WAIT_BY_DESCRIPTOR, { (uint64_t)fd } };
		cr_expect(peers_find(p, (uint32_t)getpid(), &on, clock_now_ns(), visit_child,
		                     &child, &end));
		cr_expect(eq(u32, end.count, 1), "%zu", i);
		cr_expect(eq(u32, end.pids[0], child), "%zu", i);
		cr_expect(!end.outside, "%zu", i);
		close(fd);
		kill((pid_t)child, SIGKILL);
		waitpid((pid_t)child, NULL, 0);
	}
}

// That nobody has it is known once the descriptors have been gathered since.
Test(peers, a_connection_that_is_younger_than_what_is_known_is_not_outside)
{
	cleanup(peers) struct peers *p = peers_new();
	uint32_t self = (uint32_t)getpid(), other = begin_server(dup(STDIN_FILENO));
	const uint64_t begin = clock_now_ns(), now = begin + 10000 * UINT64_C(1000000);
	struct peer_end end;
	int ends[2], more[2];

	cr_assert(eq(int, socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0));
	cr_assert(eq(int, socketpair(AF_UNIX, SOCK_STREAM, 0, more), 0));
	const struct wait_on on = { WAIT_BY_DESCRIPTOR, { (uint64_t)ends[0] } };
	const struct wait_on on_more = { WAIT_BY_DESCRIPTOR, { (uint64_t)more[0] } };
	// The other process has none of them, and this one is not looked at.
	cr_expect(!peers_find(p, self, &on, begin, visit_child, &other, &end));
	cr_expect(!end.outside, "who had it may have closed it");
	cr_expect(peers_find(p, self, &on, now, visit_child, &other, &end));
	cr_expect(end.outside, "gathered just now, again");
	cr_expect(!peers_find(p, self, &on_more, now + 1, visit_child, &other, &end));
	cr_expect(!end.outside, "not gathered since");
	kill((pid_t)other, SIGKILL);
	waitpid((pid_t)other, NULL, 0);
}

// A client that connects anew for each request, each time at the same descriptor, to who serves it
// before anybody has looked.
Test(peers, connections_that_are_closed_before_they_are_looked_for_are_not_outside)
{
	cleanup(peers) struct peers *p = peers_new();
	uint32_t self = (uint32_t)getpid(), other = begin_server(dup(STDIN_FILENO));
	uint64_t now = clock_now_ns();

	for (int i = 0; i < 5; i++) {
		struct peer_end end;
		int ends[2];
		cr_assert(eq(int, socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0));
		const struct wait_on on = { WAIT_BY_DESCRIPTOR, { (uint64_t)ends[0] } };
		now += 1000 * UINT64_C(1000000);
		cr_expect(!peers_find(p, self, &on, now, visit_child, &other, &end));
		cr_expect(!end.outside, "%d", i);
		close(ends[0]);
		close(ends[1]);
	}
	kill((pid_t)other, SIGKILL);
	waitpid((pid_t)other, NULL, 0);
}

Test(peers, sets_of_descriptors_are_told_apart_by_their_numbers)
{
	cleanup(peers) struct peers *p = peers_new();
	uint32_t self = (uint32_t)getpid();
	struct peer_end one, same, other;
	int ends[2], more[2];

	cr_assert(eq(int, socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0));
	cr_assert(eq(int, socketpair(AF_UNIX, SOCK_STREAM, 0, more), 0));
	const struct wait_on on = { WAIT_BY_DESCRIPTOR, { (uint64_t)ends[0] } };
	const struct wait_on on_other = { WAIT_BY_DESCRIPTOR, { (uint64_t)more[0] } };
	peers_find(p, self, &on, clock_now_ns(), visit_child, &self, &one);
	peers_find(p, self, &on, clock_now_ns(), visit_child, &self, &same);
	peers_find(p, self, &on_other, clock_now_ns(), visit_child, &self, &other);
	cr_expect(ne(u64, one.descriptors, 0));
	cr_expect(eq(u64, one.descriptors, same.descriptors));
	cr_expect(ne(u64, one.descriptors, other.descriptors));
}

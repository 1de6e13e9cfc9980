// SPDX-License-Identifier: MIT
#include "sampler/wait/connections.h"

#include "base/clock.h"
#include "tests/support/expect.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER                                                                                     \
	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "      \
	"timeout inode\n"
#define ROW(local, remote, state, inode)                                                           \
	"   0: " local " " remote " " state                                                        \
	" 00000000:00000000 00:00000000 00000000     0        0 " inode                            \
	" 1 0000000000000000 20 4 30 10 -1\n"

static uint64_t find(const char *text, uint64_t inode, bool *settled)
{
	cleanup(connections) struct connections *c = connections_new();

	connections_add(c, text);
	return connections_find(c, inode, settled);
}

Test(connections, the_ends_of_one_connection_find_each_other)
{
	static const char text[] = HEADER ROW("0100007F:1F90", "00000000:0000", "0A", "10")
		ROW("0100007F:1F90", "0100007F:C350", "01", "11")
			ROW("0100007F:C350", "0100007F:1F90", "01", "12")
				ROW("0100007F:C351", "0100007F:1F90", "01", "13");
	bool settled;

	cr_expect(eq(u64, find(text, 11, &settled), 12));
	cr_expect(settled);
	cr_expect(eq(u64, find(text, 12, &settled), 11));
	// The other end of this one is elsewhere, and will be.
	cr_expect(eq(u64, find(text, 13, &settled), 0));
	cr_expect(settled);
	cr_expect(eq(u64, find(text, 14, &settled), 0));
	cr_expect(!settled);
}

Test(connections, what_is_not_accepted_or_connecting_may_find_its_end_later)
{
	bool settled;

	cr_expect(eq(u64,
	             find(ROW("0100007F:C350", "0100007F:1F90", "01", "12")
	                          ROW("0100007F:1F90", "0100007F:C350", "01", "0"),
	                  12, &settled),
	             0));
	cr_expect(!settled);
	cr_expect(
		eq(u64, find(ROW("0100007F:C350", "0100007F:1F90", "02", "12"), 12, &settled), 0));
	cr_expect(!settled);
	// Its other end has gone, and may have been here.
	cr_expect(
		eq(u64, find(ROW("0100007F:C350", "0100007F:1F90", "08", "12"), 12, &settled), 0));
	cr_expect(!settled);
	cr_expect(eq(u64, find(ROW("0100007F:C350", "0100007F:1F90", "01", "0"), 0, &settled), 0));
	cr_expect(!settled);
}

// Up to then whoever listens is to serve it.
Test(connections, what_is_not_accepted_is_of_who_listens)
{
	static const struct {
		const char *listener;
		uint64_t found;
	} rows[] = {
		{ ROW("0100007F:1F90", "00000000:0000", "0A", "10"), 10 },
		{ ROW("00000000:1F90", "00000000:0000", "0A", "10"), 10 },
		{ ROW("00000000000000000000000000000000:1F90",
		      "00000000000000000000000000000000:0000", "0A", "10"),
		  10 },
		{ ROW("0200007F:1F90", "00000000:0000", "0A", "10"), 0 },
		{ ROW("00000000:1F91", "00000000:0000", "0A", "10"), 0 },
		{ ROW("0100007F:1F90", "00000000:0000", "01", "10"), 0 },
	};
	char text[1024];
	bool settled;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(text, sizeof(text), "%s%s%s",
		         ROW("0100007F:C350", "0100007F:1F90", "01", "12"),
		         ROW("0100007F:1F90", "0100007F:C350", "01", "0"), rows[i].listener);
		cr_expect(eq(u64, find(text, 12, &settled), rows[i].found), "%zu", i);
		cr_expect(!settled);
	}
}

Test(connections, an_ipv4_connection_to_an_ipv6_socket_has_two_ends)
{
	static const char text[] = ROW("0100007F:C350", "0100007F:1F90", "01", "12")
		ROW("0000000000000000FFFF00000100007F:1F90",
	            "0000000000000000FFFF00000100007F:C350", "01", "11");
	bool settled;

	cr_expect(eq(u64, find(text, 12, &settled), 11));
	cr_expect(eq(u64, find(text, 11, &settled), 12));
}

Test(connections, lines_that_are_damaged_are_left_out)
{
	static const char *const texts[] = { "",
		                             "\n\n",
		                             "0:",
		                             "  0: 0100007F:1F90",
		                             "  0: zz zz 01 0:0 0:0 0 0 0 11\n",
		                             "  0: 0100007F:1F90 0100007F:C350 01 0:0 0:0 0 0 0" };
	bool settled;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		cr_expect(eq(u64, find(texts[i], 11, &settled), 0), "%s", texts[i]);
}

static uint64_t inode_of(int fd)
{
	struct stat st;

	cr_expect(fstat(fd, &st) == 0);
	return st.st_ino;
}

static void connect_pair(int family, int ends[2])
{
	struct sockaddr_storage address = { .ss_family = (sa_family_t)family };
	socklen_t size =
		family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
	cleanup_close int fd = socket(family, SOCK_STREAM, 0);

	if (family == AF_INET)
		((struct sockaddr_in *)&address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		((struct sockaddr_in6 *)&address)->sin6_addr = in6addr_loopback;
	ends[0] = ends[1] = -1;
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, 1) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		return;
	ends[1] = socket(family, SOCK_STREAM, 0);
	if (connect(ends[1], (struct sockaddr *)&address, size) == 0)
		ends[0] = accept(fd, NULL, NULL);
}

Test(connections, the_kernel_s_own_tables_are_read)
{
	static const int families[] = { AF_INET, AF_INET6 };

	for (size_t i = 0; i < 2; i++) {
		cleanup(connections) struct connections *c = connections_new();
		int ends[2], young[2];
		bool known = false;
		connect_pair(families[i], ends);
		if (ends[0] < 0 && families[i] == AF_INET6) // a machine may have none
			continue;
		cr_expect(ends[0] >= 0);
		uint32_t pid = (uint32_t)getpid();
		cr_expect(eq(u64, connections_peer(c, pid, inode_of(ends[0]), 1, &known),
		             inode_of(ends[1])));
		// It is known: the files are not read again, soon or late.
		cr_expect(eq(u64,
		             connections_peer(c, pid, inode_of(ends[1]), UINT64_MAX / 2, &known),
		             inode_of(ends[0])));
		cr_expect(known);
		// A younger one is not known until they are, which is not at once.
		connect_pair(families[i], young);
		cr_assert(young[0] >= 0);
		cr_expect(eq(u64, connections_peer(c, pid, inode_of(young[0]), 2, &known), 0));
		cr_expect(!known);
		cr_expect(eq(u64,
		             connections_peer(c, pid, inode_of(young[0]), 100 * NS_PER_SEC, &known),
		             inode_of(young[1])));
		cr_expect(known);
		for (int k = 0; k < 2; k++) {
			close(ends[k]);
			close(young[k]);
		}
	}
}

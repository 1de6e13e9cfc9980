// SPDX-License-Identifier: MIT
#include "sampler/wait/wait.h"
#include "tests/support/expect.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static struct wait of(const char *name)
{
	return wait_of_function(name, strlen(name));
}

Test(wait, a_system_call_is_known_by_its_number_and_by_its_entry)
{
	static const struct {
		int number;
		const char *entry;
		enum metric cause;
	} rows[] = {
		{ SYS_flock, "__do_sys_flock", METRIC_OFF_LOCK },
		{ SYS_fsync, "__x64_sys_fsync", METRIC_OFF_FILE },
		{ SYS_clock_nanosleep, "__x64_sys_clock_nanosleep", METRIC_OFF_SLEEP },
		{ SYS_wait4, "__x64_sys_wait4", METRIC_OFF_CHILD },
		{ SYS_recvfrom, "__sys_recvfrom", METRIC_OFF_NET },
		{ SYS_vfork, "__x64_sys_vfork", METRIC_OFF_CHILD },
		{ SYS_read, "ksys_read", METRIC_OFF_FILE },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_expect(eq(int, (int)wait_of_call(rows[i].number).cause, (int)rows[i].cause),
		          "%s", rows[i].entry);
		cr_expect(eq(int, (int)of(rows[i].entry).cause, (int)rows[i].cause), "%s",
		          rows[i].entry);
		cr_expect(eq(int, (int)of(rows[i].entry).rank, WAIT_CALL), "%s", rows[i].entry);
	}
}

Test(wait, what_is_not_known_is_said_to_be_unknown)
{
	cr_expect(eq(int, (int)wait_of_call(SYS_io_uring_enter).rank, WAIT_UNKNOWN));
	cr_expect(eq(int, (int)wait_of_call(SYS_io_uring_enter).cause, METRIC_OFF_OTHER));
	cr_expect(eq(int, (int)wait_of_call(-1).rank, WAIT_UNKNOWN));
	cr_expect(eq(int, (int)of("kmalloc").rank, WAIT_UNKNOWN));
	cr_expect(eq(int, (int)of("__x64_sys_").rank, WAIT_UNKNOWN));
	cr_expect(eq(int, (int)of("").rank, WAIT_UNKNOWN));
	cr_expect(eq(int, (int)of(".cold").rank, WAIT_UNKNOWN));
}

Test(wait, names_match_whole_unless_the_table_says_otherwise)
{
	cr_expect(eq(int, (int)of("do_nanosleep").cause, METRIC_OFF_SLEEP));
	cr_expect(eq(int, (int)of("do_nanosleeper").rank, WAIT_UNKNOWN));
	cr_expect(eq(int, (int)of("do_nanoslee").rank, WAIT_UNKNOWN));
	cr_expect(eq(int, (int)of("anon_pipe_read").cause, METRIC_OFF_PIPE));
	cr_expect(eq(int, (int)of("udpv6_recvmsg").rank, WAIT_UNKNOWN));
	cr_expect(eq(int, (int)of("udp_recvmsg").cause, METRIC_OFF_NET));
	cr_expect(eq(int, (int)of("udp_poll").rank, WAIT_UNKNOWN));
}

Test(wait, a_compilers_suffix_is_not_part_of_the_name)
{
	cr_expect(eq(int, (int)of("do_sigtimedwait.isra.0").cause, METRIC_OFF_SLEEP));
	cr_expect(eq(int, (int)of("do_signal_stop.cold").rank, WAIT_OVERRIDES));
}

Test(wait, a_name_ends_where_its_length_says)
{
	cr_expect(eq(int, (int)wait_of_function("do_waitX", 7).cause, METRIC_OFF_CHILD));
}

Test(wait, the_kind_of_file_tells_what_reads_wait_for)
{
	cr_expect(eq(int, (int)wait_of_mode(S_IFREG | 0644), METRIC_OFF_FILE));
	cr_expect(eq(int, (int)wait_of_mode(S_IFBLK), METRIC_OFF_FILE));
	cr_expect(eq(int, (int)wait_of_mode(S_IFSOCK), METRIC_OFF_NET));
	cr_expect(eq(int, (int)wait_of_mode(S_IFIFO), METRIC_OFF_PIPE));
	cr_expect(eq(int, (int)wait_of_mode(S_IFCHR), METRIC_OFF_PIPE));
	cr_expect(eq(int, (int)wait_of_mode(0600), METRIC_OFF_PIPE), "an eventfd has no type");
}

Test(wait, a_poll_or_select_of_nothing_is_a_sleep)
{
	struct wait poll = wait_of_call(SYS_poll), select = wait_of_call(SYS_select);

	cr_expect(eq(int, (int)wait_with_arguments(poll, 0, 0), METRIC_OFF_SLEEP));
	cr_expect(eq(int, (int)wait_with_arguments(poll, 0, 1), METRIC_OFF_NET));
	cr_expect(eq(int, (int)wait_with_arguments(select, 0, 1), METRIC_OFF_SLEEP));
	cr_expect(eq(int, (int)wait_with_arguments(select, 1, 0), METRIC_OFF_NET));
	cr_expect(
		eq(int, (int)wait_with_arguments(wait_of_call(SYS_flock), 0, 0), METRIC_OFF_LOCK));
}

Test(wait, the_filter_lets_every_known_name_pass)
{
	static const char *const known[] = { "do_wait",   "io_schedule_timeout", "__x64_sys_read",
		                             "ksys_read", "__sys_recvfrom",      "n_tty_read",
		                             "ep_poll",   "udp_recvmsg",         "exc_page_fault" };
	struct wait_filter filter;

	wait_filter_init(&filter);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		cr_expect(ne(int, (int)of(known[i]).rank, WAIT_UNKNOWN), "%s", known[i]);
		cr_expect(wait_filter_passes(&filter, known[i], strlen(known[i])), "%s", known[i]);
	}
	cr_expect(not(wait_filter_passes(&filter, "kmalloc", 7)));
	cr_expect(not(wait_filter_passes(&filter, "do", 2)));
	cr_expect(not(wait_filter_passes(&filter, "", 0)));
}

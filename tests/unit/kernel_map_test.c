// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "sampler/wait/kernel_map.h"
#include "tests/support/expect.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FIXTURE   TESTS_DIR "/data/kallsyms.txt"
#define CHAIN_MAX 16

// The address behind the first call instruction of a function of the fixture.
static uint64_t address_in(const char *function)
{
	cleanup_fclose FILE *file = fopen(FIXTURE, "r");
	char line[256], name[128];
	unsigned long address;
	char type;

	cr_assert(file != NULL);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx %c %127s", &address, &type, name) == 3 &&
		    strcmp(name, function) == 0)
			return address + 5;
	}
	cr_fatal("the fixture has no %s", function);
	return 0;
}

static enum metric cause_of(struct kernel_map *m, const char *functions)
{
	uint64_t chain[CHAIN_MAX];
	size_t count = 0;
	char *rest, copy[512];

	snprintf(copy, sizeof(copy), "%s", functions);
	for (char *f = strtok_r(copy, " ", &rest); f; f = strtok_r(NULL, " ", &rest))
		chain[count++] = address_in(f);
	return kernel_map_wait(m, chain, count).cause;
}

Test(kernel_map, chains_of_a_real_kernel_are_told_apart)
{
	// As perf saw them on Linux 6.18, innermost first.
	static const struct {
		const char *chain;
		enum metric cause;
	} rows[] = {
		{ "schedule anon_pipe_read vfs_read ksys_read do_syscall_64", METRIC_OFF_PIPE },
		{ "schedule anon_pipe_write vfs_write ksys_write do_syscall_64", METRIC_OFF_PIPE },
		{ "schedule schedule_timeout unix_stream_read_generic unix_stream_recvmsg "
		  "sock_recvmsg sock_read_iter vfs_read ksys_read do_syscall_64",
		  METRIC_OFF_NET },
		{ "schedule schedule_timeout wait_woken tcp_recvmsg_locked tcp_recvmsg "
		  "sock_recvmsg __sys_recvfrom __x64_sys_recvfrom do_syscall_64",
		  METRIC_OFF_NET },
		{ "schedule schedule_timeout wait_woken n_tty_read tty_read vfs_read ksys_read",
		  METRIC_OFF_PIPE },
		{ "schedule eventfd_read vfs_read ksys_read do_syscall_64", METRIC_OFF_PIPE },
		{ "schedule timerfd_read_iter vfs_read ksys_read do_syscall_64", METRIC_OFF_SLEEP },
		{ "schedule poll_schedule_timeout.constprop.0 do_sys_poll __x64_sys_poll",
		  METRIC_OFF_NET },
		{ "schedule poll_schedule_timeout.constprop.0 do_select core_sys_select "
		  "do_pselect.constprop.0 __x64_sys_pselect6",
		  METRIC_OFF_NET },
		{ "schedule do_epoll_wait __x64_sys_epoll_wait do_syscall_64", METRIC_OFF_NET },
		{ "schedule futex_do_wait __futex_wait futex_wait do_futex __x64_sys_futex",
		  METRIC_OFF_LOCK },
		{ "schedule do_nanosleep hrtimer_nanosleep common_nsleep __x64_sys_clock_nanosleep",
		  METRIC_OFF_SLEEP },
		{ "schedule __x64_sys_pause do_syscall_64", METRIC_OFF_SLEEP },
		{ "schedule do_sigtimedwait.isra.0 __x64_sys_rt_sigtimedwait", METRIC_OFF_SLEEP },
		{ "schedule do_wait kernel_wait4 do_syscall_64", METRIC_OFF_CHILD },
		{ "schedule schedule_timeout kernel_clone __x64_sys_vfork", METRIC_OFF_CHILD },
		{ "schedule locks_lock_inode_wait __do_sys_flock do_syscall_64", METRIC_OFF_LOCK },
		{ "schedule schedule_timeout ext4_sync_file do_fsync __x64_sys_fsync",
		  METRIC_OFF_FILE },
		{ "schedule io_schedule folio_wait_bit_common filemap_read vfs_read ksys_read",
		  METRIC_OFF_FILE },
		{ "schedule io_schedule folio_wait_bit_common filemap_fault __do_fault "
		  "handle_mm_fault exc_page_fault asm_exc_page_fault",
		  METRIC_OFF_FAULT },
		{ "schedule io_schedule folio_wait_bit_common filemap_fault __do_fault "
		  "handle_mm_fault exc_page_fault asm_exc_page_fault anon_pipe_read vfs_read "
		  "ksys_read do_syscall_64",
		  METRIC_OFF_FAULT },
		{ "__cond_resched filemap_read vfs_read ksys_read do_syscall_64",
		  METRIC_OFF_RUNNABLE },
		{ "schedule irqentry_exit_to_user_mode asm_sysvec_apic_timer_interrupt",
		  METRIC_OFF_RUNNABLE },
		{ "schedule exit_to_user_mode_loop do_syscall_64", METRIC_OFF_RUNNABLE },
		{ "schedule do_signal_stop get_signal arch_do_signal_or_restart "
		  "exit_to_user_mode_loop do_syscall_64",
		  METRIC_OFF_STOPPED },
		{ "schedule io_schedule folio_wait_bit_common", METRIC_OFF_FILE },
		{ "schedule do_syscall_64", METRIC_OFF_OTHER },
		{ "", METRIC_OFF_OTHER },
	};
	struct error err = { 0 };
	cleanup(kernel_map) struct kernel_map *m = kernel_map_open(FIXTURE, &err);

	cr_assert(m != NULL, "%s", err.text);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect(eq(int, (int)cause_of(m, rows[i].chain), (int)rows[i].cause), "%s",
		          rows[i].chain);
}

static struct kernel_map *map_of(const char *text, struct error *err)
{
	char path[64];
	cleanup_close int fd = memfd_create("kallsyms", MFD_CLOEXEC);

	cr_assert(eq(int, (int)write(fd, text, strlen(text)), (int)strlen(text)));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return kernel_map_open(path, err);
}

Test(kernel_map, a_function_ends_where_any_other_begins)
{
	// Modules are not in order.
	cleanup(kernel_map) struct kernel_map *m = map_of("ffffffffc0001000 t pipe_read\t[m]\n"
	                                                  "ffffffffc0003000 d data\t[m]\n"
	                                                  "ffffffffc0000000 t do_wait\t[m]\n"
	                                                  "ffffffffc0001800 t other\t[m]\n"
	                                                  "ffffffffc0000800 t another\t[m]\n",
	                                                  NULL);
	static const struct {
		uint64_t return_address;
		enum metric cause;
	} rows[] = {
		{ 0xffffffffc0000001, METRIC_OFF_CHILD }, { 0xffffffffc0000800, METRIC_OFF_CHILD },
		{ 0xffffffffc0000801, METRIC_OFF_OTHER }, { 0xffffffffc0001000, METRIC_OFF_OTHER },
		{ 0xffffffffc0001001, METRIC_OFF_PIPE },  { 0xffffffffc0001801, METRIC_OFF_OTHER },
		{ 0xffffffffc0000000, METRIC_OFF_OTHER }, { 0, METRIC_OFF_OTHER },
	};

	cr_assert(m != NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect(eq(int, (int)kernel_map_wait(m, &rows[i].return_address, 1).cause,
		             (int)rows[i].cause),
		          "%lx", rows[i].return_address);
}

Test(kernel_map, a_chain_need_not_be_aligned)
{
	cleanup(kernel_map) struct kernel_map *m = map_of("ffffffff81000000 t do_wait\n", NULL);
	uint64_t address = UINT64_C(0xffffffff81000010);
	char bytes[24];

	cr_assert(m != NULL);
	memcpy(bytes + 3, &address, sizeof(address));
	cr_expect(eq(int,
	             (int)kernel_map_wait(m, (const uint64_t *)(uintptr_t)(bytes + 3), 1).cause,
	             METRIC_OFF_CHILD));
}

Test(kernel_map, hidden_addresses_are_an_error_with_a_remedy)
{
	struct error err = { 0 };

	cr_expect(map_of("0000000000000000 T do_wait\n0000000000000000 t pipe_read\n", &err) ==
	          NULL);
	cr_expect(ne(str, err.text, ""));
	cr_expect(ne(str, err.hint, ""));
}

Test(kernel_map, a_missing_file_is_an_error)
{
	struct error err = { 0 };

	cr_expect(kernel_map_open(TESTS_DIR "/data/no-such-file", &err) == NULL);
	cr_expect(eq(int, err.errnum, ENOENT));
}

Test(kernel_map, lines_that_are_none_are_passed_over)
{
	char text[4096];
	int begin = snprintf(text, sizeof(text),
	                     "nonsense\n\nffffffff81000000\nffffffff81000000 t\n"
	                     "ffffffff81000000 t \nffffffff81000000tt do_wait\n");
	char *line = text + begin;

	// Longer than any name. Wherever it is cut, its rest is no line of its own.
	memset(line, 'x', 3000);
	memcpy(line, "ffffffff82000000 t ", 19);
	memcpy(line + 1023, "ffffffff83000000 t do_wait ", 27);
	strcpy(line + 3000, "\nffffffff84000000 t do_wait");
	cleanup(kernel_map) struct kernel_map *m = map_of(text, NULL);
	cr_assert(m != NULL);
	for (uint64_t top = 0x80; top <= 0x85; top++) {
		uint64_t address = UINT64_C(0xffffffff00000001) | top << 24;
		cr_expect(eq(int, (int)kernel_map_wait(m, &address, 1).cause,
		             top == 0x84 ? METRIC_OFF_CHILD : METRIC_OFF_OTHER),
		          "%lx", address);
	}
}

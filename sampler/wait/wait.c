// SPDX-License-Identifier: MIT
#include "sampler/wait/wait.h"

#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

// Headers before Linux 5.16 do not have it.
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

struct call {
	int number;
	uint8_t cause;
	uint8_t detail;
	const char *name;
};

#define CALL(name, cause)                                                                          \
	{                                                                                          \
		SYS_##name, METRIC_OFF_##cause, WAIT_PLAIN, #name                                  \
	}
#define CALL_IF(name, cause, detail)                                                               \
	{                                                                                          \
		SYS_##name, METRIC_OFF_##cause, WAIT_##detail, #name                               \
	}

// What is not here waits for something unknown, for example io_uring_enter: it
// may stand for files as well as for sockets.
static const struct call calls[] = {
	CALL_IF(read, FILE, BY_DESCRIPTOR),
	CALL_IF(write, FILE, BY_DESCRIPTOR),
	CALL_IF(readv, FILE, BY_DESCRIPTOR),
	CALL_IF(writev, FILE, BY_DESCRIPTOR),
	CALL_IF(preadv2, FILE, BY_DESCRIPTOR),
	CALL_IF(pwritev2, FILE, BY_DESCRIPTOR),
	CALL_IF(sendfile, FILE, BY_DESCRIPTOR),
	CALL_IF(splice, FILE, BY_DESCRIPTOR),
	CALL_IF(ioctl, FILE, BY_DESCRIPTOR),
	CALL_IF(poll, NET, EMPTY_SET_1),
	CALL_IF(ppoll, NET, EMPTY_SET_1),
	CALL_IF(select, NET, EMPTY_SET_0),
	CALL_IF(pselect6, NET, EMPTY_SET_0),
	CALL(tee, PIPE),
	CALL(vmsplice, PIPE),
	CALL_IF(epoll_wait, NET, EPOLL),
	CALL_IF(epoll_pwait, NET, EPOLL),
	CALL_IF(epoll_pwait2, NET, EPOLL),
	CALL(accept, NET),
	CALL(accept4, NET),
	CALL(connect, NET),
	CALL(sendto, NET),
	CALL(recvfrom, NET),
	CALL(sendmsg, NET),
	CALL(recvmsg, NET),
	CALL(sendmmsg, NET),
	CALL(recvmmsg, NET),
	CALL(shutdown, NET),
	CALL(futex, LOCK),
	CALL(futex_waitv, LOCK),
	CALL(flock, LOCK),
	CALL(fcntl, LOCK),
	CALL(semop, LOCK),
	CALL(semtimedop, LOCK),
	CALL(membarrier, LOCK),
	// These wait for the lock on the process's memory.
	CALL(mmap, LOCK),
	CALL(munmap, LOCK),
	CALL(mremap, LOCK),
	CALL(mprotect, LOCK),
	CALL(madvise, LOCK),
	CALL(brk, LOCK),
	CALL(msgrcv, PIPE),
	CALL(msgsnd, PIPE),
	CALL(mq_timedreceive, PIPE),
	CALL(mq_timedsend, PIPE),
	CALL(nanosleep, SLEEP),
	CALL(clock_nanosleep, SLEEP),
	CALL(pause, SLEEP),
	CALL(rt_sigtimedwait, SLEEP),
	CALL(rt_sigsuspend, SLEEP),
	CALL(restart_syscall, SLEEP),
	CALL(sched_yield, RUNNABLE),
	CALL(wait4, CHILD),
	CALL(waitid, CHILD),
	CALL(vfork, CHILD),
	CALL(clone, CHILD),
	CALL(clone3, CHILD),
	CALL(ptrace, STOPPED),
	CALL(pread64, FILE),
	CALL(pwrite64, FILE),
	CALL(preadv, FILE),
	CALL(pwritev, FILE),
	CALL(copy_file_range, FILE),
	CALL(fsync, FILE),
	CALL(fdatasync, FILE),
	CALL(sync, FILE),
	CALL(syncfs, FILE),
	CALL(sync_file_range, FILE),
	CALL(msync, FILE),
	CALL(mlock, FILE),
	CALL(mlockall, FILE),
	CALL(readahead, FILE),
	CALL(fadvise64, FILE),
	CALL(fallocate, FILE),
	CALL(truncate, FILE),
	CALL(ftruncate, FILE),
	CALL(open, FILE),
	CALL(openat, FILE),
	CALL(openat2, FILE),
	CALL(creat, FILE),
	CALL(close, FILE),
	CALL(stat, FILE),
	CALL(lstat, FILE),
	CALL(fstat, FILE),
	CALL(newfstatat, FILE),
	CALL(statx, FILE),
	CALL(statfs, FILE),
	CALL(access, FILE),
	CALL(faccessat, FILE),
	CALL(lseek, FILE),
	CALL(getdents, FILE),
	CALL(getdents64, FILE),
	CALL(readlink, FILE),
	CALL(readlinkat, FILE),
	CALL(rename, FILE),
	CALL(renameat, FILE),
	CALL(renameat2, FILE),
	CALL(unlink, FILE),
	CALL(unlinkat, FILE),
	CALL(mkdir, FILE),
	CALL(mkdirat, FILE),
	CALL(rmdir, FILE),
	CALL(link, FILE),
	CALL(symlink, FILE),
	CALL(chmod, FILE),
	CALL(chown, FILE),
	CALL(execve, FILE),
	CALL(execveat, FILE),
	CALL(io_getevents, FILE),
	CALL(io_submit, FILE),
	CALL(finit_module, FILE),
	CALL(mount, FILE),
	CALL(umount2, FILE),
};

struct function {
	const char *name; /* one that ends in * stands for all that begin so */
	uint8_t rank;
	uint8_t cause;
	uint8_t detail;
};

#define OVERRIDES(name, cause)                                                                     \
	{                                                                                          \
		name, WAIT_OVERRIDES, METRIC_OFF_##cause, WAIT_PLAIN                               \
	}
#define PLACE(name, cause)                                                                         \
	{                                                                                          \
		name, WAIT_PLACE, METRIC_OFF_##cause, WAIT_PLAIN                                   \
	}
#define PLACE_IF(name, cause, detail)                                                              \
	{                                                                                          \
		name, WAIT_PLACE, METRIC_OFF_##cause, WAIT_##detail                                \
	}
#define INSIDE(name, cause)                                                                        \
	{                                                                                          \
		name, WAIT_CALL, METRIC_OFF_##cause, WAIT_PLAIN                                    \
	}

// The first that fits counts. A function that does its work by a tail call is not on the stack,
// so that often `ksys_read` or `do_fsync` is all that is left of a system call.
static const struct function functions[] = {
	OVERRIDES("do_signal_stop", STOPPED),
	OVERRIDES("do_jobctl_trap", STOPPED),
	OVERRIDES("do_freezer_trap", STOPPED),
	OVERRIDES("ptrace_stop", STOPPED),
	OVERRIDES("ptrace_notify", STOPPED),
	OVERRIDES("__refrigerator", STOPPED),
	OVERRIDES("exc_page_fault", FAULT),
	OVERRIDES("do_user_addr_fault", FAULT),
	OVERRIDES("handle_mm_fault", FAULT),
	OVERRIDES("handle_userfault", FAULT),

	PLACE("__cond_resched", RUNNABLE),
	PLACE("preempt_schedule*", RUNNABLE),
	PLACE("irqentry_exit*", RUNNABLE),
	PLACE("raw_irqentry_exit_cond_resched", RUNNABLE),
	PLACE("exit_to_user_mode*", RUNNABLE),
	PLACE("do_sched_yield", RUNNABLE),
	PLACE("get_signal", STOPPED),
	PLACE("do_exit", OTHER),
	PLACE("task_work_run", FILE), // the last close of a file

	PLACE("futex_*", LOCK),
	PLACE("__futex_*", LOCK),
	PLACE("do_futex", LOCK),
	PLACE("locks_lock_inode_wait", LOCK),
	PLACE("flock_lock_inode_wait", LOCK),
	PLACE("fcntl_setlk*", LOCK),
	PLACE("do_semtimedop", LOCK),
	PLACE("__do_semtimedop", LOCK),

	PLACE("anon_pipe_*", PIPE), // pipe_read and pipe_write before 6.15
	PLACE("pipe_*", PIPE),
	PLACE("fifo_open", PIPE),
	PLACE("wait_for_partner", PIPE),
	PLACE("n_tty_*", PIPE),
	PLACE("tty_*", PIPE),
	PLACE("eventfd_*", PIPE),
	PLACE("signalfd_*", PIPE),
	PLACE("inotify_read", PIPE),
	PLACE("fuse_dev_*", PIPE),
	PLACE("do_msgrcv", PIPE),
	PLACE("do_msgsnd", PIPE),
	PLACE("do_mq_timed*", PIPE),

	PLACE_IF("do_sys_poll", NET, EMPTY_SET_1),
	PLACE_IF("do_select", NET, EMPTY_SET_0),
	PLACE_IF("core_sys_select", NET, EMPTY_SET_0),
	PLACE_IF("do_pselect", NET, EMPTY_SET_0),
	PLACE_IF("do_epoll_*", NET, EPOLL),
	PLACE_IF("ep_poll", NET, EPOLL),
	PLACE("sock_*", NET),
	PLACE("sk_wait_*", NET),
	PLACE("sk_stream_wait_*", NET),
	PLACE("__skb_wait_*", NET),
	PLACE("__skb_recv_*", NET),
	PLACE("unix_stream_*", NET),
	PLACE("unix_dgram_*", NET),
	PLACE("__unix_dgram_*", NET),
	PLACE("tcp_recvmsg*", NET),
	PLACE("tcp_sendmsg*", NET),
	PLACE("inet_csk_accept", NET),
	PLACE("inet_stream_connect", NET),
	PLACE("__inet_stream_connect", NET),
	PLACE("udp_*msg", NET),
	PLACE("vsock_*", NET),
	PLACE("netlink_*msg", NET),

	PLACE("timerfd_read*", SLEEP),
	PLACE("do_nanosleep", SLEEP),
	PLACE("hrtimer_nanosleep", SLEEP),
	PLACE("common_nsleep*", SLEEP),
	PLACE("alarm_timer_nsleep", SLEEP),
	PLACE("do_sigtimedwait", SLEEP),
	PLACE("sigsuspend", SLEEP),

	PLACE("do_wait", CHILD),
	PLACE("kernel_wait4", CHILD),
	PLACE("kernel_waitid", CHILD),
	PLACE("wait_for_vfork_done", CHILD),

	PLACE("io_schedule*", FILE),
	PLACE("folio_wait_*", FILE),
	PLACE("__folio_lock*", FILE),
	PLACE("wait_on_page_*", FILE),
	PLACE("bit_wait_io*", FILE),
	PLACE("__wait_on_buffer", FILE),
	PLACE("wait_for_completion_io*", FILE),
	PLACE("submit_bio_wait", FILE),
	PLACE("balance_dirty_pages*", FILE),
	PLACE("jbd2_log_wait_commit", FILE),
	PLACE("iterate_dir", FILE),

	INSIDE("vfs_*", FILE),
	INSIDE("do_fsync", FILE),
	INSIDE("do_filp_open", FILE),
	INSIDE("do_sys_open*", FILE),
	INSIDE("path_openat", FILE),
	INSIDE("do_accept", NET),
	INSIDE("kernel_clone", CHILD), // of vfork: waits until the child execs or exits
};

// The name of a system call follows.
static const char *const entries[] = { "__x64_sys_", "__arm64_sys_", "__do_sys_",
	                               "__se_sys_",  "__sys_",       "ksys_" };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct wait wait_of_call(int number)
{
	for (size_t i = 0; i < COUNT(calls); i++) {
		if (calls[i].number == number)
			return (struct wait){ WAIT_CALL, calls[i].cause, calls[i].detail };
	}
	return (struct wait){ WAIT_UNKNOWN, METRIC_OFF_OTHER, WAIT_PLAIN };
}

static bool is_same(const char *pattern, const char *name, size_t length)
{
	return strncmp(pattern, name, length) == 0 && pattern[length] == '\0';
}

/* PATTERN may hold one *, which stands for anything. */
static bool fits(const char *pattern, const char *name, size_t length)
{
	const char *star;
	size_t head, tail;

	if (pattern[0] != name[0]) // for speed
		return false;
	star = strchr(pattern, '*');
	if (!star)
		return is_same(pattern, name, length);
	head = (size_t)(star - pattern);
	tail = strlen(star + 1);
	return length >= head + tail && !memcmp(pattern, name, head) &&
	       !memcmp(star + 1, name + length - tail, tail);
}

/* The name of the system call whose entry NAME is, NULL if it is none. */
static const char *call_of_entry(const char *name, size_t *length)
{
	for (size_t i = 0; i < COUNT(entries); i++) {
		size_t prefix = strlen(entries[i]);
		if (*length > prefix && !memcmp(entries[i], name, prefix)) {
			*length -= prefix;
			return name + prefix;
		}
	}
	return NULL;
}

static struct wait wait_of_entry(const char *name, size_t length)
{
	const char *call = call_of_entry(name, &length);

	for (size_t i = 0; call && i < COUNT(calls); i++) {
		if (is_same(calls[i].name, call, length))
			return (struct wait){ WAIT_CALL, calls[i].cause, calls[i].detail };
	}
	return (struct wait){ WAIT_UNKNOWN, METRIC_OFF_OTHER, WAIT_PLAIN };
}

struct wait wait_of_function(const char *name, size_t length)
{
	const char *suffix = memchr(name, '.', length); // .isra.0, .cold

	if (suffix)
		length = (size_t)(suffix - name);
	if (!length)
		return (struct wait){ WAIT_UNKNOWN, METRIC_OFF_OTHER, WAIT_PLAIN };
	for (size_t i = 0; i < COUNT(functions); i++) {
		const struct function *f = &functions[i];
		if (fits(f->name, name, length))
			return (struct wait){ f->rank, f->cause, f->detail };
	}
	return wait_of_entry(name, length);
}

// Every name in the tables has three characters before a *.
static unsigned filter_bit(const char *name)
{
	uint32_t key = (uint8_t)name[0] | (uint32_t)(uint8_t)name[1] << 8 |
	               (uint32_t)(uint8_t)name[2] << 16;

	return key * UINT32_C(2654435761) >> 20;
}

static void let_pass(struct wait_filter *f, const char *name)
{
	unsigned bit = filter_bit(name);

	f->bits[bit / 64] |= UINT64_C(1) << bit % 64;
}

void wait_filter_init(struct wait_filter *f)
{
	memset(f, 0, sizeof(*f));
	for (size_t i = 0; i < COUNT(functions); i++)
		let_pass(f, functions[i].name);
	for (size_t i = 0; i < COUNT(entries); i++)
		let_pass(f, entries[i]);
}

bool wait_filter_passes(const struct wait_filter *f, const char *name, size_t length)
{
	unsigned bit = length < 3 ? 0 : filter_bit(name);

	return length >= 3 && (f->bits[bit / 64] >> bit % 64 & 1);
}

enum metric wait_of_mode(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
	case S_IFDIR:
	case S_IFBLK:
		return METRIC_OFF_FILE;
	case S_IFSOCK:
		return METRIC_OFF_NET;
	default: // pipes, terminals, eventfds and their like
		return METRIC_OFF_PIPE;
	}
}

enum metric wait_with_arguments(struct wait wait, unsigned long argument0, unsigned long argument1)
{
	if ((wait.detail == WAIT_EMPTY_SET_0 && !argument0) ||
	    (wait.detail == WAIT_EMPTY_SET_1 && !argument1))
		return METRIC_OFF_SLEEP;
	return wait.cause;
}

// SPDX-License-Identifier: MIT
#include "tracer/agent/sample/trap.h"

#include "tracer/agent/sample/signals.h"
#include "tracer/agent/system.h"
#include "tracer/agent/table.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#define FDS_MAX   256
#define HIGH      900 // below 1024, which is where most limits are
#define ABOVE_MAX 16384
#define MINOR_MAX 0x10000u

static int fds[FDS_MAX]; // atomic
AGENT_TABLE static uint64_t ids[FDS_MAX];
static uint32_t count; // atomic: of those, beginning with the first
static bool sees_kernel;

// "6.18.44-generic"
static unsigned parse_release(const char *text)
{
	unsigned parts[2] = { 0, 0 };

	for (int i = 0; i < 2; i++) {
		for (; *text >= '0' && *text <= '9' && parts[i] < MINOR_MAX / 10; text++)
			parts[i] = parts[i] * 10 + (unsigned)(*text - '0');
		if (*text == '.')
			text++;
	}
	return parts[0] * MINOR_MAX + parts[1];
}

static bool kernel_is_fit(void)
{
	struct utsname name;

	return uname(&name) == 0 && parse_release(name.release) >= 5 * MINOR_MAX + 18;
}

static int open_event(uint32_t tid, uint64_t period_ns, bool user_only)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = period_ns,
		.inherit = 1,
		.inherit_thread = 1,
		.remove_on_exec = 1,
		.sigtrap = 1,
		.sig_data = signals_trap_mark(),
		.exclude_kernel = user_only,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

// A descriptor beyond the limit stays open when that is what it was before: nobody who looks at all
// that there can be comes by. The kernel's table grows to it, so not where the limit is large.
static int above_limit(int fd)
{
	struct rlimit limit, more;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur > ABOVE_MAX)
		return -1;
	rlim_t from = limit.rlim_cur < HIGH ? HIGH : limit.rlim_cur;
	more = (struct rlimit){ from + FDS_MAX, limit.rlim_max };
	if (more.rlim_cur > more.rlim_max || setrlimit(RLIMIT_NOFILE, &more) < 0)
		return -1;
	int above = fcntl(fd, F_DUPFD_CLOEXEC, (int)from);
	setrlimit(RLIMIT_NOFILE, &limit);
	return above;
}

// Programs count on low numbers for their own.
static int move_up(int fd)
{
	int high = above_limit(fd);

	if (high < 0)
		high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH);
	if (high < 0)
		return fd;
	system_close(fd);
	return high;
}

static uint64_t event_id(int fd)
{
	uint64_t id = 0;
	int error = errno;

	if (ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0)
		id = 0;
	errno = error;
	return id;
}

// Not if the program has put a file of its own there.
static bool is_open(uint32_t i)
{
	return event_id(__atomic_load_n(&fds[i], __ATOMIC_RELAXED)) == ids[i];
}

static bool may_see_kernel(uint32_t known, bool user_only)
{
	return !user_only && (known == 0 || sees_kernel);
}

bool trap_start(uint32_t tid, uint64_t period_ns, bool user_only)
{
	uint32_t known = __atomic_load_n(&count, __ATOMIC_ACQUIRE);
	bool kernel = may_see_kernel(known, user_only);

	if (known == FDS_MAX || (known == 0 && !kernel_is_fit()))
		return false;
	int fd = open_event(tid, period_ns, !kernel);
	if (fd < 0 && kernel && (errno == EACCES || errno == EPERM)) {
		kernel = false;
		fd = open_event(tid, period_ns, true);
	}
	if (fd < 0)
		return false;
	fd = move_up(fd);
	if (known == 0)
		sees_kernel = kernel;
	ids[known] = event_id(fd);
	__atomic_store_n(&fds[known], fd, __ATOMIC_RELAXED);
	__atomic_store_n(&count, known + 1, __ATOMIC_RELEASE);
	return true;
}

void trap_stop(void)
{
	uint32_t known = __atomic_exchange_n(&count, 0, __ATOMIC_ACQ_REL);

	for (uint32_t i = 0; i < known; i++)
		if (is_open(i))
			system_close(fds[i]);
}

static void order(unsigned long what)
{
	uint32_t known = __atomic_load_n(&count, __ATOMIC_ACQUIRE);
	int error = errno;

	for (uint32_t i = 0; i < known; i++)
		ioctl(fds[i], what, 0);
	errno = error;
}

void trap_pause(void)
{
	if (trap_is_alive())
		order(PERF_EVENT_IOC_DISABLE);
}

void trap_resume(void)
{
	if (trap_is_alive())
		order(PERF_EVENT_IOC_ENABLE);
}

bool trap_sees_kernel(void)
{
	return sees_kernel;
}

bool trap_is_alive(void)
{
	return __atomic_load_n(&count, __ATOMIC_ACQUIRE) && is_open(0);
}

bool trap_is_ours(int fd)
{
	uint32_t known = __atomic_load_n(&count, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < known; i++)
		if (__atomic_load_n(&fds[i], __ATOMIC_RELAXED) == fd)
			return is_open(i);
	return false;
}

int trap_next(int from)
{
	uint32_t known = __atomic_load_n(&count, __ATOMIC_ACQUIRE);
	int next = -1;

	for (uint32_t i = 0; i < known; i++) {
		int fd = __atomic_load_n(&fds[i], __ATOMIC_RELAXED);
		if (fd >= from && (next < 0 || fd < next) && is_open(i))
			next = fd;
	}
	return next;
}

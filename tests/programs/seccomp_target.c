// SPDX-License-Identifier: MIT
// Forbids itself system calls, computes, and ends with status 7. With none of ours around it does
// not make a single one that is forbidden: seccomp_target prctl|syscall|late FILTER [COMMAND...]
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOAD(field)  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, what)
// SKIP: how many instructions on, if it is that call.
#define IS(number, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, skip, 0)
#define ANY_OF_OURS                                                                                \
	IS(SYS_gettid, 6), IS(SYS_clock_gettime, 5), IS(SYS_timer_settime, 4),                     \
		IS(SYS_timer_delete, 3), IS(SYS_process_vm_readv, 2), IS(SYS_getpid, 1)

static struct sock_filter few[] = { LOAD(nr),
	                            IS(SYS_write, 3),
	                            IS(SYS_exit_group, 2),
	                            IS(SYS_exit, 1),
	                            RETURN(SECCOMP_RET_KILL_PROCESS),
	                            RETURN(SECCOMP_RET_ALLOW) };
static struct sock_filter kill_ours[] = { LOAD(nr), ANY_OF_OURS, RETURN(SECCOMP_RET_ALLOW),
	                                  RETURN(SECCOMP_RET_KILL_PROCESS) };
static struct sock_filter trap_ours[] = { LOAD(nr), ANY_OF_OURS, RETURN(SECCOMP_RET_ALLOW),
	                                  RETURN(SECCOMP_RET_TRAP) };
static struct sock_filter lie_to_us[] = { LOAD(nr), ANY_OF_OURS, RETURN(SECCOMP_RET_ALLOW),
	                                  RETURN(SECCOMP_RET_ERRNO) };
// Of clock_gettime() only what the vDSO does anyway.
static struct sock_filter clocks[] = { LOAD(nr),
	                               IS(SYS_clock_gettime, 1),
	                               RETURN(SECCOMP_RET_ALLOW),
	                               LOAD(args[0]),
	                               IS(CLOCK_MONOTONIC, 1),
	                               RETURN(SECCOMP_RET_KILL_PROCESS),
	                               RETURN(SECCOMP_RET_ALLOW) };
// Harmless: we do none of that.
static struct sock_filter others[] = {
	LOAD(arch),        IS(AUDIT_ARCH_X86_64, 1),  RETURN(SECCOMP_RET_KILL_PROCESS), LOAD(nr),
	IS(SYS_ptrace, 1), RETURN(SECCOMP_RET_ALLOW), RETURN(SECCOMP_RET_KILL_PROCESS)
};

#define FILTER(name, array)                                                                        \
	{                                                                                          \
		name,                                                                              \
		{                                                                                  \
			sizeof(array) / sizeof((array)[0]), array                                  \
		}                                                                                  \
	}
static const struct {
	const char *name;
	struct sock_fprog program;
} filters[] = { FILTER("few", few),       FILTER("kill", kill_ours), FILTER("trap", trap_ours),
	        FILTER("lie", lie_to_us), FILTER("clocks", clocks),  FILTER("others", others) };

static const struct sock_fprog *find(const char *name)
{
	for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++)
		if (strcmp(filters[i].name, name) == 0)
			return &filters[i].program;
	exit(2);
}

static long install(const char *way, const struct sock_fprog *program)
{
	if (strcmp(way, "syscall") != 0)
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program);
	// As libseccomp asks what there is: neither may have an effect.
	syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL);
	syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL);
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, program);
}

__attribute__((noinline)) static void behind_the_filter(void)
{
	volatile unsigned long sum = 0;

	for (unsigned long i = 0; i < 150000000; i++)
		sum += i;
}

// A tick of a profiler's timer that its handler gets only behind the filter, as happens where
// another program has the CPU in between.
static siginfo_t tick;
static pid_t own;

static void catch_tick(void)
{
	const struct timespec none = { 0, 0 };
	const uint64_t urgent = UINT64_C(1) << (SIGURG - 1);
	uint64_t before;

	own = getpid();
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &urgent, &before, sizeof(before));
	behind_the_filter();
	if (syscall(SYS_rt_sigtimedwait, &urgent, &tick, &none, sizeof(urgent)) != SIGURG)
		tick.si_signo = 0; // nobody ticks here
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
}

static void send_tick(void)
{
	if (tick.si_signo)
		syscall(SYS_rt_tgsigqueueinfo, own, own, SIGURG, &tick);
}

static volatile bool running;

static void *run(void *forever)
{
	running = true;
	while (forever) // what a thread needs to end is not in the filters, either
		behind_the_filter();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 3 || pthread_create(&thread, NULL, run, argv) != 0)
		return 2;
	// What a thread needs to begin is not in the filters.
	while (!running)
		sched_yield();
	if (strcmp(argv[1], "late") == 0)
		catch_tick();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || install(argv[1], find(argv[2])) < 0) {
		perror("seccomp_target");
		return 77;
	}
	send_tick();
	behind_the_filter();
	if (argc > 3) {
		execv(argv[3], argv + 3);
		return 2;
	}
	return write(STDOUT_FILENO, "done\n", 5) == 5 ? 7 : 2;
}

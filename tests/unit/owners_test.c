// SPDX-License-Identifier: MIT
// With real namespaces: what is translated here is what the kernel says of them.
#include "tracer/reader/owners.h"

#include "base/clock.h"
#include "base/record.h"
#include "tests/support/expect.h"
#include "tests/support/temporary.h"
#include "tracer/agent/rings.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MADE       0x40000000u // numbers of threads that have ended begin here
#define OLDER_US   30000       // more than a tick of the kernel's
#define ROUNDS_MAX 200

static char directory[64];
static int directory_fd;
static struct owners *owners;
static struct namespaces own;
static uint32_t filters; // that we are under ourselves

static void set_up(void)
{
	temporary_make(directory, sizeof(directory));
	directory_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	namespaces_read(&own);
	filters = namespaces_read_filters();
	owners = owners_new(directory_fd);
	cr_assert(owners != NULL);
}

static void tear_down(void)
{
	owners_free(owners);
	close(directory_fd);
	temporary_remove(directory);
}

TestSuite(owners, .init = set_up, .fini = tear_down);

// What somebody in a namespace says of himself.
struct said {
	bool refused; // there are no namespaces to be had here
	uint32_t pid_namespace;
	uint64_t image_ns;
	struct namespace_pids process, thread;
};

struct inhabitant {
	pid_t child; // of ours, which waits for those further down
	int live;    // they live until this is closed
	struct said said;
};

static bool read_pids(const char *path, struct namespace_pids *pids)
{
	char text[4096];
	FILE *file = fopen(path, "r");
	size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	if (file)
		fclose(file);
	text[length] = '\0';
	return namespaces_parse_pids(text, pids);
}

static void *report_thread(void *argument)
{
	struct said *said = argument;

	read_pids("/proc/thread-self/status", &said->thread);
	syscall(SYS_futex, &said->refused, 128, 0, NULL, NULL, 0); // FUTEX_WAIT_PRIVATE
	return NULL;
}

static struct said said;

static void live(int tell, int wait, void (*act)(void))
{
	struct namespaces namespaces;
	pthread_t thread;
	char byte;

	namespaces_read(&namespaces);
	said.pid_namespace = namespaces.pid;
	said.image_ns = clock_now_ns();
	read_pids("/proc/self/status", &said.process);
	if (act)
		act();
	else
		pthread_create(&thread, NULL, report_thread, &said);
	while (!act && !__atomic_load_n(&said.thread.depth, __ATOMIC_ACQUIRE))
		usleep(1000);
	if (write(tell, &said, sizeof(said)) == sizeof(said))
		_exit(read(wait, &byte, 1) == 0 ? 0 : 1);
	_exit(1);
}

// Begins DEPTH namespaces, one in another, and becomes their only process.
static void descend(unsigned depth, int tell, int wait, void (*act)(void))
{
	static const struct said refused = { .refused = true };
	int flags = geteuid() ? CLONE_NEWUSER | CLONE_NEWPID : CLONE_NEWPID;
	int status = 0;

	for (; depth; depth--) {
		if (unshare(flags) < 0)
			_exit(write(tell, &refused, sizeof(refused)) != sizeof(refused));
		pid_t child = fork();
		if (child) {
			waitpid(child, &status, 0);
			_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
		}
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	}
	live(tell, wait, act);
}

// ACT, which may be NULL, is what it does before it speaks; else it has two threads.
static struct inhabitant start(unsigned depth, void (*act)(void))
{
	struct inhabitant made = { 0 };
	int tell[2], wait[2];

	cr_assert(eq(int, pipe2(tell, O_CLOEXEC), 0));
	cr_assert(eq(int, pipe2(wait, O_CLOEXEC), 0));
	made.child = fork();
	if (made.child == 0) {
		close(wait[1]);
		descend(depth, tell[1], wait[0], act);
	}
	close(tell[1]);
	close(wait[0]);
	made.live = wait[1];
	ssize_t size = read(tell[0], &made.said, sizeof(made.said));
	close(tell[0]);
	if (size == sizeof(made.said) && made.said.refused)
		cr_skip_test("no PID namespaces can be made here");
	cr_assert(eq(sz, (size_t)size, sizeof(made.said)), "it did not live to speak");
	return made;
}

static int end(struct inhabitant *i)
{
	int status = -1;

	close(i->live);
	waitpid(i->child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static struct owner_claim claim_of(const struct inhabitant *i)
{
	return (struct owner_claim){ .pid = i->said.process.inner,
		                     .image_ns = i->said.image_ns,
		                     .namespaces.pid = i->said.pid_namespace };
}

// The first answer that is final. *ROUNDS gets how many came before.
static enum owner_answer ask(struct owners *o, const struct owner_claim *claim, uid_t user,
                             struct owner **owner, unsigned *rounds)
{
	enum owner_answer answer = OWNER_LATER;
	unsigned tries = 0, round = 0;

	for (; answer == OWNER_LATER && round < ROUNDS_MAX; round++) {
		owners_begin_round(o);
		answer = owners_find(o, claim, user, &tries, owner);
		if (answer == OWNER_LATER)
			usleep(1000);
	}
	if (rounds)
		*rounds = round - 1;
	return answer;
}

static uint32_t pid_of(const struct owner_claim *claim)
{
	struct owner *owner = NULL;
	uint32_t pid = 0;

	if (ask(owners, claim, geteuid(), &owner, NULL) == OWNER_FOUND)
		pid = owner_pid(owner);
	owner_release(owner);
	return pid;
}

Test(owners, a_process_in_a_namespace_is_found_by_its_number_there)
{
	struct inhabitant i = start(1, NULL);
	struct owner_claim claim = claim_of(&i);

	cr_expect(eq(u32, i.said.process.inner, 1));
	cr_expect(ne(u32, i.said.process.outer, 1));
	cr_expect(eq(u32, pid_of(&claim), i.said.process.outer));
	cr_expect(eq(u32, owners_pid_now(owners, &claim, geteuid()), i.said.process.outer));
	end(&i);
}

Test(owners, the_innermost_of_nested_namespaces_counts)
{
	struct inhabitant i = start(3, NULL);
	struct owner_claim claim = claim_of(&i);

	cr_expect(eq(u32, i.said.process.inner, 1));
	cr_expect(eq(u32, i.said.process.depth, 4));
	cr_expect(eq(u32, pid_of(&claim), i.said.process.outer));
	end(&i);
}

Test(owners, one_number_in_two_namespaces_is_two_processes)
{
	struct inhabitant a = start(1, NULL), b = start(2, NULL);
	struct owner_claim of_a = claim_of(&a), of_b = claim_of(&b), of_either = of_b;

	cr_expect(eq(u32, of_a.pid, of_b.pid));
	cr_expect(ne(u32, of_a.namespaces.pid, of_b.namespaces.pid));
	cr_expect(eq(u32, pid_of(&of_a), a.said.process.outer));
	cr_expect(eq(u32, pid_of(&of_b), b.said.process.outer));
	of_either.namespaces.pid = 0; // without /proc in there
	cr_expect(eq(u32, pid_of(&of_either), 0));
	end(&b);
	end(&a);
}

Test(owners, who_has_begun_later_is_another_with_the_same_numbers)
{
	struct inhabitant i = start(1, NULL);
	struct owner_claim claim = claim_of(&i);

	claim.image_ns -= NS_PER_SEC;
	cr_expect(eq(u32, pid_of(&claim), 0));
	end(&i);
}

Test(owners, without_a_namespace_the_number_is_that_of_the_only_one_who_has_it)
{
	struct inhabitant i = start(1, NULL);
	struct owner_claim claim = claim_of(&i);

	claim.namespaces.pid = 0;
	cr_expect(eq(u32, pid_of(&claim), i.said.process.outer));
	end(&i);
}

Test(owners, a_namespace_that_nobody_is_in_is_waited_for_and_refused)
{
	struct owner_claim claim = { .pid = 5, .namespaces.pid = own.pid + 1 };
	struct owner *owner = NULL;
	unsigned rounds = 0;

	cr_expect(
		eq(int, (int)ask(owners, &claim, geteuid(), &owner, &rounds), (int)OWNER_REFUSED));
	cr_expect(gt(uint, rounds, 0), "its process may be about to come");
	cr_expect(eq(u32, owners_pid_now(owners, &claim, geteuid()), 0));
}

Test(owners, the_first_process_of_the_machine_is_none_of_the_runs)
{
	struct owner_claim claim = { .pid = 1, .namespaces = own };

	cr_expect(eq(u32, pid_of(&claim), 0));
	cr_expect(eq(u32, owners_pid_now(owners, &claim, geteuid()), 0));
}

// Whether a collector that begins now takes CLAIM for one of its run's.
static bool is_taken_later(const struct owner_claim *claim)
{
	struct owner *owner = NULL;
	int status = -1;

	usleep(OLDER_US);
	pid_t child = fork();
	if (child == 0) {
		char path[] = "/tmp/owners-XXXXXX";
		int fd = mkdtemp(path) ? open(path, O_RDONLY | O_DIRECTORY) : -1;
		struct owners *later = owners_new(fd);
		bool taken = !later || ask(later, claim, geteuid(), &owner, NULL) == OWNER_FOUND ||
		             owners_pid_now(later, claim, geteuid());
		unlinkat(fd, "door", 0);
		rmdir(path);
		_exit(taken);
	}
	waitpid(child, &status, 0);
	return status != 0;
}

Test(owners, who_is_older_than_the_collector_is_refused_in_each_namespace)
{
	struct inhabitant i = start(1, NULL);
	struct owner_claim inside = claim_of(&i);
	struct owner_claim outside = { .pid = (uint32_t)getpid(), .namespaces = own };

	cr_expect(not(is_taken_later(&inside)));
	cr_expect(not(is_taken_later(&outside)));
	end(&i);
}

// Records of I's, as its agent writes them.

static struct owner *owner_of(const struct inhabitant *i)
{
	struct owner_claim claim = claim_of(i);
	struct owner *owner = NULL;

	cr_assert(eq(int, (int)ask(owners, &claim, geteuid(), &owner, NULL), (int)OWNER_FOUND));
	return owner;
}

static uint32_t translate(struct owner *owner, uint16_t type, uint32_t tid)
{
	union {
		struct record head;
		struct record_fork fork;
	} record = { .fork.head = { .size = sizeof(record), .type = type, .pid = 1, .tid = tid } };

	owner_translate(owners, owner, &record.head);
	cr_expect(eq(u32, record.head.pid, owner_pid(owner)));
	return record.head.tid;
}

Test(owners, threads_get_the_numbers_that_they_have_outside)
{
	struct inhabitant i = start(2, NULL);
	struct owner *owner = owner_of(&i);
	struct record_op_end op_end = {
		.head = { .size = sizeof(op_end), .type = RECORD_OP_END, .tid = 1 },
		.begin_tid = i.said.thread.inner,
	};

	cr_expect(eq(u32, translate(owner, RECORD_SAMPLE, 1), i.said.process.outer));
	cr_expect(
		eq(u32, translate(owner, RECORD_SAMPLE, i.said.thread.inner), i.said.thread.outer));
	cr_expect(eq(u32, translate(owner, RECORD_SAMPLE, 0), 0), "of no thread");
	owner_translate(owners, owner, &op_end.head);
	cr_expect(eq(u32, op_end.head.tid, i.said.process.outer));
	cr_expect(eq(u32, op_end.begin_tid, i.said.thread.outer));
	owner_release(owner);
	end(&i);
}

Test(owners, a_thread_that_has_ended_gets_a_number_that_nobody_has)
{
	struct inhabitant i = start(1, NULL);
	struct owner *owner = owner_of(&i);
	uint32_t first = translate(owner, RECORD_SAMPLE, 77);
	uint32_t second = translate(owner, RECORD_SAMPLE, 78);

	cr_expect(ge(u32, first, MADE));
	cr_expect(ge(u32, second, MADE));
	cr_expect(ne(u32, first, second));
	cr_expect(eq(u32, translate(owner, RECORD_SAMPLE, 77), first), "it keeps it");
	cr_expect(eq(u32, translate(owner, RECORD_EXIT, 77), first));
	cr_expect(ne(u32, translate(owner, RECORD_FORK, 77), first), "another thread by now");
	owner_release(owner);
	end(&i);
}

Test(owners, forks_name_the_parents_that_there_are_outside)
{
	struct inhabitant i = start(2, NULL);
	struct owner *owner = owner_of(&i);
	struct record_fork process = {
		.head = { .size = sizeof(process), .type = RECORD_FORK, .pid = 1, .tid = 1 },
		.parent_pid = 2,
		.parent_tid = 2,
	};
	struct record_fork thread = process;

	owner_translate(owners, owner, &process.head);
	cr_expect(eq(u32, process.parent_pid, i.said.process.parent));
	cr_expect(eq(u32, process.parent_tid, i.said.process.parent));
	thread.head.tid = i.said.thread.inner;
	thread.parent_tid = 1;
	owner_translate(owners, owner, &thread.head);
	cr_expect(eq(u32, thread.head.tid, i.said.thread.outer));
	cr_expect(eq(u32, thread.parent_pid, i.said.process.outer));
	cr_expect(eq(u32, thread.parent_tid, i.said.process.outer));
	owner_release(owner);
	end(&i);
}

// Those that end before anybody looks.

static void introduce(void)
{
	static struct rings rings;

	rings_abandon(&rings); // a child begins anew
	strcpy(rings.directory, directory);
	rings.collector_namespace = own.pid;
	rings.collector_filters = filters;
	rings_introduce(&rings, (uint32_t)getpid(), said.image_ns);
}

Test(owners, who_has_introduced_itself_is_known_after_its_end)
{
	struct inhabitant i = start(2, introduce);
	struct owner_claim claim = claim_of(&i), other = claim;

	cr_assert(eq(int, end(&i), 0));
	cr_expect(eq(u32, pid_of(&claim), i.said.process.outer));
	cr_expect(eq(u32, owners_pid_now(owners, &claim, geteuid()), i.said.process.outer));
	other.image_ns++;
	cr_expect(eq(u32, pid_of(&other), 0), "another program");
	other = claim;
	other.namespaces.pid = 1; // that of none; the next number may be another test's
	cr_expect(eq(u32, pid_of(&other), 0), "another namespace");
	cr_expect(eq(u32, owners_pid_now(owners, &claim, geteuid() + 1), 0), "another user's file");
}

static void introduce_a_child(void)
{
	int status = -1;

	introduce();
	pid_t child = fork();
	if (child == 0) {
		introduce();
		_exit(getpid() == 2 ? 0 : 1);
	}
	waitpid(child, &status, 0);
	if (status)
		_exit(1);
}

Test(owners, the_parent_of_who_has_ended_is_known_if_it_has_introduced_itself)
{
	struct inhabitant i = start(1, introduce_a_child);
	struct owner_claim claim = claim_of(&i);
	struct owner *owner = NULL;
	struct record_fork process = {
		.head = { .size = sizeof(process), .type = RECORD_FORK, .pid = 2, .tid = 2 },
		.parent_pid = 1,
		.parent_tid = 1,
	};

	cr_assert(eq(int, end(&i), 0));
	claim.pid = 2;
	cr_assert(eq(int, (int)ask(owners, &claim, geteuid(), &owner, NULL), (int)OWNER_FOUND));
	owner_translate(owners, owner, &process.head);
	cr_expect(eq(u32, process.head.tid, owner_pid(owner)));
	cr_expect(eq(u32, process.parent_pid, i.said.process.outer));
	owner_release(owner);
}

static void introduce_under_a_filter(void)
{
	struct sock_filter kill[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(kill) / sizeof(kill[0]), kill };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
		introduce();
}

Test(owners, who_is_under_one_filter_more_keeps_still_and_is_found_while_it_lives)
{
	struct inhabitant i = start(1, introduce_under_a_filter);
	struct owner_claim claim = claim_of(&i);

	cr_expect(eq(u32, pid_of(&claim), i.said.process.outer));
	cr_assert(eq(int, end(&i), 0));
	cr_expect(eq(u32, pid_of(&claim), 0));
}

Test(owners, a_claim_of_another_process_than_the_visitor_has_no_effect)
{
	struct inhabitant a = start(1, introduce);
	struct owner_claim of_a = claim_of(&a), of_nobody = of_a;

	of_nobody.pid = 99;
	cr_expect(eq(u32, pid_of(&of_nobody), 0));
	cr_expect(eq(u32, pid_of(&of_a), a.said.process.outer));
	end(&a);
}

// SPDX-License-Identifier: MIT
// A process that looks and answers like a JVM, as far as it is asked.
#include "merge/record/jvm.h"

#include "base/error.h"
#include "tests/support/expect.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[64];
static int place = -1;
static pid_t child;

static void begin(void)
{
	strcpy(directory, "/tmp/jvm_XXXXXX");
	cr_assert(ne(ptr, mkdtemp(directory), NULL));
	place = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cr_assert(ge(int, place, 0));
}

static void end(void)
{
	char command[128];

	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	close(place);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	cr_expect(eq(int, system(command), 0));
}

TestSuite(jvm, .init = begin, .fini = end);

struct behaviour {
	bool library, catches;
	const char *answer; // NULL: it does not listen
};

static volatile sig_atomic_t asked;

static void on_quit(int number)
{
	asked = number;
}

static void map_library(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/libjvm.so", directory);
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, 4096) < 0 ||
	    mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		_exit(1);
}

// Listens as long as there is the file that says what the signal was for; else it says so.
static void listen_and_answer(const char *answer)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char path[128], request[256];

	snprintf(path, sizeof(path), "%s/.attach_pid%d", directory, getpid());
	if (access(path, F_OK) < 0)
		_exit(2);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/.java_pid%d", directory, getpid());
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 1) < 0)
		_exit(3);
	int client = accept(fd, NULL, NULL);
	ssize_t size = read(client, request, sizeof(request));
	if (size != 26 || memcmp(request, "1\0jcmd\0Compiler.perfmap\0\0", 26) != 0)
		_exit(4);
	if (write(client, answer, strlen(answer)) < 0)
		_exit(5);
	close(client);
	pause();
}

static void start(struct behaviour is)
{
	int ready[2];
	char byte;

	cr_assert(eq(int, pipe(ready), 0));
	child = fork();
	if (child == 0) {
		if (is.library)
			map_library();
		signal(SIGQUIT, is.catches ? on_quit : SIG_DFL);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		while (!asked || !is.answer)
			usleep(1000);
		listen_and_answer(is.answer);
		_exit(0);
	}
	cr_assert(eq(int, (int)read(ready[0], &byte, 1), 1));
	close(ready[0]);
	close(ready[1]);
}

static enum jvm_answer ask(struct error *err)
{
	return jvm_write_map(child, child, geteuid(), place, err);
}

static bool is_alive(void)
{
	int status;

	return waitpid(child, &status, WNOHANG) == 0;
}

static bool has_trigger(void)
{
	char name[64];

	snprintf(name, sizeof(name), ".attach_pid%d", child);
	return faccessat(place, name, F_OK, 0) == 0;
}

static void share(const char *text, size_t size)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/hsperfdata_somebody", directory);
	cr_assert(eq(int, mkdir(path, 0755), 0));
	snprintf(path, sizeof(path), "%s/hsperfdata_somebody/%d", directory, child);
	int fd = open(path, O_WRONLY | O_CREAT, 0600);
	cr_assert(eq(int, (int)write(fd, text, size), (int)size));
	close(fd);
}

Test(jvm, writes_its_map_when_it_is_asked)
{
	struct error err = { 0 };

	start((struct behaviour){ true, true, "0\nCommand executed successfully\n" });
	cr_expect(eq(int, ask(&err), JVM_MAPPED), "%s", err.text);
	cr_expect(is_alive());
	cr_expect(not(has_trigger()), "it stays behind");
}

Test(jvm, is_told_apart_from_other_processes_which_get_no_signal)
{
	struct error err = { 0 };

	start((struct behaviour){ false, false, NULL });
	cr_expect(eq(int, ask(&err), JVM_NONE));
	usleep(20000);
	cr_expect(is_alive());
}

Test(jvm, gets_no_signal_that_would_end_it)
{
	struct error err = { 0 };

	start((struct behaviour){ true, false, NULL });
	cr_expect(eq(int, ask(&err), JVM_NOT_YET));
	usleep(20000);
	cr_expect(is_alive());
}

Test(jvm, is_not_asked_where_it_shares_that_it_refuses)
{
	static const char shared[] = "head\0sun.rt.jvmCapabilities\0\0\0"
				     "0000";
	struct error err = { 0 };

	start((struct behaviour){ true, true, "0\n" });
	share(shared, sizeof(shared));
	cr_expect(eq(int, ask(&err), JVM_REFUSED));
	cr_expect(ne(ptr, strstr(err.text, "DisableAttachMechanism"), NULL), "%s", err.text);
	usleep(20000);
	cr_expect(is_alive(), "it exits when it gets the signal without the file");
}

Test(jvm, of_an_old_jdk_has_no_names)
{
	struct error err = { 0 };

	start((struct behaviour){
		true, true,
		"1\njava.lang.IllegalArgumentException: Unknown diagnostic command\n" });
	cr_expect(eq(int, ask(&err), JVM_REFUSED));
	cr_expect(ne(ptr, strstr(err.text, "older than 17"), NULL), "%s", err.text);
}

Test(jvm, that_something_else_is_asking_is_left_alone)
{
	struct error err = { 0 };
	char name[64];

	start((struct behaviour){ true, true, NULL });
	snprintf(name, sizeof(name), ".attach_pid%d", child);
	close(openat(place, name, O_WRONLY | O_CREAT, 0600));
	cr_expect(eq(int, ask(&err), JVM_NOT_YET));
	cr_expect(has_trigger(), "that file is not ours");
}

Test(jvm, says_in_shared_memory_whether_it_can_be_asked)
{
	static const char yes[] = "x\0sun.rt.jvmCapabilities\0\0\0001100";
	static const char no[] = "x\0sun.rt.jvmCapabilities\0000100";
	static const char cut[] = "x\0sun.rt.jvmCapabilities\0\0\0";
	static const char other[] = "x\0sun.rt.jvmCapabilities\0\0\0abc";

	cr_expect(eq(int, jvm_may_be_asked(yes, sizeof(yes)), 1));
	cr_expect(eq(int, jvm_may_be_asked(no, sizeof(no)), 0));
	cr_expect(eq(int, jvm_may_be_asked(cut, sizeof(cut)), -1));
	cr_expect(eq(int, jvm_may_be_asked(other, sizeof(other)), -1));
	cr_expect(eq(int, jvm_may_be_asked("", 0), -1));
}

// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "base/namespaces.h"
#include "tests/support/expect.h"
#include "tests/support/temporary.h"
#include "tracer/protocol.h"
#include "tracer/reader/session.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct session_options options = { .library = "/opt/agent.so",
	                                        .frequency_hz = 250,
	                                        .stack_bytes = 4096,
	                                        .ops = 6,
	                                        .malloc_bytes = 512 };

Test(session, the_directory_is_ours_alone_and_goes_with_all_that_is_in_it)
{
	struct session *session = session_new(&options, NULL);
	char path[256], file[300];
	struct stat status;

	cr_assert(session != NULL);
	snprintf(path, sizeof(path), "%s", session_directory(session));
	cr_assert(eq(int, stat(path, &status), 0));
	cr_expect(eq(u32, status.st_mode & 07777, geteuid() ? 0700 : 01733));
	snprintf(file, sizeof(file), "%s/1-2-0", path);
	fclose(fopen(file, "w"));
	session_free(session);
	cr_expect(ne(int, stat(path, &status), 0));
}

Test(session, what_root_makes_has_a_secret_name_in_a_directory_that_nobody_can_list)
{
	cleanup(session) struct session *session = session_new(&options, NULL);
	char path[256];
	struct stat status;

	cr_assert(session != NULL);
	cr_expect(eq(int, session_is_open(session), geteuid() == 0));
	if (geteuid())
		return;
	snprintf(path, sizeof(path), "%s", session_directory(session));
	char *slash = strrchr(path, '/');
	cr_expect(eq(sz, strspn(slash + 1, "0123456789abcdef"), 32));
	*slash = '\0';
	cr_assert(eq(int, stat(path, &status), 0));
	cr_expect(eq(u32, status.st_mode & 07777, 0711));
	session_free(steal(session));
	cr_expect(ne(int, stat(path, &status), 0));
}

Test(session, root_prefers_a_place_that_other_users_can_get_to)
{
	char runtime[64];

	if (geteuid())
		return;
	temporary_make(runtime, sizeof(runtime)); // as /run/user/0 is
	setenv("XDG_RUNTIME_DIR", runtime, 1);
	cleanup(session) struct session *session = session_new(&options, NULL);
	cr_assert(session != NULL);
	cr_expect(session_is_open(session));
	cr_expect(ne(int, strncmp(session_directory(session), runtime, strlen(runtime)), 0));
	temporary_remove(runtime);
}

Test(session, the_runtime_directory_is_preferred_if_it_can_be_used)
{
	char runtime[64];

	temporary_make(runtime, sizeof(runtime));
	chmod(runtime, 0711);
	setenv("XDG_RUNTIME_DIR", runtime, 1);
	cleanup(session) struct session *session = session_new(&options, NULL);
	cr_assert(session != NULL);
	cr_expect(eq(int, strncmp(session_directory(session), runtime, strlen(runtime)), 0));
	session_free(steal(session));

	setenv("XDG_RUNTIME_DIR", "/nonexistent", 1);
	session = session_new(&options, NULL);
	cr_assert(session != NULL);
	cr_expect(eq(int, strncmp(session_directory(session), "/tmp/", 5), 0));
	temporary_remove(runtime);
}

static void make_file(const char *directory, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	FILE *file = fopen(path, "w");
	cr_assert(ne(ptr, file, NULL));
	fclose(file);
}

static bool is_there(const char *directory, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return access(path, F_OK) == 0;
}

// All that is removed is in the dead run's directory: nothing beside that, nor below it but in the
// directory that other users write to.
Test(session, what_a_dead_run_has_left_goes_and_nothing_else)
{
	char runtime[64], dead[128], inside[192], other[192];
	const struct timespec old[2] = { { 1000000000, 0 }, { 1000000000, 0 } };

	temporary_make(runtime, sizeof(runtime));
	chmod(runtime, 0711);
	snprintf(dead, sizeof(dead), "%s/bottleneck-abcdef", runtime);
	snprintf(inside, sizeof(inside), "%s/0123456789abcdef0123456789abcdef", dead);
	snprintf(other, sizeof(other), "%s/other", dead);
	mkdir(dead, 0711);
	mkdir(inside, 0700);
	mkdir(other, 0700);
	make_file(runtime, "letter.txt");
	make_file(dead, PROTOCOL_ALIVE_FILE);
	make_file(dead, "1-2-0");
	make_file(inside, PROTOCOL_ALIVE_FILE);
	make_file(inside, "1-2-0");
	make_file(other, "letter.txt");
	cr_assert(eq(int, utimensat(AT_FDCWD, dead, old, 0), 0));
	setenv("XDG_RUNTIME_DIR", runtime, 1);
	cleanup(session) struct session *session = session_new(&options, NULL);
	cr_assert(session != NULL);
	cr_expect(is_there(runtime, "letter.txt"));
	cr_expect(is_there(other, "letter.txt"));
	cr_expect(!is_there(dead, "1-2-0"));
	cr_expect(!is_there(inside, ""));
	session_free(steal(session));

	snprintf(inside, sizeof(inside), "%.160s/letter.txt", other);
	unlink(inside);
	rmdir(other);
	rmdir(dead);
	temporary_remove(runtime);
}

Test(session, two_sessions_have_two_directories)
{
	cleanup(session) struct session *one = session_new(&options, NULL);
	cleanup(session) struct session *two = session_new(&options, NULL);

	cr_expect(ne(str, (char *)session_directory(one), (char *)session_directory(two)));
}

Test(session, a_child_that_exports_it_says_who_has_made_it)
{
	cleanup(session) struct session *session = session_new(&options, NULL);
	char wanted[64];
	int status;

	snprintf(wanted, sizeof(wanted), ",collector=%u,", (unsigned)getpid());
	pid_t child = fork();
	if (child == 0) {
		session_export(session, NULL);
		_exit(strstr(getenv(PROTOCOL_ENV_CONFIG), wanted) == NULL);
	}
	cr_assert(eq(int, waitpid(child, &status, 0), child));
	cr_expect(eq(int, status, 0));
}

Test(session, the_environment_leads_to_it_and_the_users_preload_stays)
{
	cleanup(session) struct session *session = session_new(&options, NULL);

	unsetenv("LD_PRELOAD");
	cr_expect(eq(int, session_export(session, NULL), 0));
	cr_expect(eq(str, getenv("LD_PRELOAD"), "/opt/agent.so"));
	cr_expect(eq(str, getenv(PROTOCOL_ENV_DIRECTORY), (char *)session_directory(session)));
	struct namespaces own;
	char config[256];
	namespaces_read(&own);
	snprintf(
		config, sizeof(config),
		"hz=250,stack=4096,kernel=0,python=0,ops=6,opshare=0,mallocshare=0,malloc=512,calls=0,gpu=0,"
		"launches=0,waits=0,pidns=%u,filters=%u,collector=%u,zero=",
		own.pid, namespaces_read_filters(), (unsigned)getpid());
	cr_expect(strncmp(getenv(PROTOCOL_ENV_CONFIG), config, strlen(config)) == 0, "%s",
	          getenv(PROTOCOL_ENV_CONFIG));
	setenv("LD_PRELOAD", "libfoo.so:/usr/lib/bar.so", 1);
	session_export(session, NULL);
	cr_expect(eq(str, getenv("LD_PRELOAD"), "/opt/agent.so:libfoo.so:/usr/lib/bar.so"));
}

Test(session, sanitized_programs_run_and_the_users_word_stands)
{
	static const char *const table[][2] = {
		{ "", "verify_asan_link_order=0" },
		{ "halt_on_error=1", "halt_on_error=1:verify_asan_link_order=0" },
		{ "verify_asan_link_order=1", "verify_asan_link_order=1" },
	};
	cleanup(session) struct session *session = session_new(&options, NULL);

	for (int i = 0; i < 3; i++) {
		setenv("ASAN_OPTIONS", table[i][0], 1);
		session_export(session, NULL);
		cr_expect(eq(str, getenv("ASAN_OPTIONS"), (char *)table[i][1]));
		session_export(session, NULL);
		cr_expect(eq(str, getenv("ASAN_OPTIONS"), (char *)table[i][1]), "twice");
	}
	unsetenv("ASAN_OPTIONS");
	session_export(session, NULL);
	cr_expect(eq(str, getenv("ASAN_OPTIONS"), "verify_asan_link_order=0"));
}

Test(session, injection_libraries_of_the_users_are_moved_and_ours_never_twice)
{
	cleanup(session) struct session *session = session_new(&options, NULL);

	setenv("NVTX_INJECTION64_PATH", "/opt/nsight.so", 1);
	unsetenv("INTEL_LIBITTNOTIFY64");
	setenv("BOTTLENECK_ITT_CHAIN", "stale", 1);
	cr_expect(eq(int, session_export(session, NULL), 0));
	cr_expect(eq(str, getenv("NVTX_INJECTION64_PATH"), "/opt/agent.so"));
	cr_expect(eq(str, getenv("BOTTLENECK_NVTX_CHAIN"), "/opt/nsight.so"));
	cr_expect(eq(str, getenv("INTEL_LIBITTNOTIFY64"), "/opt/agent.so"));
	cr_expect(eq(ptr, getenv("BOTTLENECK_ITT_CHAIN"), NULL));
	setenv("NVTX_INJECTION64_PATH", "/elsewhere/" PROTOCOL_AGENT_LIBRARY, 1);
	session_export(session, NULL);
	cr_expect(eq(str, getenv("BOTTLENECK_NVTX_CHAIN"), "/opt/nsight.so"),
	          "a session within a session");
}

Test(session, a_provider_that_is_off_leaves_the_environment_alone)
{
	struct session_options without = { .library = "/opt/agent.so", .ops = 1u << 3 };
	cleanup(session) struct session *session = session_new(&without, NULL);

	setenv("NVTX_INJECTION64_PATH", "/opt/nsight.so", 1);
	unsetenv("INTEL_LIBITTNOTIFY64");
	session_export(session, NULL);
	cr_expect(eq(str, getenv("NVTX_INJECTION64_PATH"), "/opt/nsight.so"));
	cr_expect(eq(ptr, getenv("INTEL_LIBITTNOTIFY64"), NULL));
}

Test(session, a_library_that_cannot_be_preloaded_is_an_error)
{
	static const char *const paths[] = { "/with blank/agent.so", "/with:colon/agent.so" };

	for (size_t i = 0; i < 2; i++) {
		struct session_options bad = { .library = paths[i] };
		struct error err = { 0 };
		cr_expect(session_new(&bad, &err) == NULL);
		cr_expect(strstr(err.text, paths[i]) != NULL);
		cr_expect(ne(str, err.hint, ""));
	}
}

// SPDX-License-Identifier: MIT
#include "merge/record/jit_names.h"

#include "base/error.h"
#include "base/module.h"
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char *const program[] = { "app", NULL };

static struct jit_names *make(char *const *argv)
{
	struct error err = { 0 };
	struct jit_names *n = jit_names_new(argv, &err);

	cr_assert(ne(ptr, n, NULL), "%s", err.text);
	return n;
}

Test(jit_names, are_asked_for_by_variables_that_keep_what_the_user_says)
{
	static const struct {
		const char *variable, *theirs, *ours; // %s: the directory
	} rows[] = {
		{ "NODE_OPTIONS", NULL, "--perf-basic-prof" },
		{ "NODE_OPTIONS", "", "--perf-basic-prof" },
		{ "NODE_OPTIONS", "--max-old-space-size=99",
		  "--max-old-space-size=99 --perf-basic-prof" },
		{ "NODE_OPTIONS", "--perf-basic-prof --v8-pool-size=1",
		  "--perf-basic-prof --v8-pool-size=1" },
		{ "PHP_INI_SCAN_DIR", NULL, ":%s" },
		{ "PHP_INI_SCAN_DIR", "", "%s" },
		{ "PHP_INI_SCAN_DIR", "/srv/php", "/srv/php:%s" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup(jit_names) struct jit_names *n = make(program);
		const char *percent = strstr(rows[i].ours, "%s");
		char expected[256];
		unsetenv(rows[i].variable);
		if (rows[i].theirs)
			setenv(rows[i].variable, rows[i].theirs, 1);
		snprintf(expected, sizeof(expected), "%.*s%s",
		         (int)(percent ? percent - rows[i].ours : 255), rows[i].ours,
		         percent ? jit_names_directory(n) : "");
		jit_names_export(n);
		cr_expect(eq(str, getenv(rows[i].variable), expected), "row %zu", i);
	}
}

Test(jit_names, leave_no_directory_behind)
{
	struct jit_names *n = make(program);
	char path[128], text[64] = "";

	snprintf(path, sizeof(path), "%s/names.ini", jit_names_directory(n));
	FILE *file = fopen(path, "r");
	cr_assert(ne(ptr, file, NULL));
	cr_expect(ne(ptr, fgets(text, sizeof(text), file), NULL));
	cr_expect(eq(str, text, "opcache.jit_debug=16\n"));
	fclose(file);
	snprintf(path, sizeof(path), "%s", jit_names_directory(n));
	jit_names_free(n);
	cr_expect(ne(int, access(path, F_OK), 0));
}

// A process that has ended and left a map of TEXT; whether that is removed.
static bool is_removed(const char *text, char *const *argv)
{
	cleanup(modules) struct modules *modules = modules_new();
	cleanup(jit_names) struct jit_names *n = make(argv);
	char path[64];
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	struct module jit = { .kind = MODULE_JIT,
		              .path = "[jit]",
		              .pid = pid,
		              .inner_pid = pid,
		              .user_known = true,
		              .user = geteuid(),
		              .fd = -1 };
	modules_add(modules, &jit, NULL);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	FILE *file = fopen(path, "w");
	cr_assert(ne(ptr, file, NULL));
	fputs(text, file);
	fclose(file);
	jit_names_clean(n, modules);
	return unlink(path) < 0;
}

Test(jit_names, remove_the_maps_that_they_had_written)
{
	static char *const by_user[] = { "node", "--perf-basic-prof", "app.js", NULL };
	static const char node[] = "1000 20 Builtin:ArrayMap\n2000 20 JS:~fit /a.js:1:1\n";

	unsetenv("NODE_OPTIONS");
	cr_expect(is_removed(node, program));
	cr_expect(is_removed("1000 20 JIT$$interrupt_handler\n", program));
	cr_expect(not(is_removed("1000 20 of another compiler\n", program)));
	cr_expect(not(is_removed("", program)));
	cr_expect(not(is_removed(node, by_user)), "the user wants it");
	setenv("NODE_OPTIONS", "--perf-basic-prof", 1);
	cr_expect(not(is_removed(node, program)), "the user wants it");
}

// SPDX-License-Identifier: MIT
#include "sampler/proc/proc_title.h"

#include "tests/support/expect.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

// Those in the list; names of a system that has more.
static bool is_file(void *context, const char *word)
{
	static const char *const files[] = {
		"big.cc",   "/usr/lib/crt1.o", "/tmp/ccX.s", "lib.so",
		"train.py", "data/words.txt",  "run.sh",     "hunter2"
	};

	(void)context;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (strcmp(word, files[i]) == 0)
			return true;
	return false;
}

Test(proc_title, a_file_tells_processes_of_a_program_apart)
{
	static const struct {
		const char *command, *words, *title; // words: with a | for each NUL
	} table[] = {
		{ "cc1plus", "/usr/lib/gcc/cc1plus|-quiet|-D_GNU_SOURCE|big.cc|-o|/tmp/ccX.s",
		  "cc1plus big.cc" },
		{ "ld", "ld|-plugin|lib.so|/usr/lib/crt1.o|big.cc", "ld big.cc" },
		{ "gzip", "gzip|/tmp/ccX.s|/usr/lib/crt1.o", "gzip crt1.o" },
		{ "gzip", "gzip|-9|data/words.txt", "gzip words.txt" },
		{ "grep", "grep|-c|needle|data/words.txt", "grep words.txt" },
		{ "python3", "python3|train.py|--epochs|3", "python3 train.py" },
		{ "python3", "python3|-X|dev|-m|pytest|-q", "" },
		{ "python3", "python3|-u|-m|pytest|-q", "python3 -m pytest" },
		{ "python3", "python3|-c|import this", "" },
		{ "run.sh", "/bin/sh|./run.sh|4", "" },
		{ "sh", "sh|-c|run me", "" },
		{ "git", "git|log|--all", "git log" },
		{ "docker", "docker|run|--rm|image", "docker run" },
		{ "make", "make|V=1", "" },
		{ "python3", "python3|gone/serve.py|--port=80", "python3 serve.py" },
		{ "sleep", "sleep|5", "" },
		{ "python3", "python3|5", "" },
		{ "git", "git|5", "" },
		{ "grep", "grep|needle", "" },
		{ "mysql", "mysql|s3cret", "" },
		{ "mysql", "mysql|--password=hunter2|-p|secret", "" },
		{ "postgres", "postgres: walwriter   |", "postgres: walwriter" },
		{ "postgres", "postgres:", "" },
		{ "sync", "sync: login token=abc https://me:pw@h",
		  "sync: login token=*** https://me:***@h" },
		{ "nginx", "nginx: worker process", "nginx: worker process" },
		{ "curl", "curl|https://user:pw@host/a?token=1", "" },
		{ "true", "true", "" },
		{ "true", "", "" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char words[200], title[PROC_TITLE_MAX];
		size_t size = strlen(table[i].words);
		snprintf(words, sizeof(words), "%s", table[i].words);
		for (size_t at = 0; at < size; at++)
			words[at] = words[at] == '|' ? '\0' : words[at];
		proc_title_of(words, size, table[i].command, is_file, NULL, title);
		cr_expect(eq(str, title, (char *)table[i].title), "%s", table[i].words);
	}
}

Test(proc_title, a_long_word_is_cut)
{
	char words[4097], title[PROC_TITLE_MAX];

	memset(words, 'a', sizeof(words));
	words[10] = words[4096] = '\0';
	proc_title_of(words, 4096, "aaaaaaaaaa", is_file, NULL, title);
	cr_expect(lt(sz, strlen(title), PROC_TITLE_MAX));
}

Test(proc_title, of_a_process_that_is_gone_nothing_is_known)
{
	char title[PROC_TITLE_MAX] = "old";

	proc_title_read(0x7ffffff0, "app", title);
	cr_expect(eq(str, title, (char *)""));
	proc_title_read((uint32_t)getpid(), "app", title);
	cr_expect(lt(sz, strlen(title), PROC_TITLE_MAX));
}

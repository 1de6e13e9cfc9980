// SPDX-License-Identifier: MIT
#include "cli/report/facts.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/rank.h"
#include "base/secret.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifndef BOTTLENECK_VERSION
#define BOTTLENECK_VERSION "?"
#endif

#define SAFE_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%_-+=:,./"

static void print_quoted(FILE *out, const char *word)
{
	if (*word && strspn(word, SAFE_CHARACTERS) == strlen(word)) {
		fputs(word, out);
		return;
	}
	fputc('\'', out);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", out);
		else
			fputc(*word, out);
	}
	fputc('\'', out);
}

static char *quote_all(char *const *argv)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (int i = 0; argv[i]; i++) {
		if (i)
			fputc(' ', out);
		print_quoted(out, argv[i]);
	}
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

uint32_t facts_cpus(void)
{
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
		return (uint32_t)CPU_COUNT(&cpus);
	long online = sysconf(_SC_NPROCESSORS_ONLN); // more than 1024 CPUs
	return online > 0 ? (uint32_t)online : 0;
}

int facts_take(struct facts *facts, char *const *argv, struct run *run)
{
	struct utsname name;

	memset(facts, 0, sizeof(*facts));
	cleanup_free char *command = quote_all(argv);
	facts->command = command ? secret_mask(command) : NULL;
	if (!facts->command)
		return -1;
	if (!getcwd(facts->directory, sizeof(facts->directory)))
		facts->directory[0] = '\0'; // it may be gone; then nothing is relative to it
	if (uname(&name) == 0) {
		snprintf(facts->host, sizeof(facts->host), "%s", name.nodename);
		snprintf(facts->kernel, sizeof(facts->kernel), "%s", name.release);
	}
	struct rank rank = rank_now();
	*run = (struct run){
		.command = facts->command,
		.directory = facts->directory,
		.host = facts->host,
		.has_rank = rank.known,
		.rank = rank.number,
		.world = rank.world,
		.kernel = facts->kernel,
		.version = BOTTLENECK_VERSION,
		.start_realtime_ns = clock_ns(CLOCK_REALTIME),
		.start_ns = clock_now_ns(),
		.exit_status = -1,
		.cpus = facts_cpus(),
	};
	return 0;
}

void facts_fini(struct facts *facts)
{
	free(facts->command);
}

// SPDX-License-Identifier: MIT
#include "merge/record/binding.h"

#include "base/cleanup.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX  256
#define STATUS_BYTES 4096

// "0-3,8" as the kernel prints it.
static void add_list(const char *text, cpu_set_t *cpus)
{
	char *end;

	for (const char *at = text; isdigit((unsigned char)*at); at = end + (*end == ',')) {
		unsigned long first = strtoul(at, &end, 10), last = first;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (unsigned long cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++)
			CPU_SET(cpu, cpus);
	}
}

void binding_add(struct binding *b, const char *text)
{
	static const char state_key[] = "\nState:\t", list_key[] = "\nCpus_allowed_list:\t";
	const char *state = strstr(text, state_key), *list = strstr(text, list_key);

	if (!state || !list || state[strlen(state_key)] != 'R')
		return;
	b->threads++;
	add_list(list + strlen(list_key), &b->cpus);
}

void binding_read(const char *prefix, uint32_t pid, struct binding *b)
{
	char path[PATH_MAX], text[STATUS_BYTES];
	int count = 0;

	*b = (struct binding){ 0 };
	snprintf(path, sizeof(path), "%s/proc/%u/task", prefix, pid);
	DIR *directory = opendir(path);
	for (struct dirent *entry;
	     directory && count < THREADS_MAX && (entry = readdir(directory));) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		count++;
		snprintf(path, sizeof(path), "%s/proc/%u/task/%s/status", prefix, pid,
		         entry->d_name);
		cleanup_fclose FILE *file = fopen(path, "re");
		size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
		text[length] = '\0';
		binding_add(b, text);
	}
	if (directory)
		closedir(directory);
}

bool binding_is_narrow(const struct binding *b, const cpu_set_t *cpus)
{
	cpu_set_t both;

	CPU_AND(&both, &b->cpus, cpus);
	int own = CPU_COUNT(&both);
	return own && own < CPU_COUNT(cpus) && b->threads > (uint32_t)own;
}

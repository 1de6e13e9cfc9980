// SPDX-License-Identifier: MIT
// Loads two plugins in turn, at the same addresses as a rule, and unloads each again.
#include "truth.h"

#include <dlfcn.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int at_a, at_b;

static int use(const char *directory, const char *name, const char *function, uint64_t n, int *at)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	void *library = dlopen(path, RTLD_NOW);
	uint64_t (*run)(uint64_t, int *) =
		library ? (uint64_t(*)(uint64_t, int *))dlsym(library, "plugin_run") : NULL;
	if (!run) {
		fprintf(stderr, "%s\n", dlerror());
		return -1;
	}
	uint64_t start = truth_cpu();
	run(n, at);
	truth_add("self", function, "plugin.c", *at, truth_cpu() - start);
	return dlclose(library);
}

int main(void)
{
	uint64_t a = truth_steps(35), b = truth_steps(65);
	char exe[4096] = "";

	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		return 1;
	const char *directory = dirname(exe);
	for (int round = truth_rounds(); round > 0; round--) {
		if (use(directory, "libtruth_plugin_a.so", "plugin_a_work", a, &at_a) < 0 ||
		    use(directory, "libtruth_plugin_b.so", "plugin_b_work", b, &at_b) < 0)
			return 1;
	}
	truth_fact("least path", "plugin_run;plugin_a_work", 25);
	truth_fact("least path", "main;use;plugin_run;plugin_b_work", 55);
	truth_print();
	return 0;
}

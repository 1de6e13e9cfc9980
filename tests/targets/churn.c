// SPDX-License-Identifier: MIT
// Loads and unloads two libraries 2,000 times, with a moment of work in each.
#include "truth.h"

#include <dlfcn.h>
#include <libgen.h>
#include <stdio.h>
#include <unistd.h>

static int at[2];

int main(void)
{
	static const char *const names[] = { "plugin_a_work", "plugin_b_work" };
	char exe[4096] = "", path[2][4200];
	uint64_t n = truth_steps(truth_rounds() * 100.0 / 2000);

	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		return 1;
	const char *directory = dirname(exe);
	for (int i = 0; i < 2; i++)
		snprintf(path[i], sizeof(path[i]), "%s/libtruth_plugin_%c.so", directory, 'a' + i);
	for (int i = 0; i < 2000; i++) {
		void *library = dlopen(path[i % 2], RTLD_NOW);
		uint64_t (*run)(uint64_t, int *) =
			library ? (uint64_t(*)(uint64_t, int *))dlsym(library, "plugin_run") : NULL;
		if (!run)
			return 1;
		run(n, &at[i % 2]);
		dlclose(library);
	}
	// A turn is about as long as a sampling period: the two need not come out even.
	for (int i = 0; i < 2; i++)
		truth_fact("least total", names[i], 40);
	truth_print();
	return 0;
}

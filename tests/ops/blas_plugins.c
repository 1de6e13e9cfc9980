// SPDX-License-Identifier: MIT
/*
 * blas_plugins A B: loads two plugins, which each bring a library of the same
 * functions for themselves alone, one after the other and together. Says whose
 * function each of them has called.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *load(const char *path)
{
	void *plugin = dlopen(path, RTLD_LAZY | RTLD_LOCAL);

	if (plugin)
		return plugin;
	printf("%s\n", dlerror());
	exit(1);
}

static void call(void *plugin)
{
	int (*function)(void) = (int (*)(void))dlsym(plugin, "plugin_call");

	printf("%c", function() - 2);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	for (int round = 0; round < 3; round++)
		for (int i = 1; i <= 2; i++) {
			void *plugin = load(argv[i]);
			call(plugin);
			dlclose(plugin);
		}
	void *a = load(argv[1]), *b = load(argv[2]);
	for (int round = 0; round < 3; round++) {
		call(a);
		call(b);
	}
	printf("\n");
	return 0;
}

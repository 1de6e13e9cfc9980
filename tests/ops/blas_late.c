// SPDX-License-Identifier: MIT
/* blas_late PLUGIN…: loads each, has it look, and unloads it. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		void *plugin = dlopen(argv[i], RTLD_NOW);
		int (*look)(void) = plugin ? (int (*)(void))dlsym(plugin, "look") : NULL;
		if (!look) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		look();
		dlclose(plugin);
	}
	return 0;
}

// SPDX-License-Identifier: MIT
// self_embed LIBPYTHON [direct]: loads an interpreter late, into a process whose threads run
// already, and runs a function of Python in the main thread while they work.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *work(void *argument)
{
	volatile unsigned long sum = 0;

	(void)argument;
	while (cpu_s() < 0.4)
		for (int i = 0; i < 10000; i++)
			sum += (unsigned long)i;
	return NULL;
}

static void *find(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (!found) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return found;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	struct timespec moment = { 0, 50 * 1000 * 1000 };

	if (argc < 2)
		return 1;
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	nanosleep(&moment, NULL);
	void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	((void (*)(int))find(library, "Py_InitializeEx"))(0);
	int failed = ((int (*)(const char *, void *))find(library, "PyRun_SimpleStringFlags"))(
		"import time\n"
		"def burn():\n"
		"    end = time.thread_time() + 0.4\n"
		"    while time.thread_time() < end: pass\n"
		"burn()\n",
		NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	puts(failed ? "failed" : "done");
	return failed;
}

// SPDX-License-Identifier: MIT
// self_restart LIBPYTHON TIMES: an interpreter that begins and ends several times in one process.
// Each time the main thread runs a function of Python, and threads of the program's own do.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 2

static struct {
	void (*initialize)(int with_signals);
	int (*finalize)(void);
	int (*run)(const char *text, void *flags);
	void *(*save)(void);
	void (*restore)(void *thread);
	int (*ensure)(void);
	void (*release)(int state);
} python;

static void *find(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (!found) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return found;
}

static void find_all(void *library)
{
	python.initialize = (void (*)(int))find(library, "Py_InitializeEx");
	python.finalize = (int (*)(void))find(library, "Py_FinalizeEx");
	python.run = (int (*)(const char *, void *))find(library, "PyRun_SimpleStringFlags");
	python.save = (void *(*)(void))find(library, "PyEval_SaveThread");
	python.restore = (void (*)(void *))find(library, "PyEval_RestoreThread");
	python.ensure = (int (*)(void))find(library, "PyGILState_Ensure");
	python.release = (void (*)(int))find(library, "PyGILState_Release");
}

static void *work(void *unused)
{
	int state = python.ensure();

	python.run("burn(0.02)\n", NULL);
	python.release(state);
	return unused;
}

static void run_threads(void)
{
	pthread_t threads[THREADS];
	void *saved = python.save();

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	python.restore(saved);
}

// With its own handlers of signals in every other turn.
static int turn(int number)
{
	python.initialize(number % 2);
	int failed = python.run("import gc, json, time\n"
	                        "def burn(seconds):\n"
	                        "    end = time.thread_time() + seconds\n"
	                        "    while time.thread_time() < end: json.loads('[1, {}]')\n"
	                        "for _ in range(10): gc.collect()\n"
	                        "burn(0.05)\n",
	                        NULL);
	run_threads();
	if (python.finalize() < 0)
		failed = 1;
	printf("turn %d: %s\n", number, failed ? "failed" : "done");
	return failed;
}

int main(int argc, char **argv)
{
	void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
	int failed = 0;

	if (!library) {
		fprintf(stderr, "%s\n", argc == 3 ? dlerror() : "a library, and how many times");
		return 1;
	}
	find_all(library);
	for (int i = 0; i < atoi(argv[2]); i++)
		failed |= turn(i);
	return failed;
}

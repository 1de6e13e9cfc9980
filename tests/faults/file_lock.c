// SPDX-License-Identifier: MIT
// Processes write records to one file under a lock on it, and hold that while they compute them.
#include "fault.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS    300
#define PROCESSES 3

static char path[] = "/tmp/file_lock-XXXXXX";

static unsigned compute(unsigned i)
{
	for (int k = 0; k < 1000000; k++)
		i = i * 1664525 + 1013904223; // fault: CPU-HOLDER
	return i;
}

static void record(int file, int i, unsigned value)
{
	if (pwrite(file, &value, sizeof(value), i * (off_t)sizeof(value)) != sizeof(value))
		_exit(1);
}

static void work_locked(int first, int file)
{
	for (int i = first; i < ROUNDS; i += PROCESSES) {
		flock(file, LOCK_EX);
		record(file, i, compute(i));
		flock(file, LOCK_UN);
	}
}

static void work(int first, int file)
{
	for (int i = first; i < ROUNDS; i += PROCESSES) {
		unsigned value = compute(i);

		flock(file, LOCK_EX);
		record(file, i, value);
		flock(file, LOCK_UN);
	}
}

static void run(void (*function)(int first, int file))
{
	int file = mkstemp(path);
	int status, failed = file < 0;
	pid_t last = 0;

	for (int i = 0; i < PROCESSES; i++) {
		if (i == PROCESSES - 1)
			usleep(20000); // the others have begun
		last = fork();
		if (last)
			continue;
		// A lock of flock(2) is one of the open file: each process opens its own.
		function(i, open(path, O_RDWR));
		_exit(0);
	}
	// flock(2) is unfair: they end one after the other. The run waits for what the last one
	// waits for.
	waitpid(last, &status, 0);
	do
		failed |= status;
	while (wait(&status) > 0);
	unlink(path);
	printf("%d\n", failed);
}

void faulty(void)
{
	run(work_locked);
}

void healthy(void)
{
	run(work);
}

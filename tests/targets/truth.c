// SPDX-License-Identifier: MIT
#include "truth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ROWS 64

struct row {
	char what[24];
	char name[96];
	char where[64];
	uint64_t ns;
	double fact; // if ns is UINT64_MAX
};

struct table {
	int lock;
	int count;
	uint64_t other_processes_ns;
	double steps_per_ms;
	struct row rows[ROWS];
};

static struct table *table;

static uint64_t now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

uint64_t truth_cpu(void)
{
	return now(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t truth_wall(void)
{
	return now(CLOCK_MONOTONIC);
}

static void die(const char *what)
{
	perror(what);
	_exit(99);
}

// A descriptor, because only that survives an exec.
static struct table *map_table(void)
{
	const char *given = getenv("TRUTH_FD");
	int fd = given ? atoi(given) : memfd_create("truth", 0);
	char text[16];

	if (!given && ftruncate(fd, sizeof(struct table)) < 0)
		die("truth: memfd");
	snprintf(text, sizeof(text), "%d", fd);
	setenv("TRUTH_FD", text, 1);
	void *memory = mmap(NULL, sizeof(struct table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		die("truth: mmap");
	return memory;
}

static double calibrate(void)
{
	uint64_t x = 1, took = 0, steps = 100000;
	int at = 0;

	while (took < 4000000) {
		steps *= 2;
		uint64_t start = truth_cpu();
		SPIN(x, steps, at);
		took = truth_cpu() - start;
	}
	return at ? (double)steps / ((double)took / 1e6) : 0;
}

__attribute__((constructor)) static void begin(void)
{
	table = map_table();
	if (table->steps_per_ms == 0)
		table->steps_per_ms = calibrate();
}

uint64_t truth_steps(double ms)
{
	return (uint64_t)(ms * table->steps_per_ms) + 1;
}

int truth_rounds(void)
{
	const char *ms = getenv("TRUTH_MS");
	int rounds = (ms ? atoi(ms) : 2000) / 100;

	return rounds > 0 ? rounds : 1;
}

// Finds or makes the row; the table stays locked.
static struct row *lock_row(const char *what, const char *name)
{
	while (__atomic_exchange_n(&table->lock, 1, __ATOMIC_ACQUIRE))
		usleep(100);
	for (int i = 0; i < table->count; i++) {
		struct row *row = &table->rows[i];
		if (!strcmp(row->what, what) && !strcmp(row->name, name))
			return row;
	}
	if (table->count == ROWS)
		die("truth: too many rows");
	struct row *row = &table->rows[table->count++];
	snprintf(row->what, sizeof(row->what), "%s", what);
	snprintf(row->name, sizeof(row->name), "%s", name);
	return row;
}

static void unlock(void)
{
	__atomic_store_n(&table->lock, 0, __ATOMIC_RELEASE);
}

static const char *base_name(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash ? slash + 1 : file;
}

void truth_add(const char *what, const char *name, const char *file, int line, uint64_t ns)
{
	struct row *row = lock_row(what, name);

	row->ns += ns;
	if (file && line)
		snprintf(row->where, sizeof(row->where), " %s:%d", base_name(file), line);
	unlock();
}

void truth_add_line(const char *file, int line, uint64_t ns)
{
	char name[96];

	snprintf(name, sizeof(name), "%s:%d", base_name(file), line);
	truth_add("line", name, NULL, 0, ns);
}

void truth_fact(const char *what, const char *name, double value)
{
	struct row *row = lock_row(what, name);

	row->ns = UINT64_MAX;
	row->fact = value;
	unlock();
}

void truth_leave(void)
{
	__atomic_fetch_add(&table->other_processes_ns, now(CLOCK_PROCESS_CPUTIME_ID),
	                   __ATOMIC_RELAXED);
}

void truth_print(void)
{
	double all = (double)(now(CLOCK_PROCESS_CPUTIME_ID) + table->other_processes_ns);

	for (int i = 0; i < table->count; i++) {
		const struct row *row = &table->rows[i];
		double value = (double)row->ns;
		if (row->ns == UINT64_MAX)
			value = row->fact;
		else if (!strcmp(row->what, "off"))
			value /= 1e6;
		else
			value = 100 * value / all;
		printf("truth %s %s %.2f%s\n", row->what, row->name, value, row->where);
	}
	fflush(stdout);
}

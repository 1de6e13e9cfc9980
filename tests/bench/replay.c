// SPDX-License-Identifier: MIT
// replay [HOURS [LOAD...]]: what a profile grows to in so many hours of each load. Prints a table.
#include "tests/support/replay.h"
#include "base/clock.h"
#include "base/error.h"
#include "merge/query/query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

struct written {
	double megabytes, seconds;
};

static struct written write_profile(const struct profile *p)
{
	char path[] = "/tmp/replay.XXXXXX";
	struct error err = { 0 };
	struct stat st = { 0 };
	int fd = mkstemp(path);
	uint64_t start = cpu_ns();

	if (fd < 0 || profile_write(p, path, &err) < 0)
		fprintf(stderr, "replay: %s\n", err.text);
	struct written written = { .seconds = (double)(cpu_ns() - start) / 1e9 };
	stat(path, &st);
	unlink(path);
	close(fd);
	written.megabytes = (double)st.st_size / 1e6;
	return written;
}

static void print_row(const struct replay *r, uint64_t minutes, uint64_t spent_ns, uint64_t events)
{
	struct totals totals;
	const struct profile *p = r->profile;

	query_totals(p, &totals);
	struct written written = write_profile(p);
	printf("%-10s %7lu %9u %9u %9u %9.2f %8.1f %7.2f %7.3f %7.1f %6.0f%s\n", r->load->name,
	       minutes, p->paths.count, p->cells.count, p->locations.count,
	       (double)totals.bin_ns / 1e9, (double)replay_bytes(r) / 1e6, written.megabytes,
	       written.seconds,
	       100 * (double)totals.folded_ns / (double)(totals.on_cpu_ns + totals.off_cpu_ns),
	       (double)spent_ns / (double)events,
	       totals.on_cpu_ns + totals.off_cpu_ns + totals.lost_ns == r->given_ns
	               ? ""
	               : " TIME IS MISSING");
	fflush(stdout);
}

static void run_load(const char *name, double hours)
{
	cleanup(replay) struct replay *r = replay_new(name, NULL);
	uint64_t last = (uint64_t)(hours * 60);

	for (uint64_t minutes = 1; minutes <= last;
	     minutes = minutes < last && minutes * 4 > last ? last : minutes * 4) {
		uint64_t start = cpu_ns(), events = r->events;
		replay_run(r, minutes * 60 * NS_PER_SEC);
		uint64_t spent = cpu_ns() - start;
		print_row(r, minutes, spent, r->events - events);
		if (minutes == last)
			break;
	}
}

static bool is_wanted(const char *name, int argc, char **argv)
{
	bool wanted = argc <= 2;

	for (int i = 2; i < argc; i++)
		wanted |= strcmp(argv[i], name) == 0;
	return wanted;
}

int main(int argc, char **argv)
{
	double hours = argc > 1 ? strtod(argv[1], NULL) : 8;

	printf("%-10s %7s %9s %9s %9s %9s %8s %7s %7s %7s %6s\n", "load", "minutes", "nodes",
	       "cells", "addresses", "bin s", "MB", "file MB", "write s", "folded%", "ns");
	for (size_t i = 0; i < replay_load_count; i++)
		if (is_wanted(replay_loads[i].name, argc, argv))
			run_load(replay_loads[i].name, hours);
	return 0;
}

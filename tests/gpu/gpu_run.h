/* SPDX-License-Identifier: MIT */
/*
 * Runs a program on the fake GPU with the client of gpu_client.c injected, and keeps what the
 * program said (the truth), what the client saw, which rules the client broke, and what the fake
 * did. All are lines that end in one or two numbers; lines that begin alike are summed up.
 *
 * For Criterion tests: what cannot be run fails the test. GPU_DIR is where the build has put all.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPU_ROWS_MAX 512

struct gpu_row {
	char key[300];
	uint64_t count, amount;
};

struct gpu_rows {
	struct gpu_row rows[GPU_ROWS_MAX];
	size_t count;
};

struct gpu_run {
	int status; /* as of waitpid() */
	double seconds;
	struct gpu_rows truth, seen, facts;
	char broken[4096]; /* rules, a line each; "" if none */
};

/* The record kinds that all programs are seen by. */
#define GPU_KINDS "CLIENT_KINDS=10,1,22,2,38,49,8,9,37,50,17,52"

/*
 * PROGRAM is a path, or a name in GPU_DIR/programs. SETTINGS are "NAME=VALUE", NULL at the end;
 * "FAKE=older" takes another of the fakes. Free with free().
 */
struct gpu_run *gpu_run(const char *program, const char *const *settings);

/* NULL if there is none. */
const struct gpu_row *gpu_row(const struct gpu_rows *rows, const char *key);

/* Expects that the client saw the truth and nothing else, and broke no rule. */
void gpu_run_expect(const struct gpu_run *run, const char *what);

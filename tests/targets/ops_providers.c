// SPDX-License-Identifier: MIT
/*
 * ops_providers PART [ROUNDS [THREADS]]: tasks of ITT, and calls of BLAS, LAPACK and FFTW, whose
 * times the program knows, see op_truth.h, and e2e/ops.py.
 */
#include "tests/ops/itt_shim.h"
#include "tests/targets/op_truth.h"
#include "tests/targets/ops_library.h"

#include <setjmp.h>
#include <stdlib.h>

#define THREADS_MAX 16

static domain *ours;
static string *texts[3];
static const id none;
static const char *const names[] = { "step", "layer", "leaf" };

static void start_itt(void)
{
	ours = itt_domain_create("truth");
	for (int i = 0; i < 3; i++)
		texts[i] = itt_string_handle_create(names[i]);
}

static __attribute__((noipa)) void task(int level)
{
	CALL(task_begin, ours, none, none, texts[level]);
	begun(names[level]);
	work(5 + 10 * level);
	for (int i = 0; i < 2 && level < 2; i++)
		task(level + 1);
	work(5);
	ended();
	CALL(task_end, ours);
}

static void itt(void)
{
	task(0);
}

// What the first call of a thread does before its op begins takes long: it makes the ring, and
// looks for the library. That call is told for its number only.
static void warm_up(void)
{
	const int zero = 0;
	const double alpha = 1;
	double x[1] = { 0 };

	dscal_(&zero, &alpha, x, &zero);
	add(find("dscal"), 1, 0, 0);
}

static __attribute__((noipa)) void blas(void)
{
	static const double alpha = 1;
	static const int n = 10, m = 15, one = 1;
	double a[1] = { 0 }, b[1] = { 0 }, c[1] = { 0 };
	int pivots[1], info;

	begun("dgesv");
	dgesv_(&n, &one, a, &one, pivots, b, &one, &info);
	ended();
	begun("dgemm");
	dgemm_("N", "N", &m, &one, &one, &alpha, a, &one, b, &one, &alpha, c, &one, 1, 1);
	ended();
	begun("cblas_dgemv");
	cblas_dgemv(101, 111, 8, 1, 1, a, 1, b, 1, 0, c, 1);
	ended();
}

static __attribute__((noipa)) void fftw(void)
{
	double in[2], out[2];

	begun("fftw_plan_dft_1d");
	fftw_plan plan = fftw_plan_dft_1d(20, in, out, -1, 0);
	ended();
	begun("fftw_execute dft");
	fftw_execute(plan);
	ended();
	fftw_destroy_plan(plan);
}

static jmp_buf outside;

static void jump_out(const char *name)
{
	(void)name;
	longjmp(outside, 1);
}

// A call that never returns: it ends at the next sample, or the next op.
static __attribute__((noipa)) void left(void)
{
	static const int n = 150, one = 1;
	double a[1] = { 0 }, b[1] = { 0 };
	int pivots[1], info;

	begun("dgesv");
	library_begins = jump_out;
	if (setjmp(outside) == 0)
		dgesv_(&n, &one, a, &one, pivots, b, &one, &info);
	ended();
	work(60);
}

// A round is 100 steps up and down again from 0, and a pause.
static __attribute__((noipa)) void counters(void)
{
	void *queue = itt_counter_create("queue", "truth");
	uint64_t start = now();

	CALL(pause);
	work(10);
	CALL(resume);
	add(find("paused"), 1, now() - start, 0);
	for (unsigned i = 1; i <= 100; i++) {
		CALL(counter_inc_delta, queue, i);
		CALL(counter_dec_delta, queue, i);
	}
}

static const struct part {
	const char *name;
	void (*run)(void);
} parts[] = { { "counters", counters },
	      { "itt", itt },
	      { "blas", blas },
	      { "fftw", fftw },
	      { "left", left } };

struct job {
	void (*run)(void);
	int rounds;
};

static void *worker(void *argument)
{
	const struct job *job = argument;

	warm_up();
	for (int i = 0; i < job->rounds; i++) {
		job->run();
		work(5); // outside of every op
	}
	return NULL;
}

static void in_threads(struct job *job, int count)
{
	pthread_t threads[THREADS_MAX];

	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, worker, job);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : 0, threads = argc > 3 ? atoi(argv[3]) : 0;
	struct job job = { .rounds = rounds ? rounds : 20 };

	for (size_t i = 0; argc > 1 && i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strcmp(argv[1], parts[i].name) == 0)
			job.run = parts[i].run;
	if (!job.run || threads > THREADS_MAX)
		return 2;
	library_begins = begun;
	library_ends = ended;
	start_itt();
	if (threads)
		in_threads(&job, threads);
	else
		worker(&job);
	print_truth();
	return 0;
}

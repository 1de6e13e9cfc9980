// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tracer/agent/fftw/fftw.h"

#include <pthread.h>

static struct fftw_shape line(uint64_t size)
{
	return (struct fftw_shape){ .batch = 1, .dimensions = { size }, .count = 1 };
}

static void add(uint64_t plan, uint64_t size)
{
	struct fftw_shape shape = line(size);

	fftw_plan_add(plan, &shape);
}

// 0: unknown.
static uint64_t size_of(uint64_t plan)
{
	struct fftw_shape shape;

	return fftw_plan_find(plan, &shape) ? shape.dimensions[0] : 0;
}

Test(fftw_plans, a_plan_is_known_until_it_is_destroyed)
{
	add(0x1000, 64);
	add(0x2000, 128);
	cr_expect(eq(u64, size_of(0x1000), 64));
	cr_expect(eq(u64, size_of(0x2000), 128));
	fftw_plan_remove(0x1000);
	cr_expect(eq(u64, size_of(0x1000), 0));
	cr_expect(eq(u64, size_of(0x2000), 128));
	fftw_plan_remove(0x1000);
	fftw_plan_remove_all();
	cr_expect(eq(u64, size_of(0x2000), 0));
}

Test(fftw_plans, a_new_plan_in_the_place_of_an_old_one_is_the_new_one)
{
	add(0x1000, 64);
	add(0x1000, 32);
	cr_expect(eq(u64, size_of(0x1000), 32));
	fftw_plan_remove(0x1000);
	cr_expect(eq(u64, size_of(0x1000), 0), "and there once");
}

Test(fftw_plans, no_plan_is_no_plan)
{
	add(0, 64);
	cr_expect(eq(u64, size_of(0), 0));
	fftw_plan_remove(0);
}

Test(fftw_plans, thousands_fit_and_what_does_not_is_unknown)
{
	enum {
		MANY = 20000
	};
	int known = 0;

	for (uint64_t i = 1; i <= MANY; i++)
		add(i * 64, i);
	for (uint64_t i = 1; i <= MANY; i++) {
		uint64_t size = size_of(i * 64);
		cr_assert(size == 0 || size == i);
		known += size != 0;
	}
	cr_expect(gt(int, known, 3500));
	for (uint64_t i = 1; i <= MANY; i++)
		fftw_plan_remove(i * 64);
	add(64, 7);
	cr_expect(eq(u64, size_of(64), 7), "there is room again");
}

static void *use(void *start)
{
	for (uint64_t i = 0; i < 20000; i++) {
		uint64_t plan = (uint64_t)start + i % 50 * 64;
		add(plan, plan);
		uint64_t size = size_of(plan);
		cr_assert(size == plan || size == 0);
		fftw_plan_remove(plan);
	}
	return NULL;
}

Test(fftw_plans, threads_do_not_see_each_others)
{
	pthread_t threads[4];

	for (uint64_t i = 0; i < 4; i++)
		cr_assert(pthread_create(&threads[i], NULL, use, (void *)((i + 1) << 20)) == 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

// SPDX-License-Identifier: MIT
// A thread for each task, and each task is shorter than a sample's period. Prints for each kind of
// task what its threads took of the CPU time, in percent: from the clocks of the process and of the
// thread that makes them, so that all is in it which a thread takes to begin and to end.
#include "truth.h"

#include <cstdio>
#include <ctime>
#include <pthread.h>
#include <thread>

static int at_work;

static NOINLINE void work(double ms)
{
	uint64_t x = 1;

	SPIN(x, truth_steps(ms), at_work);
}

static NOINLINE void *resize(void *argument)
{
	work(0.28);
	return argument;
}

struct encode {
	void operator()() const
	{
		work(0.12);
	}
};

static uint64_t others_cpu(void)
{
	timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec - truth_cpu();
}

static bool run_resize(void)
{
	pthread_t thread;

	return pthread_create(&thread, nullptr, resize, nullptr) == 0 &&
	       pthread_join(thread, nullptr) == 0;
}

int main()
{
	uint64_t resize_ns = 0, encode_ns = 0;

	work(1); // measures how fast it is
	// Of 100 ms each.
	for (int round = truth_rounds(); round > 0; round--)
		for (int i = 0; i < 250; i++) {
			uint64_t begin = others_cpu();
			if (!run_resize())
				return 1;
			uint64_t between = others_cpu();
			std::thread(encode()).join();
			resize_ns += between - begin;
			encode_ns += others_cpu() - between;
		}
	double all = (double)(resize_ns + encode_ns) / 100;
	printf("resize %.2f\nencode %.2f\n", (double)resize_ns / all, (double)encode_ns / all);
	return 0;
}

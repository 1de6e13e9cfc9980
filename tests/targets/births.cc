// SPDX-License-Identifier: MIT
// A thread for each task, and each task is shorter than a sample's period. Prints for each kind of
// task what it took of the CPU time, as its threads' clocks have it, in percent.
#include "truth.h"

#include <atomic>
#include <cstdio>
#include <pthread.h>
#include <thread>

static std::atomic<uint64_t> resize_ns, encode_ns;
static int at_work;

static NOINLINE void work(double ms)
{
	uint64_t x = 1;

	SPIN(x, truth_steps(ms), at_work);
}

static NOINLINE void *resize(void *argument)
{
	work(0.28);
	resize_ns += truth_cpu();
	return argument;
}

struct encode {
	void operator()() const
	{
		work(0.12);
		encode_ns += truth_cpu();
	}
};

static bool run_resize(void)
{
	pthread_t thread;

	return pthread_create(&thread, nullptr, resize, nullptr) == 0 &&
	       pthread_join(thread, nullptr) == 0;
}

int main()
{
	work(1); // measures how fast it is
	// Of 100 ms each.
	for (int round = truth_rounds(); round > 0; round--)
		for (int i = 0; i < 250; i++) {
			if (!run_resize())
				return 1;
			std::thread(encode()).join();
		}
	double all = (double)(resize_ns + encode_ns) / 100;
	printf("resize %.2f\nencode %.2f\n", (double)resize_ns / all, (double)encode_ns / all);
	return 0;
}

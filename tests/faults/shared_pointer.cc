// SPDX-License-Identifier: MIT
// Two threads look things up in what they share, and each look-up owns it for a moment.
#include "fault.h"

#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

static const int lookups = 15000000;

struct table {
	std::vector<long> limits;
};

static __attribute__((noinline)) long owning(std::shared_ptr<const table> t, int i)
{
	return t->limits[i % t->limits.size()];
}

static __attribute__((noinline)) long borrowing(const table &t, int i)
{
	return t.limits[i % t.limits.size()];
}

static void own(std::shared_ptr<const table> t, long *sum)
{
	long all = 0;

	for (int i = 0; i < lookups; i++)
		all += owning(t, i); // fault: CPU-SHARED
	*sum = all;
}

static void borrow(std::shared_ptr<const table> t, long *sum)
{
	long all = 0;

	for (int i = 0; i < lookups; i++)
		all += borrowing(*t, i);
	*sum = all;
}

static void run(void (*look)(std::shared_ptr<const table>, long *))
{
	std::shared_ptr<table> shared = std::make_shared<table>();
	long first, second;

	for (int i = 0; i < 31; i++)
		shared->limits.push_back(i);
	std::thread other(look, shared, &first);
	look(shared, &second);
	other.join();
	std::printf("%ld\n", first + second);
}

void faulty(void)
{
	run(own);
}

void healthy(void)
{
	run(borrow);
}

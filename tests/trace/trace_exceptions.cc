// SPDX-License-Identifier: MIT
// Exceptions through functions that --trace follows.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#define NOINLINE __attribute__((noinline, noclone))

static int alive;

struct held {
	held()
	{
		alive++;
	}
	~held()
	{
		alive--;
	}
};

namespace space
{
struct thrower {
	NOINLINE static void f_throw(int depth)
	{
		held here;
		if (depth == 0)
			throw std::runtime_error("thrown");
		f_throw(depth - 1);
		__asm__ volatile("");
	}
};

template <typename T> NOINLINE T f_convert(T x)
{
	__asm__ volatile("");
	return x + 1;
}
} // namespace space

NOINLINE static int f_catch(int depth)
{
	held here;
	try {
		space::thrower::f_throw(depth);
	} catch (const std::runtime_error &error) {
		return error.what() == std::string("thrown");
	}
	return 100;
}

NOINLINE static void f_again(int depth)
{
	try {
		space::thrower::f_throw(depth);
	} catch (...) {
		held here;
		throw;
	}
}

NOINLINE static int f_nested(int depth)
{
	try {
		f_again(depth);
	} catch (const std::exception &) {
		return f_catch(depth);
	}
	return 100;
}

static void run_threads(int rounds)
{
	std::vector<std::thread> threads;
	std::vector<int> results(4);
	for (int t = 0; t < 4; t++)
		threads.emplace_back([t, rounds, &results] {
			for (int i = 0; i < rounds; i++)
				results[t] += f_catch(i % 7);
		});
	for (auto &thread : threads)
		thread.join();
	printf("threads %d\n", results[0] + results[1] + results[2] + results[3]);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1000, caught = 0;

	for (int i = 0; i < rounds; i++)
		caught += f_catch(i % 10) + f_nested(i % 5);
	printf("caught %d, alive %d\n", caught, alive);
	if (rounds > 100)
		run_threads(rounds);
	printf("converted %d %.1f\n", space::f_convert(1), space::f_convert(1.5));
	return 5;
}

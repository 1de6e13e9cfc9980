// SPDX-License-Identifier: MIT
// The API in C++: scopes, which an exception leaves, too.
#include <bottleneck/bottleneck.h>

#include <ctime>
#include <stdexcept>

static void work()
{
	timespec begin{}, now{};

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < 3000000);
}

static void thrower()
{
	bottleneck::range thrown("thrown");
	work();
	throw std::runtime_error("out");
}

int main()
{
	bottleneck::range all("all");
	for (int i = 0; i < 4; i++) {
		try {
			thrower();
		} catch (const std::exception &) {
			bottleneck::range caught("caught");
			work();
		}
	}
	return 0;
}

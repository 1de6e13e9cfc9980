// SPDX-License-Identifier: MIT
// Built against another C library, and statically: the agent must leave it alone.
#include <pthread.h>
#include <stdio.h>

static void *work(void *argument)
{
	for (volatile int i = 0; i < 10000000; i++)
		;
	return argument;
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, NULL) != 0)
		return 1;
	pthread_join(thread, NULL);
	puts("hello");
	return 6;
}

// SPDX-License-Identifier: MIT
// Ops of an imitated PyTorch in two threads, until the end of its input; then how many callbacks it
// still has.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

void late_torch_op(const char *name, void (*work)(void));
unsigned late_torch_callbacks(void);

static volatile int over;
static unsigned begun; // atomic

static void spin(void)
{
	for (volatile int i = 0; i < 20000; i++)
		;
}

static void inner(void)
{
	late_torch_op("late::inner", spin);
	late_torch_op("late::inner", spin);
}

static void *run(void *argument)
{
	(void)argument;
	__atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
	while (!over)
		late_torch_op("late::outer", inner);
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	char byte;

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	while (__atomic_load_n(&begun, __ATOMIC_RELAXED) < 2)
		usleep(1000);
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	printf("%u callbacks\n", late_torch_callbacks());
	over = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

// Locks and allocates where it is loaded.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int plugin_work(void);

int plugin_work(void)
{
	int wrong = 0;

	for (int i = 1; i < 50; i++) {
		wrong += pthread_mutex_lock(&lock) != 0;
		char *block = malloc((size_t)i * 100);
		memset(block, i, (size_t)i * 100);
		wrong += block[i * 100 - 1] != i;
		free(block);
		wrong += pthread_mutex_unlock(&lock) != 0;
	}
	return wrong;
}

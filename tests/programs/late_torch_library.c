// SPDX-License-Identifier: MIT
// What the agent needs of PyTorch's dispatcher, under its names: RecordFunction, its callbacks, and
// ops that call them.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define CALLBACKS 8
#define API       __attribute__((visibility("default")))

struct function {
	char state[512]; // zeros: its inputs are unknown
	const char *name;
};

struct callback {
	void *(*start)(void **result, const struct function *function);
	void (*end)(const struct function *function, void *context);
	double probability;
	uint8_t scopes[10], needs[3];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
	struct callback callback;
	uint64_t handle; // 0: free
} callbacks[CALLBACKS];
static uint64_t last;

API const char *name_of(const struct function *function) __asm__("_ZNK2at14RecordFunction4nameEv");
API size_t
inputs_of(const struct function *function) __asm__("_ZNK2at14RecordFunction10num_inputsEv");
API void since(void) __asm__("_ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE");
API uint64_t
add(struct callback callback) __asm__("_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
API void take_away(uint64_t handle) __asm__("_ZN2at14removeCallbackEm");
API void late_torch_op(const char *name, void (*work)(void));
API unsigned late_torch_callbacks(void);

const char *name_of(const struct function *function)
{
	return function->name;
}

size_t inputs_of(const struct function *function)
{
	(void)function;
	return 0;
}

void since(void)
{
}

uint64_t add(struct callback callback)
{
	uint64_t handle = 0;

	pthread_mutex_lock(&mutex);
	for (int i = 0; i < CALLBACKS && !handle; i++)
		if (!callbacks[i].handle) {
			callbacks[i].callback = callback;
			handle = callbacks[i].handle = ++last;
		}
	pthread_mutex_unlock(&mutex);
	return handle;
}

void take_away(uint64_t handle)
{
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < CALLBACKS; i++)
		if (callbacks[i].handle == handle)
			callbacks[i].handle = 0;
	pthread_mutex_unlock(&mutex);
}

// As there, an op keeps those that it has begun with.
void late_torch_op(const char *name, void (*work)(void))
{
	struct function function = { .name = name };
	struct callback own[CALLBACKS];
	void *contexts[CALLBACKS];
	int count = 0;

	pthread_mutex_lock(&mutex);
	for (int i = 0; i < CALLBACKS; i++)
		if (callbacks[i].handle && callbacks[i].callback.scopes[0])
			own[count++] = callbacks[i].callback;
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < count; i++)
		own[i].start(&contexts[i], &function);
	work();
	for (int i = count; i-- > 0;)
		own[i].end(&function, contexts[i]);
}

unsigned late_torch_callbacks(void)
{
	unsigned count = 0;

	pthread_mutex_lock(&mutex);
	for (int i = 0; i < CALLBACKS; i++)
		count += callbacks[i].handle != 0;
	pthread_mutex_unlock(&mutex);
	return count;
}

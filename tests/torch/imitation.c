// SPDX-License-Identifier: MIT
#include "tests/torch/imitation.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define CALLBACKS   16
#define THREAD_WORD 11 // where the number of its thread is: 88 bytes in
#define SCOPES      10
#define AS(name)    __asm__(name) __attribute__((visibility("default")))

struct callback { // at::RecordFunctionCallback
	void *(*start)(void **result, const void *function);
	void (*end)(const void *function, void *context);
	double probability;
	uint8_t scopes[SCOPES];
	uint8_t needs_inputs, needs_outputs, needs_ids;
};

static struct {
	struct callback of;
	bool off; // atomic
} callbacks[CALLBACKS];
static uint32_t count; // atomic
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;

static __thread struct {
	uint64_t random;
	uint64_t number;
	uint32_t left[CALLBACKS][SCOPES]; // ops until the next call of one that is sampled
} own;

static uint32_t draw(double probability)
{
	own.random = own.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	double u = ((double)(own.random >> 33) + 1) / 2147483649.0;

	return (uint32_t)(log(u) / log(1 - probability)) + 1;
}

uint64_t add_callback(struct callback callback)
	AS("_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
uint64_t add_callback(struct callback callback)
{
	pthread_mutex_lock(&adding);
	uint32_t handle = count < CALLBACKS ? count : CALLBACKS - 1;
	callbacks[handle].of = callback;
	__atomic_store_n(&count, handle + 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&adding);
	return handle + 1;
}

void disable_callback(uint64_t handle) AS("_ZN2at15disableCallbackEm");
void disable_callback(uint64_t handle)
{
	__atomic_store_n(&callbacks[handle - 1].off, true, __ATOMIC_RELEASE);
}

void reenable_callback(uint64_t handle) AS("_ZN2at16reenableCallbackEm");
void reenable_callback(uint64_t handle)
{
	__atomic_store_n(&callbacks[handle - 1].off, false, __ATOMIC_RELEASE);
}

const char *name_of(const struct imitation_op *op) AS("_ZNK2at14RecordFunction4nameEv");
const char *name_of(const struct imitation_op *op)
{
	return op->name;
}

size_t num_inputs(const struct imitation_op *op) AS("_ZNK2at14RecordFunction10num_inputsEv");
size_t num_inputs(const struct imitation_op *op)
{
	(void)op;
	return 0;
}

bool is_async(const struct imitation_op *op) AS("_ZNK2at14RecordFunction7isAsyncEv");
bool is_async(const struct imitation_op *op)
{
	(void)op;
	return false;
}

// Callbacks may come at any time since versions that have it: nobody calls it here.
void step_callbacks(void) AS("_ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE");
void step_callbacks(void)
{
}

static bool is_due(uint32_t i, enum imitation_scope scope)
{
	const struct callback *c = &callbacks[i].of;

	if (!c->scopes[scope] || __atomic_load_n(&callbacks[i].off, __ATOMIC_ACQUIRE))
		return false;
	if (c->probability >= 1)
		return true;
	uint32_t *left = &own.left[i][scope];
	if (!*left)
		*left = draw(c->probability);
	return --*left == 0;
}

__attribute__((visibility("default"))) void
imitation_begin(struct imitation_op *op, enum imitation_scope scope, const char *name)
{
	static uint64_t threads;
	uint32_t all = __atomic_load_n(&count, __ATOMIC_ACQUIRE);

	if (!own.number) {
		own.number = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
		own.random = own.number * UINT64_C(0x9e3779b97f4a7c15);
	}
	op->name = name;
	op->active = 0;
	for (uint32_t i = 0; i < all; i++)
		op->active |= (uint32_t)is_due(i, scope) << i;
	if (!op->active)
		return;
	memset(op->words, 0, sizeof(op->words));
	op->words[THREAD_WORD] = own.number;
	for (uint32_t i = 0; i < all; i++) {
		void *result;
		if (op->active & 1u << i)
			callbacks[i].of.start(&result, op);
	}
}

__attribute__((visibility("default"))) void imitation_end(struct imitation_op *op)
{
	for (uint32_t i = 0; op->active >> i; i++)
		if (op->active & 1u << i)
			callbacks[i].of.end(op, NULL);
}

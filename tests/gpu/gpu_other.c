// SPDX-License-Identifier: MIT
// A program that profiles its GPU by itself for a while, as PyTorch's profiler does: gpu_other HOW.
// It gets what it asks for, no more and no less, and says how much of its work a profiler of the
// whole program can have seen.
#include "tests/gpu/programs/gpu_program.h"
#include "tracer/agent/cupti/cupti_abi.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

#define BUFFER_BYTES 65536

#ifdef BY_NAME
// Found in a library of the program's own choice.
#include <dlfcn.h>

static void *find(const char *name)
{
	void *library = dlopen("libcupti.so.13", RTLD_LAZY);
	void *found = library ? dlsym(library, name) : NULL;

	if (!found)
		exit(3);
	return found;
}
#define CUPTI(function, parameters, arguments)                                                     \
	static int function parameters                                                             \
	{                                                                                          \
		static int(*found) parameters;                                                     \
		if (!found)                                                                        \
			found = (int(*) parameters)find(#function);                                \
		return found arguments;                                                            \
	}
#else
#define CUPTI(function, parameters, arguments) int function parameters;
#endif

CUPTI(cuptiSubscribe, (void **subscriber, cupti_callback *callback, void *own),
      (subscriber, callback, own))
CUPTI(cuptiUnsubscribe, (void *subscriber), (subscriber))
CUPTI(cuptiEnableDomain, (uint32_t enable, void *subscriber, int domain),
      (enable, subscriber, domain))
CUPTI(cuptiActivityRegisterCallbacks, (cupti_request * request, cupti_complete *complete),
      (request, complete))
CUPTI(cuptiActivityRegisterTimestampCallback, (cupti_clock * clock), (clock))
CUPTI(cuptiActivityEnable, (int kind), (kind))
CUPTI(cuptiActivityDisable, (int kind), (kind))
CUPTI(cuptiActivityFlushAll, (uint32_t flag), (flag))
CUPTI(cuptiActivityGetNextRecord, (uint8_t * buffer, size_t valid, void **record),
      (buffer, valid, record))
CUPTI(cuptiFinalize, (void), ())

KERNEL(before_us)
KERNEL(meanwhile_us)
KERNEL(after_us)

static uint8_t *given[4096];
static unsigned int given_count, kernels, foreign, calls;

static void work(const void *kernel, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		LAUNCH(kernel, 10, 0);
	CUDA(cudaDeviceSynchronize());
}

static void request(uint8_t **buffer, size_t *size, size_t *records_max)
{
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*records_max = 0;
	memset(*buffer, 0, BUFFER_BYTES);
	given[__atomic_fetch_add(&given_count, 1, __ATOMIC_RELAXED) % 4096] = *buffer;
}

static bool is_ours(const uint8_t *buffer)
{
	for (unsigned int i = 0; i < given_count && i < 4096; i++)
		if (given[i] == buffer)
			return true;
	return false;
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	void *record = NULL;

	(void)context;
	(void)stream;
	foreign += !is_ours(buffer) || size != BUFFER_BYTES;
	while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_OK) {
		const struct cupti_kernel *kernel = record;
		kernels += kernel->kind == CUPTI_KIND_CONCURRENT_KERNEL &&
		           strcmp(kernel->name, "meanwhile_us") == 0;
		foreign += kernel->kind != CUPTI_KIND_CONCURRENT_KERNEL ||
		           strcmp(kernel->name, "meanwhile_us") != 0;
	}
}

static uint64_t real_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void start(void)
{
	CUDA(cuptiActivityRegisterTimestampCallback(real_time));
	CUDA(cuptiActivityRegisterCallbacks(request, complete));
	CUDA(cuptiActivityEnable(CUPTI_KIND_CONCURRENT_KERNEL));
}

static void stop(void)
{
	CUDA(cuptiActivityDisable(CUPTI_KIND_CONCURRENT_KERNEL));
	CUDA(cuptiActivityFlushAll(CUPTI_FLUSH_FORCED));
}

static void on_call(void *own, uint32_t domain, uint32_t id, const void *data)
{
	const struct cupti_call *call = data;

	(void)own;
	(void)domain;
	(void)id;
	calls += call->site == CUPTI_ENTER && strcmp(call->function, "cudaLaunchKernel") == 0;
}

static void before_and_after(unsigned int before, unsigned int after)
{
	printf("truth kernel before_us %u %u\n", before, before * 10);
	if (after)
		printf("truth kernel after_us %u %u\n", after, after * 10);
	printf("theirs %u foreign %u calls %u\n", kernels, foreign, calls);
}

// As many times as it is asked to.
static void profile(unsigned int times)
{
	work((const void *)before_us, 10);
	for (unsigned int i = 0; i < times; i++) {
		start();
		work((const void *)meanwhile_us, 20);
		stop();
	}
	work((const void *)after_us, 30);
	before_and_after(10, 30);
}

static void profile_to_the_end(void)
{
	work((const void *)before_us, 10);
	start();
	work((const void *)meanwhile_us, 20);
	CUDA(cuptiActivityFlushAll(CUPTI_FLUSH_FORCED));
	before_and_after(10, 0);
}

static void subscribe(void)
{
	void *subscriber;

	work((const void *)before_us, 10);
	CUDA(cuptiSubscribe(&subscriber, on_call, NULL));
	CUDA(cuptiEnableDomain(1, subscriber, CUPTI_DOMAIN_RUNTIME));
	work((const void *)before_us, 5);
	CUDA(cuptiUnsubscribe(subscriber));
	work((const void *)after_us, 30);
	before_and_after(15, 30);
}

// Before anything else: it is CUPTI that has the driver start.
static void subscribe_first(void)
{
	void *subscriber;

	CUDA(cuptiSubscribe(&subscriber, on_call, NULL));
	CUDA(cuptiEnableDomain(1, subscriber, CUPTI_DOMAIN_RUNTIME));
	work((const void *)before_us, 5);
	CUDA(cuptiUnsubscribe(subscriber));
	work((const void *)after_us, 30);
	before_and_after(5, 30);
}

static void finalize(void)
{
	work((const void *)before_us, 10);
	start();
	work((const void *)meanwhile_us, 20);
	stop();
	CUDA(cuptiFinalize());
	work((const void *)after_us, 30);
	before_and_after(10, 30);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (!strcmp(how, "once"))
		profile(1);
	else if (!strcmp(how, "often"))
		profile(20);
	else if (!strcmp(how, "to-the-end"))
		profile_to_the_end();
	else if (!strcmp(how, "subscribes"))
		subscribe();
	else if (!strcmp(how, "subscribes-first"))
		subscribe_first();
	else if (!strcmp(how, "finalizes"))
		finalize();
	else
		return 2;
	return 0;
}

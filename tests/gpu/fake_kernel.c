// SPDX-License-Identifier: MIT
#include "tests/gpu/fake_kernel.h"

#include "base/hash.h"
#include "tests/gpu/fake_settings.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define KERNELS_MAX 4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fake_kernel kernels[KERNELS_MAX];
static uint32_t count;
static struct hash by_host;

static bool ends_in(const char *name, const char *end)
{
	size_t size = strlen(name), end_size = strlen(end);

	return size >= end_size && !strcmp(name + size - end_size, end);
}

static void index_host(const void *host, uint32_t id)
{
	uint64_t hash = hash_mix((uint64_t)(uintptr_t)host);
	uint32_t at = hash_start(&by_host, hash);

	while (by_host.slots[at])
		at = hash_next(&by_host, at);
	hash_insert(&by_host, at, hash, id);
}

struct fake_kernel *fake_kernel_add(const void *host, const char *name)
{
	struct fake_kernel *k = NULL;
	char *copy = strdup(name);

	pthread_mutex_lock(&lock);
	bool has_room = copy && count < KERNELS_MAX &&
	                (by_host.slots || hash_init(&by_host, 4 * KERNELS_MAX));
	if (has_room) {
		k = &kernels[count++];
		*k = (struct fake_kernel){ host, copy, fake_settings_kernel_ns(name),
			                   ends_in(name, "_us") };
		if (host)
			index_host(host, count);
	}
	pthread_mutex_unlock(&lock);
	if (!has_room)
		free(copy);
	return k;
}

struct fake_kernel *fake_kernel_find(const void *handle)
{
	struct fake_kernel *k = NULL;

	if ((uintptr_t)handle >= (uintptr_t)kernels &&
	    (uintptr_t)handle < (uintptr_t)(kernels + KERNELS_MAX))
		return (struct fake_kernel *)handle;
	pthread_mutex_lock(&lock);
	if (by_host.slots) {
		uint32_t at = hash_start(&by_host, hash_mix((uint64_t)(uintptr_t)handle));
		while (by_host.slots[at] && kernels[by_host.slots[at] - 1].host != handle)
			at = hash_next(&by_host, at);
		if (by_host.slots[at])
			k = &kernels[by_host.slots[at] - 1];
	}
	pthread_mutex_unlock(&lock);
	return k;
}

uint64_t fake_kernel_ns(const struct fake_kernel *k, void **arguments)
{
	if (k->is_told && arguments && arguments[0])
		return *(const unsigned int *)arguments[0] * UINT64_C(1000);
	return k->duration_ns;
}

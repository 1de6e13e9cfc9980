// SPDX-License-Identifier: MIT
// The driver's modules. Of PTX the fake's compiler takes its time, and makes nothing.
#include "base/clock.h"
#include "tests/gpu/fake_buffers.h"
#include "tests/gpu/fake_clock.h"
#include "tests/gpu/fake_cupti.h"
#include "tests/gpu/fake_pc.h"
#include "tests/gpu/fake_subscriber.h"
#include "tests/gpu/fake_work.h"

#include <elf.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMPILE_NS (3 * NS_PER_MS)

struct module {
	struct cupti_module told;
};

static bool is_cubin(const void *image)
{
	return !memcmp(image, ELFMAG, SELFMAG);
}

// A cubin ends in its table of sections, or of segments; PTX in a 0.
static size_t image_bytes(const void *image)
{
	Elf64_Ehdr header;

	if (!is_cubin(image))
		return strlen(image) + 1;
	memcpy(&header, image, sizeof(header));
	size_t sections = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
	size_t segments = header.e_phoff + (size_t)header.e_phnum * header.e_phentsize;
	return sections > segments ? sections : segments;
}

static void record_compiling(uint64_t begin_ns, uint32_t correlation)
{
	struct cupti_jit jit = {
		.kind = CUPTI_KIND_JIT,
		.entry = 1,     // PTX to cubin
		.operation = 3, // compile
		.device = fake_device_current(),
		.begin_ns = begin_ns,
		.end_ns = clock_now_ns(),
		.correlation = correlation,
	};
	struct cupti_overhead overhead = {
		.kind = CUPTI_KIND_OVERHEAD,
		.what = 1,        // the driver's compiler
		.object_kind = 2, // a thread
		.object = { (uint32_t)getpid(), (uint32_t)gettid() },
		.begin_ns = begin_ns,
		.end_ns = jit.end_ns,
	};

	if (fake_cupti_wants(CUPTI_KIND_JIT))
		fake_buffers_write(&jit, sizeof(jit));
	if (fake_cupti_wants(CUPTI_KIND_OVERHEAD))
		fake_buffers_write(&overhead, sizeof(overhead));
}

static void tell(struct module *m, uint32_t event)
{
	struct cupti_resource_event data = { fake_device_context(), m, &m->told };

	fake_subscriber_tell(CUPTI_DOMAIN_RESOURCE, event, &data);
}

int cuModuleLoadData(void **module, const void *image)
{
	static atomic_uint last;

	FAKE_DRIVER_CALL(call, cuModuleLoadData, NULL, FAKE_POINTER(module), FAKE_POINTER(image));
	struct module *m = call.refused ? NULL : calloc(1, sizeof(*m));
	if (!m)
		return fake_call_end(&call, CUDA_NO_MEMORY);
	m->told = (struct cupti_module){ ++last, image_bytes(image), image };
	if (!is_cubin(image)) {
		uint64_t begin = clock_now_ns();
		fake_wait_until(begin + COMPILE_NS);
		record_compiling(begin, call.correlation);
	}
	if (is_cubin(image))
		fake_pc_module(fake_device_context(), image, m->told.bytes);
	tell(m, CUPTI_MODULE_LOADED);
	*module = m;
	return fake_call_end(&call, 0);
}

int cuModuleUnload(void *module)
{
	FAKE_DRIVER_CALL(call, cuModuleUnload, NULL, FAKE_POINTER(module));
	if (call.refused || !module)
		return fake_call_end(&call, CUDA_INVALID_HANDLE);
	tell(module, CUPTI_MODULE_UNLOAD);
	free(module);
	return fake_call_end(&call, 0);
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
	FAKE_DRIVER_CALL(call, cuModuleGetFunction, NULL, FAKE_POINTER(function),
	                 FAKE_POINTER(module), FAKE_POINTER(name));
	const struct module *m = module;
	if (!call.refused && is_cubin(m->told.cubin))
		fake_pc_function(name, m->told.cubin, m->told.bytes);
	*function = call.refused ? NULL : fake_kernel_add(NULL, name);
	return fake_call_end(&call, *function ? 0 : CUDA_NOT_FOUND);
}

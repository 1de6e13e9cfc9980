// SPDX-License-Identifier: MIT
#include "merge/record/op_wrapper.h"

#include "base/module.h"
#include "base/path.h"
#include "symbolize/elf/elf_function.h"
#include "tracer/protocol.h"

#include <stddef.h>
#include <string.h>

// The first letters of file names.
static const char *const libraries[] = {
	PROTOCOL_AGENT_LIBRARY, "libnvToolsExt.so", "libnvtx",
	"libcupti.so",          "libcuda.so",       "libcudart.so"
};

// The first letters of mangled names.
static const char *const functions[] = {
	"nvtx",              // the C interface's inline functions, at -O0
	"_ZN5nvtx3",         // namespace nvtx3
	"_ZNK5nvtx3",        // and its const members
	"__itt_",            // the client's static part
	"bottleneck_range_", // our header's inline functions, at -O0
	"bottleneck_mark_step",
	"_ZN10bottleneck5range",
	"_ZN2at14RecordFunction", // the guard class around a PyTorch op
	"_ZN2at19RecordFunctionGuard",
	"_Z17__device_stub__", // nvcc's, between a kernel's name and its launch
	"__device_stub__",
	"libcudart_static_", // the runtime, where it is linked into the program
	"cudaLaunch",
	"cudaMemcpy",
	"cudaMemset",
	"cudaMalloc",
	"cudaFree",
	"cudaDeviceSynchronize",
	"cudaStreamSynchronize",
	"cudaEventSynchronize",
	"cudaGraphLaunch",
};

static bool begins_like_one(const char *name, const char *const *beginnings, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	return false;
}

#define BEGINS_LIKE(name, list) begins_like_one(name, list, sizeof(list) / sizeof((list)[0]))

bool op_wrapper_is(void *context, struct frame frame)
{
	const struct module *module = modules_get(context, frame.module);
	char name[256];

	if (!module || module->kind != MODULE_ELF)
		return false;
	if (BEGINS_LIKE(path_base(module->path), libraries))
		return true;
	return elf_function_name(module, frame_lookup_address(frame), name, sizeof(name)) &&
	       BEGINS_LIKE(name, functions);
}

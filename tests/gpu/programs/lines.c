// SPDX-License-Identifier: MIT
// Kernels of a cubin that has lines, by the driver: LINES_CUBIN names the file (data/cubin). The
// fake GPU says itself what their instructions wait for, with FAKE_PC; on a real one `lines` takes
// most of the time, in lines.cu:4, which is inlined twice.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __CUDACC__
#include <cuda.h>
#else
#include "tests/gpu/cuda_api.h"
typedef uint64_t CUdeviceptr;
typedef int CUdevice;
typedef void *CUcontext, *CUmodule, *CUfunction;
#define cuMemAlloc cuMemAlloc_v2
#define cuMemFree  cuMemFree_v2
#endif

#define BYTES   (1u << 22)
#define THREADS 256u

static unsigned int setting(const char *name, unsigned int otherwise)
{
	const char *value = getenv(name);

	return value ? (unsigned int)strtoul(value, NULL, 10) : otherwise;
}

static void check(const char *call, int result)
{
	if (!result)
		return;
	fprintf(stderr, "%s: error %d\n", call, result);
	exit(1);
}
#define CU(call) check(#call, (int)(call))

static char *load(const char *path)
{
	FILE *file = path ? fopen(path, "rb") : NULL;
	char *image = (char *)calloc(1, BYTES);

	if (!file || !image || !fread(image, 1, BYTES, file)) {
		fprintf(stderr, "LINES_CUBIN: there is no such file\n");
		exit(1);
	}
	fclose(file);
	return image;
}

static void launch(CUfunction function, void **arguments, unsigned int times)
{
	for (unsigned int i = 0; i < times; i++)
		CU(cuLaunchKernel(function, BYTES / sizeof(float) / THREADS, 1, 1, THREADS, 1, 1, 0,
		                  NULL, arguments, NULL));
	CU(cuCtxSynchronize());
}

int main(void)
{
	unsigned int launches = setting("LAUNCHES", 40);
	int count = (int)setting("COUNT", 4096);
	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUfunction lines, other;
	CUdeviceptr memory;

	CU(cuInit(0));
	CU(cuDeviceGet(&device, 0));
	CU(cuDevicePrimaryCtxRetain(&context, device));
	CU(cuCtxSetCurrent(context));
	CU(cuModuleLoadData(&module, load(getenv("LINES_CUBIN"))));
	CU(cuModuleGetFunction(&lines, module, "_Z5linesPfPKfi"));
	CU(cuModuleGetFunction(&other, module, "_Z5otherPf"));
	CU(cuMemAlloc(&memory, BYTES));
	void *arguments[] = { &memory, &memory, &count };
	launch(lines, arguments, launches);
	launch(other, arguments, launches / 2);
	CU(cuMemFree(memory));
	CU(cuModuleUnload(module));
	printf("launched %u and %u\n", launches, launches / 2);
	return 0;
}

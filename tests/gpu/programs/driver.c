// SPDX-License-Identifier: MIT
// No runtime: the driver alone, with a kernel that it compiles from PTX when it is loaded, as
// Triton's and CuPy's are. With BY_ADDRESS it is linked to no driver, and asks it for its
// functions, as NVIDIA's static runtime does.
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
#define cuMemAlloc   cuMemAlloc_v2
#define cuMemFree    cuMemFree_v2
#define cuMemcpyHtoD cuMemcpyHtoD_v2
#define cuMemcpyDtoH cuMemcpyDtoH_v2
#endif

#ifdef BY_ADDRESS
#include <dlfcn.h>
#include <string.h>

// What comes in versions is asked for without them, by the newest one's number.
static void *entry(const char *name)
{
	typedef int find(const char *, void **, int, uint64_t, int *);
	void *driver = dlopen("libcuda.so.1", RTLD_NOW), *function = NULL;
	find *get = driver ? (find *)dlsym(driver, "cuGetProcAddress_v2") : NULL;
	size_t length = strlen(name);
	char plain[64];

	if (length > 3 && strcmp(name + length - 3, "_v2") == 0)
		length -= 3;
	snprintf(plain, sizeof(plain), "%.*s", (int)length, name);
	if (get && get(plain, &function, 13000, 0, NULL) == 0 && function)
		return function;
	fprintf(stderr, "%s: the driver does not have it\n", plain);
	exit(1);
}

#define ENTRY(f)                 ((__typeof__(&f))entry(#f))
#define cuInit                   ENTRY(cuInit)
#define cuDeviceGet              ENTRY(cuDeviceGet)
#define cuDevicePrimaryCtxRetain ENTRY(cuDevicePrimaryCtxRetain)
#define cuCtxSetCurrent          ENTRY(cuCtxSetCurrent)
#define cuModuleLoadData         ENTRY(cuModuleLoadData)
#define cuModuleGetFunction      ENTRY(cuModuleGetFunction)
#define cuMemAlloc_v2            ENTRY(cuMemAlloc_v2)
#define cuMemcpyHtoD_v2          ENTRY(cuMemcpyHtoD_v2)
#define cuLaunchKernel           ENTRY(cuLaunchKernel)
#define cuCtxSynchronize         ENTRY(cuCtxSynchronize)
#define cuMemcpyDtoH_v2          ENTRY(cuMemcpyDtoH_v2)
#define cuMemFree_v2             ENTRY(cuMemFree_v2)
#define cuModuleUnload           ENTRY(cuModuleUnload)
#endif

#define BYTES   (1u << 20)
#define KERNELS 10u
#define US      500u

static const char ptx[] = ".version 7.0\n"
			  ".target sm_75\n"
			  ".address_size 64\n"
			  ".visible .entry ptx_us(.param .u32 us)\n"
			  "{\n"
			  "	.reg .pred %p<2>;\n"
			  "	.reg .b32 %r<2>;\n"
			  "	.reg .b64 %d<5>;\n"
			  "	ld.param.u32 %r1, [us];\n"
			  "	mul.wide.u32 %d1, %r1, 1000;\n"
			  "	mov.u64 %d2, %globaltimer;\n"
			  "again:\n"
			  "	mov.u64 %d3, %globaltimer;\n"
			  "	sub.s64 %d4, %d3, %d2;\n"
			  "	setp.lt.u64 %p1, %d4, %d1;\n"
			  "	@%p1 bra again;\n"
			  "	ret;\n"
			  "}\n";

static void check(const char *call, int result)
{
	if (!result)
		return;
	fprintf(stderr, "%s: error %d\n", call, result);
	exit(1);
}
#define CU(call) check(#call, (int)(call))

int main(void)
{
	void *host = malloc(BYTES);
	unsigned int us = US;
	void *arguments[] = { &us };
	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUfunction function;
	CUdeviceptr memory;

	CU(cuInit(0));
	CU(cuDeviceGet(&device, 0));
	CU(cuDevicePrimaryCtxRetain(&context, device));
	CU(cuCtxSetCurrent(context));
	CU(cuModuleLoadData(&module, ptx));
	CU(cuModuleGetFunction(&function, module, "ptx_us"));
	CU(cuMemAlloc(&memory, BYTES));
	CU(cuMemcpyHtoD(memory, host, BYTES));
	for (unsigned int i = 0; i < KERNELS; i++)
		CU(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
	CU(cuCtxSynchronize());
	CU(cuMemcpyDtoH(host, memory, BYTES));
	CU(cuMemFree(memory));
	CU(cuModuleUnload(module));
	printf("truth kernel ptx_us %u %u\n", KERNELS, KERNELS * US);
	printf("truth copy pageable device 1 %u\ntruth copy device pageable 1 %u\n", BYTES, BYTES);
	printf("truth allocated device 1 %u\ntruth released device 1 %u\n", BYTES, BYTES);
	// Of the runtime's launches there are none.
	printf("truth sync context 1\ntruth jit 1\ntruth modules 1\ntruth calls 0\n");
	return 0;
}

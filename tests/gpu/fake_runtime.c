// SPDX-License-Identifier: MIT
// The runtime: devices, errors, kernels and launches.
#include "tests/gpu/fake_clock.h"
#include "tests/gpu/fake_settings.h"
#include "tests/gpu/fake_work.h"

int cudaDriverGetVersion(int *version)
{
	*version = 13000;
	return 0;
}

int cudaRuntimeGetVersion(int *version)
{
	*version = 13000;
	return 0;
}

int cudaGetDeviceCount(int *count)
{
	FAKE_CALL(call, cudaGetDeviceCount, NO_DRIVER_CALL, NULL, FAKE_POINTER(count));
	*count = (int)fake_settings()->devices;
	return fake_call_end(&call, *count ? 0 : CUDA_NO_DEVICE);
}

int cudaGetDevice(int *device)
{
	FAKE_CALL(call, cudaGetDevice, NO_DRIVER_CALL, NULL, FAKE_POINTER(device));
	*device = (int)fake_device_current();
	return fake_call_end(&call, 0);
}

int cudaSetDevice(int device)
{
	FAKE_CALL(call, cudaSetDevice, NO_DRIVER_CALL, NULL, (uint64_t)device);
	bool is_there = !call.refused && fake_device_set_current((uint32_t)device);
	if (is_there)
		fake_device_ensure();
	return fake_call_end(&call, is_there ? 0 : CUDA_INVALID_DEVICE);
}

int cudaGetDeviceProperties(struct cuda_properties *properties, int device)
{
	if ((uint32_t)device >= fake_settings()->devices)
		return CUDA_INVALID_DEVICE;
	fake_device_properties((uint32_t)device, properties);
	return 0;
}

int cudaDeviceGetAttribute(int *value, int attribute, int device)
{
	// cudaDevAttr…: threads of a block, SMs, threads of an SM, the compute capability.
	static const struct {
		int attribute, value;
	} known[] = { { 1, 1024 }, { 10, 32 }, { 16, 132 }, { 39, 2048 }, { 75, 9 }, { 76, 0 } };

	if ((uint32_t)device >= fake_settings()->devices)
		return CUDA_INVALID_DEVICE;
	*value = 1;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].attribute == attribute)
			*value = known[i].value;
	return 0;
}

int cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	*can = device != peer;
	return 0;
}

int cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
	(void)flags;
	return (uint32_t)peer < fake_settings()->devices ? 0 : CUDA_INVALID_DEVICE;
}

int cudaDeviceSynchronize(void)
{
	FAKE_CALL(call, cudaDeviceSynchronize, cuCtxSynchronize, NULL, 0);
	if (!call.refused)
		fake_work_wait(CUPTI_SYNC_CONTEXT, NULL, NULL,
		               fake_device_ready(fake_device_current()), call.correlation);
	return fake_call_end(&call, 0);
}

int cudaDeviceReset(void)
{
	FAKE_CALL(call, cudaDeviceReset, NO_DRIVER_CALL, NULL, 0);
	if (!call.refused) {
		fake_wait_until(fake_device_ready(fake_device_current()));
		fake_device_reset(fake_device_current());
	}
	return fake_call_end(&call, 0);
}

int cudaGetLastError(void)
{
	return fake_call_error(true);
}

int cudaPeekAtLastError(void)
{
	return fake_call_error(false);
}

static const struct {
	int error;
	const char *name, *text;
} errors[] = {
	{ CUDA_OK, "cudaSuccess", "no error" },
	{ CUDA_INVALID_VALUE, "cudaErrorInvalidValue", "invalid argument" },
	{ CUDA_NO_MEMORY, "cudaErrorMemoryAllocation", "out of memory" },
	{ CUDA_NOT_INITIALIZED, "cudaErrorInitializationError", "initialization error" },
	{ CUDA_NO_DEVICE, "cudaErrorNoDevice", "no CUDA-capable device is detected" },
	{ CUDA_INVALID_DEVICE, "cudaErrorInvalidDevice", "invalid device ordinal" },
	{ CUDA_INVALID_IMAGE, "cudaErrorInvalidKernelImage", "device kernel image is invalid" },
	{ CUDA_INVALID_HANDLE, "cudaErrorInvalidResourceHandle", "invalid resource handle" },
	{ CUDA_NOT_FOUND, "cudaErrorSymbolNotFound", "named symbol not found" },
	{ CUDA_NOT_READY, "cudaErrorNotReady", "device not ready" },
	{ CUDA_CAPTURE_UNSUPPORTED, "cudaErrorStreamCaptureUnsupported",
	  "operation not permitted when stream is capturing" },
};

static size_t find_error(int error)
{
	size_t i = 0;

	while (i < sizeof(errors) / sizeof(*errors) && errors[i].error != error)
		i++;
	return i;
}

const char *cudaGetErrorName(int error)
{
	size_t i = find_error(error);

	return i < sizeof(errors) / sizeof(*errors) ? errors[i].name : "unrecognized error code";
}

const char *cudaGetErrorString(int error)
{
	size_t i = find_error(error);

	return i < sizeof(errors) / sizeof(*errors) ? errors[i].text : "unrecognized error code";
}

static int launch(uint32_t runtime, const void *handle, const struct cuda_launch *l,
                  void **arguments)
{
	// As cudaLaunchKernel_v7000_params has it.
	struct {
		const void *function;
		dim3 grid, block;
		void **arguments;
		size_t shared;
		cudaStream_t stream;
	} parameters = { handle, l->grid, l->block, arguments, l->shared, l->stream };
	const struct fake_kernel *k = fake_kernel_find(handle);
	struct fake_call call;

	fake_call_begin(&call, runtime, FAKE_cuLaunchKernel, &parameters, k ? k->name : NULL);
	return fake_work_launch(&call, k, l, arguments);
}

int cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared,
                     cudaStream_t stream)
{
	struct cuda_launch l = { grid, block, shared, stream, NULL, 0 };

	return launch(FAKE_cudaLaunchKernel, function, &l, arguments);
}

int cudaLaunchKernel_ptsz(const void *function, dim3 grid, dim3 block, void **arguments,
                          size_t shared, cudaStream_t stream)
{
	struct cuda_launch l = { grid, block, shared, fake_per_thread(stream), NULL, 0 };

	return launch(FAKE_cudaLaunchKernel_ptsz, function, &l, arguments);
}

int cudaLaunchKernelExC(const struct cuda_launch *l, const void *function, void **arguments)
{
	return launch(FAKE_cudaLaunchKernelExC, function, l, arguments);
}

int cudaLaunchKernelExC_ptsz(const struct cuda_launch *l, const void *function, void **arguments)
{
	struct cuda_launch own = *l;

	own.stream = fake_per_thread(l->stream);
	return launch(FAKE_cudaLaunchKernelExC_ptsz, function, &own, arguments);
}

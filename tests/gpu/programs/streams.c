// SPDX-License-Identifier: MIT
// Four streams side by side, of which the last waits for the first: the GPU is busy for less time
// than its kernels take together.
#include "tests/gpu/programs/gpu_program.h"

#define STREAMS 4u
#define KERNELS 50u
#define US      400u

KERNEL(wide_us)
KERNEL(after_us)

int main(void)
{
	cudaStream_t streams[STREAMS];
	cudaEvent_t first_done;

	CUDA(cudaEventCreate(&first_done));
	for (unsigned int i = 0; i < STREAMS; i++)
		CUDA(cudaStreamCreateWithFlags(&streams[i], CUDA_STREAM_NON_BLOCKING));
	for (unsigned int k = 0; k < KERNELS; k++)
		for (unsigned int i = 0; i < STREAMS; i++)
			LAUNCH(wide_us, US, streams[i]);
	CUDA(cudaEventRecord(first_done, streams[0]));
	CUDA(cudaStreamWaitEvent(streams[STREAMS - 1], first_done, 0));
	LAUNCH(after_us, US, streams[STREAMS - 1]);
	CUDA(cudaEventSynchronize(first_done));
	for (unsigned int i = 0; i < STREAMS; i++) {
		CUDA(cudaStreamSynchronize(streams[i]));
		CUDA(cudaStreamDestroy(streams[i]));
	}
	CUDA(cudaEventDestroy(first_done));
	printf("truth kernel wide_us %u %u\ntruth kernel after_us 1 %u\n", STREAMS * KERNELS,
	       STREAMS * KERNELS * US, US);
	printf("truth sync wait 1\ntruth sync event 1\ntruth sync stream %u\ntruth calls %u\n",
	       STREAMS, STREAMS * KERNELS + 1);
	return 0;
}

// SPDX-License-Identifier: MIT
// Waits for each kernel, in three ways.
#include "tests/gpu/programs/gpu_program.h"

#define ROUNDS 100u
#define US     300u

KERNEL(step_us)

int main(void)
{
	cudaStream_t stream;
	cudaEvent_t done;

	CUDA(cudaStreamCreate(&stream));
	CUDA(cudaEventCreate(&done));
	for (unsigned int i = 0; i < ROUNDS; i++) {
		LAUNCH(step_us, US, stream);
		CUDA(cudaDeviceSynchronize());
		LAUNCH(step_us, US, stream);
		CUDA(cudaStreamSynchronize(stream));
		LAUNCH(step_us, US, stream);
		CUDA(cudaEventRecord(done, stream));
		CUDA(cudaEventSynchronize(done));
	}
	CUDA(cudaEventDestroy(done));
	CUDA(cudaStreamDestroy(stream));
	printf("truth kernel step_us %u %u\n", 3 * ROUNDS, 3 * ROUNDS * US);
	printf("truth sync context %u\ntruth sync stream %u\ntruth sync event %u\n", ROUNDS, ROUNDS,
	       ROUNDS);
	printf("truth calls %u\n", 3 * ROUNDS);
	return 0;
}

// SPDX-License-Identifier: MIT
// A graph that was captured from a stream and one that was built node by node.
#include "tests/gpu/programs/gpu_program.h"

#define NODES    5u
#define LAUNCHES 20u
#define US       100u

KERNEL(captured_us)
KERNEL(built_us)

static cudaGraph_t capture(cudaStream_t stream)
{
	cudaGraph_t graph;

	CUDA(cudaStreamBeginCapture(stream, CUDA_CAPTURE_GLOBAL));
	for (unsigned int i = 0; i < NODES; i++)
		LAUNCH(captured_us, US, stream);
	CUDA(cudaStreamEndCapture(stream, &graph));
	return graph;
}

static cudaGraph_t build(void)
{
	cudaGraphNode_t nodes[NODES];
	cudaGraph_t graph;

	CUDA(cudaGraphCreate(&graph, 0));
	for (unsigned int i = 0; i < NODES; i++)
		CUDA(add_node(&nodes[i], graph, i ? &nodes[i - 1] : NULL, (const void *)built_us,
		              US));
	return graph;
}

static void run(cudaGraph_t graph, cudaStream_t stream)
{
	cudaGraphExec_t exec;

	CUDA(cudaGraphInstantiate(&exec, graph, 0));
	for (unsigned int i = 0; i < LAUNCHES; i++)
		CUDA(cudaGraphLaunch(exec, stream));
	CUDA(cudaStreamSynchronize(stream));
	CUDA(cudaGraphExecDestroy(exec));
	CUDA(cudaGraphDestroy(graph));
}

int main(void)
{
	cudaStream_t stream;

	CUDA(cudaStreamCreateWithFlags(&stream, CUDA_STREAM_NON_BLOCKING));
	run(capture(stream), stream);
	run(build(), stream);
	CUDA(cudaStreamDestroy(stream));
	printf("truth kernel captured_us %u %u\ntruth kernel built_us %u %u\n", NODES * LAUNCHES,
	       NODES * LAUNCHES * US, NODES * LAUNCHES, NODES * LAUNCHES * US);
	printf("truth graph %u %u\ntruth sync stream 2\n", 2 * LAUNCHES, 2 * LAUNCHES * NODES * US);
	// Of the capture's launches CUPTI tells too.
	printf("truth calls %u\n", NODES + 2 * LAUNCHES);
	return 0;
}

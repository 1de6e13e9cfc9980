// SPDX-License-Identifier: MIT
#include "tests/gpu/fake_graph.h"

#include "tests/gpu/fake_buffers.h"
#include "tests/gpu/fake_cupti.h"

#include <stdatomic.h>
#include <stdlib.h>

struct cuda_graph_node {
	struct fake_work work;
	uint64_t id; // CUPTI's, over all graphs
	struct cuda_graph_node *next;
};

struct cuda_graph {
	uint32_t id;
	struct cuda_graph_node *first, **last;
};

// A graph that can be launched: its own copy.
struct cuda_graph_exec {
	struct cuda_graph *graph;
};

static atomic_uint last_graph;
static atomic_ullong last_node;

struct cuda_graph *fake_graph_new(void)
{
	struct cuda_graph *g = calloc(1, sizeof(*g));

	if (g) {
		g->id = ++last_graph;
		g->last = &g->first;
	}
	return g;
}

static void graph_free(struct cuda_graph *g)
{
	for (struct cuda_graph_node *n = g->first, *next; n; n = next) {
		next = n->next;
		free(n);
	}
	free(g);
}

struct cuda_graph_node *fake_graph_add(struct cuda_graph *g, const struct fake_work *work)
{
	struct cuda_graph_node *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->work = *work;
	n->id = ++last_node;
	*g->last = n;
	g->last = &n->next;
	return n;
}

static int begin_capture(cudaStream_t handle, uint32_t function)
{
	struct fake_call call;

	fake_call_begin(&call, function, 0, FAKE_PARAMETERS(FAKE_POINTER(handle)), NULL);
	struct cuda_stream *s = call.refused ? NULL : fake_stream(handle);
	if (!s)
		return fake_call_end(&call, CUDA_INVALID_HANDLE);
	if (s->captured || s->id == FAKE_NULL_STREAM)
		return fake_call_end(&call, CUDA_CAPTURE_UNSUPPORTED);
	s->captured = fake_graph_new();
	return fake_call_end(&call, s->captured ? 0 : CUDA_NO_MEMORY);
}

int cudaStreamBeginCapture(cudaStream_t stream, int mode)
{
	(void)mode;
	return begin_capture(stream, FAKE_cudaStreamBeginCapture);
}

int cudaStreamBeginCapture_ptsz(cudaStream_t stream, int mode)
{
	(void)mode;
	return begin_capture(fake_per_thread(stream), FAKE_cudaStreamBeginCapture_ptsz);
}

static int end_capture(cudaStream_t handle, cudaGraph_t *graph, uint32_t function)
{
	struct fake_call call;

	fake_call_begin(&call, function, 0,
	                FAKE_PARAMETERS(FAKE_POINTER(handle), FAKE_POINTER(graph)), NULL);
	struct cuda_stream *s = call.refused ? NULL : fake_stream(handle);
	if (!s || !s->captured)
		return fake_call_end(&call, CUDA_INVALID_HANDLE);
	*graph = s->captured;
	s->captured = NULL;
	return fake_call_end(&call, 0);
}

int cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
	return end_capture(stream, graph, FAKE_cudaStreamEndCapture);
}

int cudaStreamEndCapture_ptsz(cudaStream_t stream, cudaGraph_t *graph)
{
	return end_capture(fake_per_thread(stream), graph, FAKE_cudaStreamEndCapture_ptsz);
}

int cudaGraphCreate(cudaGraph_t *graph, unsigned int flags)
{
	FAKE_CALL(call, cudaGraphCreate, NO_DRIVER_CALL, NULL, FAKE_POINTER(graph), flags);
	*graph = call.refused ? NULL : fake_graph_new();
	return fake_call_end(&call, *graph ? 0 : CUDA_NO_MEMORY);
}

int cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph,
                           const cudaGraphNode_t *dependencies, size_t dependency_count,
                           const struct cuda_kernel_node *parameters)
{
	FAKE_CALL(call, cudaGraphAddKernelNode, NO_DRIVER_CALL, NULL, FAKE_POINTER(node),
	          FAKE_POINTER(graph), FAKE_POINTER(dependencies), dependency_count,
	          FAKE_POINTER(parameters));
	const struct fake_kernel *k = fake_kernel_find(parameters->function);
	if (call.refused || !k)
		return fake_call_end(&call, CUDA_INVALID_IMAGE);
	struct fake_work work = {
		.type = FAKE_KERNEL,
		.is_async = true,
		.kernel = { k, fake_kernel_ns(k, parameters->arguments), parameters->grid,
		            parameters->block, parameters->shared },
	};
	*node = fake_graph_add(graph, &work);
	return fake_call_end(&call, *node ? 0 : CUDA_NO_MEMORY);
}

static struct cuda_graph *copy(const struct cuda_graph *from)
{
	struct cuda_graph *g = fake_graph_new();

	for (const struct cuda_graph_node *n = from->first; g && n; n = n->next)
		if (!fake_graph_add(g, &n->work))
			abort();
	return g;
}

int cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
	FAKE_CALL(call, cudaGraphInstantiate, cuGraphInstantiateWithFlags, NULL, FAKE_POINTER(exec),
	          FAKE_POINTER(graph), flags);
	*exec = call.refused ? NULL : calloc(1, sizeof(**exec));
	if (*exec)
		(*exec)->graph = copy(graph);
	return fake_call_end(&call, *exec && (*exec)->graph ? 0 : CUDA_NO_MEMORY);
}

static void record_graph(const struct cuda_graph *g, const struct cuda_stream *s,
                         struct fake_span span, uint32_t correlation)
{
	struct cupti_graph record = {
		.kind = CUPTI_KIND_GRAPH_TRACE,
		.correlation = correlation,
		.begin_ns = span.begin_ns,
		.end_ns = span.end_ns,
		.device = s->device,
		.graph = g->id,
		.context = fake_device_context_id(s->device),
		.stream = s->id,
	};

	fake_buffers_write_later(&record, sizeof(record), span.end_ns);
}

static int launch(cudaGraphExec_t exec, cudaStream_t handle, uint32_t function)
{
	struct fake_call call;
	struct fake_span all = { 0 };
	bool is_one = fake_cupti_wants(CUPTI_KIND_GRAPH_TRACE);

	fake_call_begin(&call, function, FAKE_cuGraphLaunch,
	                FAKE_PARAMETERS(FAKE_POINTER(exec), FAKE_POINTER(handle)), NULL);
	struct cuda_stream *s = call.refused ? NULL : fake_stream(handle);
	if (!s || !exec)
		return fake_call_end(&call, CUDA_INVALID_HANDLE);
	for (const struct cuda_graph_node *n = exec->graph->first; n; n = n->next) {
		struct fake_graph_place place = { exec->graph->id, n->id, is_one };
		struct fake_span span = fake_work_run(s, &n->work, call.correlation, place);
		if (!all.begin_ns)
			all.begin_ns = span.begin_ns;
		all.end_ns = span.end_ns;
	}
	if (is_one && all.end_ns)
		record_graph(exec->graph, s, all, call.correlation);
	return fake_call_end(&call, 0);
}

int cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
	return launch(exec, stream, FAKE_cudaGraphLaunch);
}

int cudaGraphLaunch_ptsz(cudaGraphExec_t exec, cudaStream_t stream)
{
	return launch(exec, fake_per_thread(stream), FAKE_cudaGraphLaunch_ptsz);
}

int cudaGraphExecDestroy(cudaGraphExec_t exec)
{
	FAKE_CALL(call, cudaGraphExecDestroy, NO_DRIVER_CALL, NULL, FAKE_POINTER(exec));
	if (call.refused || !exec)
		return fake_call_end(&call, CUDA_INVALID_VALUE);
	graph_free(exec->graph);
	free(exec);
	return fake_call_end(&call, 0);
}

int cudaGraphDestroy(cudaGraph_t graph)
{
	FAKE_CALL(call, cudaGraphDestroy, NO_DRIVER_CALL, NULL, FAKE_POINTER(graph));
	if (call.refused || !graph)
		return fake_call_end(&call, CUDA_INVALID_VALUE);
	graph_free(graph);
	return fake_call_end(&call, 0);
}

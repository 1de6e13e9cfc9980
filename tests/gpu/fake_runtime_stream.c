// SPDX-License-Identifier: MIT
// The runtime: streams and events.
#include "base/clock.h"
#include "tests/gpu/fake_work.h"

#include <stdatomic.h>
#include <stdlib.h>

static int create(struct fake_call *call, cudaStream_t *stream, bool is_blocking)
{
	*stream = call->refused ? NULL : fake_stream_new(is_blocking);
	return fake_call_end(call, *stream ? 0 : CUDA_NO_MEMORY);
}

int cudaStreamCreate(cudaStream_t *stream)
{
	FAKE_CALL(call, cudaStreamCreate, cuStreamCreate, NULL, FAKE_POINTER(stream));
	return create(&call, stream, true);
}

int cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
	FAKE_CALL(call, cudaStreamCreateWithFlags, cuStreamCreate, NULL, FAKE_POINTER(stream),
	          flags);
	return create(&call, stream, !(flags & CUDA_STREAM_NON_BLOCKING));
}

int cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority)
{
	FAKE_CALL(call, cudaStreamCreateWithPriority, cuStreamCreate, NULL, FAKE_POINTER(stream),
	          flags | (uint64_t)(uint32_t)priority << 32);
	return create(&call, stream, !(flags & CUDA_STREAM_NON_BLOCKING));
}

int cudaStreamDestroy(cudaStream_t stream)
{
	FAKE_CALL(call, cudaStreamDestroy, cuStreamDestroy_v2, NULL, FAKE_POINTER(stream));
	bool is_gone = !call.refused && fake_stream_free(stream);
	return fake_call_end(&call, is_gone ? 0 : CUDA_INVALID_HANDLE);
}

static int synchronize(cudaStream_t handle, uint32_t function)
{
	struct fake_call call;

	fake_call_begin(&call, function, FAKE_cuStreamSynchronize,
	                FAKE_PARAMETERS(FAKE_POINTER(handle)), NULL);
	struct cuda_stream *s = call.refused ? NULL : fake_stream(handle);
	if (!s)
		return fake_call_end(&call, CUDA_INVALID_HANDLE);
	fake_work_wait(CUPTI_SYNC_STREAM, s, NULL, fake_stream_ready(s), call.correlation);
	return fake_call_end(&call, 0);
}

int cudaStreamSynchronize(cudaStream_t stream)
{
	return synchronize(stream, FAKE_cudaStreamSynchronize);
}

int cudaStreamSynchronize_ptsz(cudaStream_t stream)
{
	return synchronize(fake_per_thread(stream), FAKE_cudaStreamSynchronize_ptsz);
}

static int query(cudaStream_t handle, uint32_t function)
{
	struct fake_call call;

	fake_call_begin(&call, function, FAKE_cuStreamQuery, FAKE_PARAMETERS(FAKE_POINTER(handle)),
	                NULL);
	struct cuda_stream *s = call.refused ? NULL : fake_stream(handle);
	if (!s)
		return fake_call_end(&call, CUDA_INVALID_HANDLE);
	return fake_call_end(&call, fake_stream_ready(s) <= clock_now_ns() ? 0 : CUDA_NOT_READY);
}

int cudaStreamQuery(cudaStream_t stream)
{
	return query(stream, FAKE_cudaStreamQuery);
}

int cudaStreamQuery_ptsz(cudaStream_t stream)
{
	return query(fake_per_thread(stream), FAKE_cudaStreamQuery_ptsz);
}

static int wait_event(cudaStream_t handle, cudaEvent_t event, uint32_t function)
{
	struct fake_call call;

	fake_call_begin(&call, function, FAKE_cuStreamWaitEvent,
	                FAKE_PARAMETERS(FAKE_POINTER(handle), FAKE_POINTER(event), 0), NULL);
	struct cuda_stream *s = call.refused ? NULL : fake_stream(handle);
	if (!s || !event)
		return fake_call_end(&call, CUDA_INVALID_HANDLE);
	if (event->is_recorded)
		fake_stream_wait_for(s, event->ready_ns);
	fake_work_wait(CUPTI_SYNC_STREAM_WAIT, s, event, 0, call.correlation);
	return fake_call_end(&call, 0);
}

int cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
	(void)flags;
	return wait_event(stream, event, FAKE_cudaStreamWaitEvent);
}

int cudaStreamWaitEvent_ptsz(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
	(void)flags;
	return wait_event(fake_per_thread(stream), event, FAKE_cudaStreamWaitEvent_ptsz);
}

static int create_event(struct fake_call *call, cudaEvent_t *event)
{
	static atomic_uint last;

	*event = call->refused ? NULL : calloc(1, sizeof(**event));
	if (*event)
		(*event)->id = ++last;
	return fake_call_end(call, *event ? 0 : CUDA_NO_MEMORY);
}

int cudaEventCreate(cudaEvent_t *event)
{
	FAKE_CALL(call, cudaEventCreate, cuEventCreate, NULL, FAKE_POINTER(event));
	return create_event(&call, event);
}

int cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
	FAKE_CALL(call, cudaEventCreateWithFlags, cuEventCreate, NULL, FAKE_POINTER(event), flags);
	return create_event(&call, event);
}

int cudaEventDestroy(cudaEvent_t event)
{
	FAKE_CALL(call, cudaEventDestroy, NO_DRIVER_CALL, NULL, FAKE_POINTER(event));
	free(event);
	return fake_call_end(&call, 0);
}

static int record(cudaEvent_t event, cudaStream_t handle, uint32_t function)
{
	struct fake_call call;

	fake_call_begin(&call, function, FAKE_cuEventRecord,
	                FAKE_PARAMETERS(FAKE_POINTER(event), FAKE_POINTER(handle)), NULL);
	struct cuda_stream *s = call.refused ? NULL : fake_stream(handle);
	if (!s || !event)
		return fake_call_end(&call, CUDA_INVALID_HANDLE);
	uint64_t now = clock_now_ns(), ready = fake_stream_ready(s);
	event->ready_ns = ready > now ? ready : now;
	event->is_recorded = true;
	return fake_call_end(&call, 0);
}

int cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	return record(event, stream, FAKE_cudaEventRecord);
}

int cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream)
{
	return record(event, fake_per_thread(stream), FAKE_cudaEventRecord_ptsz);
}

int cudaEventSynchronize(cudaEvent_t event)
{
	FAKE_CALL(call, cudaEventSynchronize, cuEventSynchronize, NULL, FAKE_POINTER(event));
	if (!call.refused)
		fake_work_wait(CUPTI_SYNC_EVENT, NULL, event, event->ready_ns, call.correlation);
	return fake_call_end(&call, 0);
}

int cudaEventQuery(cudaEvent_t event)
{
	FAKE_CALL(call, cudaEventQuery, cuEventQuery, NULL, FAKE_POINTER(event));
	return fake_call_end(&call, event->ready_ns <= clock_now_ns() ? 0 : CUDA_NOT_READY);
}

int cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end)
{
	if (!begin->is_recorded || !end->is_recorded)
		return CUDA_INVALID_HANDLE;
	if (end->ready_ns > clock_now_ns())
		return CUDA_NOT_READY;
	*ms = (float)((double)(int64_t)(end->ready_ns - begin->ready_ns) / 1e6);
	return 0;
}

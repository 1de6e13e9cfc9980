// SPDX-License-Identifier: MIT
#include "tracer/agent/cupti/cupti_records.h"

#include "tracer/agent/cupti/gpu_lane.h"
#include "tracer/agent/op/op.h"
#include "tracer/protocol.h"

#include <string.h>

#define OBJECT_THREAD 2 // CUPTI_ACTIVITY_OBJECT_THREAD

struct cupti_times {
	uint32_t kind;
	uint64_t begin_ns, end_ns;
};

static const struct cupti_fit *fit; // of the buffer at hand; under the lane's lock
static bool managed;                // atomic: managed memory was told of

bool cupti_records_have_managed(void)
{
	return __atomic_load_n(&managed, __ATOMIC_RELAXED);
}

// What cannot be is not known.
static void set_times(struct record *head, uint64_t *begin_ns, uint64_t *end_ns,
                      struct cupti_times theirs)
{
	if (theirs.begin_ns && theirs.end_ns >= theirs.begin_ns) {
		*begin_ns = cupti_fit_ns(fit, theirs.begin_ns);
		*end_ns = cupti_fit_ns(fit, theirs.end_ns);
		return;
	}
	head->flags |= GPU_UNTIMED;
	gpu_lane_lose(GPU_LOST_UNTIMED, theirs.kind, 1);
}

#define SET_TIMES(ours, theirs)                                                                    \
	set_times(&(ours)->head, &(ours)->begin_ns, &(ours)->end_ns,                               \
	          (struct cupti_times){ (theirs)->kind, (theirs)->begin_ns, (theirs)->end_ns })
#define RESERVE(type, record, theirs) gpu_lane_reserve(type, sizeof(*(record)), (theirs)->kind)
#define PLACE(theirs)                                                                              \
	((struct gpu_place){ (theirs)->correlation, (theirs)->device, (theirs)->context,           \
	                     (theirs)->stream })

static uint32_t kernel_name(const struct cupti_kernel *kernel)
{
	struct name name = { .provider = OP_GPU, .text = kernel->name };
	uint32_t id = kernel->name ? op_name_apart(&name) : 0;

	if (!id)
		gpu_lane_lose(GPU_LOST_NAME, kernel->kind, 1);
	return id;
}

static void take_kernel(const void *record)
{
	const struct cupti_kernel *theirs = record;
	struct record_gpu_kernel *ours = RESERVE(RECORD_GPU_KERNEL, ours, theirs);

	if (!ours)
		return;
	SET_TIMES(ours, theirs);
	ours->place = PLACE(theirs);
	ours->graph_node = theirs->graph_node;
	ours->name = kernel_name(theirs);
	for (int i = 0; i < 3; i++) {
		ours->grid[i] = (uint32_t)theirs->grid[i];
		ours->block[i] = (uint16_t)theirs->block[i];
	}
	ours->registers = theirs->registers;
	ours->static_shared = (uint32_t)theirs->static_shared;
	ours->dynamic_shared = (uint32_t)theirs->dynamic_shared;
	ours->local_per_thread = theirs->local_per_thread;
	gpu_lane_commit(ours);
}

// Copies of both kinds begin alike.
static void fill_copy(struct record_gpu_copy *ours, const struct cupti_copy *theirs,
                      uint32_t correlation)
{
	SET_TIMES(ours, theirs);
	ours->head.flags |= theirs->flags & CUPTI_COPY_ASYNC ? GPU_ASYNC : 0;
	ours->place =
		(struct gpu_place){ correlation, theirs->device, theirs->context, theirs->stream };
	ours->bytes = theirs->bytes;
	ours->from_device = ours->to_device = theirs->device;
	ours->kind = theirs->copy_kind;
	ours->from = theirs->from;
	ours->to = theirs->to;
}

static void take_copy(const void *record)
{
	const struct cupti_copy *theirs = record;
	struct record_gpu_copy *ours = RESERVE(RECORD_GPU_COPY, ours, theirs);

	if (!ours)
		return;
	fill_copy(ours, theirs, theirs->correlation);
	gpu_lane_commit(ours);
}

_Static_assert(offsetof(struct cupti_peer_copy, stream) == offsetof(struct cupti_copy, stream),
               "copies begin alike");

static void take_peer_copy(const void *record)
{
	const struct cupti_peer_copy *theirs = record;
	struct record_gpu_copy *ours = RESERVE(RECORD_GPU_COPY, ours, theirs);

	if (!ours)
		return;
	fill_copy(ours, record, theirs->correlation);
	ours->from_device = theirs->from_device;
	ours->to_device = theirs->to_device;
	gpu_lane_commit(ours);
}

static void take_set(const void *record)
{
	const struct cupti_set *theirs = record;
	struct record_gpu_set *ours = RESERVE(RECORD_GPU_SET, ours, theirs);

	if (!ours)
		return;
	SET_TIMES(ours, theirs);
	ours->place = PLACE(theirs);
	ours->bytes = theirs->bytes;
	ours->value = theirs->value;
	ours->memory = theirs->memory_kind;
	gpu_lane_commit(ours);
}

static void take_sync(const void *record)
{
	const struct cupti_sync *theirs = record;
	struct record_gpu_sync *ours = RESERVE(RECORD_GPU_SYNC, ours, theirs);

	if (!ours)
		return;
	SET_TIMES(ours, theirs);
	ours->place = (struct gpu_place){ theirs->correlation, 0, theirs->context, theirs->stream };
	ours->kind = theirs->type;
	ours->event = theirs->event;
	gpu_lane_commit(ours);
}

static void take_memory(const void *record)
{
	const struct cupti_memory *theirs = record;
	struct record_gpu_memory *ours = RESERVE(RECORD_GPU_MEMORY, ours, theirs);

	if (theirs->memory_kind == CUPTI_MEMORY_MANAGED ||
	    theirs->memory_kind == CUPTI_MEMORY_MANAGED_STATIC)
		__atomic_store_n(&managed, true, __ATOMIC_RELAXED);
	if (!ours)
		return;
	ours->at_ns = cupti_fit_ns(fit, theirs->time_ns);
	ours->head.flags |= theirs->is_async ? GPU_ASYNC : 0;
	ours->place = PLACE(theirs);
	ours->address = theirs->address;
	ours->bytes = theirs->bytes;
	ours->pool = theirs->pool.address;
	ours->operation = theirs->operation;
	ours->memory = theirs->memory_kind;
	gpu_lane_commit(ours);
}

static bool has_end(uint32_t counter)
{
	return counter != CUPTI_MANAGED_HOST_FAULT && counter != CUPTI_MANAGED_THRASHING &&
	       counter != CUPTI_MANAGED_REMOTE_MAP;
}

// The device that it is about; CUPTI_HOST: none, or several.
static uint32_t device_of(const struct cupti_managed *theirs)
{
	switch (theirs->counter) {
	case CUPTI_MANAGED_TO_DEVICE:
	case CUPTI_MANAGED_BETWEEN_DEVICES:
	case CUPTI_MANAGED_REMOTE_MAP:
		return theirs->to;
	case CUPTI_MANAGED_TO_HOST:
	case CUPTI_MANAGED_DEVICE_FAULT:
		return theirs->from;
	case CUPTI_MANAGED_THROTTLING:
		return theirs->flags & CUPTI_MANAGED_ON_HOST ? CUPTI_HOST : theirs->from;
	default:
		return CUPTI_HOST;
	}
}

// What the flags of thrashing and throttling say is in the device.
static uint32_t cause_of(const struct cupti_managed *theirs)
{
	return theirs->counter == CUPTI_MANAGED_THRASHING ||
	                       theirs->counter == CUPTI_MANAGED_THROTTLING
	               ? 0
	               : theirs->flags;
}

static void take_managed(const void *record)
{
	const struct cupti_managed *theirs = record;
	struct record_gpu_managed *ours = RESERVE(RECORD_GPU_MANAGED, ours, theirs);

	if (!ours)
		return;
	set_times(&ours->head, &ours->begin_ns, &ours->end_ns,
	          (struct cupti_times){ theirs->kind, theirs->begin_ns,
	                                has_end(theirs->counter) ? theirs->end_ns
	                                                         : theirs->begin_ns });
	ours->address = theirs->address;
	ours->value = theirs->value;
	ours->kind = theirs->counter;
	ours->cause = cause_of(theirs);
	ours->device = device_of(theirs);
	gpu_lane_commit(ours);
}

static void take_pool(const void *record)
{
	const struct cupti_pool *theirs = record;
	struct record_gpu_pool *ours = RESERVE(RECORD_GPU_POOL, ours, theirs);

	if (!ours)
		return;
	ours->at_ns = cupti_fit_ns(fit, theirs->time_ns);
	ours->place = (struct gpu_place){ theirs->correlation, theirs->device, 0, 0 };
	ours->address = theirs->address;
	ours->bytes = theirs->bytes;
	ours->kept_bytes = theirs->kept_bytes;
	ours->operation = theirs->operation;
	gpu_lane_commit(ours);
}

static void take_graph(const void *record)
{
	const struct cupti_graph *theirs = record;
	struct record_gpu_graph *ours = RESERVE(RECORD_GPU_GRAPH, ours, theirs);

	if (!ours)
		return;
	SET_TIMES(ours, theirs);
	ours->place = PLACE(theirs);
	ours->graph = theirs->graph;
	gpu_lane_commit(ours);
}

static void take_jit(const void *record)
{
	const struct cupti_jit *theirs = record;
	struct record_gpu_jit *ours = RESERVE(RECORD_GPU_JIT, ours, theirs);

	if (!ours)
		return;
	SET_TIMES(ours, theirs);
	ours->place = (struct gpu_place){ theirs->correlation, theirs->device, 0, 0 };
	ours->entry = theirs->entry;
	ours->operation = theirs->operation;
	gpu_lane_commit(ours);
}

static void take_overhead(const void *record)
{
	const struct cupti_overhead *theirs = record;
	struct record_gpu_overhead *ours = RESERVE(RECORD_GPU_OVERHEAD, ours, theirs);

	if (!ours)
		return;
	SET_TIMES(ours, theirs);
	if (theirs->object_kind == OBJECT_THREAD)
		ours->head.tid = theirs->object[1];
	ours->what = theirs->what;
	gpu_lane_commit(ours);
}

static void take_launch(const void *record)
{
	const struct cupti_api *theirs = record;
	struct record_gpu_launch *ours = RESERVE(RECORD_GPU_LAUNCH, ours, theirs);

	if (!ours)
		return;
	SET_TIMES(ours, theirs);
	ours->head.tid = theirs->tid;
	ours->correlation = theirs->correlation;
	gpu_lane_commit(ours);
}

static void take_device(const void *record)
{
	const struct cupti_device *theirs = record;
	const char *name = theirs->name ? theirs->name : "";
	size_t length = strnlen(name, PROTOCOL_NAME_TEXT);
	struct record_gpu_device *ours = gpu_lane_reserve(
		RECORD_GPU_DEVICE, record_align(sizeof(*ours) + length + 1), theirs->kind);

	if (!ours)
		return;
	*ours = (struct record_gpu_device){
		.head = ours->head,
		.memory_bytes = theirs->memory_bytes,
		.memory_bytes_per_s = theirs->memory_kb_per_s * 1000,
		.device = theirs->id,
		.clock_khz = theirs->clock_khz,
		.compute_major = theirs->compute_major,
		.compute_minor = theirs->compute_minor,
		.multiprocessors = theirs->multiprocessors,
		.warp_threads = theirs->warp_threads,
		.max_warps = theirs->max_warps,
		.max_blocks = theirs->max_blocks,
		.max_shared = theirs->max_shared,
		.max_registers = theirs->max_registers,
		.block_shared = theirs->block_shared,
		.block_registers = theirs->block_registers,
		.block_threads = theirs->block_threads,
		.l2_bytes = theirs->l2_bytes,
		.copy_engines = theirs->copy_engines,
	};
	memcpy(ours->uuid, theirs->uuid, sizeof(ours->uuid));
	memcpy(ours + 1, name, length);
	gpu_lane_commit(ours);
}

static void take_context(const void *record)
{
	const struct cupti_context *theirs = record;
	struct record_gpu_context *ours = RESERVE(RECORD_GPU_CONTEXT, ours, theirs);

	if (!ours)
		return;
	ours->context = theirs->context;
	ours->device = theirs->device;
	ours->null_stream = theirs->null_stream;
	gpu_lane_commit(ours);
}

static void take_stream(const void *record)
{
	const struct cupti_stream *theirs = record;
	struct record_gpu_stream *ours = RESERVE(RECORD_GPU_STREAM, ours, theirs);

	if (!ours)
		return;
	ours->context = theirs->context;
	ours->stream = theirs->stream;
	ours->priority = theirs->priority;
	ours->flag = theirs->flag;
	ours->correlation = theirs->correlation;
	gpu_lane_commit(ours);
}

static const struct taker {
	uint32_t kind;
	uint32_t bytes; // that are read
	void (*take)(const void *record);
} takers[] = {
	{ CUPTI_KIND_CONCURRENT_KERNEL, sizeof(struct cupti_kernel), take_kernel },
	{ CUPTI_KIND_MEMCPY, sizeof(struct cupti_copy), take_copy },
	{ CUPTI_KIND_PEER_MEMCPY, sizeof(struct cupti_peer_copy), take_peer_copy },
	{ CUPTI_KIND_MEMSET, sizeof(struct cupti_set), take_set },
	{ CUPTI_KIND_SYNCHRONIZATION, sizeof(struct cupti_sync), take_sync },
	{ CUPTI_KIND_MEMORY, offsetof(struct cupti_memory, pool.release_threshold), take_memory },
	{ CUPTI_KIND_MANAGED, sizeof(struct cupti_managed), take_managed },
	{ CUPTI_KIND_MEMORY_POOL, sizeof(struct cupti_pool), take_pool },
	{ CUPTI_KIND_GRAPH_TRACE, sizeof(struct cupti_graph), take_graph },
	{ CUPTI_KIND_JIT, sizeof(struct cupti_jit), take_jit },
	{ CUPTI_KIND_OVERHEAD, sizeof(struct cupti_overhead), take_overhead },
	{ CUPTI_KIND_INTERNAL_LAUNCH, sizeof(struct cupti_api), take_launch },
	{ CUPTI_KIND_DEVICE, sizeof(struct cupti_device), take_device },
	{ CUPTI_KIND_CONTEXT, sizeof(struct cupti_context), take_context },
	{ CUPTI_KIND_STREAM, sizeof(struct cupti_stream), take_stream },
	{ CUPTI_KIND_KERNEL, sizeof(struct cupti_kernel), take_kernel },
};

static const struct taker *taker_of(uint32_t kind)
{
	for (size_t i = 0; i < sizeof(takers) / sizeof(takers[0]); i++)
		if (takers[i].kind == kind)
			return &takers[i];
	return NULL;
}

// Whether RECORD, of which LEFT bytes are in the buffer, is one; false ends the buffer.
static bool take(const uint8_t *record, size_t left)
{
	uint32_t kind;

	if (left < sizeof(kind))
		return false;
	memcpy(&kind, record, sizeof(kind));
	const struct taker *taker = taker_of(kind);
	if (taker && taker->bytes > left)
		return false;
	if (taker)
		taker->take(record);
	else
		gpu_lane_lose(GPU_LOST_UNKNOWN, kind, 1);
	return true;
}

void cupti_records_take(const struct cupti_functions *f, const struct cupti_fit *fit_now,
                        uint8_t *buffer, size_t valid)
{
	const uint8_t *before = NULL;
	void *record = NULL;
	int result;

	fit = fit_now;
	while ((result = f->next_record(buffer, valid, &record)) == CUPTI_OK) {
		size_t at = (size_t)((uint8_t *)record - buffer);
		bool is_new = !before || (const uint8_t *)record > before;
		if (at >= valid || at % CUPTI_BUFFER_ALIGNMENT || !is_new ||
		    !take(record, valid - at))
			break;
		before = record;
	}
	if (result != CUPTI_END_OF_BUFFER)
		gpu_lane_lose(GPU_LOST_DAMAGED, 0, 1);
}

// SPDX-License-Identifier: MIT
// Rules on GPUs.
#include "base/share.h"
#include "merge/query/query_gpu.h"
#include "merge/rules/evidence.h"

#include <string.h>

#define SHORT_NS    10000u
#define SHORT_CALLS 1000u // fewer launches cost nothing to speak of
#define FEW_SYNCS   10u
#define BUSY_ENOUGH 0.8 // of the GPU's time: then waiting for it is as it should be
#define MUCH_BUSY   0.1
#define MB          1048576.0 // as the tables count them

static bool has_gpu(const struct evidence *e)
{
	return e->gpu_wait && e->gpu_wait->span_ns;
}

// Of NS of GPU time, over all GPUs, the run could be shorter by no more than its part of one.
static uint64_t saving_of(const struct evidence *e, uint64_t ns)
{
	uint64_t saving = ns / (e->gpu->device_count ? e->gpu->device_count : 1);

	return saving < e->wall_ns ? saving : e->wall_ns;
}

static enum measured weigh(const struct evidence *e, uint64_t ns, struct finding *finding)
{
	finding->share = share_of(ns, e->gpu_wait->span_ns);
	finding->value = 100 * finding->share;
	finding->saving_ns = saving_of(e, ns);
	return MEASURED;
}

// What stacks tell, scaled to what is known of the gaps.
static uint64_t scaled(const struct gpu_wait *wait, uint64_t ns)
{
	return (uint64_t)(share_of(ns, wait->told_ns + wait->runnable_ns) * (double)wait->idle_ns);
}

static void add_waited_for(const struct evidence *e, struct finding *finding)
{
	const struct gpu_wait *wait = e->gpu_wait;

	for (size_t i = 0; i < wait->functions->count && i < FINDING_ROWS; i++) {
		const struct row *row = &wait->functions->rows[i];
		if (!row->self)
			break;
		finding_add(finding, &(struct finding_row){
					     .function = row->name,
					     .file = row->file,
					     .line = row->line,
					     .ns = scaled(wait, row->self),
					     .share = share_of(row->self, wait->told_ns),
				     });
	}
}

static const char *who_waits(const struct gpu_wait *wait, char *buffer, size_t size)
{
	const struct row *thread = &wait->threads->rows[0];

	if (wait->main_thread)
		return "the main thread";
	snprintf(buffer, size, "thread %.40s (%u)", thread->name, thread->id);
	return buffer;
}

static enum measured measure_idle(const struct evidence *e, const struct rule *rule,
                                  struct finding *finding)
{
	const struct gpu_wait *wait = e->gpu_wait;
	char place[300], who[80];

	(void)rule;
	if (!has_gpu(e))
		return MEASURED_NOTHING;
	weigh(e, wait->idle_ns, finding);
	if (!wait->told_ns)
		return finding_say(finding, "the GPU was idle for %.0f %% of the time",
		                   finding->value);
	add_waited_for(e, finding);
	finding_place(finding->function, finding->file, finding->line, place, sizeof(place));
	return finding_say(finding,
	                   "the GPU was idle for %.0f %% of the time, mostly waiting "
	                   "for %s in %s",
	                   finding->value, who_waits(wait, who, sizeof(who)), place);
}

static enum measured measure_launch(const struct evidence *e, const struct rule *rule,
                                    struct finding *finding)
{
	uint64_t ns;

	(void)rule;
	if (!has_gpu(e) || !e->gpu_wait->told_ns)
		return MEASURED_NOTHING;
	ns = scaled(e->gpu_wait, e->gpu_wait->call_ns[GPU_CALL_LAUNCH]);
	weigh(e, ns, finding);
	return finding_say(finding,
	                   "launches limit the GPU: it was idle for %.0f %% of the time while "
	                   "the next kernel was being launched",
	                   finding->value);
}

static enum measured measure_gap(const struct evidence *e, const struct rule *rule,
                                 struct finding *finding)
{
	(void)rule;
	if (!has_gpu(e))
		return MEASURED_NOTHING;
	finding->value = (double)e->gpu_wait->longest_ns / 1e9;
	return finding_say(finding, "nothing ran on the GPU for %.1f s at a stretch",
	                   finding->value);
}

// Calls of CUDA's of KIND, by the time in them.
static uint64_t time_in_calls(const struct evidence *e, enum gpu_call_kind kind, bool blocking,
                              uint64_t *calls, struct finding *finding)
{
	uint64_t ns = 0;

	*calls = 0;
	for (size_t i = 0; i < e->ops->count; i++) {
		const struct op_row *row = &e->ops->rows[i];
		if (strcmp(row->provider, op_provider_name(OP_CUDA)) != 0 ||
		    gpu_call_kind(row->name) != kind || (blocking && strstr(row->name, "Async")))
			continue;
		ns += row->total_ns;
		*calls += row->calls;
		if (finding->row_count < FINDING_ROWS)
			finding_add(finding,
			            &(struct finding_row){
					    .function = row->function ? row->function : row->name,
					    .file = row->file,
					    .line = row->line,
					    .callee = row->function ? row->name : NULL,
					    .ns = row->total_ns,
					    .share = share_of(row->total_ns, e->wall_ns),
					    .calls = row->calls,
				    });
	}
	finding->share = share_of(ns, e->wall_ns) < 1 ? share_of(ns, e->wall_ns) : 1;
	finding->value = 100 * finding->share;
	finding->saving_ns = ns < e->wall_ns ? ns : e->wall_ns;
	return ns;
}

static enum measured say_calls(const struct evidence *e, enum gpu_call_kind kind, bool blocking,
                               uint64_t least, const char *words, struct finding *finding)
{
	char place[300];
	uint64_t calls;

	if (!has_gpu(e) || !time_in_calls(e, kind, blocking, &calls, finding) || calls < least)
		return MEASURED_NOTHING;
	finding_place(finding->function, finding->file, finding->line, place, sizeof(place));
	return finding_say(finding, "%s: %.0f %% of the time, most in %s", words, finding->value,
	                   place);
}

static enum measured measure_sync_copy(const struct evidence *e, const struct rule *rule,
                                       struct finding *finding)
{
	(void)rule;
	return say_calls(e, GPU_CALL_COPY, true, 1, "waiting for copies", finding);
}

// A program that keeps its GPU busy may well wait for it.
static enum measured measure_sync(const struct evidence *e, const struct rule *rule,
                                  struct finding *finding)
{
	(void)rule;
	if (has_gpu(e) && 1 - share_of(e->gpu_wait->idle_ns, e->gpu_wait->span_ns) >= BUSY_ENOUGH)
		return MEASURED_NOTHING;
	enum measured measured = say_calls(e, GPU_CALL_SYNC, false, FEW_SYNCS,
	                                   "waiting for the GPU to be done", finding);
	// While the GPU is busy, who does not wait here has nothing else of it.
	if (measured == MEASURED && finding->saving_ns > saving_of(e, e->gpu_wait->idle_ns))
		finding->saving_ns = saving_of(e, e->gpu_wait->idle_ns);
	return measured;
}

static enum measured measure_alloc(const struct evidence *e, const struct rule *rule,
                                   struct finding *finding)
{
	(void)rule;
	return say_calls(e, GPU_CALL_MEMORY, false, FEW_SYNCS,
	                 "allocating and freeing memory of the GPU", finding);
}

static enum measured measure_pageable(const struct evidence *e, const struct rule *rule,
                                      struct finding *finding)
{
	uint64_t ns = 0, bytes = 0;

	(void)rule;
	if (!has_gpu(e))
		return MEASURED_NOTHING;
	for (size_t i = 0; i < e->gpu_rows->count; i++) {
		const struct gpu_row *row = &e->gpu_rows->rows[i];
		if (row->kind != GPU_WORK_COPY ||
		    (row->from != GPU_MEMORY_PAGEABLE && row->to != GPU_MEMORY_PAGEABLE))
			continue;
		ns += row->total_ns;
		bytes += row->bytes;
	}
	weigh(e, ns, finding);
	return finding_say(
		finding,
		"%.0f MB were copied from or to pageable memory, in %.0f %% of the GPU's "
		"time",
		(double)bytes / MB, finding->value);
}

// The lines of the host that had pages come back; the words for the first of them, "" if none is
// known, in PLACE. False if there is no memory.
static bool add_faults(const struct evidence *e, struct finding *finding, char *place, size_t size)
{
	cleanup(gpu_fault_rows) struct gpu_fault_rows *rows = query_gpu_faults(e->profile, NULL);

	*place = '\0';
	for (size_t i = 0; rows && i < rows->count && i < FINDING_ROWS; i++) {
		const struct gpu_fault_row *row = &rows->rows[i];
		const char *function = row->caller ? row->caller : row->function;
		if (!function)
			continue;
		finding_add(finding, &(struct finding_row){
					     .function = function,
					     .file = row->caller ? row->caller_file : row->file,
					     .line = row->caller ? row->caller_line : row->line,
					     .callee = row->caller ? row->function : NULL,
					     .ns = row->ns,
					     .share = share_of(row->ns, e->gpu_wait->span_ns),
					     .calls = row->faults,
				     });
	}
	if (finding->row_count)
		finding_place(finding->function, finding->file, finding->line, place, size);
	return rows;
}

// What helps depends on who uses the pages, and how.
static void advise_paging(const struct gpu_paging *p, const char *place, struct finding *finding)
{
	bool gpu_reads = p->device_groups && !p->device_writes;

	if (2 * p->evicted_ns > p->ns)
		finding_advise(
			finding,
			"It does not fit into the GPU's memory: process it in parts, or keep "
			"rarely used data on the host (cudaMemAdviseSetPreferredLocation, "
			"cudaMemAdviseSetAccessedBy).");
	else if (gpu_reads && p->host_faults && !p->host_writes)
		finding_advise(finding, "Host and GPU only read it: cudaMemAdvise() with "
		                        "cudaMemAdviseSetReadMostly gives each a copy of its own.");
	else if (p->thrashing)
		finding_advise(
			finding,
			"Give host and GPU separate buffers for what they write; or let one keep "
			"the pages and the other access them remotely "
			"(cudaMemAdviseSetPreferredLocation, cudaMemAdviseSetAccessedBy).");
	else if (*place)
		finding_advise(
			finding,
			"Call cudaMemPrefetchAsync() to the GPU before the kernel, and to the "
			"host before %s; or use cudaMalloc() and explicit copies.",
			place);
}

static enum measured measure_managed(const struct evidence *e, const struct rule *rule,
                                     struct finding *finding)
{
	(void)rule;
	if (!has_gpu(e) || !e->gpu->managed.bytes)
		return MEASURED_NOTHING;
	const struct gpu_paging *paging = &e->gpu->managed;
	uint64_t ns = paging->ns + paging->throttled_ns, most = e->gpu_wait->span_ns;
	char thrashed[96] = "", place[300];
	weigh(e, ns < most ? ns : most, finding);
	if (!add_faults(e, finding, place, sizeof(place)))
		return MEASURED_NOTHING;
	advise_paging(paging, place, finding);
	if (paging->thrashing)
		snprintf(thrashed, sizeof(thrashed), "; pages migrated back and forth %lu time%s",
		         (unsigned long)paging->thrashing, paging->thrashing == 1 ? "" : "s");
	return finding_say(finding,
	                   "%.0f MB of managed memory migrated on page faults, for %.0f %% of "
	                   "the GPU's time%s%s%s",
	                   (double)paging->bytes / MB, finding->value, thrashed,
	                   *place ? "; the host faulted most in " : "", place);
}

static enum measured measure_short(const struct evidence *e, const struct rule *rule,
                                   struct finding *finding)
{
	uint64_t calls = 0, shorts = 0;

	(void)rule;
	if (!has_gpu(e))
		return MEASURED_NOTHING;
	for (size_t i = 0; i < e->gpu_rows->count; i++) {
		const struct gpu_row *row = &e->gpu_rows->rows[i];
		if (row->kind != GPU_WORK_KERNEL)
			continue;
		calls += row->calls;
		shorts += row->average_ns < SHORT_NS ? row->calls : 0;
	}
	if (calls < SHORT_CALLS)
		return MEASURED_NOTHING;
	finding->value = 100 * share_of(shorts, calls);
	return finding_say(finding, "%.0f %% of %lu launches are of kernels shorter than 10 us",
	                   finding->value, (unsigned long)calls);
}

static enum measured measure_memory(const struct evidence *e, const struct rule *rule,
                                    struct finding *finding)
{
	double most = 0;

	(void)rule;
	for (size_t i = 0; e->gpu && i < e->gpu->device_count; i++) {
		const struct gpu_device_row *d = &e->gpu->devices[i];
		double used = share_of(d->peak_bytes, d->memory_bytes);
		most = used > most ? used : most;
	}
	if (most <= 0)
		return MEASURED_NOTHING;
	finding->value = 100 * most;
	return finding_say(finding, "the program had allocated %.0f %% of the GPU's memory at once",
	                   finding->value);
}

// What the GPUs worked, where streams overlap more than the time in which they did.
static uint64_t worked_ns(const struct evidence *e)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < e->gpu_rows->count; i++)
		sum += e->gpu_rows->rows[i].total_ns;
	return sum > e->gpu->busy_ns ? sum : e->gpu->busy_ns;
}

static bool multiplies(const char *name)
{
	return strstr(name, "gemm") || strstr(name, "Gemm") || strstr(name, "conv") ||
	       strstr(name, "cutlass") || strstr(name, "matmul");
}

static enum measured measure_tensor_cores(const struct evidence *e, const struct rule *rule,
                                          struct finding *finding)
{
	uint64_t ns = 0;

	(void)rule;
	if (!has_gpu(e) || !e->gpu->device_count || e->gpu->devices[0].compute_major < 7)
		return MEASURED_NOTHING;
	uint64_t worked = worked_ns(e);
	for (size_t i = 0; i < e->gpu_rows->count; i++) {
		const struct gpu_row *row = &e->gpu_rows->rows[i];
		if (row->kind != GPU_WORK_KERNEL || row->tensor_cores || !multiplies(row->name))
			continue;
		ns += row->total_ns;
		finding_add(finding,
		            &(struct finding_row){ .function = row->name,
		                                   .ns = row->total_ns,
		                                   .share = share_of(row->total_ns, worked),
		                                   .calls = row->calls });
	}
	weigh(e, ns, finding);
	finding->value = 100 * share_of(ns, worked);
	return finding_say(finding,
	                   "%.0f %% of the GPU's work is matrix products without tensor cores",
	                   finding->value);
}

// ROW fills no GPU, nor with what ran beside it.
static bool is_small(const struct evidence *e, const struct gpu_row *row, double beside)
{
	const uint32_t *grid = row->shape.grid;
	double blocks = (double)grid[0] * grid[1] * grid[2];

	return row->kind == GPU_WORK_KERNEL && blocks > 0 &&
	       blocks * beside < e->gpu->devices[0].multiprocessors;
}

static enum measured measure_grid(const struct evidence *e, const struct rule *rule,
                                  struct finding *finding)
{
	uint64_t ns = 0;

	(void)rule;
	if (!has_gpu(e) || share_of(e->gpu->busy_ns, e->gpu->span_ns) < MUCH_BUSY)
		return MEASURED_NOTHING;
	uint64_t worked = worked_ns(e);
	double beside = share_of(worked, e->gpu->busy_ns);
	for (size_t i = 0; i < e->gpu_rows->count; i++) {
		const struct gpu_row *row = &e->gpu_rows->rows[i];
		if (!is_small(e, row, beside))
			continue;
		ns += row->total_ns;
		finding_add(finding,
		            &(struct finding_row){ .function = row->name,
		                                   .ns = row->total_ns,
		                                   .share = share_of(row->total_ns, worked),
		                                   .calls = row->calls });
	}
	weigh(e, ns, finding);
	finding->value = 100 * share_of(ns, worked);
	return finding_say(finding,
	                   "%.0f %% of the GPU's work is kernels with fewer blocks than it has "
	                   "multiprocessors",
	                   finding->value);
}

const struct rule rules_gpu[] = {
	{ .id = "GPU-IDLE",
	  .subject = RULES_GPU,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .severe = 50,
	  .title = "GPU idle",
	  .formula =
	          "time between the first and the last activity of a GPU in which nothing ran on "
	          "any of its streams, as a share of that time",
	  .why = "The GPU is the most expensive part of the machine, and it does nothing during "
	         "this time.",
	  .advice = "Prepare the next work while the GPU is busy: in other threads or processes, "
	            "or on the GPU itself; launch ahead, and synchronize later.",
	  .source = "TensorBoard's plugin: utilization below 50 %",
	  .measure = measure_idle },
	{ .id = "GPU-LAUNCH",
	  .subject = RULES_GPU,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 3,
	  .severe = 15,
	  .within = { "GPU-IDLE" },
	  .title = "GPU bound by kernel launches",
	  .formula = "GPU idle time in which its launching thread was within a call that launches, "
	             "as a share of the time from the first activity to the last",
	  .why = "A launch costs some microseconds of CPU time; the GPU waits for the next launch "
	         "after each shorter kernel.",
	  .advice = "Launch fewer and larger kernels: larger batches, fused operations "
	            "(torch.compile), or CUDA graphs, which launch many kernels at once.",
	  .source = "XProf: kernel launch above 3 % of the step; 15 %: high",
	  .measure = measure_launch },
	{ .id = "GPU-GAP",
	  .subject = RULES_GPU,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_SECONDS,
	  .threshold = 0.5,
	  .whole_run = true,
	  .narrows = true,
	  .within = { "GPU-IDLE" },
	  .title = "long gaps on the GPU",
	  .formula = "the longest time between two activities of a GPU in which nothing ran there",
	  .why = "Checkpoints, evaluation and missing input stall the GPU.",
	  .advice = "See in the table of GPU idle time what the launching thread did meanwhile, "
	            "and move that to another thread.",
	  .source = "Nsight Systems, rule gpu_gaps: 500 ms",
	  .measure = measure_gap },
	{ .id = "GPU-SYNCCOPY",
	  .subject = RULES_GPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 1,
	  .within = { "GPU-IDLE" },
	  .title = "synchronous copies",
	  .formula =
	          "time in calls of CUDA's that copy or set memory and wait for that, as a share "
	          "of the run",
	  .why = "The CPU and all other streams stand still during a synchronous copy.",
	  .advice = "Use cudaMemcpyAsync() on a stream of its own, from pinned memory; in "
	            "PyTorch, pin_memory=True and .to(device, non_blocking=True).",
	  .source = "Nsight Systems, rule cuda_memcpy_sync; 1 %: our choice",
	  .measure = measure_sync_copy },
	{ .id = "GPU-SYNCAPI",
	  .subject = RULES_GPU,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 1,
	  .severe = 30,
	  .within = { "GPU-IDLE" },
	  .title = "GPU synchronization",
	  .formula =
	          "time in calls that wait for a stream, an event or a device, as a share of the "
	          "run, where there are at least ten and the GPU is busy for less than 80 %",
	  .why = "After each synchronization the GPU is idle until the next launch arrives.",
	  .advice = "Synchronize less often: read results (.item(), .cpu(), print) only every so "
	            "many steps, and order streams by events.",
	  .source = "Nsight Systems, rule cuda_api_sync; 1 %: our choice",
	  .measure = measure_sync },
	{ .id = "GPU-PAGEABLE",
	  .subject = RULES_GPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 1,
	  .title = "copies from pageable memory",
	  .formula =
	          "time of copies from or to pageable memory of the host, as a share of the time "
	          "from the GPU's first activity to its last",
	  .why = "The driver stages pageable memory through its own buffer: such copies are "
	         "slower, and synchronous whatever the call's name.",
	  .advice = "Pin the memory: cudaMallocHost(), cudaHostRegister(); in PyTorch, "
	            "pin_memory=True.",
	  .source = "Nsight Systems, rule cuda_memcpy_async; 1 %: our choice",
	  .part = 0.5,
	  .part_from = "pinned memory is copied about twice as fast",
	  .measure = measure_pageable },
	{ .id = "GPU-MANAGED",
	  .subject = RULES_GPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 5,
	  .severe = 30,
	  .whole_run = true,
	  .narrows = true,
	  .title = "managed memory migrates by page faults",
	  .formula =
	          "time for which pages of managed memory moved without the program's having asked "
	          "for it, or a processor was kept waiting for pages that migrated back and forth, as a "
	          "share of the time from the GPU's first activity to its last",
	  .why = "A kernel that touches a page which is not resident stalls until the page has "
	         "been migrated: a few pages at a time, far slower than one copy.",
	  .advice = "Call cudaMemPrefetchAsync() before the kernel and before the host reads; "
	            "cudaMemAdvise() for data that both only read; or use cudaMalloc() and "
	            "explicit copies.",
	  .source = "our choice",
	  .measure = measure_managed },
	{ .id = "GPU-SHORT",
	  .subject = RULES_GPU,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 30,
	  .title = "short kernels",
	  .formula = "launches of kernels that take less than 10 us on average, as a share of all "
	             "launches, where there are a thousand",
	  .why = "Such kernels run for about as long as their launch takes.",
	  .advice = "Use larger batches, fused operations, or CUDA graphs.",
	  .source = "Holistic Trace Analysis: kernels below 10 us; 30 %: our choice",
	  .measure = measure_short },
	{ .id = "GPU-ALLOC",
	  .subject = RULES_GPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 1,
	  .title = "frequent GPU memory allocation",
	  .formula =
	          "time in calls of CUDA's that allocate and free memory, as a share of the run, "
	          "where there are at least ten",
	  .why = "cudaMalloc() and cudaFree() synchronize the whole device.",
	  .advice = "Allocate once and reuse, or use cudaMallocAsync() with a pool.",
	  .source = "our choice",
	  .measure = measure_alloc },
	{ .id = "GPU-MEM",
	  .subject = RULES_GPU,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 90,
	  .whole_run = true,
	  .title = "GPU memory nearly full",
	  .formula =
	          "the most that the program had allocated of a GPU's memory at once, as a share "
	          "of that",
	  .why = "With a little more memory the run fails; caching allocators that free and "
	         "reallocate become slow before that.",
	  .advice = "Use a smaller batch, activation checkpointing, or lower precision.",
	  .source = "TensorBoard's plugin: 90 %",
	  .measure = measure_memory },
	{ .id = "GPU-TC",
	  .subject = RULES_GPU,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 10,
	  .title = "matrix products without tensor cores",
	  .formula =
	          "time of kernels that are matrix products or convolutions by their names, and do "
	          "not use tensor cores by them, as a share of the time of all of the GPU's works; "
	          "from compute capability 7.0 on",
	  .why = "Tensor cores compute the same several times as fast.",
	  .advice = "Use torch.set_float32_matmul_precision(\"high\"), autocast to bfloat16, and "
	            "sizes that are multiples of 8.",
	  .source = "DLProf's and TensorBoard's advice on tensor cores; 10 %: our choice",
	  .part = 0.5,
	  .part_from = "tensor cores take half of the time at least for most products",
	  .measure = measure_tensor_cores },
	{ .id = "GPU-GRID",
	  .subject = RULES_GPU,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .title = "kernels too small for the GPU",
	  .formula =
	          "time of kernels with fewer blocks than the GPU has multiprocessors, as a share "
	          "of the time of all of its works; blocks are counted as many times as works "
	          "ran at once on average",
	  .why = "The other multiprocessors are idle.",
	  .advice = "Launch more blocks: larger batches, smaller blocks, or several such kernels "
	            "at once on streams of their own.",
	  .source = "TensorBoard's plugin: blocks per multiprocessor below 1; 20 %: our choice",
	  .measure = measure_grid },
};
const size_t rules_gpu_count = sizeof(rules_gpu) / sizeof(rules_gpu[0]);

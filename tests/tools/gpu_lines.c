// SPDX-License-Identifier: MIT
#include "tests/tools/gpu_lines.h"

#include <inttypes.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static const char *text_of(const char *const *texts, size_t count, uint32_t number)
{
	return number < count && texts[number] ? texts[number] : "?";
}

static const char *memory_text(uint32_t memory)
{
	static const char *const texts[] = { "unknown",       "pageable",      "pinned",
		                             "device",        "array",         "managed",
		                             "device-static", "managed-static" };

	return text_of(texts, COUNT(texts), memory);
}

static void print_times(FILE *out, const struct gpu_line *line, uint64_t begin_ns, uint64_t end_ns)
{
	if (line->record->flags & GPU_UNTIMED)
		fprintf(out, " untimed");
	else if (!line->golden)
		fprintf(out, " from %+.6f took %" PRIu64, (double)(begin_ns - line->begin_ns) / 1e9,
		        end_ns - begin_ns);
}

static void print_place(FILE *out, const struct gpu_line *line, const struct gpu_place *place)
{
	fprintf(out, " device %u context %u stream %d", place->device, place->context,
	        (int)place->stream);
	if (!line->golden)
		fprintf(out, " correlation %u", place->correlation);
	fprintf(out, " by %s", line->call ? line->call : "nobody");
}

static void print_kernel(FILE *out, const struct gpu_line *line)
{
	const struct record_gpu_kernel *r = (const struct record_gpu_kernel *)line->record;

	fprintf(out, " %s grid %u,%u,%u block %u,%u,%u registers %u shared %u+%u", line->name,
	        r->grid[0], r->grid[1], r->grid[2], r->block[0], r->block[1], r->block[2],
	        r->registers, r->static_shared, r->dynamic_shared);
	if (r->graph_node)
		fprintf(out, " node %" PRIu64, r->graph_node);
	print_place(out, line, &r->place);
	print_times(out, line, r->begin_ns, r->end_ns);
}

static void print_copy(FILE *out, const struct gpu_line *line)
{
	static const char *const kinds[] = { "?",    "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
		                             "AtoD", "DtoA", "DtoD", "HtoH", "PtoP" };
	const struct record_gpu_copy *r = (const struct record_gpu_copy *)line->record;

	fprintf(out, " %s %" PRIu64 " bytes %s to %s%s", text_of(kinds, COUNT(kinds), r->kind),
	        r->bytes, memory_text(r->from), memory_text(r->to),
	        r->head.flags & GPU_ASYNC ? " async" : "");
	if (r->from_device != r->to_device)
		fprintf(out, " device %u to %u", r->from_device, r->to_device);
	print_place(out, line, &r->place);
	print_times(out, line, r->begin_ns, r->end_ns);
}

static void print_set(FILE *out, const struct gpu_line *line)
{
	const struct record_gpu_set *r = (const struct record_gpu_set *)line->record;

	fprintf(out, " %" PRIu64 " bytes of %s to %u", r->bytes, memory_text(r->memory), r->value);
	print_place(out, line, &r->place);
	print_times(out, line, r->begin_ns, r->end_ns);
}

static void print_sync(FILE *out, const struct gpu_line *line)
{
	static const char *const kinds[] = { "?", "event", "stream-wait", "stream", "context" };
	const struct record_gpu_sync *r = (const struct record_gpu_sync *)line->record;

	fprintf(out, " %s", text_of(kinds, COUNT(kinds), r->kind));
	print_place(out, line, &r->place);
	print_times(out, line, r->begin_ns, r->end_ns);
}

static void print_memory(FILE *out, const struct gpu_line *line)
{
	static const char *const operations[] = { "?", "allocated", "released" };
	const struct record_gpu_memory *r = (const struct record_gpu_memory *)line->record;

	fprintf(out, " %s %" PRIu64 " bytes of %s%s%s",
	        text_of(operations, COUNT(operations), r->operation), r->bytes,
	        memory_text(r->memory), r->head.flags & GPU_ASYNC ? " async" : "",
	        r->pool ? " of a pool" : "");
	print_place(out, line, &r->place);
	if (!line->golden)
		fprintf(out, " at %#" PRIx64, r->address);
}

static void print_pool(FILE *out, const struct gpu_line *line)
{
	static const char *const operations[] = { "?", "created", "destroyed", "trimmed" };
	const struct record_gpu_pool *r = (const struct record_gpu_pool *)line->record;

	fprintf(out, " %s %" PRIu64 " bytes", text_of(operations, COUNT(operations), r->operation),
	        r->bytes);
	print_place(out, line, &r->place);
}

static void print_graph(FILE *out, const struct gpu_line *line)
{
	const struct record_gpu_graph *r = (const struct record_gpu_graph *)line->record;

	fprintf(out, " %u", r->graph);
	print_place(out, line, &r->place);
	print_times(out, line, r->begin_ns, r->end_ns);
}

static void print_jit(FILE *out, const struct gpu_line *line)
{
	const struct record_gpu_jit *r = (const struct record_gpu_jit *)line->record;

	fprintf(out, " entry %u operation %u", r->entry, r->operation);
	print_place(out, line, &r->place);
	print_times(out, line, r->begin_ns, r->end_ns);
}

static void print_overhead(FILE *out, const struct gpu_line *line)
{
	const struct record_gpu_overhead *r = (const struct record_gpu_overhead *)line->record;

	fprintf(out, " %#x", r->what);
	print_times(out, line, r->begin_ns, r->end_ns);
}

static void print_launch(FILE *out, const struct gpu_line *line)
{
	const struct record_gpu_launch *r = (const struct record_gpu_launch *)line->record;

	print_times(out, line, r->begin_ns, r->end_ns);
}

static void print_device(FILE *out, const struct gpu_line *line)
{
	const struct record_gpu_device *r = (const struct record_gpu_device *)line->record;

	fprintf(out, " %u %s %" PRIu64 " bytes, %" PRIu64 " bytes/s, sm_%u%u, %u multiprocessors",
	        r->device, (const char *)(r + 1), r->memory_bytes, r->memory_bytes_per_s,
	        r->compute_major, r->compute_minor, r->multiprocessors);
}

static void print_context(FILE *out, const struct gpu_line *line)
{
	const struct record_gpu_context *r = (const struct record_gpu_context *)line->record;

	fprintf(out, " %u device %u null stream %u", r->context, r->device, r->null_stream);
}

static void print_stream(FILE *out, const struct gpu_line *line)
{
	const struct record_gpu_stream *r = (const struct record_gpu_stream *)line->record;

	fprintf(out, " %u context %u priority %u flag %u", r->stream, r->context, r->priority,
	        r->flag);
}

static void print_lost(FILE *out, const struct gpu_line *line)
{
	static const char *const whats[] = { "?",       "dropped", "no-room", "unknown",
		                             "damaged", "untimed", "refused", "name",
		                             "buffer",  "cubin",   "sampled" };
	const struct record_gpu_lost *r = (const struct record_gpu_lost *)line->record;

	fprintf(out, " %s kind %u count %" PRIu64, text_of(whats, COUNT(whats), r->what), r->kind,
	        r->count);
}

static void print_gap(FILE *out, const struct gpu_line *line)
{
	static const char *const whats[] = { "?", "activity", "calls" };
	const struct record_gpu_gap *r = (const struct record_gpu_gap *)line->record;

	fprintf(out, " %s %s", text_of(whats, COUNT(whats), r->what),
	        r->end_ns ? "ends" : "begins");
	if (!line->golden && r->end_ns)
		fprintf(out, " after %" PRIu64, r->end_ns - r->begin_ns);
}

static void print_pc(FILE *out, const struct gpu_line *line)
{
	const struct record_gpu_pc *r = (const struct record_gpu_pc *)line->record;
	const struct gpu_stall *stalls = (const struct gpu_stall *)(r + 1);
	uint64_t samples = 0;

	for (uint32_t i = 0; i < r->stall_count; i++)
		samples += stalls[i].samples;
	fprintf(out, " %s +%#" PRIx64 " %" PRIu64 " samples, %u reasons", line->name, r->offset,
	        samples, r->stall_count);
}

static void print_pc_sum(FILE *out, const struct gpu_line *line)
{
	const struct record_gpu_pc_sum *r = (const struct record_gpu_pc_sum *)line->record;

	fprintf(out, " %" PRIu64 " dropped %" PRIu64 " other %" PRIu64, r->samples, r->dropped,
	        r->other);
}

static void print_stall(FILE *out, const struct gpu_line *line)
{
	fprintf(out, " %s", line->name);
}

static const struct kind {
	const char *name;
	void (*print)(FILE *out, const struct gpu_line *line);
	uint16_t correlation; // where it stands; 0: nowhere
} kinds[] = {
	{ "kernel", print_kernel, offsetof(struct record_gpu_kernel, place.correlation) },
	{ "copy", print_copy, offsetof(struct record_gpu_copy, place.correlation) },
	{ "set", print_set, offsetof(struct record_gpu_set, place.correlation) },
	{ "sync", print_sync, offsetof(struct record_gpu_sync, place.correlation) },
	{ "memory", print_memory, offsetof(struct record_gpu_memory, place.correlation) },
	{ "pool", print_pool, offsetof(struct record_gpu_pool, place.correlation) },
	{ "graph", print_graph, offsetof(struct record_gpu_graph, place.correlation) },
	{ "jit", print_jit, offsetof(struct record_gpu_jit, place.correlation) },
	{ "overhead", print_overhead, 0 },
	{ "launch", print_launch, offsetof(struct record_gpu_launch, correlation) },
	{ "device", print_device, 0 },
	{ "context", print_context, 0 },
	{ "stream", print_stream, offsetof(struct record_gpu_stream, correlation) },
	{ "lost", print_lost, 0 },
	{ "gap", print_gap, 0 },
	{ "pc", print_pc, 0 },
	{ "pc-sum", print_pc_sum, 0 },
	{ "stall", print_stall, 0 },
};

static const struct kind *kind_of(const struct record *record)
{
	uint32_t index = (uint32_t)record->type - RECORD_GPU_KERNEL;

	return index < COUNT(kinds) ? &kinds[index] : NULL;
}

uint32_t gpu_correlation(const struct record *record)
{
	const struct kind *kind = kind_of(record);

	return kind && kind->correlation
	               ? *(const uint32_t *)((const char *)record + kind->correlation)
	               : 0;
}

bool gpu_line_print(FILE *out, const struct gpu_line *line)
{
	const struct kind *kind = kind_of(line->record);

	if (!kind)
		return false;
	fprintf(out, "gpu %-8s", kind->name);
	kind->print(out, line);
	fputc('\n', out);
	return true;
}

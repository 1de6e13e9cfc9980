// SPDX-License-Identifier: MIT
#include "tests/gpu/gpu_client.h"

#include <stdio.h>
#include <string.h>

#define ROWS_MAX    256
#define STREAMS_MAX 1024

// Sums by what and name, in the order of their first coming.
static struct row {
	char key[300];
	uint64_t count, amount;
	bool has_amount;
} rows[ROWS_MAX];
static size_t row_count;

// Records lie where CUPTI says, aligned or not.
#define AS(type, record)                                                                           \
	({                                                                                         \
		struct type as_;                                                                   \
		memcpy(&as_, record, sizeof(as_));                                                 \
		as_;                                                                               \
	})

static uint64_t stream_end[STREAMS_MAX]; // of the last kernel
static uint64_t records, untimed, disorder;

static void add(const char *key, uint64_t amount, bool has_amount)
{
	size_t i = 0;

	while (i < row_count && strcmp(rows[i].key, key))
		i++;
	if (i == ROWS_MAX)
		return;
	if (i == row_count)
		snprintf(rows[row_count++].key, sizeof(rows->key), "%s", key);
	rows[i].count++;
	rows[i].amount += amount;
	rows[i].has_amount = has_amount;
}

void gpu_client_count(const char *what, const char *name, uint64_t amount)
{
	char key[300];

	snprintf(key, sizeof(key), "%s%s%s", what, name ? " " : "", name ? name : "");
	add(key, amount, false);
}

void gpu_client_refused(const char *function, int result)
{
	char name[200];

	snprintf(name, sizeof(name), "cupti%s=%d", function, result);
	gpu_client_count("refused", name, 0);
}

static const char *memory_name(uint32_t kind)
{
	static const char *const names[] = { "unknown",       "pageable",      "pinned",
		                             "device",        "array",         "managed",
		                             "device-static", "managed-static" };

	return kind < sizeof(names) / sizeof(*names) ? names[kind] : "other";
}

static bool has_times(uint64_t begin, uint64_t end)
{
	if (begin && end >= begin)
		return true;
	untimed++;
	return false;
}

static void kernel(const uint32_t *record)
{
	struct cupti_kernel k = AS(cupti_kernel, record);
	char key[300];
	uint64_t *last = &stream_end[(k.context << 6 | k.stream) % STREAMS_MAX];

	snprintf(key, sizeof(key), "kernel %s", k.name ? k.name : "?");
	add(key, has_times(k.begin_ns, k.end_ns) ? k.end_ns - k.begin_ns : 0, true);
	if (k.begin_ns && k.begin_ns < *last)
		disorder++;
	if (k.end_ns > *last)
		*last = k.end_ns;
}

static void copy(const uint32_t *record)
{
	struct cupti_copy c = AS(cupti_copy, record);
	char key[300];

	snprintf(key, sizeof(key), "copy %s %s", memory_name(c.from), memory_name(c.to));
	add(key, c.bytes, true);
	has_times(c.begin_ns, c.end_ns);
}

static void synchronized(const uint32_t *record)
{
	struct cupti_sync s = AS(cupti_sync, record);
	static const char *const names[] = { "unknown", "event", "wait", "stream", "context" };

	gpu_client_count("sync", names[s.type < 5 ? s.type : 0], 0);
	has_times(s.begin_ns, s.end_ns);
}

static void memory(const uint32_t *record)
{
	struct cupti_memory m = { 0 };
	char key[300];

	memcpy(&m, record, offsetof(struct cupti_memory, pool)); // CUDA 11.2 has a shorter pool
	snprintf(key, sizeof(key), "%s %s",
	         m.operation == CUPTI_ALLOCATED ? "allocated" : "released",
	         memory_name(m.memory_kind));
	add(key, m.bytes, true);
}

void gpu_client_record(const uint32_t *record)
{
	uint32_t kind;
	char key[32];

	memcpy(&kind, record, sizeof(kind));
	records++;
	switch (kind) {
	case CUPTI_KIND_CONCURRENT_KERNEL:
		kernel(record);
		break;
	case CUPTI_KIND_MEMCPY:
		copy(record);
		break;
	case CUPTI_KIND_PEER_MEMCPY:
		add("copy peer peer", AS(cupti_peer_copy, record).bytes, true);
		break;
	case CUPTI_KIND_MEMSET:
		add("set", AS(cupti_set, record).bytes, true);
		break;
	case CUPTI_KIND_SYNCHRONIZATION:
		synchronized(record);
		break;
	case CUPTI_KIND_MEMORY:
		memory(record);
		break;
	case CUPTI_KIND_GRAPH_TRACE:
		add("graph", AS(cupti_graph, record).end_ns - AS(cupti_graph, record).begin_ns,
		    true);
		break;
	case CUPTI_KIND_JIT:
		gpu_client_count("jit", NULL, 0);
		break;
	case CUPTI_KIND_OVERHEAD:
	case CUPTI_KIND_RUNTIME:
	case CUPTI_KIND_DRIVER:
	case CUPTI_KIND_DEVICE:
	case CUPTI_KIND_CONTEXT:
	case CUPTI_KIND_STREAM:
	case CUPTI_KIND_MEMORY_POOL:
		snprintf(key, sizeof(key), "kind:%u", kind);
		gpu_client_count(key, NULL, 0);
		break;
	default:
		snprintf(key, sizeof(key), "unknown:%u", kind);
		gpu_client_count(key, NULL, 0);
	}
}

static uint64_t shown(const struct row *r)
{
	bool is_time = !strncmp(r->key, "kernel ", 7) || !strcmp(r->key, "graph");

	return is_time ? r->amount / 1000 : r->amount;
}

void gpu_client_print(const char *path, size_t calls, size_t dropped)
{
	static bool is_done;
	FILE *file = path && !is_done ? fopen(path, "ae") : NULL;

	is_done = true;
	if (!file)
		return;
	for (size_t i = 0; i < row_count; i++) {
		fprintf(file, "%s %lu", rows[i].key, rows[i].count);
		if (rows[i].has_amount)
			fprintf(file, " %lu", shown(&rows[i]));
		fputc('\n', file);
	}
	fprintf(file, "calls %zu\nrecords %lu\n", calls, records);
	if (dropped)
		fprintf(file, "dropped %zu\n", dropped);
	if (untimed)
		fprintf(file, "untimed %lu\n", untimed);
	if (disorder)
		fprintf(file, "disorder %lu\n", disorder);
	fclose(file);
}

// SPDX-License-Identifier: MIT
// The bytes are a ring of the kernel that has been filled: what it holds is decoded record by
// record, from a position that the input chooses, so that records wrap.
#include "base/error.h"
#include "sampler/perf/perf_ring.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DATA_BYTES 4096

static volatile uint64_t sink; // what is read must not be optimized away

static uint64_t look_at(const struct event *event)
{
	uint64_t sum = event->pid + event->tid + event->time_ns;

	if (event->type == RECORD_SAMPLE) {
		for (uint32_t i = 0; i < event->sample.stack_bytes; i++)
			sum += event->sample.stack[i];
		for (uint32_t i = 0; i < event->sample.kernel_count * 8; i++)
			sum += ((const uint8_t *)event->sample.kernel)[i];
	} else if (event->type == RECORD_MAP) {
		sum += strlen(event->map.path);
		for (uint8_t i = 0; i < event->map.build_id_size; i++)
			sum += event->map.build_id[i];
	} else if (event->type == RECORD_EXEC || event->type == RECORD_THREAD) {
		sum += strlen(event->name);
	}
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct perf_rings set;
	struct perf_ring ring = { 0 }, *from;
	struct event event;
	struct error err = { 0 };
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);

	if (size < 2)
		return 0;
	uint64_t position = (uint64_t)(data[0] & 0x7f) * 32;
	uint8_t options = data[1];
	data += 2;
	size = size - 2 < DATA_BYTES ? size - 2 : DATA_BYTES;

	struct perf_event_mmap_page *page = calloc(1, page_bytes + DATA_BYTES);
	if (!page)
		return 0;
	uint8_t *ring_data = (uint8_t *)page + page_bytes;
	for (size_t i = 0; i < size; i++)
		ring_data[(position + i) % DATA_BYTES] = data[i];
	page->data_tail = position;
	page->data_head = position + size;

	set = (struct perf_rings){ .rings = &ring, .count = 1 };
	perf_ring_init(&ring, page, DATA_BYTES);
	ring.format.kernel = options & 1;
	ring.format.switches = options & 2;
	if (perf_rings_look(&set, &err) == 0)
		for (const struct perf_event_header *record;
		     (record = perf_rings_next(&set, UINT64_MAX - 1, &from, &err));)
			if (perf_record_decode(&ring.format, record, record->size, &event) ==
			    PERF_RECORD_EVENT)
				sink = look_at(&event);
	(void)sink;
	perf_ring_fini(&ring);
	free(page);
	return 0;
}

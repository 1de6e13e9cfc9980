// SPDX-License-Identifier: MIT
#include "tests/gpu/fake_facts.h"

#include "tests/gpu/fake_settings.h"

#include <stdatomic.h>
#include <stdio.h>

#define KINDS 128

static atomic_size_t records[KINDS], written, dropped, delivered, buffers, callbacks;

void fake_facts_record(uint32_t kind)
{
	records[kind % KINDS]++;
	written++;
}

void fake_facts_dropped(void)
{
	dropped++;
}

void fake_facts_delivered(size_t count)
{
	delivered += count;
	buffers++;
}

void fake_facts_callback(void)
{
	callbacks++;
}

__attribute__((destructor)) static void tell(void)
{
	const char *path = fake_settings()->facts;
	FILE *file = path ? fopen(path, "ae") : NULL;

	if (!file)
		return;
	for (uint32_t kind = 0; kind < KINDS; kind++)
		if (records[kind])
			fprintf(file, "records %u %zu\n", kind, records[kind]);
	fprintf(file, "dropped %zu\nundelivered %zu\nbuffers %zu\ncallbacks %zu\n", dropped,
	        written - delivered, buffers, callbacks);
	fclose(file);
}

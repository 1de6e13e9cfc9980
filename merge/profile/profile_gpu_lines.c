// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "merge/profile/profile_data.h"
#include "symbolize/cubin.h"

void profile_add_gpu_pc(struct profile *p, const struct gpu_pc_event *event)
{
	struct gpu_lines *g = &p->gpu_lines;
	const struct gpu_pc wanted = {
		.cubin_crc = event->cubin_crc,
		.offset = event->offset,
		.function = *event->function ? strings_add(p->strings, event->function) : 0,
	};
	uint32_t pc = gpu_lines_pc(g, &wanted);

	for (uint32_t i = 0; i < event->stall_count; i++) {
		const struct gpu_pc_stall *stall = &event->stalls[i];
		uint32_t reason = strings_add(p->strings, stall->reason);
		if (!pc ||
		    !gpu_lines_add(g, &(struct gpu_pc_samples){ pc, reason, stall->samples }))
			g->lost += stall->samples;
	}
}

void profile_add_gpu_pc_sum(struct profile *p, const struct gpu_pc_sum_event *event)
{
	p->gpu_lines.samples += event->samples;
	p->gpu_lines.dropped += event->dropped;
	p->gpu_lines.other += event->other;
}

bool profile_next_cubin(const struct profile *p, uint64_t *crc)
{
	uint64_t next = UINT64_MAX;

	for (uint32_t i = 0; i < p->gpu_lines.pc_count; i++) {
		uint64_t other = p->gpu_lines.pcs[i].cubin_crc;
		if (other > *crc && other < next)
			next = other;
	}
	*crc = next;
	return next != UINT64_MAX;
}

static void name_pc(struct profile *p, const struct cubin *cubin, struct gpu_pc *pc)
{
	struct cubin_place places[CUBIN_PLACES];
	const char *function = strings_get(p->strings, pc->function);
	uint32_t count = function ? cubin_find(cubin, function, pc->offset, places) : 0;

	if (!count)
		return;
	pc->file = strings_add(p->strings, places[0].file);
	pc->line = places[0].line;
	pc->inlined = strings_add(p->strings, places[0].function);
	pc->call_file = strings_add(p->strings, places[count - 1].file);
	pc->call_line = places[count - 1].line;
}

int profile_name_gpu_lines(struct profile *p, uint64_t crc, struct bytes image, struct error *err)
{
	cleanup(cubin) struct cubin *cubin = cubin_new(image, err);

	if (!cubin)
		return -1;
	for (uint32_t i = 0; i < p->gpu_lines.pc_count; i++)
		if (p->gpu_lines.pcs[i].cubin_crc == crc)
			name_pc(p, cubin, &p->gpu_lines.pcs[i]);
	return 0;
}

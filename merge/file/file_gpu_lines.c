// SPDX-License-Identifier: MIT
/*
 * What a profile file has of instructions of kernels. A profile without has no such tables.
 */
#include "merge/file/file_reader.h"
#include "merge/file/file_writer.h"

#include <string.h>

#define PC_WIDTH    9
#define STALL_WIDTH 3

static const char schema[] =
	"CREATE TABLE gpu_pc(id INTEGER PRIMARY KEY, cubin INTEGER, offset INTEGER,"
	" function INTEGER, file INTEGER, line INTEGER, inlined INTEGER, call_file INTEGER,"
	" call_line INTEGER);"
	"CREATE TABLE gpu_stall(pc INTEGER, reason INTEGER, samples INTEGER);"
	"CREATE VIEW gpu_line(kernel, file, line, inlined, call_file, call_line, reason, samples)"
	" AS SELECT k.text, f.text, p.line, i.text, c.text, p.call_line, r.text, sum(s.samples)"
	" FROM gpu_stall s JOIN gpu_pc p ON p.id = s.pc"
	" LEFT JOIN string k ON k.id = p.function LEFT JOIN string f ON f.id = p.file"
	" LEFT JOIN string i ON i.id = p.inlined LEFT JOIN string c ON c.id = p.call_file"
	" LEFT JOIN string r ON r.id = s.reason"
	" GROUP BY p.function, p.file, p.line, p.inlined, p.call_file, p.call_line, s.reason;";

int write_gpu_line_facts(struct file_writer *w)
{
	const struct gpu_lines *g = &w->profile->gpu_lines;

	if (!g->pc_count && !g->samples)
		return 0;
	if (file_writer_fact(w, "gpu_pcs", g->pc_count) < 0 ||
	    file_writer_fact(w, "gpu_stalls", g->stall_count) < 0 ||
	    file_writer_fact(w, "gpu_samples", (int64_t)g->samples) < 0 ||
	    file_writer_fact(w, "gpu_samples_dropped", (int64_t)g->dropped) < 0 ||
	    file_writer_fact(w, "gpu_samples_other", (int64_t)g->other) < 0)
		return -1;
	return file_writer_fact(w, "gpu_samples_lost", (int64_t)g->lost);
}

static int write_pcs(struct file_writer *w)
{
	const struct gpu_lines *g = &w->profile->gpu_lines;

	if (file_writer_begin(w, "gpu_pc", PC_WIDTH, true) < 0)
		return -1;
	for (uint32_t i = 0; i < g->pc_count; i++) {
		const struct gpu_pc *pc = &g->pcs[i];
		file_writer_int(w, (int64_t)i + 1);
		file_writer_int(w, (int64_t)pc->cubin_crc);
		file_writer_int(w, (int64_t)pc->offset);
		file_writer_id(w, pc->function);
		file_writer_id(w, pc->file);
		file_writer_id(w, pc->line);
		file_writer_id(w, pc->inlined);
		file_writer_id(w, pc->call_file);
		file_writer_id(w, pc->call_line);
		if (file_writer_row(w) < 0)
			return -1;
	}
	return 0;
}

int write_gpu_lines(struct file_writer *w)
{
	const struct gpu_lines *g = &w->profile->gpu_lines;

	if (!g->pc_count)
		return 0;
	if (file_writer_sql(w, schema) < 0 || write_pcs(w) < 0 ||
	    file_writer_begin(w, "gpu_stall", STALL_WIDTH, true) < 0)
		return -1;
	for (uint32_t i = 0; i < g->stall_count; i++) {
		file_writer_int(w, g->stalls[i].pc);
		file_writer_id(w, g->stalls[i].reason);
		file_writer_int(w, (int64_t)g->stalls[i].samples);
		if (file_writer_row(w) < 0)
			return -1;
	}
	return 0;
}

bool take_gpu_line_fact(struct file_reader *r, const char *key, int64_t value)
{
	struct gpu_lines *g = &r->profile->gpu_lines;
	const struct {
		const char *key;
		uint64_t *to;
	} facts[] = {
		{ "gpu_pcs", &r->gpu_pcs },         { "gpu_stalls", &r->gpu_stalls },
		{ "gpu_samples", &g->samples },     { "gpu_samples_dropped", &g->dropped },
		{ "gpu_samples_other", &g->other }, { "gpu_samples_lost", &g->lost },
	};

	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		if (strcmp(facts[i].key, key) != 0)
			continue;
		*facts[i].to = (uint64_t)value;
		return true;
	}
	return false;
}

static int take_pc(struct file_reader *r)
{
	struct gpu_lines *g = &r->profile->gpu_lines;
	uint64_t texts = strings_count(r->profile->strings);
	bool ok = file_reader_int(r, 0) == (int64_t)g->pc_count + 1 && r->gpu_pcs > g->pc_count;
	const struct gpu_pc pc = {
		.cubin_crc = (uint64_t)file_reader_int(r, 1),
		.offset = (uint64_t)file_reader_int(r, 2),
		.function = file_reader_id(r, 3, texts, &ok),
		.file = file_reader_id(r, 4, texts, &ok),
		.line = file_reader_id(r, 5, UINT32_MAX, &ok),
		.inlined = file_reader_id(r, 6, texts, &ok),
		.call_file = file_reader_id(r, 7, texts, &ok),
		.call_line = file_reader_id(r, 8, UINT32_MAX, &ok),
	};
	uint32_t expected = g->pc_count + 1;

	if (!ok)
		return file_reader_damaged(r, "an instruction of a kernel cannot be");
	uint32_t id = gpu_lines_pc(g, &pc);
	if (!id)
		return file_reader_no_memory(r);
	return id == expected ? 0
	                      : file_reader_damaged(r, "an instruction of a kernel is there twice");
}

static int take_stall(struct file_reader *r)
{
	struct gpu_lines *g = &r->profile->gpu_lines;
	bool ok = r->gpu_stalls > g->stall_count;
	const struct gpu_pc_samples samples = {
		.pc = file_reader_id(r, 0, g->pc_count, &ok),
		.reason = file_reader_id(r, 1, strings_count(r->profile->strings), &ok),
		.samples = (uint64_t)file_reader_int(r, 2),
	};
	uint32_t before = g->stall_count;

	if (!ok || !samples.pc || !file_reader_add(&r->gpu_samples, samples.samples))
		return file_reader_damaged(r, "the samples of an instruction cannot be");
	if (!gpu_lines_add(g, &samples))
		return file_reader_no_memory(r);
	return g->stall_count > before
	               ? 0
	               : file_reader_damaged(r, "the samples of an instruction are there twice");
}

int read_gpu_lines(struct file_reader *r)
{
	const struct gpu_lines *g = &r->profile->gpu_lines;

	if (r->gpu_pcs > GPU_PCS_MAX || r->gpu_stalls > GPU_STALLS_MAX || g->samples > INT64_MAX ||
	    g->dropped > INT64_MAX || g->other > INT64_MAX || g->lost > INT64_MAX)
		return file_reader_damaged(r, "its instructions of kernels cannot be");
	if (!r->gpu_pcs)
		return 0;
	if (file_reader_rows(r, "gpu_pc", PC_WIDTH, take_pc) < 0 ||
	    file_reader_rows(r, "gpu_stall", STALL_WIDTH, take_stall) < 0)
		return -1;
	return g->pc_count == r->gpu_pcs && g->stall_count == r->gpu_stalls
	               ? 0
	               : file_reader_damaged(r, "an instruction of a kernel is missing");
}

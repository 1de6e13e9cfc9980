// SPDX-License-Identifier: MIT
// How source files were when the run was recorded.
#include "merge/file/file_reader.h"
#include "merge/file/file_writer.h"

#define SOURCE_WIDTH 3

int write_sources(struct file_writer *w)
{
	const struct sources *s = &w->profile->sources;

	if (file_writer_begin(w, "source", SOURCE_WIDTH, true) < 0)
		return -1;
	for (uint32_t i = 0; i < s->count; i++) {
		file_writer_int(w, s->stamps[i].file);
		file_writer_int(w, (int64_t)s->stamps[i].bytes);
		file_writer_int(w, s->stamps[i].modified_ns);
		if (file_writer_row(w) < 0)
			return -1;
	}
	return 0;
}

static int take_source(struct file_reader *r)
{
	struct profile *p = r->profile;
	bool ok = p->sources.count < SOURCES_MAX;
	struct source_stamp stamp = {
		.file = file_reader_id(r, 0, strings_count(p->strings), &ok),
		.bytes = (uint64_t)file_reader_int(r, 1), // -1: two of one path differed
		.modified_ns = file_reader_int(r, 2),
	};

	if (!ok || !stamp.file)
		return file_reader_damaged(r, "a source file cannot be");
	return sources_add(&p->sources, &stamp) ? 0 : file_reader_no_memory(r);
}

int read_sources(struct file_reader *r)
{
	return file_reader_rows(r, "source", SOURCE_WIDTH, take_source);
}

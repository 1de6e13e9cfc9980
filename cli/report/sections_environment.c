// SPDX-License-Identifier: MIT
// What a run ran on and with, as torch.utils.bottleneck begins its report.
#include "cli/report/sections.h"

#include "base/error.h"
#include "cli/report/view.h"
#include "merge/profile/profile.h"
#include "merge/table/environment.h"

#include <errno.h>

REPORT_KEEPS(environment, struct environment *);

static const struct section_column columns[] = {
	{ "kind", .heading = "of", .type = CELL_TEXT, .at = { 1, 1, 1, 1 },
	  FIELD(struct environment_row, kind) },
	{ "name", .heading = "name", .type = CELL_TEXT, .at = { 2, 2, 2, 2 },
	  FIELD(struct environment_row, name) },
	{ "value", .heading = "value", .type = CELL_TEXT, .at = { 3, 3, 3, 3 }, .clip = CLIP_END,
	  .room = 3, FIELD(struct environment_row, value) },
	{ "path", .heading = "file", .type = CELL_TEXT, .at = { 4, 4, 4, 4 },
	  .none = { 0, 0, 0, 1 }, .clip = CLIP_START, .room = 2, .width_min = 100,
	  FIELD(struct environment_row, path) },
};

struct section *section_environment(struct report *r, struct error *err)
{
	const char *text = profile_run(r->profile)->environment;
	struct environment *e = environment_parse(text);

	if (!e)
		error_set(err, ENOMEM, "could not read what the run ran on");
	if (!(e = keep_environment(r, e, err)))
		return NULL;
	struct section *s = section_new(r, "environment",
	                                r->reader == READER_PAGE   ? "Environment"
	                                : r->reader == READER_TEXT ? "environment"
	                                                           : NULL);
	SECTION_COLUMNS(s, columns);
	for (size_t i = 0; i < e->count; i++)
		section_row(s, &e->rows[i]);
	s->shown = true;
	if (!e->count)
		section_say(s, "the profile does not say what the run ran on");
	return section_end(s, err);
}

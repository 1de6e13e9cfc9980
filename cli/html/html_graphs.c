// SPDX-License-Identifier: MIT
// The graphs of the report: their series, as the page's scripts draw them.
#include "cli/html/html_parts.h"
#include "cli/html/html_section.h"

#include "cli/report/graph_frames.h"
#include "cli/report/graphs.h"
#include "cli/report/section.h"

static int put_graph(const struct html *h, const struct section *s)
{
	if (!s)
		return -1;
	json_open(h->j, s->id, '{');
	html_put_members(h->j, s, 0);
	json_close(h->j);
	return 0;
}

static int put_list(const struct html *h, const struct section *s)
{
	if (!s)
		return -1;
	html_put_rows(h->j, s->id, s);
	return 0;
}

int html_flames(const struct html *h, struct error *err)
{
	cleanup(report) struct report r = report_of(h->profile, h->view, READER_PAGE);
	const struct flames flames = { h->frames, h->whole, h->by_process };

	return put_graph(h, section_flames(&r, &flames, err));
}

int html_graphs(const struct html *h, struct error *err)
{
	cleanup(report) struct report r = report_of(h->profile, h->view, READER_PAGE);

	return put_list(h, section_metric_names(&r, err)) < 0 ||
	                       put_graph(h, section_timeline(&r, err)) < 0 ||
	                       put_graph(h, section_curves(&r, err)) < 0 ||
	                       put_graph(h, section_slices(&r, h->frames, err)) < 0
	               ? -1
	               : put_list(h, section_arrows(&r, err));
}

static void put_text_index(struct json *j, uint32_t text)
{
	if (text)
		json_put_count(j, NULL, text - 1);
	else
		json_put_null(j, NULL);
}

void html_frames(const struct html *h)
{
	static const char *const kinds[] = {
		[GRAPH_FRAME_NATIVE] = "n", [GRAPH_FRAME_INLINED] = "i", [GRAPH_FRAME_KERNEL] = "k",
		[GRAPH_FRAME_PYTHON] = "p", [GRAPH_FRAME_CALLED] = "c",  [GRAPH_FRAME_OP] = "o",
		[GRAPH_FRAME_GIL] = "g",    [GRAPH_FRAME_NO_CODE] = "x",
	};
	struct json *j = h->j;

	json_open(j, "texts", '[');
	for (uint32_t text = 1; text <= graph_frames_texts(h->frames); text++)
		json_put_text(j, NULL, graph_frames_get_text(h->frames, text));
	json_close(j);
	json_open(j, "frames", '[');
	for (uint32_t i = 0; i < graph_frames_count(h->frames); i++) {
		const struct graph_frame *frame = graph_frames_get(h->frames, i);
		json_open(j, NULL, '[');
		put_text_index(j, frame->name);
		put_text_index(j, frame->file);
		json_put_count(j, NULL, frame->line);
		put_text_index(j, frame->module);
		json_put_text(j, NULL, kinds[frame->kind]);
		json_close(j);
	}
	json_close(j);
}

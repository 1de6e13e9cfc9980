// SPDX-License-Identifier: MIT
// What a language model, or a chat, needs to mend the program: in 4,096 bytes at most, as text, or
// as JSON where the file is called so. Less and less is said, until it fits.
#include "cli/export/exporter.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/format.h"
#include "cli/export/other_run.h"
#include "cli/json.h"
#include "cli/report/brief.h"
#include "cli/report/diff_report.h"
#include "cli/report/row_words.h"
#include "cli/report/sections.h"
#include "cli/report/source.h"
#include "cli/report/view.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGEST_BYTES   4096
#define DIGEST_VERSION 1
#define TEXT_MAX       1024
#define SOURCE_MAX     160 // bytes of a line of source

#define LINE_SHARE     0.01 // of all time: what has less is not worth its source

// How much is said.
struct detail {
	size_t causes, lines;
	int around;  // lines of source before and behind each
	size_t text; // bytes of a text
};

// The last one fits whatever the texts are: it has some fifteen of them, which escapes may double.
static const struct detail details[] = {
	{ 6, 5, 3, 900 }, { 6, 5, 2, 600 }, { 5, 4, 1, 500 }, { 5, 3, 1, 400 }, { 4, 3, 1, 300 },
	{ 3, 2, 1, 250 }, { 3, 2, 0, 200 }, { 2, 1, 0, 150 }, { 1, 0, 0, 60 },
};

#define DETAILS (sizeof(details) / sizeof(details[0]))

struct digest {
	const struct exporting *e;
	const struct brief *b;
	const struct diff_report *diff; // NULL: nothing is compared with
	const struct section *limits;
	const struct detail *detail;
	bool json;
	struct json j;
	FILE *out;
	char line[TEXT_MAX];
};

// TEXT as short as the detail has it.
static const char *say(struct digest *d, const char *text)
{
	return brief_line(text, d->line, d->detail->text + 1);
}

// The next line, with four blanks for each tab, as much as is shown of it.
static bool next_line(FILE *source, char *clean)
{
	char text[SOURCE_MAX], wide[4 * SOURCE_MAX] = "", *out = wide;

	if (!source_next(source, text, sizeof(text)))
		return false;
	for (const char *c = text; *c; c++)
		out += *c == '\t' ? sprintf(out, "    ") : sprintf(out, "%c", *c);
	brief_line(wide, clean, SOURCE_MAX);
	return true;
}

static void put_source_json(struct digest *d, FILE *source, int line)
{
	char text[SOURCE_MAX];
	int first = line - d->detail->around;

	json_open(&d->j, "source", '{');
	json_put_integer(&d->j, "first_line", first > 1 ? first : 1);
	json_open(&d->j, "lines", '[');
	for (int i = 1; i <= line + d->detail->around && next_line(source, text); i++)
		if (i >= first)
			json_put_text(&d->j, NULL, text);
	json_close(&d->j);
	json_close(&d->j);
}

static void put_source_text(struct digest *d, FILE *source, int line)
{
	char text[SOURCE_MAX];

	for (int i = 1; i <= line + d->detail->around && next_line(source, text); i++)
		if (i >= line - d->detail->around)
			fprintf(d->out, "  %s %d| %s\n", i == line ? ">" : " ", i, text);
}

// The lines around LINE of FILE, where they may be shown.
static void put_source(struct digest *d, const char *file, int line, const char *module)
{
	const struct source_scope scope = source_scope_of(d->e->profile, d->e->view);
	bool newer = false;
	cleanup_fclose FILE *source =
		file && line > 0 ? source_open(&scope, file, module, &newer) : NULL;

	// What is another text by now would explain nothing.
	if (!source || newer)
		return;
	if (d->json)
		put_source_json(d, source, line);
	else
		put_source_text(d, source, line);
}

static const char *path_of(const struct digest *d, const char *file, char *buffer, size_t size)
{
	const char *path = brief_path(file, d->b->run->directory, buffer, size);

	return path ? path : file;
}

static bool is_hot(const struct digest *d, const struct row *row)
{
	return row->file && row->line > 0 &&
	       (double)row->self >= LINE_SHARE * (double)d->b->lines->all;
}

// Whether the hottest lines that are shown have FINDING's, with its source.
static bool is_shown(const struct digest *d, const struct finding *finding)
{
	size_t shown = 0;

	for (size_t i = 0; i < d->b->lines->count && shown < d->detail->lines; i++) {
		const struct row *row = &d->b->lines->rows[i];
		if (!is_hot(d, row))
			continue;
		shown++;
		if (finding->file && row->line == finding->line &&
		    strcmp(row->file, finding->file) == 0)
			return true;
	}
	return false;
}

static void put_cause_json(struct digest *d, const struct finding *finding)
{
	struct json *j = &d->j;
	char path[PATH_MAX];

	json_open(j, NULL, '{');
	json_put_text(j, "id", finding->rule->id);
	json_put_text(j, "level", brief_level(finding));
	if (finding->saving_ns)
		json_put_number(j, "costs_s", (double)finding->saving_ns / NS_PER_SEC);
	if (finding->saving_margin_ns)
		json_put_number(j, "margin_s", (double)finding->saving_margin_ns / NS_PER_SEC);
	if (brief_has_price(finding)) {
		json_open(j, "change_saves_s", '[');
		json_put_number(j, NULL, (double)finding->saving_low_ns / NS_PER_SEC);
		json_put_number(j, NULL, (double)finding->saving_high_ns / NS_PER_SEC);
		json_close(j);
	}
	if (finding->share > 0) {
		json_put_number(j, "share", finding->share);
		json_put_text(j, "share_of", brief_whole(finding));
	}
	if (finding->function)
		json_put_text(j, "function", say(d, finding->function));
	if (finding->file) {
		json_put_text(j, "file", say(d, path_of(d, finding->file, path, sizeof(path))));
		json_put_integer(j, "line", finding->line);
	}
	json_put_text(j, "what", say(d, finding->fact));
	json_put_text(j, "do", say(d, finding->advice));
	if (!is_shown(d, finding))
		put_source(d, finding->file, finding->line, NULL);
	json_close(j);
}

static void put_cause_text(struct digest *d, const struct finding *finding, size_t number)
{
	char path[PATH_MAX], price[80];

	fprintf(d->out, "\n%zu. %s (%s)", number, finding->rule->id, brief_level(finding));
	if (finding->saving_ns)
		fprintf(d->out, ", costs %s", format_duration(finding->saving_ns).text);
	if (finding->saving_margin_ns)
		fprintf(d->out, " \u00b1%s", format_duration(finding->saving_margin_ns).text);
	if (finding->share > 0)
		fprintf(d->out, ", %.0f %% of %s", 100 * finding->share, brief_whole(finding));
	if (brief_has_price(finding))
		fprintf(d->out, ", a change there %s", brief_price(finding, price, sizeof(price)));
	if (finding->function)
		fprintf(d->out, ", in %s", say(d, finding->function));
	if (finding->file) {
		fprintf(d->out, ", %s", say(d, path_of(d, finding->file, path, sizeof(path))));
		if (finding->line > 0)
			fprintf(d->out, ":%d", finding->line);
	}
	fprintf(d->out, "\nwhat: %s\n", say(d, finding->fact));
	fprintf(d->out, "do: %s\n", say(d, finding->advice));
	if (!is_shown(d, finding))
		put_source(d, finding->file, finding->line, NULL);
}

static void put_causes(struct digest *d)
{
	const struct findings *findings = d->b->findings;

	if (d->json)
		json_open(&d->j, "causes", '[');
	for (size_t i = 0; i < findings->shown && i < d->detail->causes; i++) {
		if (d->json)
			put_cause_json(d, &findings->items[i]);
		else
			put_cause_text(d, &findings->items[i], i + 1);
	}
	if (d->json)
		json_close(&d->j);
	else if (!findings->shown)
		fputs("\nNo rule found anything.\n", d->out);
}

static void put_line_json(struct digest *d, const struct row *row)
{
	struct json *j = &d->j;
	char path[PATH_MAX];
	double all = (double)d->b->lines->all;

	json_open(j, NULL, '{');
	json_put_text(j, "file", say(d, path_of(d, row->file, path, sizeof(path))));
	json_put_integer(j, "line", row->line);
	json_put_number(j, "self_s", (double)row->self / NS_PER_SEC);
	json_put_number(j, "share", (double)row->self / all);
	if (row->self_margin > 0)
		json_put_number(j, "margin", row->self_margin);
	put_source(d, row->file, row->line, row->module);
	json_close(j);
}

static void put_line_text(struct digest *d, const struct row *row)
{
	char path[PATH_MAX];

	fprintf(d->out, "%s:%d %s, %s", say(d, path_of(d, row->file, path, sizeof(path))),
	        row->line, format_duration(row->self).text,
	        format_percent(row->self, d->b->lines->all).text);
	if (row->self_margin > 0)
		fprintf(d->out, " \u00b1%.1f", 100 * row->self_margin);
	fputs(" %\n", d->out);
	put_source(d, row->file, row->line, row->module);
}

static void put_lines(struct digest *d)
{
	const struct rows *lines = d->b->lines;
	size_t shown = 0;

	if (d->json)
		json_open(&d->j, "lines", '[');
	for (size_t i = 0; i < lines->count && shown < d->detail->lines; i++) {
		if (!is_hot(d, &lines->rows[i]))
			continue;
		if (!d->json && !shown)
			fputs("\nhot lines, self time on a CPU and waiting, all threads (\u00b1: "
			      "95 % interval):\n",
			      d->out);
		shown++;
		if (d->json)
			put_line_json(d, &lines->rows[i]);
		else
			put_line_text(d, &lines->rows[i]);
	}
	if (d->json)
		json_close(&d->j);
}

// A word of its own for where nobody can tell.
static const char *change_word(const struct diff_row *row)
{
	return row->verdict == DIFF_UNSURE ? "inconclusive" : diff_row_word(row);
}

static void put_change(struct digest *d)
{
	const struct diff_row *best = d->diff ? diff_report_best(d->diff) : NULL;

	if (!best)
		return;
	double low = (best->change_ns - best->margin_ns) / NS_PER_SEC;
	double high = (best->change_ns + best->margin_ns) / NS_PER_SEC;
	if (!d->json) {
		fprintf(d->out,
		        "compared with the base: %s; %s changed by %+.3g s, 95 %% interval %+.3g "
		        "to %+.3g s. %s\n",
		        change_word(best), best->name, best->change_ns / NS_PER_SEC, low, high,
		        say(d, d->diff->sentence));
		return;
	}
	json_open(&d->j, "change", '{');
	json_put_text(&d->j, "result", change_word(best));
	json_put_text(&d->j, "of", best->name);
	json_put_number(&d->j, "base_s", best->base.ns / NS_PER_SEC);
	json_put_number(&d->j, "new_s", best->next.ns / NS_PER_SEC);
	json_open(&d->j, "interval_s", '[');
	json_put_number(&d->j, NULL, low);
	json_put_number(&d->j, NULL, high);
	json_close(&d->j);
	json_put_text(&d->j, "sentence", say(d, d->diff->sentence));
	json_close(&d->j);
}

static void put_limits(struct digest *d)
{
	if (d->json)
		json_open(&d->j, "uncertainty", '[');
	else
		fputs("\nhow far to trust this:\n", d->out);
	for (const struct section_note *note = d->limits->notes; note; note = note->next) {
		if (d->json)
			json_put_text(&d->j, NULL, say(d, note->words));
		else
			fprintf(d->out, "%s\n", say(d, note->words));
	}
	if (d->json)
		json_close(&d->j);
}

static void put_command(struct digest *d, const char *command, const char *why)
{
	if (!d->json) {
		fprintf(d->out, "%s    # %s\n", command, why);
		return;
	}
	json_open(&d->j, NULL, '{');
	json_put_text(&d->j, "command", command);
	json_put_text(&d->j, "why", why);
	json_close(&d->j);
}

static void put_commands(struct digest *d)
{
	const struct finding *said = d->b->verdict.said      ? d->b->verdict.said
	                             : d->b->findings->shown ? d->b->findings->items
	                                                     : NULL;
	char command[TEXT_MAX + 40];

	if (d->json)
		json_open(&d->j, "commands", '[');
	else
		fputs("\nnext commands:\n", d->out);
	if (said) {
		snprintf(command, sizeof(command), "bottleneck explain %s", said->rule->id);
		put_command(d, command, "what the first cause is, and how it is measured");
	} else {
		put_command(d, "bottleneck report --call-tree", "who calls what takes most");
	}
	put_command(d, "bottleneck diff BASE NEW",
	            "profile again after the change with bottleneck -o NEW; BASE is this profile");
	if (d->json)
		json_close(&d->j);
}

static void put_json(struct digest *d)
{
	struct json *j = &d->j;
	const struct run *run = d->b->run;

	d->j = json_start_compact(d->out);
	json_open(j, NULL, '{');
	json_put_text(j, "schema", "bottleneck-digest");
	json_put_integer(j, "schema_version", DIGEST_VERSION);
	json_put_text(j, "command", say(d, run->command));
	json_put_number(j, "wall_s", (double)run->wall_ns / NS_PER_SEC);
	json_put_count(j, "samples", run->samples);
	if (*d->e->cut)
		json_put_text(j, "shown", say(d, d->e->cut));
	json_put_text(j, "verdict", say(d, d->b->verdict.sentence));
	json_put_text(j, "next", say(d, d->b->verdict.next));
	put_change(d);
	put_causes(d);
	put_lines(d);
	put_limits(d);
	put_commands(d);
	json_close(j);
	fputc('\n', d->out);
}

static void put_text(struct digest *d)
{
	const struct run *run = d->b->run;

	fprintf(d->out, "bottleneck profiled: %s\n", say(d, run->command));
	fprintf(d->out, "wall time %s, %s samples", format_duration(run->wall_ns).text,
	        format_count(run->samples).text);
	if (*d->e->cut)
		fprintf(d->out, "; %s", say(d, d->e->cut));
	fprintf(d->out, "\nverdict: %s\n", say(d, d->b->verdict.sentence));
	fprintf(d->out, "next: %s\n", say(d, d->b->verdict.next));
	put_change(d);
	put_causes(d);
	put_lines(d);
	put_limits(d);
	put_commands(d);
}

// In the detail that fits.
static int fit(struct digest *d, FILE *out, struct error *err)
{
	for (size_t i = 0; i < DETAILS; i++) {
		cleanup_free char *text = NULL;
		size_t size = 0;
		d->detail = &details[i];
		d->out = open_memstream(&text, &size);
		if (!d->out)
			break;
		(d->json ? put_json : put_text)(d);
		if (fclose(d->out) != 0)
			break;
		if (size > DIGEST_BYTES && i + 1 < DETAILS)
			continue;
		fwrite(text, 1, size, out);
		return 0;
	}
	return error_set(err, errno, "could not make the digest");
}

static bool ends_with(const char *path, const char *end)
{
	size_t length = path ? strlen(path) : 0, size = strlen(end);

	return length >= size && strcmp(path + length - size, end) == 0;
}

static int write_digest(const struct exporting *e, struct error *err)
{
	cleanup(profile) struct profile *base = NULL;
	cleanup(brief) struct brief b = { 0 };
	struct view view = *e->view;
	struct digest d = { .e = e, .b = &b };

	view_make_brief(&view);
	cleanup(report) struct report r = report_of(e->profile, &view, READER_TEXT);
	d.json = ends_with(e->path, ".json") || ends_with(e->path, ".json.gz");
	if (other_run_check(e, "a digest", err) < 0 || other_run_read(e, &base, err) < 0 ||
	    brief_init(&b, e->profile, e->view, e->limits, err) < 0)
		return -1;
	d.limits = section_limits(&r, err);
	if (!d.limits || (base && !(d.diff = diff_report_of(&r, e->asked, base, err))))
		return -1;
	return fit(&d, e->out, err);
}

const struct exporter exporter_digest = { .name = "digest", .write = write_digest };

// SPDX-License-Identifier: MIT
#include "cli/batch/batch_output.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/format.h"
#include "base/secret.h"
#include "cli/json.h"
#include "cli/table.h"
#include "cli/terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define JSON_VERSION 1

static const char *name_of(const struct batch_result *result)
{
	return result->kept ? "passed before" : batch_outcome_name(result->outcome);
}

static void print_row(struct table *table, const struct batch_job *job,
                      const struct batch_result *result)
{
	bool well = result->outcome == BATCH_PASSED || result->outcome == BATCH_NOT_RUN;

	table_row(table, STYLE_PLAIN);
	table_cell(table, job->name);
	table_styled(table, name_of(result), well ? STYLE_PLAIN : STYLE_HOT);
	table_cell(table, result->runs ? format_count(result->runs).text : "-");
	table_cell(table, result->runs ? format_duration(result->wall_ns).text : "-");
	table_cell(table, *result->finding ? result->finding : "-");
	table_cell(table, *result->message ? result->message : result->function);
}

int batch_print_table(const struct batch_output *o, const struct terminal *terminal, FILE *out,
                      struct error *err)
{
	static const struct column columns[] = {
		{ "command", COLUMN_WORD, 0, 0 },
		{ "outcome", COLUMN_WORD, 0, 0 },
		{ "runs", COLUMN_NUMBER, 0, 0 },
		{ "time", COLUMN_NUMBER, 0, 0 },
		{ "worst finding", COLUMN_WORD, 0, 0 },
		{ "mostly in", COLUMN_TEXT, CLIP_SYMBOL, 1 },
	};
	cleanup(table) struct table *table =
		table_new(columns, sizeof(columns) / sizeof(columns[0]), terminal);
	size_t passed = 0;

	for (size_t i = 0; table && i < o->count; i++) {
		print_row(table, &o->jobs[i], &o->results[i]);
		passed += o->results[i].outcome == BATCH_PASSED;
	}
	terminal_print(terminal, out, "batch %s: %zu of %zu commands passed", o->name, passed,
	               o->count);
	fputs("\n\n", out);
	if (!table || table_print(table, out, 2) < 0)
		return error_set(err, ENOMEM, "could not print the summary");
	fputc('\n', out);
	terminal_print(terminal, out, "  profiles and reports: %s", o->directory);
	fputc('\n', out);
	return 0;
}

// Neither control characters nor broken UTF-8 may be in XML, not even escaped.
static void put_xml(FILE *out, const char *text)
{
	cleanup_free char *clean = format_clean(text, false);

	for (const char *c = clean ? clean : ""; *c; c++) {
		switch (*c) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			fputc(*c, out);
		}
	}
}

static bool is_failure(enum batch_outcome outcome)
{
	return outcome == BATCH_FAILED || outcome == BATCH_GATE || outcome == BATCH_INCONCLUSIVE;
}

// JUnit: what did not do what it should is a failure, what could not end is an error.
static void put_outcome(FILE *out, const struct batch_result *result)
{
	if (result->outcome == BATCH_PASSED)
		return;
	if (result->outcome == BATCH_NOT_RUN) {
		fputs("   <skipped message=\"", out);
		put_xml(out, *result->message ? result->message : "not run");
		fputs("\"/>\n", out);
		return;
	}
	fprintf(out, "   <%s type=\"%s\" message=\"",
	        is_failure(result->outcome) ? "failure" : "error",
	        batch_outcome_name(result->outcome));
	put_xml(out, result->message);
	fputs("\"/>\n", out);
}

static void put_case(FILE *out, const struct batch_output *o, size_t i)
{
	const struct batch_job *job = &o->jobs[i];
	const struct batch_result *result = &o->results[i];

	fputs("  <testcase classname=\"", out);
	put_xml(out, o->name);
	fputs("\" name=\"", out);
	put_xml(out, job->name);
	fprintf(out, "\" time=\"%.6f\">\n", (double)result->sum_ns / 1e9);
	put_outcome(out, result);
	if (result->runs) {
		fputs("   <system-out>", out);
		cleanup_free char *command = secret_mask(job->command);
		put_xml(out, command ? command : "");
		fputs("; ", out);
		if (*result->finding)
			fprintf(out, "worst finding: %s; ", result->finding);
		put_xml(out, o->directory);
		fprintf(out, "/%s%s.txt</system-out>\n", job->name, job->repeat > 1 ? ".*" : "");
	}
	fputs("  </testcase>\n", out);
}

static void put_junit(FILE *out, const struct batch_output *o)
{
	size_t failures = 0, errors = 0, skipped = 0;
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < o->count; i++) {
		enum batch_outcome outcome = o->results[i].outcome;
		failures += is_failure(outcome);
		skipped += outcome == BATCH_NOT_RUN;
		errors +=
			!is_failure(outcome) && outcome != BATCH_NOT_RUN && outcome != BATCH_PASSED;
		sum_ns += o->results[i].sum_ns;
	}
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n <testsuite name=\"", out);
	put_xml(out, o->name);
	fprintf(out,
	        "\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" time=\"%.6f\">\n",
	        o->count, failures, errors, skipped, (double)sum_ns / 1e9);
	for (size_t i = 0; i < o->count; i++)
		put_case(out, o, i);
	fputs(" </testsuite>\n</testsuites>\n", out);
}

static void put_result(struct json *j, const struct batch_job *job,
                       const struct batch_result *result)
{
	json_open(j, NULL, '{');
	json_put_text(j, "name", job->name);
	cleanup_free char *command = secret_mask(job->command);
	json_put_text(j, "command", command);
	json_put_text(j, "outcome", batch_outcome_name(result->outcome));
	json_put_bool(j, "kept", result->kept);
	if (result->outcome == BATCH_NOT_RUN)
		json_put_null(j, "status");
	else
		json_put_integer(j, "status", result->status);
	if (result->signal)
		json_put_integer(j, "signal", result->signal);
	else
		json_put_null(j, "signal");
	json_put_count(j, "runs", result->runs);
	json_put_count(j, "wall_ns", result->wall_ns);
	json_put_count(j, "sum_ns", result->sum_ns);
	json_put_text(j, "finding", *result->finding ? result->finding : NULL);
	json_put_text(j, "function", *result->function ? result->function : NULL);
	json_put_text(j, "message", *result->message ? result->message : NULL);
	json_close(j);
}

static void put_json(FILE *out, const struct batch_output *o)
{
	struct json j = json_start(out);

	json_open(&j, NULL, '{');
	json_put_text(&j, "schema", "bottleneck-batch");
	json_put_count(&j, "schema_version", JSON_VERSION);
	json_put_text(&j, "batch", o->name);
	json_put_text(&j, "directory", o->directory);
	json_open(&j, "commands", '[');
	for (size_t i = 0; i < o->count; i++)
		put_result(&j, &o->jobs[i], &o->results[i]);
	json_close(&j);
	json_close(&j);
}

static int write_file(const struct batch_output *o, const char *path,
                      void (*put)(FILE *, const struct batch_output *), struct error *err)
{
	FILE *out = fopen(path, "we");

	if (!out)
		return error_set(err, errno, "could not write \"%s\"", path);
	put(out, o);
	bool failed = ferror(out);
	if (fclose(out) != 0 || failed)
		return error_set(err, errno, "could not write \"%s\"", path);
	return 0;
}

int batch_write_junit(const struct batch_output *o, const char *path, struct error *err)
{
	return write_file(o, path, put_junit, err);
}

int batch_write_json(const struct batch_output *o, const char *path, struct error *err)
{
	return write_file(o, path, put_json, err);
}

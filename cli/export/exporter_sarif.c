// SPDX-License-Identifier: MIT
// SARIF 2.1.0, as code hosts and editors read it: each finding that no other one covers is a
// result if it has a place in the source. GitHub refuses a whole file that has a result without
// one, so findings on the run are notifications.
#include "cli/export/exporter.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/format.h"
#include "cli/json.h"
#include "cli/report/brief.h"
#include "cli/report/report_json.h"
#include "cli/report/rule_words.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#define SCHEMA                                                                                     \
	"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"                      \
	"sarif-schema-2.1.0.json"
#define ROOT       "SRCROOT"
#define TEXT_BYTES 2048 // of what foreign bytes stand in

static void put_message(struct json *j, const char *key, const char *text)
{
	json_open(j, key, '{');
	json_put_text(j, "text", text);
	json_close(j);
}

// "Of what, why, what to do, and whose the limit is": all that is in bottleneck explain.
static void put_help(struct json *j, const struct rule *rule)
{
	char text[TEXT_BYTES], limit[128];

	rule_limit_words(rule, limit, sizeof(limit));
	snprintf(text, sizeof(text),
	         "Measures: %s (%s; threshold: %s).\n\nWhy it matters: %s\n\nWhat to do: %s\n\n"
	         "More: bottleneck explain %s, bottleneck-findings(7).",
	         rule->formula, limit, rule->source, rule->why, rule->advice, rule->id);
	put_message(j, "help", text);
}

static void put_rule(struct json *j, const struct finding *finding)
{
	const struct rule *rule = finding->rule;

	json_open(j, NULL, '{');
	json_put_text(j, "id", rule->id);
	put_message(j, "shortDescription", rule->title);
	put_message(j, "fullDescription", rule->why);
	put_help(j, rule);
	json_open(j, "defaultConfiguration", '{');
	json_put_text(j, "level",
	              brief_level(&(const struct finding){ .severity = rule->severity }));
	json_close(j);
	json_open(j, "properties", '{');
	json_open(j, "tags", '[');
	json_put_text(j, NULL, "performance");
	json_put_text(j, NULL, rule_subject_words(rule->subject));
	json_close(j);
	json_close(j);
	json_close(j);
}

static void put_tool(struct json *j, const struct brief *b)
{
	json_open(j, "tool", '{');
	json_open(j, "driver", '{');
	json_put_text(j, "name", "bottleneck");
	json_put_text(j, "version", BOTTLENECK_VERSION);
	json_open(j, "rules", '[');
	for (size_t i = 0; b->findings && i < b->findings->shown; i++)
		put_rule(j, &b->findings->items[i]);
	json_close(j);
	json_close(j);
	json_close(j);
}

// Of "/a b/c" "/a%20b/c": the bytes of a name, whatever they are.
static void put_uri(struct json *j, const char *key, const char *path, const char *end)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-._~/";
	char uri[3 * PATH_MAX + 16], *out = uri;

	out += sprintf(out, "%s", *path == '/' ? "file://" : "");
	for (size_t i = 0; path[i] && i < PATH_MAX; i++)
		out += sprintf(out, strchr(plain, path[i]) ? "%c" : "%%%02X",
		               (unsigned char)path[i]);
	snprintf(out, 16, "%s", end);
	json_put_text(j, key, uri);
}

// Code hosts keep results by what they are of: those of another command do not take their place.
static void put_automation(struct json *j, const struct run *run)
{
	char id[48];

	snprintf(id, sizeof(id), "bottleneck/%016" PRIx64 "/", brief_command_key(run));
	json_open(j, "automationDetails", '{');
	json_put_text(j, "id", id);
	json_close(j);
}

static void put_directory(struct json *j, const char *key, const char *directory)
{
	size_t length = strlen(directory);

	json_open(j, key, '{');
	put_uri(j, "uri", directory, length && directory[length - 1] == '/' ? "" : "/");
	json_close(j);
}

static void put_moment(struct json *j, const char *key, uint64_t ns)
{
	time_t seconds = (time_t)(ns / NS_PER_SEC);
	char text[40];
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || tm.tm_year > 9999 - 1900)
		return; // a damaged profile's
	size_t used = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + used, sizeof(text) - used, ".%03uZ",
	         (unsigned)(ns % NS_PER_SEC / NS_PER_MS));
	json_put_text(j, key, text);
}

static void put_exit(struct json *j, const struct run *run)
{
	bool known = run->exit_status != -1;

	json_put_bool(j, "executionSuccessful", known ? run->exit_status == 0 : run->complete);
	if (known && WIFSIGNALED(run->exit_status))
		json_put_integer(j, "exitSignalNumber", WTERMSIG(run->exit_status));
	else if (known)
		json_put_integer(j, "exitCode", WEXITSTATUS(run->exit_status));
}

static void put_file(struct json *j, const char *path, int line)
{
	json_open(j, "physicalLocation", '{');
	json_open(j, "artifactLocation", '{');
	put_uri(j, "uri", path, "");
	if (*path != '/')
		json_put_text(j, "uriBaseId", ROOT);
	json_close(j);
	if (line > 0) {
		json_open(j, "region", '{');
		json_put_integer(j, "startLine", line);
		json_close(j);
	}
	json_close(j);
}

// A place of RUN; an element of an array that is open. Nothing if nobody knows it.
static void put_place(struct json *j, const struct run *run, const char *function, const char *file,
                      int line, const char *message)
{
	char path[PATH_MAX], name[TEXT_BYTES];
	const char *known = brief_path(file, run->directory, path, sizeof(path));

	if (!known && !function)
		return;
	json_open(j, NULL, '{');
	if (known)
		put_file(j, known, line);
	if (function) {
		json_open(j, "logicalLocations", '[');
		json_open(j, NULL, '{');
		json_put_text(j, "fullyQualifiedName", brief_line(function, name, sizeof(name)));
		json_put_text(j, "kind", "function");
		json_close(j);
		json_close(j);
	}
	if (message)
		put_message(j, "message", message);
	json_close(j);
}

static bool has_source(const struct run *run, const char *file)
{
	char path[PATH_MAX];

	return brief_path(file, run->directory, path, sizeof(path)) != NULL;
}

// The rows of evidence: what each had of it.
static void put_evidence(struct json *j, const struct run *run, const struct finding *finding)
{
	char callee[512], message[TEXT_BYTES];

	if (!finding->row_count)
		return;
	json_open(j, "relatedLocations", '[');
	for (size_t i = 0; i < finding->row_count; i++) {
		const struct finding_row *row = &finding->rows[i];
		brief_line(row->callee, callee, sizeof(callee));
		snprintf(message, sizeof(message), "%s%s%s%s", row->ns ? "" : "part of it",
		         row->ns ? format_duration(row->ns).text : "", row->callee ? " in " : "",
		         callee);
		if (has_source(run, row->file))
			put_place(j, run, row->function, row->file, row->line, message);
	}
	json_close(j);
}

// Of NS, which MARGIN_NS is half the interval of: seconds.
static void put_interval(struct json *j, double ns, double margin_ns)
{
	json_open(j, "interval", '[');
	json_put_number(j, NULL, fmax(ns - margin_ns, 0) / NS_PER_SEC);
	json_put_number(j, NULL, (ns + margin_ns) / NS_PER_SEC);
	json_close(j);
}

static void put_price(struct json *j, const struct finding *finding)
{
	json_open(j, "properties", '{');
	json_put_number(j, "value", finding->value);
	json_put_number(j, "threshold", finding->threshold);
	json_put_text(j, "unit", rule_unit_key(finding->rule->unit));
	if (finding->saving_ns)
		json_put_number(j, "seconds", (double)finding->saving_ns / NS_PER_SEC);
	if (finding->saving_margin_ns)
		put_interval(j, (double)finding->saving_ns, (double)finding->saving_margin_ns);
	if (brief_has_price(finding)) {
		json_open(j, "changeSaves", '[');
		json_put_number(j, NULL, (double)finding->saving_low_ns / NS_PER_SEC);
		json_put_number(j, NULL, (double)finding->saving_high_ns / NS_PER_SEC);
		json_close(j);
	}
	if (finding->share > 0) {
		json_put_number(j, "share", finding->share);
		json_put_text(j, "shareOf", brief_whole(finding));
	}
	json_close(j);
}

// A code host that was given no line's hash tells results apart by this one.
static void put_fingerprints(struct json *j, const struct run *run, const struct finding *finding)
{
	char key[20];

	snprintf(key, sizeof(key), "%016" PRIx64, brief_key(finding, run->directory));
	json_open(j, "partialFingerprints", '{');
	json_put_text(j, "bottleneckFinding/v1", key);
	json_put_text(j, "primaryLocationLineHash", key);
	json_close(j);
}

// What costs, why it does, what to do.
static void put_words(struct json *j, const struct finding *finding)
{
	char fact[TEXT_BYTES], advice[TEXT_BYTES], price[160] = "", saves[80], text[3 * TEXT_BYTES];

	if (finding->saving_ns)
		snprintf(price, sizeof(price), " It costs %s.",
		         format_duration(finding->saving_ns).text);
	if (brief_has_price(finding))
		snprintf(price + strlen(price), sizeof(price) - strlen(price),
		         " A change there %s.", brief_price(finding, saves, sizeof(saves)));
	brief_line(finding->fact, fact, sizeof(fact));
	if (*fact >= 'a' && *fact <= 'z')
		*fact -= 'a' - 'A';
	snprintf(text, sizeof(text), "%s.%s %s %s", fact, price, finding->rule->why,
	         brief_line(finding->advice, advice, sizeof(advice)));
	put_message(j, "message", text);
}

static void put_places(struct json *j, const struct run *run, const struct finding *finding)
{
	json_open(j, "locations", '[');
	put_place(j, run, finding->function, finding->file, finding->line, NULL);
	json_close(j);
}

static void put_result(struct json *j, const struct run *run, const struct finding *finding,
                       size_t index)
{
	json_open(j, NULL, '{');
	json_put_text(j, "ruleId", finding->rule->id);
	json_put_count(j, "ruleIndex", index); // a rule has one finding
	json_put_text(j, "level", brief_level(finding));
	put_words(j, finding);
	put_places(j, run, finding);
	put_evidence(j, run, finding);
	put_fingerprints(j, run, finding);
	put_price(j, finding);
	json_close(j);
}

static void put_notification(struct json *j, const struct run *run, const struct finding *finding,
                             size_t index)
{
	json_open(j, NULL, '{');
	json_open(j, "associatedRule", '{');
	json_put_text(j, "id", finding->rule->id);
	json_put_count(j, "index", index);
	json_close(j);
	json_put_text(j, "level", brief_level(finding));
	put_words(j, finding);
	put_places(j, run, finding);
	put_price(j, finding);
	json_close(j);
}

// Results, or notifications.
static void put_findings(struct json *j, const struct brief *b, const char *key, bool source,
                         void (*put)(struct json *, const struct run *, const struct finding *,
                                     size_t))
{
	json_open(j, key, '[');
	for (size_t i = 0; b->findings && i < b->findings->shown; i++)
		if (has_source(b->run, b->findings->items[i].file) == source)
			put(j, b->run, &b->findings->items[i], i);
	json_close(j);
}

static void put_invocation(struct json *j, const struct brief *b)
{
	const struct run *run = b->run;
	char command[TEXT_BYTES];

	json_open(j, "invocations", '[');
	json_open(j, NULL, '{');
	json_put_text(j, "commandLine", brief_line(run->command, command, sizeof(command)));
	if (run->directory && *run->directory == '/')
		put_directory(j, "workingDirectory", run->directory);
	if (run->start_realtime_ns) {
		put_moment(j, "startTimeUtc", run->start_realtime_ns);
		put_moment(j, "endTimeUtc", run->start_realtime_ns + run->wall_ns);
	}
	put_exit(j, run);
	put_findings(j, b, "toolExecutionNotifications", false, put_notification);
	json_close(j);
	json_close(j);
}

static void put_summary(struct json *j, const struct exporting *e, const struct brief *b)
{
	char text[TEXT_BYTES];

	json_open(j, "properties", '{');
	json_put_text(j, "verdict", brief_line(b->verdict.sentence, text, sizeof(text)));
	json_put_text(j, "next", brief_line(b->verdict.next, text, sizeof(text)));
	if (*e->cut)
		json_put_text(j, "shown", brief_line(e->cut, text, sizeof(text)));
	json_close(j);
}

static int write_sarif(const struct exporting *e, struct error *err)
{
	cleanup(brief) struct brief b = { .run = e->facts.run };
	struct json j = json_start(e->out);

	// Counts and repeated runs are measurements, without anything that a rule could find.
	bool measured = report_json_is_measured(e->profile);
	if (!measured && brief_init(&b, e->profile, e->view, e->limits, err) < 0)
		return -1;
	json_open(&j, NULL, '{');
	json_put_text(&j, "$schema", SCHEMA);
	json_put_text(&j, "version", "2.1.0");
	json_open(&j, "runs", '[');
	json_open(&j, NULL, '{');
	put_tool(&j, &b);
	put_automation(&j, b.run);
	if (b.run->directory && *b.run->directory == '/') {
		json_open(&j, "originalUriBaseIds", '{');
		put_directory(&j, ROOT, b.run->directory);
		json_close(&j);
	}
	put_invocation(&j, &b);
	put_findings(&j, &b, "results", true, put_result);
	if (!measured)
		put_summary(&j, e, &b);
	json_close(&j);
	json_close(&j);
	json_close(&j);
	return 0;
}

const struct exporter exporter_sarif = { .name = "sarif", .write = write_sarif };

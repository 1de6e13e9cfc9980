// SPDX-License-Identifier: MIT
#include "cli/report/brief.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/format.h"
#include "cli/report/cut.h"
#include "cli/report/row_words.h"
#include "cli/report/view.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FNV_OFFSET UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME  UINT64_C(0x100000001b3)
#define ELLIPSIS   "\u2026"

int brief_init(struct brief *b, const struct profile *profile, const struct view *view,
               const struct rule_limits *limits, struct error *err)
{
	*b = (struct brief){ .run = profile_run(profile) };
	b->findings = cut_findings(view, profile, limits, err);
	if (b->findings && verdict_find(profile, view, b->findings, &b->verdict, err) == 0)
		b->lines = rows_by_line(profile, view, SORT_SELF, NULL, err);
	if (b->lines)
		return 0;
	brief_fini(b);
	return -1;
}

void brief_fini(struct brief *b)
{
	findings_free(b->findings);
	rows_free(b->lines);
	*b = (struct brief){ 0 };
}

const char *brief_level(const struct finding *finding)
{
	static const char *const levels[] = {
		[SEVERITY_INFO] = "note", [SEVERITY_WARN] = "warning", [SEVERITY_ERROR] = "error"
	};

	return levels[finding->severity];
}

// What more CPUs could give is no change at a place.
bool brief_has_price(const struct finding *finding)
{
	return finding->function && finding->saving_high_ns && !finding->rule->potential;
}

const char *brief_price(const struct finding *finding, char *buffer, size_t size)
{
	struct short_text low = format_duration(finding->saving_low_ns);
	struct short_text high = format_duration(finding->saving_high_ns);

	if (finding->saving_low_ns && strcmp(low.text, high.text) != 0)
		snprintf(buffer, size, "saves %s to %s", low.text, high.text);
	else
		snprintf(buffer, size, "saves at most %s", high.text);
	return buffer;
}

const char *brief_whole(const struct finding *finding)
{
	return finding->of_cpu && !finding->of_run ? "CPU time"
	       : finding->without_queue            ? "wall time (excluding waits for a CPU)"
	                                           : "wall time";
}

// Resolves "." and ".." of PATH, which is absolute, in place. False if it leads above the root.
static bool resolve(char *path)
{
	char *out = path, *save = NULL;

	for (char *part = strtok_r(path, "/", &save); part; part = strtok_r(NULL, "/", &save)) {
		size_t length = strlen(part);
		if (strcmp(part, ".") == 0)
			continue;
		if (strcmp(part, "..") == 0) {
			if (out == path)
				return false;
			while (*--out != '/')
				;
			continue;
		}
		*out++ = '/';
		memmove(out, part, length);
		out += length;
	}
	*out = '\0';
	return true;
}

// FILE as brief_path() has it, whether it is there or not.
static const char *place_of(const char *file, const char *directory, char *buffer, size_t size)
{
	char full[PATH_MAX];
	bool relative = file && *file != '/';
	size_t length = directory ? strlen(directory) : 0;

	// What an interpreter made up, as <string>, or what nobody can say the directory of.
	if (!file || !*file || *file == '<' || (relative && !length))
		return NULL;
	int used = relative ? snprintf(full, sizeof(full), "%s/%s", directory, file)
	                    : snprintf(full, sizeof(full), "%s", file);
	if (used < 0 || (size_t)used >= sizeof(full) || *full != '/' || !resolve(full) || !*full)
		return NULL;
	while (length && directory[length - 1] == '/')
		length--;
	bool within = directory && strncmp(full, directory, length) == 0 && full[length] == '/';
	used = snprintf(buffer, size, "%s", within ? full + length + 1 : full);
	return (size_t)used < size ? buffer : NULL;
}

const char *brief_path(const char *file, const char *directory, char *buffer, size_t size)
{
	const char *path = place_of(file, directory, buffer, size);
	cleanup_free char *full = NULL;

	if (!path || *file == '/')
		return path;
	// Debug information names the files of a library as where that was built has them.
	if (asprintf(&full, "%s%s%s", *path == '/' ? "" : directory, *path == '/' ? "" : "/",
	             path) < 0)
		full = NULL;
	return full && access(full, F_OK) == 0 ? path : NULL;
}

static uint64_t mix(uint64_t key, const char *text)
{
	for (; *text; text++)
		key = (key ^ (unsigned char)*text) * FNV_PRIME;
	return (key ^ 0xff) * FNV_PRIME; // which is in no UTF-8: texts do not run into each other
}

uint64_t brief_key(const struct finding *finding, const char *directory)
{
	const char *file = finding->file ? finding->file : "";
	char path[PATH_MAX];
	const char *known = place_of(file, directory, path, sizeof(path));
	uint64_t key = mix(FNV_OFFSET, finding->rule->id);

	key = mix(key, known ? known : file);
	return mix(key, finding->function ? finding->function : "");
}

uint64_t brief_command_key(const struct run *run)
{
	return mix(FNV_OFFSET, run->command ? run->command : "");
}

const char *brief_line(const char *text, char *buffer, size_t size)
{
	cleanup_free char *line = strdup(text ? text : "");

	for (char *c = line; c && *c; c++)
		*c = *c == '\n' || *c == '\t' || *c == '\r' ? ' ' : *c;
	cleanup_free char *clean = line ? format_clean(line, false) : NULL;
	size_t length = clean ? strlen(clean) : 0, most = size - 1;

	if (length > most) {
		length = most > strlen(ELLIPSIS) ? most - strlen(ELLIPSIS) : 0;
		while (length && ((unsigned char)clean[length] & 0xc0) == 0x80)
			length--;
	}
	snprintf(buffer, size, "%.*s%s", (int)length, clean ? clean : "",
	         clean && clean[length] ? ELLIPSIS : "");
	return buffer;
}

// SPDX-License-Identifier: MIT
#include "merge/table/memory_curves.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BIN_NS_FIRST UINT64_C(1000000)
#define BIN_NS_MAX   (UINT64_C(1) << 56)
#define KB           1024

struct memory_curve *memory_curves_get(struct memory_curves *c, enum curve_kind kind,
                                       const char *name)
{
	char cut[CURVE_NAME_BYTES];

	snprintf(cut, sizeof(cut), "%s", name);
	for (char *at = cut; *at; at++)
		if (*at == '\n')
			*at = '?';
	for (uint32_t i = 0; i < c->count; i++)
		if (c->of[i].kind == kind && strcmp(c->of[i].name, cut) == 0)
			return &c->of[i];
	if (c->count >= (kind == CURVE_PACKAGE ? CURVES_PACKAGES : CURVES_MAX))
		return NULL;
	struct memory_curve *curve = &c->of[c->count++];
	*curve = (struct memory_curve){ .kind = kind, .bin_ns = BIN_NS_FIRST };
	memcpy(curve->name, cut, sizeof(cut));
	return curve;
}

static void halve(struct memory_curve *c)
{
	for (uint32_t i = 0; i < c->count; i += 2) {
		uint64_t left = c->most_kb[i], right = i + 1 < c->count ? c->most_kb[i + 1] : 0;
		c->most_kb[i / 2] = left > right ? left : right;
	}
	c->count = (c->count + 1) / 2;
	c->bin_ns *= 2;
}

// The bin of AT_NS, up to which the curve stays as it was. What comes late is in the last one.
static uint32_t reach(struct memory_curve *c, uint64_t at_ns)
{
	while (at_ns / c->bin_ns >= CURVE_BINS && c->bin_ns < BIN_NS_MAX)
		halve(c);
	uint64_t bin = at_ns / c->bin_ns;
	if (bin >= CURVE_BINS)
		bin = CURVE_BINS - 1;
	while (c->count <= bin)
		c->most_kb[c->count++] = c->last_bytes / KB;
	return c->count - 1;
}

void memory_curve_add(struct memory_curve *c, uint64_t at_ns, uint64_t bytes)
{
	uint64_t *most = &c->most_kb[reach(c, at_ns)];

	if (bytes / KB > *most)
		*most = bytes / KB;
	c->last_bytes = bytes;
	if (bytes <= c->peak_bytes)
		return;
	c->peak_bytes = bytes;
	c->peak_ns = at_ns;
}

void memory_curve_end(struct memory_curve *c, uint64_t end_ns)
{
	reach(c, end_ns);
}

void memory_curves_print(const struct memory_curves *c, char text[CURVES_TEXT])
{
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < c->count; i++) {
		const struct memory_curve *curve = &c->of[i];
		used += (size_t)snprintf(text + used, CURVES_TEXT - used,
		                         "%d %" PRIu64 " %" PRIu64 " %" PRIu64 " %s:", curve->kind,
		                         curve->bin_ns, curve->peak_bytes, curve->peak_ns,
		                         curve->name);
		for (uint32_t k = 0; k < curve->count; k++)
			used += (size_t)snprintf(text + used, CURVES_TEXT - used, "%s%" PRIu64,
			                         k ? " " : "", curve->most_kb[k]);
		used += (size_t)snprintf(text + used, CURVES_TEXT - used, "\n");
	}
}

// A number at *TEXT, which END follows.
static bool take(const char **text, char end, uint64_t *out)
{
	char *behind;

	if (**text < '0' || **text > '9')
		return false;
	*out = strtoull(*text, &behind, 10);
	if (*behind != end || *out > INT64_MAX)
		return false;
	*text = behind + 1;
	return true;
}

static bool parse_values(struct memory_curve *c, const char **text)
{
	for (;;) {
		size_t digits = strspn(*text, "0123456789");
		char end = (*text)[digits];
		if (c->count == CURVE_BINS || (end != ' ' && end != '\n') ||
		    !take(text, end, &c->most_kb[c->count]) ||
		    c->most_kb[c->count] > INT64_MAX / KB)
			return false;
		c->count++;
		if (end == '\n')
			return true;
	}
}

static bool parse_curve(struct memory_curve *c, const char **text)
{
	uint64_t kind;

	*c = (struct memory_curve){ 0 };
	if (!take(text, ' ', &kind) || kind >= CURVE_KINDS || !take(text, ' ', &c->bin_ns) ||
	    !c->bin_ns || c->bin_ns > BIN_NS_MAX || !take(text, ' ', &c->peak_bytes) ||
	    !take(text, ' ', &c->peak_ns))
		return false;
	c->kind = (enum curve_kind)kind;
	// A name may have colons: its end is the last one of the line.
	size_t line = strcspn(*text, "\n"), length = line;
	while (length && (*text)[length - 1] != ':')
		length--;
	if (length < 2 || length > CURVE_NAME_BYTES)
		return false;
	memcpy(c->name, *text, length - 1);
	*text += length;
	return parse_values(c, text);
}

bool memory_curves_parse(struct memory_curves *c, const char *text)
{
	c->count = 0;
	while (text && *text) {
		if (c->count == CURVES_MAX || !parse_curve(&c->of[c->count], &text)) {
			c->count = 0;
			return false;
		}
		c->count++;
	}
	return true;
}

bool memory_curves_package(const char *path, char name[CURVE_NAME_BYTES])
{
	static const char *const folders[] = { "/site-packages/", "/dist-packages/" };

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		const char *at = strstr(path, folders[i]);
		if (!at)
			continue;
		at += strlen(folders[i]);
		// "numpy/core/x.so", "numpy.libs/libopenblas.so", "_cffi_backend.cpython-311.so"
		size_t length = strcspn(at, "/.");
		if (!length || length >= CURVE_NAME_BYTES)
			return false;
		memcpy(name, at, length);
		name[length] = '\0';
		return true;
	}
	return false;
}

bool memory_curves_library(const char *path, char name[CURVE_NAME_BYTES])
{
	static const char *const allocators[] = { "libc.", "libc-", "ld-", "libstdc++",
		                                  "libbottleneck-agent" };
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	bool library = strncmp(base, "lib", 3) == 0;
	const char *stem = library ? base + 3 : base;
	size_t length = strcspn(stem, library ? "_.-" : ".");

	for (size_t i = 0; i < sizeof(allocators) / sizeof(allocators[0]); i++)
		if (strncmp(base, allocators[i], strlen(allocators[i])) == 0)
			return false;
	if (!length)
		length = strlen(stem);
	snprintf(name, CURVE_NAME_BYTES, "%.*s", (int)length, stem);
	return true;
}

// SPDX-License-Identifier: MIT
// Lines of /proc/PID/maps, whose paths are the target's to choose: as the agent reads them, and
// as the collector does.
#include "base/cleanup.h"
#include "sampler/tracker/mapper.h"
#include "tracer/agent/maps.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void collect(const char *line, size_t length)
{
	struct event_map map;
	cleanup_free char *text = strndup(line, length);

	if (text && mapper_parse(text, &map) && (map.length == 0 || strlen(map.path) > length))
		abort();
}

static void take(const char *line, size_t length)
{
	struct map map;

	if (map_parse(line, length, &map) &&
	    (map.end <= map.start || strnlen(map.path, sizeof(map.path)) == sizeof(map.path)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data;
	const char *end = at + size;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((newline ? newline : end) - at);
		// A copy of just that length, so that the sanitizer sees a read beyond it.
		cleanup_free char *line = malloc(length ? length : 1);
		if (!line)
			return 0;
		memcpy(line, at, length);
		take(line, length);
		collect(line, length);
		at += length + 1;
	}
	return 0;
}

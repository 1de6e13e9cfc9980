// SPDX-License-Identifier: MIT
// Which source files a profile vouches for.
#include "merge/profile/profile_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static bool stamp_file(struct profile *p, uint32_t file)
{
	const char *path = strings_get(p->strings, file);
	char full[4096];
	struct stat st;

	if (!path)
		return true;
	if (*path != '/' && p->run.directory) {
		snprintf(full, sizeof(full), "%s/%s", p->run.directory, path);
		path = full;
	}
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return true;
	struct source_stamp stamp = source_stamp_of(file, &st);
	return sources_add(&p->sources, &stamp);
}

bool profile_stamp_sources(struct profile *p)
{
	cleanup_free bool *seen = calloc((size_t)strings_count(p->strings) + 1, sizeof(*seen));

	for (size_t i = 0; seen && i < p->locations.place_count; i++) {
		uint32_t file = p->locations.places[i].file;
		if (!seen[file] && !stamp_file(p, file))
			return false;
		seen[file] = true;
	}
	return seen != NULL;
}

enum source_trust profile_trusts_source(const struct profile *p, const char *path,
                                        const struct stat *st)
{
	const struct source_stamp *stamp =
		sources_find(&p->sources, strings_find(p->strings, path));

	if (stamp && source_stamp_matches(stamp, st))
		return SOURCE_AS_IT_WAS;
	if (p->foreign)
		return SOURCE_FOREIGN;
	return stamp ? SOURCE_CHANGED : SOURCE_UNKNOWN;
}

// SPDX-License-Identifier: MIT
#include "merge/table/sources.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NS_PER_SEC   1000000000
#define CONTRADICTED UINT64_MAX // bytes: no file has so many

void sources_fini(struct sources *s)
{
	free(s->stamps);
	free(s->of);
	*s = (struct sources){ 0 };
}

static bool grow(struct sources *s, size_t wanted)
{
	size_t known = s->of_capacity;

	if (!array_reserve(&s->of, &s->of_capacity, wanted))
		return false;
	memset(s->of + known, 0, (s->of_capacity - known) * sizeof(*s->of));
	return true;
}

bool sources_add(struct sources *s, const struct source_stamp *stamp)
{
	if (!stamp->file || s->count >= SOURCES_MAX)
		return true;
	if (!grow(s, stamp->file) || !array_reserve(&s->stamps, &s->capacity, (size_t)s->count + 1))
		return false;
	uint32_t *number = &s->of[stamp->file - 1];
	if (!*number) {
		s->stamps[s->count++] = *stamp;
		*number = s->count;
		return true;
	}
	struct source_stamp *kept = &s->stamps[*number - 1];
	if (kept->bytes != stamp->bytes || kept->modified_ns != stamp->modified_ns)
		kept->bytes = CONTRADICTED;
	return true;
}

const struct source_stamp *sources_find(const struct sources *s, uint32_t file)
{
	if (!file || file > s->of_capacity || !s->of[file - 1])
		return NULL;
	return &s->stamps[s->of[file - 1] - 1];
}

struct source_stamp source_stamp_of(uint32_t file, const struct stat *st)
{
	return (struct source_stamp){
		.file = file,
		.bytes = (uint64_t)st->st_size,
		.modified_ns = (int64_t)st->st_mtim.tv_sec * NS_PER_SEC + st->st_mtim.tv_nsec,
	};
}

bool source_stamp_matches(const struct source_stamp *stamp, const struct stat *st)
{
	struct source_stamp now = source_stamp_of(stamp->file, st);

	return stamp->bytes == now.bytes && stamp->modified_ns == now.modified_ns;
}

// SPDX-License-Identifier: MIT
#include "merge/gpu/gpu_works.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

void gpu_works_fini(struct gpu_works *w)
{
	for (uint32_t i = 0; i < w->count; i++)
		histogram_fini(&w->works[i].durations);
	free(w->works);
	hash_fini(&w->index);
	*w = (struct gpu_works){ 0 };
}

static uint32_t slot_of(const struct gpu_works *w, const struct gpu_work_key *key)
{
	uint32_t at = hash_start(&w->index, hash_bytes(key, sizeof(*key)));

	while (w->index.slots[at] &&
	       memcmp(&w->works[w->index.slots[at] - 1].key, key, sizeof(*key)) != 0)
		at = hash_next(&w->index, at);
	return at;
}

static struct gpu_work *get(struct gpu_works *w, const struct gpu_work_key *key, uint32_t most)
{
	uint32_t at = slot_of(w, key);

	if (w->index.slots[at])
		return &w->works[w->index.slots[at] - 1];
	if (w->count >= most || !hash_make_room(&w->index) ||
	    !array_reserve(&w->works, &w->capacity, (size_t)w->count + 1))
		return NULL;
	w->works[w->count++] = (struct gpu_work){ .key = *key };
	hash_insert(&w->index, slot_of(w, key), hash_bytes(key, sizeof(*key)), w->count);
	return &w->works[w->count - 1];
}

struct gpu_work *gpu_works_append(struct gpu_works *w, const struct gpu_work_key *key)
{
	if (!w->index.slots && !hash_init(&w->index, 64))
		return NULL;
	return get(w, key, GPU_WORKS_MAX);
}

struct gpu_work *gpu_works_get(struct gpu_works *w, const struct gpu_work_key *key)
{
	struct gpu_work_key plain = *key;

	if (!w->index.slots && !hash_init(&w->index, 64))
		return NULL;
	struct gpu_work *work = get(w, key, GPU_WORKS_MAX / 2);
	if (work)
		return work;
	memset(&plain.shape, 0, sizeof(plain.shape));
	work = get(w, &plain, GPU_WORKS_MAX);
	w->folded += work && memcmp(&plain, key, sizeof(plain)) != 0;
	return work;
}

void gpu_work_sums_add(struct gpu_work_sums *to, const struct gpu_work_sums *from)
{
	bool timed = from->calls > from->untimed, first = to->calls == to->untimed;

	if (timed && (first || from->min_ns < to->min_ns))
		to->min_ns = from->min_ns;
	if (from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
	to->calls += from->calls;
	to->untimed += from->untimed;
	to->untied += from->untied;
	to->total_ns += from->total_ns;
	to->bytes += from->bytes;
	to->queued_ns += from->queued_ns;
}

// SPDX-License-Identifier: MIT
#include "cli/export/firefox_samples.h"

#include "base/array.h"

#include <stdlib.h>

void firefox_samples_fini(struct firefox_samples *s)
{
	free(s->samples);
	*s = (struct firefox_samples){ 0 };
}

static bool put_sample(struct firefox_samples *s, const struct stack_part *part, uint64_t begin_ns)
{
	struct firefox_sample *last = s->count ? &s->samples[s->count - 1] : NULL;

	// One wait through many bins is one sample.
	if (last && last->node == part->node && last->metric == part->metric &&
	    last->begin_ns + last->ns >= begin_ns) {
		last->ns += part->ns;
		return true;
	}
	if (!array_reserve(&s->samples, &s->capacity, s->count + 1))
		return false;
	s->samples[s->count++] = (struct firefox_sample){
		.begin_ns = begin_ns, .ns = part->ns, .node = part->node, .metric = part->metric
	};
	return true;
}

// Where a bin begins; the first one of a thread may have begun before that did.
static uint64_t begin_of_bin(const struct stack_times *times, const struct stack_thread *thread,
                             uint32_t bin)
{
	int64_t begin_ns = times->origin_ns + (int64_t)(bin * times->bin_ns);
	int64_t thread_ns = (int64_t)thread->begin_ns;
	bool within = thread_ns > begin_ns && thread_ns < begin_ns + (int64_t)times->bin_ns;

	begin_ns = within ? thread_ns : begin_ns;
	return begin_ns > 0 ? (uint64_t)begin_ns : 0;
}

static bool place_bin(struct firefox_samples *s, const struct stack_times *times,
                      const struct stack_thread *thread, const struct stack_part *parts,
                      size_t count)
{
	uint64_t begin_ns = begin_of_bin(times, thread, parts[0].bin), sum = 0, before = 0;
	int64_t end_ns = times->origin_ns + (int64_t)((parts[0].bin + 1) * times->bin_ns);
	uint64_t room_ns = end_ns > (int64_t)begin_ns ? (uint64_t)end_ns - begin_ns : 0;

	for (size_t i = 0; i < count; i++)
		sum += parts[i].ns;
	for (size_t i = 0; i < count; i++) {
		uint64_t at = sum <= room_ns
		                      ? before
		                      : (uint64_t)((double)before / (double)sum * (double)room_ns);
		if (!put_sample(s, &parts[i], begin_ns + at))
			return false;
		before += parts[i].ns;
	}
	return true;
}

bool firefox_samples_place(struct firefox_samples *s, const struct firefox *f,
                           const struct stack_thread *thread)
{
	const struct stack_times *times = f->times;
	uint32_t number = (uint32_t)(thread - f->stacks->threads);
	size_t first = array_search(times->count, i, times->parts[i].thread < number);

	while (first < times->count && times->parts[first].thread == number) {
		size_t end = first + 1;
		while (end < times->count && times->parts[end].thread == number &&
		       times->parts[end].bin == times->parts[first].bin)
			end++;
		if (!place_bin(s, times, thread, &times->parts[first], end - first))
			return false;
		first = end;
	}
	return true;
}

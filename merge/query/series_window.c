// SPDX-License-Identifier: MIT
#include "merge/query/series_window.h"

bool series_window_add(struct series_window *w, struct histogram *durations, const struct series *s,
                       uint64_t from_ns, uint64_t to_ns)
{
	for (uint32_t i = 0; i < s->count; i++) {
		const struct series_item *item = &s->items[i];
		uint64_t calls = series_item_calls(s, i);
		if (item->begin_ns < from_ns || item->begin_ns >= to_ns)
			continue;
		uint64_t ns = item->ns / calls;
		w->min_ns = !w->calls || ns < w->min_ns ? ns : w->min_ns;
		w->max_ns = ns > w->max_ns ? ns : w->max_ns;
		w->calls += calls;
		w->ns += item->ns;
		w->averaged |= calls > 1;
		if (calls == 1 && !histogram_add(durations, ns))
			return false;
	}
	return true;
}

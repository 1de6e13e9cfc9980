// SPDX-License-Identifier: MIT
// How source files of one part were: where parts differ, no text is the right one.
#include "merge/join/merger_data.h"

bool merger_add_sources(struct merger *m)
{
	const struct sources *from = &m->part->sources;

	m->profile->foreign |= m->part->foreign;
	for (uint32_t i = 0; i < from->count; i++) {
		struct source_stamp stamp = from->stamps[i];
		if (!merger_text(m, stamp.file, &stamp.file) ||
		    !sources_add(&m->profile->sources, &stamp))
			return false;
	}
	return true;
}

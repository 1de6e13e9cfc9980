// SPDX-License-Identifier: MIT
#include "cli/export/tracks.h"

#include "base/array.h"

#include <stdlib.h>

void tracks_fini(struct tracks *t)
{
	for (size_t i = 0; i < t->count; i++) {
		for (size_t lane = 0; lane < t->tracks[i].lane_count; lane++)
			free(t->tracks[i].lanes[lane].open);
		free(t->tracks[i].lanes);
	}
	free(t->tracks);
	*t = (struct tracks){ 0 };
}

static uint32_t make_number(struct tracks *t)
{
	return TRACK_MADE + t->made++;
}

struct track *tracks_add(struct tracks *t, uint32_t pid, uint32_t tid, bool nests)
{
	bool taken = false;

	if (!array_reserve(&t->tracks, &t->capacity, t->count + 1))
		return NULL;
	for (size_t i = 0; i < t->count && !taken; i++)
		taken = t->tracks[i].pid == pid && t->tracks[i].tid == tid;
	struct track *track = &t->tracks[t->count++];
	*track = (struct track){ .pid = pid, .tid = taken ? make_number(t) : tid, .nests = nests };
	return track;
}

static bool has_room(const struct track *track, struct lane *lane, uint64_t begin_ns,
                     uint64_t end_ns)
{
	while (lane->depth && lane->open[lane->depth - 1].end_ns <= begin_ns)
		lane->depth--;
	return !lane->depth || (track->nests && lane->open[lane->depth - 1].end_ns >= end_ns);
}

static struct lane *add_lane(struct tracks *t, struct track *track)
{
	if (track->lane_count >= TRACK_LANES_MAX ||
	    !array_reserve(&track->lanes, &track->lane_capacity, track->lane_count + 1))
		return NULL;
	uint32_t tid = track->lane_count ? make_number(t) : track->tid;
	track->lanes[track->lane_count] = (struct lane){ .tid = tid };
	return &track->lanes[track->lane_count++];
}

struct lane *tracks_place(struct tracks *t, struct track *track, uint64_t begin_ns, uint64_t end_ns,
                          uint64_t id, bool *is_new)
{
	struct lane *lane = NULL;

	for (size_t i = 0; i < track->lane_count && !lane; i++)
		if (has_room(track, &track->lanes[i], begin_ns, end_ns))
			lane = &track->lanes[i];
	*is_new = !lane;
	if (!lane)
		lane = add_lane(t, track);
	if (!lane || !array_reserve(&lane->open, &lane->capacity, lane->depth + 1))
		return NULL;
	lane->open[lane->depth++] = (struct open_slice){ end_ns, id };
	return lane;
}

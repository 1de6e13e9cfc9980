// SPDX-License-Identifier: MIT
#include "symbolize/frame/frames.h"

#include "base/array.h"

bool frames_init(struct frames *frames, size_t address_count)
{
	size_t room = address_count ? address_count : 1;

	*frames = (struct frames){ .address_count = address_count };
	frames->first = calloc(room, sizeof(*frames->first));
	frames->counts = calloc(room, sizeof(*frames->counts));
	return frames->first && frames->counts;
}

void frames_fini(struct frames *frames)
{
	free(frames->items);
	free(frames->first);
	free(frames->counts);
	*frames = (struct frames){ 0 };
}

bool frames_add(struct frames *frames, size_t place, struct frame_found frame)
{
	if (frames->count == UINT32_MAX ||
	    !array_reserve(&frames->items, &frames->capacity, frames->count + 1))
		return false;
	if (frames->counts[place]++ == 0)
		frames->first[place] = (uint32_t)frames->count;
	frames->items[frames->count++] = frame;
	return true;
}

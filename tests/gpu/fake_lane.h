/* SPDX-License-Identifier: MIT */
/*
 * Who fills buffers: a thread with its calls, or the device. Part of fake_buffers.
 * A lane holds one buffer at a time, and asks for the next when a record does not fit.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct fake_lane;

struct fake_lane *fake_lane_of_thread(void);
struct fake_lane *fake_lane_of_device(void);

/* Cuts the record to the release's length, tells its times in the client's clock, spoils it as
 * was asked for, and writes it. */
void fake_lane_write(struct fake_lane *lane, const void *record, size_t bytes);

/* Gives every buffer with records away for delivery. */
void fake_lanes_complete(void);

/* Loses every buffer. */
void fake_lanes_forget(void);

/* Records lost since this was last asked. */
size_t fake_lanes_dropped(void);

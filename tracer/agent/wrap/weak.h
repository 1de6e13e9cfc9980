/* SPDX-License-Identifier: MIT */
/*
 * Objects that have been loaded since the last look: references of theirs are bound anew.
 */
#pragma once

/* Only once the objects of the start have been looked at. Keeps errno. Not for handlers. */
void weak_look_later(void);

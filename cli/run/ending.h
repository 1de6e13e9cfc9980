/* SPDX-License-Identifier: MIT */
/*
 * Signals that come when the target has ended, and its profile and report are being made.
 *
 *	first   what takes long is left out (base/stop.h): the profile is kept as it is, addresses
 *	        get their names when it is read again, and what there is of the report is printed
 *	second  ends bottleneck, without its temporary files and directories
 *
 * The status stays the target's. Signals that were ignored stay so.
 */
#pragma once

/* The target has ended. Before job_close(), which lets signals in. */
void ending_begin(void);

/* What was asked for in words, "SIGTERM"; NULL: nothing was. */
const char *ending_signal(void);

/* SPDX-License-Identifier: MIT */
/*
 * How a run is captured: a profile keeps it, and reports say what it means.
 */
#pragma once

/* The capture ladder: best first. Probed by opening, never by reading a sysctl. */
enum rung {
	RUNG_PERF_KERNEL = 1, /* perf events with kernel stacks */
	RUNG_PERF_USER = 2,   /* perf events, user space only; kernel time as [kernel] */
	RUNG_AGENT = 3,       /* no perf_event_open: CPU-time timers in the target */
	RUNG_PROC = 4         /* neither: probes of /proc for blocked threads only */
};

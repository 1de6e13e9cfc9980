/* SPDX-License-Identifier: MIT */
/*
 * What steps spend their time on, as columns: each list of them is a macro that is applied to all
 * parts, so that a part is called the same everywhere and has its place in one order.
 */
#pragma once

#include "merge/query/query_step_parts.h"

/* COLUMN(NAME, ID, HEADING, PART) for each part. NAME is a word for names of functions; the ID of
   the column in JSON and CSV ends in "_ns". */
#define EACH_STEP_PART(COLUMN)                                                                     \
	COLUMN(kernels, "kernels", "kernels", STEP_KERNELS)                                        \
	COLUMN(copies, "copies", "copies", STEP_COPIES)                                            \
	COLUMN(communication, "communication", "communication", STEP_COMMUNICATION)                \
	COLUMN(loader, "data_loader", "DataLoader", STEP_LOADER)                                   \
	COLUMN(ops, "cpu_ops", "CPU ops", STEP_OPS)                                                \
	COLUMN(idle, "idle", "idle", STEP_IDLE)                                                    \
	COLUMN(other, "other", "Python and other", STEP_OTHER)

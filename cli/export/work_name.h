/* SPDX-License-Identifier: MIT */
/*
 * What works of GPUs are called in timelines: copies and sets by the names that PyTorch's Kineto
 * gives them, by which other tools know them.
 */
#pragma once

#include "cli/report/answers.h"

struct work_name {
	char text[96];
};

/* Of a copy or a set; "" of all others, which have a name of their own. */
struct work_name work_name(const struct gpu_work_key *key);

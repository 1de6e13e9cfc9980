/* SPDX-License-Identifier: MIT */
/*
 * What threads of a GPU wait for, in words: CUPTI's names are those of Nsight Compute's
 * documentation ("Warp Stall Reasons").
 */
#pragma once

/* REASON as CUPTI has it; what is not known to us is its own name. "" if it is NULL. */
const char *stall_text(const char *reason);

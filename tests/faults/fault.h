/* SPDX-License-Identifier: MIT */
/*
 * A program with one fault, and the same work done rightly.
 *
 * Each program defines both; its argument "healthy" chooses. They print the same, which the test
 * compares. The line that a finding has to name ends with a comment: fault, colon, the rule's id.
 */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

void faulty(void);
void healthy(void);

#ifdef __cplusplus
}
#endif

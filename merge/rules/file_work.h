/* SPDX-License-Identifier: MIT */
/*
 * What a run asks the kernel for, in words: "creating, opening and closing files".
 */
#pragma once

#include "merge/rules/activity.h"

#include <stddef.h>

struct evidence;
struct finding;
struct rule;

/* What most of FINDING's time, of a RULE on work on files as a whole, goes to, as its title; what
   has most of it is returned: 0 if that is opening and closing. */
activity_set file_work_title(const struct evidence *evidence, const struct rule *rule,
                             const struct finding *finding, char *title, size_t size);

/* "; 45 % of that for reading, 30 % for opening and closing files": what FINDING's time in the
   kernel is for; "" if hardly any is known. */
void kernel_work_words(const struct evidence *evidence, const struct rule *rule,
                       const struct finding *finding, char *words, size_t size);

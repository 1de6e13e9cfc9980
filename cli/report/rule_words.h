/* SPDX-License-Identifier: MIT */
/*
 * Rules in words, for people. Texts that are returned are there for good.
 */
#pragma once

#include "merge/rules/rule.h"

#include <stddef.h>

/* "CPUs and threads". */
const char *rule_subject_words(enum rule_subject subject);

/* "warn above 10 %, error above 20 %". */
void rule_limit_words(const struct rule *rule, char *buffer, size_t size);

/* "percent", "count" … for files. */
const char *rule_unit_key(enum rule_unit unit);

/* SPDX-License-Identifier: MIT */
/*
 * A report of a diff as people and programs get it.
 */
#pragma once

#include <stdio.h>

struct diff_report;
struct terminal;

/* -1 if there is no memory. */
int diff_report_print(const struct diff_report *report, const struct terminal *terminal, FILE *out);
void diff_report_json(const struct diff_report *report, FILE *out);

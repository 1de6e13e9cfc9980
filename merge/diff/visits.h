/* SPDX-License-Identifier: MIT */
/*
 * How surely samples tell a row's own time on a CPU.
 *
 * A thread is sampled at regular moments of its CPU time. A function in which it stays for a while
 * gets, each time, at most one sample more or less than it should: samples that follow each other
 * tell the same, and the error grows with how often the thread comes and goes, not with how many
 * samples there are. The variance of the count is half of the number of changes from one sample to
 * the next (successive differences); where those are not kept apart, as many samples share a bin,
 * it is that of samples that come in any order, n p (1 - p):
 *
 *	bins of one sample    fff.....fff....ff    5 changes: 2.5   (Poisson: 8)
 *	bins of eight         ffff.fff ffffffff    8 · 7/8 · 1/8 = 0.9
 *
 * For the files of merge/ alone.
 */
#pragma once

#include "merge/query/query.h"

struct error;

/*
 * VARIANCE[row] of the self samples on a CPU of ROWS, which answer QUERY to P and are not of
 * threads or processes. -1 if there is no memory.
 */
int visits_of_rows(const struct profile *p, const struct query *query, const struct rows *rows,
                   double *variance, struct error *err);

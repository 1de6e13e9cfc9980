/* SPDX-License-Identifier: MIT */
/*
 * What a view asks of a profile, for the formats of other programs, which are not made of sections:
 * all stacks, all calls one by one. Such a format reads answers, and asks nothing itself.
 *
 * Answers are the caller's to free, and borrow from the profile. NULL on error. Functions without
 * state.
 */
#pragma once

#include "merge/gpu/gpu_busy.h"
#include "merge/gpu/gpu_works.h"
#include "merge/profile/profile.h"
#include "merge/query/query.h"
#include "merge/query/query_called.h"
#include "merge/query/query_gpu.h"
#include "merge/query/query_slices.h"
#include "merge/query/query_stack_times.h"
#include "merge/query/query_stacks.h"
#include "merge/query/query_steps.h"
#include "merge/query/query_timeline.h"
#include "merge/query/query_wakes.h"

struct error;
struct view;

/* What is known of the run, and how much there is of it: of all of it, whatever a view shows. */
struct answer_facts {
	const struct run *run;
	struct totals totals;
};
struct answer_facts answer_facts(const struct profile *p);

/* Stacks with what they weigh; and from FROM_NS to TO_NS (0: the end) alone. */
struct stacks *answer_stacks(const struct profile *p, const struct view *view, enum stacks_by by,
                             struct error *err);
struct stacks *answer_stacks_of(const struct profile *p, const struct view *view, uint64_t from_ns,
                                uint64_t to_ns, struct error *err);

/* When these STACKS had their time, in MOST parts at most. */
struct stack_times *answer_stack_times(const struct profile *p, const struct view *view,
                                       const struct stacks *stacks, size_t most, struct error *err);

/* Functions by their calls, where these were counted. */
struct called_rows *answer_called(const struct profile *p, const struct view *view,
                                  struct error *err);

/* Calls of ops, works of GPUs, and waits where the view shows these, one by one. */
struct slice_reader *answer_slices(const struct profile *p, const struct view *view,
                                   struct error *err);

/* Who ended those waits. */
struct wakes *answer_wakes(const struct profile *p, struct error *err);

/* Steps of the run. */
struct steps *answer_steps(const struct profile *p, const struct view *view, struct error *err);

/* Lanes of threads and GPUs in BINS bins at most. */
struct timeline *answer_timeline(const struct profile *p, const struct view *view, uint32_t bins,
                                 size_t lanes, struct error *err);

/* GPUs. */
struct gpu_facts *answer_gpus(const struct profile *p, const struct view *view, struct error *err);

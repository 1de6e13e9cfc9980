// SPDX-License-Identifier: MIT
#include "cli/report/answers.h"

#include "cli/report/view.h"

struct answer_facts answer_facts(const struct profile *p)
{
	struct answer_facts facts = { .run = profile_run(p) };

	query_totals(p, &facts.totals);
	return facts;
}

struct stacks *answer_stacks(const struct profile *p, const struct view *view, enum stacks_by by,
                             struct error *err)
{
	const struct query query = view_query(view, BY_FUNCTION, SORT_SELF);

	return query_stacks(p, &query, by, err);
}

struct stacks *answer_stacks_of(const struct profile *p, const struct view *view, uint64_t from_ns,
                                uint64_t to_ns, struct error *err)
{
	struct query query = view_query(view, BY_FUNCTION, SORT_SELF);

	query.from_ns = from_ns;
	query.to_ns = to_ns;
	return query_stacks(p, &query, STACKS_BY_LINE, err);
}

struct stack_times *answer_stack_times(const struct profile *p, const struct view *view,
                                       const struct stacks *stacks, size_t most, struct error *err)
{
	const struct query query = view_query(view, BY_FUNCTION, SORT_SELF);

	return query_stack_times(p, &query, stacks, most, err);
}

struct called_rows *answer_called(const struct profile *p, const struct view *view,
                                  struct error *err)
{
	const struct query query = view_query(view, BY_FUNCTION, SORT_SELF);

	return query_called(p, &query, CALLED_BY_SELF, err);
}

struct slice_reader *answer_slices(const struct profile *p, const struct view *view,
                                   struct error *err)
{
	const uint32_t all = (1u << SLICE_KINDS) - 1;
	const struct slice_query query = {
		.thread = view->thread,
		.process = view->process,
		.from_ns = view->from_ns,
		.to_ns = view->to_ns,
		.kinds = view->on_cpu && !view->off_cpu ? all & ~(1u << SLICE_WAIT) : all,
	};

	return slice_reader_new(p, &query, err);
}

struct wakes *answer_wakes(const struct profile *p, struct error *err)
{
	return wakes_new(p, err);
}

struct steps *answer_steps(const struct profile *p, const struct view *view, struct error *err)
{
	const struct steps_query query = { .name = view->steps,
		                           .from_ns = view->from_ns,
		                           .to_ns = view->to_ns };

	return query_steps(p, &query, err);
}

struct timeline *answer_timeline(const struct profile *p, const struct view *view, uint32_t bins,
                                 size_t lanes, struct error *err)
{
	const struct query query = view_query(view, BY_FUNCTION, SORT_SELF);

	return query_timeline(p, &query, bins, lanes, err);
}

struct gpu_facts *answer_gpus(const struct profile *p, const struct view *view, struct error *err)
{
	const struct query query = view_query(view, BY_FUNCTION, SORT_SELF);

	return query_gpu_facts(p, &query, err);
}

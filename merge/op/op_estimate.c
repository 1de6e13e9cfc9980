// SPDX-License-Identifier: MIT
#include "merge/op/op_estimate.h"

#include "base/record.h"

#include <math.h>
#include <stdbool.h>

// What windows have of calls is whole: of f calls more than a whole number on average, that varies
// by f (1 - f), of which this is the mean. Few windows may happen to have the same of a rare op.
#define ROUNDING (1.0 / 6)

static double square(double x)
{
	return x * x;
}

// WEIGHT: of a window that has the part's sum; ONE: what one call is of it. FOLLOWS: it is right
// behind the one before, or else there was nothing in one between them.
static void close_part(struct op_estimate_part *p, double weight, double one, bool is_first,
                       bool follows)
{
	double scaled = sqrt(weight * (weight - 1)) * p->sum;
	// Of the ops between this window and the one before the scout has seen so many.
	double seen = (weight - 1) * OP_WINDOW_OPS / OP_SCOUT_OPS;

	if (!is_first)
		p->steps += follows ? square(scaled - p->last) : square(scaled) + square(p->last);
	if (seen > 0)
		p->between += square((weight - 1) * p->sum) / seen;
	p->between += weight * (weight - 1) * square(one) * ROUNDING;
	p->last = scaled;
	p->sum = 0;
}

void op_estimate_close(struct op_estimate *e)
{
	bool is_first = !e->last, follows = e->window == e->last + 1;

	if (!e->window || e->window == e->last)
		return;
	double one_ns = e->calls.sum > 0 ? e->ns.sum / e->calls.sum : 0;
	close_part(&e->calls, e->weight, 1, is_first, follows);
	close_part(&e->ns, e->weight, one_ns, is_first, follows);
	e->last = e->window;
}

void op_estimate_add(struct op_estimate *e, uint32_t window, double weight, double calls, double ns)
{
	if (window == OP_WINDOW_OF_ONE) {
		e->calls.between += weight * (weight - 1) * square(calls);
		e->ns.between += weight * (weight - 1) * square(ns);
		return;
	}
	if (!e->window)
		e->first = window;
	else if (e->window != window)
		op_estimate_close(e);
	e->window = window;
	e->weight = weight;
	e->calls.sum += calls;
	e->ns.sum += ns;
}

static double error_of(const struct op_estimate *e, const struct op_estimate_part *p)
{
	double windows = e->last > e->first ? (double)(e->last - e->first) + 1 : 1;
	double spread = windows > 1 ? p->steps * windows / (2 * (windows - 1)) : square(p->last);

	return sqrt(spread + p->between);
}

double op_estimate_calls_error(const struct op_estimate *e)
{
	return error_of(e, &e->calls);
}

double op_estimate_ns_error(const struct op_estimate *e)
{
	return error_of(e, &e->ns);
}

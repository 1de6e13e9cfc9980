// SPDX-License-Identifier: MIT
#include "cli/bench/bench_statements.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "cli/bench/statement.h"
#include "cli/run/job.h"
#include "merge/numbers/spread.h"
#include "merge/profile/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OVERHEAD_READS 5
#define OVERHEAD_SHARE 1e-4 // of a block, for reading the clock: blocked_autorange()'s
#define BLOCKS_SHARE   1000 // of the time, for a block: the same
#define PATIENCE       5    // times the time that there is, for as many blocks as have an interval
#define ADAPTIVE_LEAST (10 * NS_PER_MS)
#define ADAPTIVE_MOST  (10 * NS_PER_SEC)

// A value of the sweep.
struct variant {
	char name[64], value[64]; // "n", "64"
	char text[160];           // "n = 64"; "": there are no sweeps
};

struct layout {
	uint32_t threads[STATEMENTS_THREADS_MAX];
	size_t thread_count;
	const char *codes[2 * OPTION_LIST_MAX];
	size_t code_count;
	struct variant *variants;
	size_t variant_count;
};

static void layout_at_scope_end(struct layout *l)
{
	free(l->variants);
}

int statements_read_threads(const char *text, uint32_t threads[STATEMENTS_THREADS_MAX],
                            size_t *count, struct error *err)
{
	const char *at = text ? text : "1";

	*count = 0;
	do {
		char *end;
		unsigned long n = strtoul(at, &end, 10);
		if (end == at || (*end && *end != ',') || n < 1 || n > 4096 ||
		    *count == STATEMENTS_THREADS_MAX)
			return error_set(err, 0,
			                 "--num-threads takes up to %d numbers from 1 to 4096, as "
			                 "1,2,4, not \"%s\"",
			                 STATEMENTS_THREADS_MAX, text);
		threads[(*count)++] = (uint32_t)n;
		at = *end ? end + 1 : end;
	} while (*at);
	return 0;
}

static bool is_name(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!(text[i] == '_' || (text[i] >= 'a' && text[i] <= 'z') ||
		      (text[i] >= 'A' && text[i] <= 'Z') ||
		      (i && text[i] >= '0' && text[i] <= '9')))
			return false;
	return length > 0;
}

// The length of the value at TEXT: up to a comma that is in no brackets or quotes.
static size_t value_length(const char *text)
{
	size_t length = 0;
	int depth = 0;
	char quote = 0;

	for (; text[length]; length++) {
		char c = text[length];
		if (quote)
			quote = c == quote ? 0 : quote;
		else if (c == '"' || c == '\'')
			quote = c;
		else if (strchr("([{", c))
			depth++;
		else if (strchr(")]}", c))
			depth--;
		else if (c == ',' && depth <= 0)
			break;
	}
	return length;
}

static int add_variant(struct layout *l, const struct variant *v, struct error *err)
{
	struct variant *more = realloc(l->variants, (l->variant_count + 1) * sizeof(*l->variants));

	if (!more)
		return error_set(err, ENOMEM, "could not list the statements");
	l->variants = more;
	l->variants[l->variant_count++] = *v;
	return 0;
}

static int read_sweep(struct layout *l, const char *sweep, struct error *err)
{
	const char *equals = strchr(sweep, '=');
	size_t name = equals ? (size_t)(equals - sweep) : 0;

	if (!equals || !equals[1] || !is_name(sweep, name) || name >= sizeof(l->variants->name))
		return error_set(err, 0,
		                 "--sweep takes a variable and its values, as n=64,256, not "
		                 "\"%s\"",
		                 sweep);
	for (const char *at = equals + 1;;) {
		size_t length = value_length(at);
		struct variant v = { .name = "" };
		if (!length || length >= sizeof(v.value))
			return error_set(err, 0, "--sweep %s: a value is empty, or too long",
			                 sweep);
		snprintf(v.name, sizeof(v.name), "%.*s", (int)name, sweep);
		snprintf(v.value, sizeof(v.value), "%.*s", (int)length, at);
		snprintf(v.text, sizeof(v.text), "%s = %s", v.name, v.value);
		if (add_variant(l, &v, err) < 0)
			return -1;
		if (!at[length])
			return 0;
		at += length + 1;
	}
}

static int lay_out(struct layout *l, const struct statements *s, struct error *err)
{
	const struct variant none = { .name = "" };

	if (statements_read_threads(s->threads, l->threads, &l->thread_count, err) < 0)
		return -1;
	for (size_t i = 0; i < s->codes.count; i++)
		l->codes[l->code_count++] = s->codes.items[i];
	for (size_t i = 0; i < s->versus.count; i++)
		l->codes[l->code_count++] = s->versus.items[i];
	if (s->sweeps.count > 1)
		return error_set(err, 0,
		                 "--sweep is of one variable: several may be one, as "
		                 "n=(64,8),(8,64)");
	if (s->sweeps.count ? read_sweep(l, s->sweeps.items[0], err) < 0
	                    : add_variant(l, &none, err) < 0)
		return -1;
	if (s->sweeps.count && s->commands)
		return error_set(err, 0,
		                 "--sweep is for statements: no command knows of the variable");
	if ((l->code_count * l->variant_count + s->commands) * l->thread_count <= REPEAT_SIDES_MAX)
		return 0;
	return error_set(err, 0,
	                 "%zu statements and commands, %zu numbers of threads and %zu values are "
	                 "more than %u measurements",
	                 l->code_count + s->commands, l->thread_count, l->variant_count,
	                 REPEAT_SIDES_MAX);
}

int statements_check(const struct statements *s, struct error *err)
{
	cleanup(layout) struct layout l = { 0 };

	return lay_out(&l, s, err);
}

/* One statement that is measured. */
struct measured {
	struct statement statement;
	struct statement_process process;
	uint32_t side;
	uint64_t calls; /* of a block */
	uint64_t sum_ns;
	double *values; /* ns a call, by block */
	size_t count, capacity;
	bool steady;
};

struct group {
	struct measured *of;
	size_t count;
};

static void group_at_scope_end(struct group *g)
{
	for (size_t i = 0; i < g->count; i++) {
		statement_stop(&g->of[i].process);
		free(g->of[i].values);
	}
	free(g->of);
}

static uint64_t available_ns(const struct statements_plan *plan)
{
	return plan->statements->adaptive_percent > 0 ? ADAPTIVE_LEAST : plan->min_time_ns;
}

static int compare_numbers(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

// How many calls a block has. 1: interrupted.
static int find_calls(struct measured *m, const struct statements_plan *plan, struct job *job,
                      struct error *err)
{
	uint64_t reads[OVERHEAD_READS], least_ns;
	struct statement_block block;

	for (int i = 0; i < OVERHEAD_READS; i++) {
		int got = statement_time(&m->process, 0, job, &block, err);
		if (got)
			return got;
		reads[i] = block.ns;
	}
	qsort(reads, OVERHEAD_READS, sizeof(*reads), compare_numbers);
	uint64_t overhead_ns = reads[OVERHEAD_READS / 2];
	least_ns = (uint64_t)((double)overhead_ns / OVERHEAD_SHARE);
	if (least_ns < available_ns(plan) / BLOCKS_SHARE)
		least_ns = available_ns(plan) / BLOCKS_SHARE;
	for (m->calls = 1;; m->calls *= 10) {
		int got = statement_time(&m->process, m->calls, job, &block, err);
		if (got)
			return got;
		if (block.ns >= least_ns || block.ns > available_ns(plan) ||
		    m->calls >= UINT64_C(1000000000000))
			break;
	}
	// A tenth of so many was too few; a half or a fifth may do.
	if (m->calls >= 10 && block.ns / 5 >= least_ns)
		m->calls /= 5;
	else if (m->calls >= 10 && block.ns / 2 >= least_ns)
		m->calls /= 2;
	return 0;
}

// Whether the blocks agree well enough: --adaptive.
static int judge(struct measured *m, double percent, struct error *err)
{
	struct spread spread;

	if (m->count < SPREAD_COUNT_MIN)
		return 0;
	if (!spread_of(m->values, m->count, &spread))
		return error_set(err, ENOMEM, "could not compare the blocks");
	m->steady = spread.q3 - spread.q1 <= percent / 100 * spread.median;
	return 0;
}

static bool is_enough(const struct measured *m, const struct statements_plan *plan)
{
	if (m->count >= REPEATS_MAX / REPEAT_SIDES_MAX)
		return true;
	if (plan->blocks)
		return m->count >= plan->blocks;
	if (plan->statements->adaptive_percent > 0)
		return m->sum_ns >= ADAPTIVE_MOST || (m->steady && m->sum_ns >= ADAPTIVE_LEAST);
	if (m->count < SPREAD_COUNT_MIN && m->sum_ns < PATIENCE * plan->min_time_ns)
		return false;
	return m->sum_ns >= plan->min_time_ns && m->count >= 2;
}

static int keep(struct measured *m, const struct statement_block *block,
                const struct statements_plan *plan, struct profile *profile, struct error *err)
{
	const struct repeat repeat = {
		.side = m->side,
		.begin_ns = clock_now_ns() - plan->start_ns - block->ns,
		.wall_ns = block->ns,
		.user_ns = block->user_ns,
		.system_ns = block->system_ns,
		.peak_rss_bytes = block->peak_rss_bytes,
		.calls = m->calls,
		.calls_ns = block->ns,
		.call_ns = block->ns / m->calls,
	};

	if (m->count == m->capacity) {
		size_t capacity = m->capacity ? 2 * m->capacity : 64;
		double *more = realloc(m->values, capacity * sizeof(*more));
		if (!more)
			return error_set(err, ENOMEM, "could not keep a block");
		m->values = more;
		m->capacity = capacity;
	}
	m->values[m->count++] = (double)block->ns / (double)m->calls;
	m->sum_ns += block->ns;
	if (!profile_add_repeat(profile, &repeat))
		return error_set(err, ENOMEM, "could not keep a block");
	return plan->statements->adaptive_percent > 0
	               ? judge(m, plan->statements->adaptive_percent, err)
	               : 0;
}

// Blocks in turns; in every other turn the last statement comes first. 1: interrupted.
static int measure_group(struct group *g, const struct statements_plan *plan,
                         struct profile *profile, struct job *job, struct error *err)
{
	struct statement_block block;

	for (size_t i = 0; i < g->count; i++) {
		int got = statement_start(&g->of[i].process, &g->of[i].statement, job, err);
		if (!got)
			got = find_calls(&g->of[i], plan, job, err);
		for (uint32_t j = 0; !got && j < plan->warmup; j++)
			got = statement_time(&g->of[i].process, g->of[i].calls, job, &block, err);
		if (got)
			return got;
	}
	for (size_t turn = 0;; turn++) {
		int ran = plan->commands.run ? plan->commands.run(plan->commands.context, turn, err)
		                             : 1;
		if (ran < 0 || job->interrupts)
			return ran < 0 ? -1 : 1;
		bool enough = ran == 1;
		for (size_t i = 0; i < g->count; i++)
			enough &= is_enough(&g->of[i], plan);
		if (enough)
			return 0;
		for (size_t i = 0; i < g->count; i++) {
			struct measured *m = &g->of[turn % 2 ? g->count - 1 - i : i];
			int got = statement_time(&m->process, m->calls, job, &block, err);
			if (got)
				return got;
			if (keep(m, &block, plan, profile, err) < 0)
				return -1;
		}
	}
}

static int add_group(struct group *g, const struct layout *l, const struct statements_plan *plan,
                     const struct variant *variant, uint32_t threads, struct profile *profile,
                     struct error *err)
{
	const struct statements *s = plan->statements;

	g->of = calloc(l->code_count + 1, sizeof(*g->of));
	if (!g->of)
		return error_set(err, ENOMEM, "could not start");
	for (; g->count < l->code_count; g->count++) {
		struct measured *m = &g->of[g->count];
		m->statement = (struct statement){
			.code = l->codes[g->count],
			.setup = s->setup ? s->setup : "",
			.global = s->global ? s->global : "",
			.name = *variant->name ? variant->name : NULL,
			.value = variant->value,
			.language = s->cxx ? REPEAT_CXX : REPEAT_PYTHON,
			.threads = threads,
			.python = s->python ? s->python : "python3",
			.show_output = plan->show_output,
		};
		m->side = profile_add_statement_side(
			profile, &(struct repeat_statement){
					 .code = m->statement.code,
					 .setup = s->setup,
					 .variant = *variant->text ? variant->text : NULL,
					 .language = m->statement.language,
					 .threads = threads });
		if (!m->side)
			return error_set(err, ENOMEM, "could not start");
	}
	return 0;
}

int statements_measure(const struct statements_plan *plan, struct profile *profile, struct job *job,
                       struct error *err)
{
	cleanup(layout) struct layout l = { 0 };

	if (lay_out(&l, plan->statements, err) < 0)
		return -1;
	for (size_t v = 0; v < l.variant_count; v++)
		for (size_t t = 0; t < l.thread_count; t++) {
			cleanup(group) struct group g = { 0 };
			const struct statements_commands *c = &plan->commands;
			int got = c->begin ? c->begin(c->context, l.threads[t], err) : 0;
			if (!got)
				got = add_group(&g, &l, plan, &l.variants[v], l.threads[t], profile,
				                err);
			if (!got)
				got = measure_group(&g, plan, profile, job, err);
			job->child = 0; // signals go to nobody whose number may be another's
			if (got)
				return got < 0 ? -1 : 0;
		}
	return 0;
}

// SPDX-License-Identifier: MIT
// Where the wall time of the critical thread went, in tenths that sum to 100.0 %.
#include "cli/text.h"

#include "base/cleanup.h"
#include "cli/format.h"
#include "merge/profile.h"

#include <stdio.h>
#include <string.h>

#define PARTS (METRIC_COUNT + 1) /* on-CPU time is shown as user and kernel time */

struct part {
	const char *name;
	enum style style;
};

static void split(const struct account *account, uint64_t *parts)
{
	uint64_t on_cpu = account->ns[METRIC_ON_CPU];
	uint64_t kernel = account->kernel_ns < on_cpu ? account->kernel_ns : on_cpu;

	parts[0] = on_cpu - kernel;
	parts[1] = kernel;
	for (int m = METRIC_ON_CPU + 1; m < METRIC_COUNT; m++)
		parts[m + 1] = account->ns[m];
}

static struct part part_at(size_t index)
{
	if (index == 0)
		return (struct part){ "user code", STYLE_HOT };
	if (index == 1)
		return (struct part){ "kernel", STYLE_WARM };
	return (struct part){ metric_name((enum metric)(index - 1)), STYLE_WAIT };
}

// One number and its name, on a new line where this one is full.
static void print_part(const struct text *text, struct part part, unsigned tenths, size_t *column)
{
	const struct terminal *t = &text->terminal;
	char number[16];
	int digits = snprintf(number, sizeof(number), "%u.%u", tenths / 10, tenths % 10);
	size_t width = strlen(part.name) + 3 + (size_t)digits;

	if (*column + width > (size_t)t->width) {
		fprintf(text->out, "\n   ");
		*column = 3;
	}
	fprintf(text->out, " %s %s%s%s ", part.name, terminal_style(t, part.style), number,
	        terminal_style(t, STYLE_PLAIN));
	*column += width;
}

static void print_parts(const struct text *text, const unsigned *tenths)
{
	const struct terminal *t = &text->terminal;
	unsigned waiting = 0;
	size_t column = 7;

	for (size_t i = 2; i < PARTS; i++)
		waiting += tenths[i];
	fprintf(text->out, "  on a CPU:");
	column += 4;
	for (size_t i = 0; i < PARTS; i++) {
		if (i == 2 && waiting) {
			fprintf(text->out, " %s  waiting for:", t->bar);
			column += 16;
		}
		if (i < 2 || tenths[i])
			print_part(text, part_at(i), tenths[i], &column);
	}
	if (column + 9 > (size_t)t->width)
		fprintf(text->out, "\n   ");
	fprintf(text->out, " = 100.0 %%\n");
}

// How many CPUs all threads together kept busy.
static void print_cpus(const struct text *text, const struct totals *totals)
{
	const struct run *run = profile_run(text->profile);

	if (!run->wall_ns || totals->threads < 2)
		return;
	fprintf(text->out, "  all threads: %.1f CPUs busy on average",
	        (double)totals->on_cpu_ns / (double)run->wall_ns);
	if (run->cpus)
		fprintf(text->out, " of %u", run->cpus);
	fputc('\n', text->out);
}

int text_account(const struct text *text, const struct totals *totals, struct error *err)
{
	const struct terminal *t = &text->terminal;
	struct account account;
	uint64_t parts[PARTS];
	unsigned tenths[PARTS];
	char name[160];

	if (query_account(text->profile, &account, err) < 0)
		return -1;
	if (!account.lifetime_ns)
		return 0;
	split(&account, parts);
	format_tenths(parts, PARTS, tenths);
	cleanup_free char *process =
		format_clean(account.process ? account.process : "?", t->ascii);
	cleanup_free char *thread = format_clean(account.thread ? account.thread : "?", t->ascii);
	snprintf(name, sizeof(name), "%s of thread %s (%u) in %s%s",
	         format_duration(account.lifetime_ns).text, thread ? thread : "?", account.tid,
	         process ? process : "?", account.exact ? "" : ", estimated from samples");
	if (account.is_main)
		snprintf(name, sizeof(name), "%s%s", format_duration(account.lifetime_ns).text,
		         account.exact ? "" : ", estimated from samples");
	text_heading(text,
	             account.is_main ? "wall time of the main thread"
	                             : "wall time of the busiest thread",
	             name);
	print_parts(text, tenths);
	print_cpus(text, totals);
	return 0;
}

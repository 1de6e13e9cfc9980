// SPDX-License-Identifier: MIT
// Where the wall time of the critical thread went, in tenths that sum to 100.0 %.
#include "cli/text/text.h"

#include "base/cleanup.h"
#include "cli/format.h"
#include "merge/profile/profile.h"

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

// Words of one line of numbers, which goes on below where the terminal ends.
struct line {
	const struct text *text;
	size_t column;
};

static void print_word(struct line *line, const char *gap, const char *word, const char *number,
                       enum style style)
{
	const struct terminal *t = &line->text->terminal;
	size_t width = format_width(word) + (*number ? 1 + strlen(number) : 0);

	if (line->column + strlen(gap) + width > (size_t)t->width) {
		gap = "\n    ";
		line->column = 0;
	}
	line->column += strlen(gap) + width;
	fprintf(line->text->out, "%s%s", gap, word);
	if (*number)
		fprintf(line->text->out, " %s%s%s", terminal_style(t, style), number,
		        terminal_style(t, STYLE_PLAIN));
}

static void print_parts(const struct text *text, const unsigned *tenths)
{
	struct line line = { text, 0 };
	unsigned waiting = 0;

	for (size_t i = 2; i < PARTS; i++)
		waiting += tenths[i];
	print_word(&line, "  ", "on a CPU:", "", STYLE_PLAIN);
	for (size_t i = 0; i < PARTS; i++) {
		struct part part = part_at(i);
		char number[16];
		if (i == 2 && waiting) {
			print_word(&line, "  ", text->terminal.bar, "", STYLE_PLAIN);
			print_word(&line, "  ", "waiting for:", "", STYLE_PLAIN);
		}
		if (i >= 2 && !tenths[i])
			continue;
		snprintf(number, sizeof(number), "%u.%u", tenths[i] / 10, tenths[i] % 10);
		print_word(&line, "  ", part.name, number, part.style);
	}
	print_word(&line, "  ", "= 100 %", "", STYLE_PLAIN);
	fputc('\n', text->out);
}

// How many CPUs all threads together kept busy.
static void print_cpus(const struct text *text, const struct totals *totals)
{
	const struct run *run = profile_run(text->profile);

	const struct view *view = text->view;
	uint64_t end = view->to_ns && view->to_ns < run->wall_ns ? view->to_ns : run->wall_ns;

	if (end <= view->from_ns || totals->threads < 2)
		return;
	fprintf(text->out, "  all threads: %.1f",
	        (double)query_on_cpu_ns(text->profile, view->from_ns, view->to_ns) /
	                (double)(end - view->from_ns));
	if (run->cpus)
		fprintf(text->out, " of %u", run->cpus);
	fputs(" CPUs busy on average\n", text->out);
}

// Python's lock, as part of the times above: who holds it computes, or keeps others waiting.
static void print_gil(const struct text *text, const struct account *account,
                      const struct totals *totals)
{
	if (totals->threads < 2 || (!account->gil_held_ns && !account->gil_waited_ns))
		return;
	fprintf(text->out, "  Python's lock, the GIL: held %s %%, waited for %s %%\n",
	        format_percent(account->gil_held_ns, account->lifetime_ns).text,
	        format_percent(account->gil_waited_ns, account->lifetime_ns).text);
}

int text_account(const struct text *text, const struct totals *totals, struct error *err)
{
	const struct terminal *t = &text->terminal;
	struct account account;
	uint64_t parts[PARTS];
	unsigned tenths[PARTS];
	char name[160];

	if (query_account_in(text->profile, text->view->from_ns, text->view->to_ns, &account, err) <
	    0)
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
	print_gil(text, &account, totals);
	print_cpus(text, totals);
	return 0;
}

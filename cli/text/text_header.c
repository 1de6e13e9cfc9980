// SPDX-License-Identifier: MIT
#include "cli/text/text.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/format.h"
#include "cli/report/cut.h"
#include "merge/profile/profile.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define COMMAND_WIDTH_MIN 20

static void describe_exit(const struct run *run, char *buffer, size_t size)
{
	int status = run->exit_status;

	if (status == -1)
		snprintf(buffer, size, "%s", run->complete ? "exit unknown" : "unfinished");
	else if (WIFSIGNALED(status) && sigabbrev_np(WTERMSIG(status)))
		snprintf(buffer, size, "killed by SIG%s", sigabbrev_np(WTERMSIG(status)));
	else if (WIFSIGNALED(status))
		snprintf(buffer, size, "killed by signal %d", WTERMSIG(status));
	else
		snprintf(buffer, size, "exit %d", WEXITSTATUS(status));
}

// Of a run beside others: "rank 3 of 16 on node7".
static void describe_rank(const struct run *run, const char *dot, char *buffer, size_t size)
{
	char world[24] = "";

	buffer[0] = '\0';
	if (!run->has_rank)
		return;
	if (run->world)
		snprintf(world, sizeof(world), " of %u", run->world);
	snprintf(buffer, size, " %s rank %u%s on %s", dot, run->rank, world,
	         run->host ? run->host : "?");
}

// Which part of the run is shown, where it is not all of it.
static void print_recorded(const struct text *text)
{
	const struct run *run = profile_run(text->profile);
	const char *range = run->recorded_range;

	if (!run->recorded_to_ns && !range)
		return;
	terminal_print(&text->terminal, text->out, "  recorded: %s from %.3f to %.3f s%s%s",
	               format_duration(run->recorded_ns).text, (double)run->recorded_from_ns / 1e9,
	               (double)run->recorded_to_ns / 1e9, range ? ", while open: " : "",
	               range ? range : "");
	fputc('\n', text->out);
}

static void print_filter(const struct text *text)
{
	cleanup_free char *words = NULL;

	if (!view_is_filtered(text->view))
		return;
	words = cut_words(text->view, text->profile);
	terminal_print(&text->terminal, text->out, "  %s", words ? words : "");
	fputc('\n', text->out);
}

// A script in an argument has many lines, the header has one.
static char *flatten(const char *command)
{
	char *flat = strdup(command);

	for (char *c = flat; c && *c; c++)
		if (*c == '\n' || *c == '\t')
			*c = ' ';
	return flat;
}

void text_header(const struct text *text, const struct totals *totals)
{
	const struct run *run = profile_run(text->profile);
	const struct terminal *t = &text->terminal;
	char status[64], rank[128], facts[400];

	describe_exit(run, status, sizeof(status));
	describe_rank(run, t->dot, rank, sizeof(rank));
	snprintf(facts, sizeof(facts), "%s %s %s %s %s process%s, %s thread%s%s",
	         format_duration(run->wall_ns).text, t->dot, status, t->dot,
	         format_count(totals->processes).text, totals->processes == 1 ? "" : "es",
	         format_count(totals->threads).text, totals->threads == 1 ? "" : "s", rank);

	// Where both do not fit into a line, the facts get one of their own.
	size_t head = strlen("bottleneck: "), taken = format_width(facts) + 3;
	bool one_line = (size_t)t->width >= head + taken + COMMAND_WIDTH_MIN;
	size_t room = (size_t)t->width - head - (one_line ? taken : 0);
	cleanup_free char *flat = flatten(run->command ? run->command : "?");
	cleanup_free char *clean = flat ? format_clean(flat, t->ascii) : NULL;
	cleanup_free char *command = clean ? format_clip(clean, room, CLIP_MIDDLE, t->ascii) : NULL;
	fprintf(text->out, "%sbottleneck: %s%s", terminal_style(t, STYLE_BOLD),
	        command ? command : "?", terminal_style(t, STYLE_PLAIN));
	if (one_line)
		fprintf(text->out, " %s ", t->dot);
	else
		fputs("\n  ", text->out);
	terminal_print(t, text->out, "%s", facts);
	fputc('\n', text->out);
	print_recorded(text);
	print_filter(text);
}

// SPDX-License-Identifier: MIT
// What GPUs did: how busy they were, what they ran, what it was to wait for them.
#include "cli/text/text.h"

#include "base/error.h"
#include "base/share.h"
#include "cli/format.h"
#include "cli/short_name.h"
#include "cli/table.h"
#include "merge/query/query_gpu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WIDE        100 // terminals below this get fewer columns
#define COLUMNS_MAX 10
#define QUEUE_WORTH 0.05 // less is printed as none
#define GPUS_SHOWN  16
#define SHARE_WORTH 0.005 // of the busy time, to be told
#define IDLE_WORTH  0.02  // of the time from the first activity to the last

static void name_device(const struct gpu_device_row *device, size_t count, char *buffer,
                        size_t size)
{
	char number[160] = "";

	if (count > 1)
		snprintf(number, sizeof(number), "%u%s%.100s: ", device->number,
		         *device->process ? " of " : "", device->process);
	snprintf(buffer, size, "%s%s", number, *device->name ? device->name : "unknown device");
}

static void say_states(const struct text *text, const struct gpu_device_row *d)
{
	uint64_t busy = d->busy_ns;

	text_say(
		text,
		"busy %s %% of the %s from its first activity to its last: kernels %s %%, copies %s %%",
		format_percent(busy, d->span_ns).text, format_duration(d->span_ns).text,
		format_percent(d->kernel_ns, d->span_ns).text,
		format_percent(d->copy_ns, d->span_ns).text);
	if (d->streams > 1)
		text_say(text, "%u streams: for %s %% of the busy time several ran at once",
		         d->streams, format_percent(d->overlap_ns, busy).text);
	if (share_of(d->copy_ns, busy) >= SHARE_WORTH && d->kernel_ns)
		text_say(text, "%s %% of the time of copies was hidden behind kernels",
		         format_percent(d->copy_hidden_ns, d->copy_ns).text);
}

static void say_device(const struct text *text, const struct gpu_device_row *d)
{
	char of[96] = "";

	if (d->span_ns)
		say_states(text, d);
	else
		text_say(text, "nothing ran on it");
	if (d->memory_bytes)
		snprintf(of, sizeof(of), " of %s (%s %%)", format_bytes(d->memory_bytes).text,
		         format_percent(d->peak_bytes, d->memory_bytes).text);
	if (d->peak_bytes)
		text_say(text, "memory: at most %s%s allocated by the program%s",
		         format_bytes(d->peak_bytes).text, of,
		         d->peak_within ? "" : ", at another time of the run");
}

static bool is_windowed(const struct text *text)
{
	return text->view->from_ns || text->view->to_ns;
}

static void say_latency(const struct text *text, const struct gpu_facts *facts)
{
	if (is_windowed(text) && facts->latency_average_ns)
		text_say(
			text,
			"from the call to its beginning: %s on average (of the whole run: median %s, "
			"90 %% below %s); %.1f activities were in the queue on average",
			format_duration(facts->latency_average_ns).text,
			format_duration(facts->latency_ns).text,
			format_duration(facts->latency90_ns).text, facts->queue);
	else if (is_windowed(text) && facts->queue >= QUEUE_WORTH)
		text_say(text, "%.1f activities were in the queue on average", facts->queue);
	else if (facts->latency_ns && !is_windowed(text))
		text_say(
			text,
			"from the call to its beginning: median %s, 90 %% below %s; %.1f activities "
			"were in the queue on average",
			format_duration(facts->latency_ns).text,
			format_duration(facts->latency90_ns).text, facts->queue);
}

static void say_calls(const struct text *text, const struct gpu_facts *facts)
{
	say_latency(text, facts);
	if (facts->sync_count)
		text_say(text, "the program waited %s time%s for the GPU, for %s in all",
		         format_count(facts->sync_count).text, facts->sync_count == 1 ? "" : "s",
		         format_duration(facts->sync_ns).text);
	if (facts->jit_count)
		text_say(text, "the driver compiled or loaded code %s time%s, for %s%s",
		         format_count(facts->jit_count).text, facts->jit_count == 1 ? "" : "s",
		         format_duration(facts->jit_ns).text,
		         is_windowed(text) ? ", in the whole run" : "");
}

// All of one machine, but not all of hundreds of ranks.
static size_t shown(const struct text *text, const struct gpu_facts *facts)
{
	size_t most = text->view->top > GPUS_SHOWN ? text->view->top : GPUS_SHOWN;

	return facts->device_count < most ? facts->device_count : most;
}

static void print_devices(const struct text *text, const struct gpu_facts *facts)
{
	for (size_t i = 0; i < shown(text, facts); i++) {
		const struct gpu_device_row *d = &facts->devices[i];
		char name[256], about[320];
		name_device(d, facts->device_count, name, sizeof(name));
		snprintf(about, sizeof(about), "%s", name);
		if (d->multiprocessors)
			snprintf(about, sizeof(about), "%s, %u multiprocessors, compute %u.%u",
			         name, d->multiprocessors, d->compute_major, d->compute_minor);
		text_heading(text, "GPU", about);
		say_device(text, d);
	}
	if (shown(text, facts) < facts->device_count)
		text_say(text, "%zu more GPUs are left out: -n %zu shows all",
		         facts->device_count - shown(text, facts), facts->device_count);
	bool calls = facts->latency_ns || facts->queue >= QUEUE_WORTH || facts->sync_count ||
	             facts->jit_count;
	if (calls && facts->device_count > 1)
		text_heading(text, "GPUs", "all together");
	say_calls(text, facts);
}

static struct column *add_column(struct column *at, const char *title, enum column_kind kind)
{
	*at = (struct column){ title, kind, CLIP_SYMBOL, 1 };
	return at + 1;
}

static struct short_text own_unit(uint64_t ns)
{
	return ns ? format_time(ns, format_time_unit(ns)) : (struct short_text){ "" };
}

static struct short_text rate(const struct gpu_row *row)
{
	struct short_text out = { "" };

	if (row->bytes_per_s > 0)
		snprintf(out.text, sizeof(out.text), "%.3g", row->bytes_per_s / 1e9);
	return out;
}

static void name_row(const struct text *text, const struct gpu_row *row, char *buffer, size_t size)
{
	char name[1024];

	if (text->view->verbose || row->kind != GPU_WORK_KERNEL)
		snprintf(name, sizeof(name), "%s", row->name);
	else
		short_name(row->name, name, sizeof(name));
	snprintf(buffer, size, "%s%s", name,
	         row->kind == GPU_WORK_COPY && row->async ? " (async)" : "");
}

static bool has_bytes(const struct gpu_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		if (rows->rows[i].bytes)
			return true;
	return false;
}

static bool is_worth_a_line(const struct text *text, const struct gpu_rows *rows,
                            const struct gpu_row *row)
{
	return share_of(row->total_ns, rows->total_ns) >= view_min_share(text->view, false) ||
	       !rows->total_ns;
}

static void add_row(struct table *table, const struct text *text, const struct gpu_rows *rows,
                    const struct gpu_row *row, struct time_unit unit, bool bytes)
{
	char name[1100], place[512];

	name_row(text, row, name, sizeof(name));
	table_row(table, STYLE_PLAIN);
	table_cell(table, format_time(row->total_ns, unit).text);
	table_cell(table, format_percent(row->total_ns, rows->total_ns).text);
	table_cell(table, format_count(row->calls).text);
	table_cell(table, own_unit(row->average_ns).text);
	if (text->terminal.width >= WIDE)
		table_cell(table, own_unit(row->median_ns).text);
	if (bytes) {
		table_cell(table, row->bytes ? format_bytes(row->bytes).text : "");
		table_cell(table, rate(row).text);
	}
	table_cell(table, name);
	place_words(row->file, row->line, NULL, place, sizeof(place));
	table_cell(table, place);
}

static int out_of_memory(struct error *err)
{
	return error_set(err, ENOMEM, "could not print the report");
}

static int print_rows(const struct text *text, const struct gpu_rows *rows, struct error *err)
{
	bool bytes = has_bytes(rows);
	struct column columns[COLUMNS_MAX], *end = columns;
	char note[96];

	end = add_column(end, "time", COLUMN_NUMBER);
	end = add_column(end, "%", COLUMN_NUMBER);
	end = add_column(end, "calls", COLUMN_NUMBER);
	end = add_column(end, "average", COLUMN_NUMBER);
	if (text->terminal.width >= WIDE)
		end = add_column(end, "median", COLUMN_NUMBER);
	if (bytes) {
		end = add_column(end, "bytes", COLUMN_NUMBER);
		end = add_column(end, "GB/s", COLUMN_NUMBER);
	}
	end = add_column(end, "on the GPU", COLUMN_TEXT);
	end[-1].share = 4;
	end = add_column(end, "launched from", COLUMN_TEXT);
	end[-1].clip = CLIP_START;
	end[-1].share = 3;
	cleanup(table) struct table *table =
		table_new(columns, (size_t)(end - columns), &text->terminal);
	if (!table)
		return out_of_memory(err);
	struct time_unit unit = format_time_unit(rows->rows[0].total_ns);
	for (size_t i = 0; i < rows->count && i < text->view->top; i++)
		if (is_worth_a_line(text, rows, &rows->rows[i]))
			add_row(table, text, rows, &rows->rows[i], unit, bytes);
	snprintf(note, sizeof(note), "exact; %% of their %s%s",
	         format_duration(rows->total_ns).text,
	         is_windowed(text) && text->terminal.width >= WIDE ? "; medians of the whole run"
	                                                           : "");
	text_heading(text, "GPU kernels and copies by time", note);
	return table_print(table, text->out, 2) < 0 ? out_of_memory(err) : 0;
}

static const char *limit_name(enum gpu_limit limit)
{
	static const char *const names[] = {
		[GPU_LIMIT_UNKNOWN] = "",          [GPU_LIMIT_WARPS] = "nothing",
		[GPU_LIMIT_BLOCKS] = "blocks",     [GPU_LIMIT_REGISTERS] = "registers",
		[GPU_LIMIT_SHARED] = "shared mem", [GPU_LIMIT_GRID] = "small grid",
	};

	return names[limit];
}

static struct short_text three(const uint32_t *n)
{
	struct short_text out;

	if (n[1] <= 1 && n[2] <= 1)
		snprintf(out.text, sizeof(out.text), "%u", n[0]);
	else if (n[2] <= 1)
		snprintf(out.text, sizeof(out.text), "%ux%u", n[0], n[1]);
	else
		snprintf(out.text, sizeof(out.text), "%ux%ux%u", n[0], n[1], n[2]);
	return out;
}

static void add_launch(struct table *table, const struct gpu_row *row)
{
	char cell[32], name[1024];

	short_name(row->name, name, sizeof(name));
	table_row(table, STYLE_PLAIN);
	table_cell(table, three(row->shape.grid).text);
	table_cell(table, three(row->shape.block).text);
	snprintf(cell, sizeof(cell), "%u", row->shape.registers);
	table_cell(table, cell);
	table_cell(
		table,
		format_bytes((uint64_t)row->shape.static_shared + row->shape.dynamic_shared).text);
	snprintf(cell, sizeof(cell), "%.0f %%", row->occupancy * 100);
	table_cell(table, row->occupancy > 0 ? cell : "");
	table_cell(table, limit_name(row->limit));
	snprintf(cell, sizeof(cell), "%.0f %%", row->at_work * 100);
	table_cell(table, row->at_work > 0 ? cell : "");
	table_cell(table, row->tensor_cores ? "yes" : "");
	snprintf(cell, sizeof(cell), "%zu", row->shapes);
	table_cell(table, cell);
	table_cell(table, name);
}

// How kernels were launched: each as most of its time was.
static int print_launches(const struct text *text, const struct gpu_rows *rows, struct error *err)
{
	static const struct {
		const char *title;
		enum column_kind kind;
	} titles[] = {
		{ "grid", COLUMN_NUMBER },      { "block", COLUMN_NUMBER },
		{ "registers", COLUMN_NUMBER }, { "shared", COLUMN_NUMBER },
		{ "occupancy", COLUMN_NUMBER }, { "limited by", COLUMN_WORD },
		{ "SMs", COLUMN_NUMBER },       { "tensor", COLUMN_WORD },
		{ "shapes", COLUMN_NUMBER },    { "kernel", COLUMN_TEXT },
	};
	struct column columns[COLUMNS_MAX], *end = columns;
	size_t shown = 0;

	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
		end = add_column(end, titles[i].title, titles[i].kind);
	cleanup(table) struct table *table =
		table_new(columns, (size_t)(end - columns), &text->terminal);
	if (!table)
		return out_of_memory(err);
	for (size_t i = 0; i < rows->count && i < text->view->top; i++) {
		const struct gpu_row *row = &rows->rows[i];
		if (row->kind != GPU_WORK_KERNEL || !row->shape.block[0] ||
		    !is_worth_a_line(text, rows, row))
			continue;
		add_launch(table, row);
		shown++;
	}
	if (!shown)
		return 0;
	text_heading(
		text, "GPU launches",
		is_windowed(text)
			? "each kernel as most of its time in the whole run; estimates"
			: "each kernel as most of its time; occupancy, multiprocessors at work "
			  "and tensor cores are estimates");
	return table_print(table, text->out, 2) < 0 ? out_of_memory(err) : 0;
}

static void name_waited_for(const struct row *row, char *buffer, size_t size)
{
	char place[512], name[512];

	short_name(row->name, name, sizeof(name));
	place_words(row->file, row->line, row->module, place, sizeof(place));
	if (*place && strcmp(place, row->name) != 0)
		snprintf(buffer, size, "%s (%s)", name, place);
	else
		snprintf(buffer, size, "%s", name);
}

static void say_wait(const struct text *text, const struct gpu_wait *wait)
{
	const struct row *thread = &wait->threads->rows[0];
	char who[96];

	snprintf(who, sizeof(who), "thread %s (%u)", thread->name, thread->id);
	text_say(text, "idle %s: %s %% of that while %s prepared the next work",
	         format_duration(wait->idle_ns).text,
	         format_percent(thread->self, wait->told_ns).text,
	         wait->main_thread ? "the main thread" : who);
	if ((double)wait->runnable_ns > IDLE_WORTH * (double)(wait->told_ns + wait->runnable_ns))
		text_say(
			text,
			"%s %% of the idle time that thread waited for a free CPU, wherever it was: "
			"shares are of the rest",
			format_percent(wait->runnable_ns, wait->told_ns + wait->runnable_ns).text);
	if (wait->call_ns[GPU_CALL_LAUNCH] > SHARE_WORTH * (double)wait->told_ns)
		text_say(text, "%s %% of the idle time passed within calls that launch",
		         format_percent(wait->call_ns[GPU_CALL_LAUNCH], wait->told_ns).text);
}

// Whose work the GPU waited for; WHICH is its number, "" if there is one. What stacks tell is
// scaled to what is known of the gaps.
static int print_wait(const struct text *text, const struct gpu_wait *wait, const char *which,
                      struct error *err)
{
	static const struct column columns[] = {
		{ "idle", COLUMN_NUMBER, 0, 0 },
		{ "%", COLUMN_NUMBER, 0, 0 },
		{ "meanwhile", COLUMN_WORD, 0, 0 },
		{ "the launching thread was in", COLUMN_TEXT, CLIP_SYMBOL, 1 },
	};
	struct time_unit unit = format_time_unit(wait->idle_ns);
	double scale = (double)wait->idle_ns / (double)(wait->told_ns + wait->runnable_ns);
	char title[192];
	cleanup(table) struct table *table = table_new(columns, 4, &text->terminal);

	if (!table)
		return out_of_memory(err);
	for (size_t i = 0; i < wait->functions->count && i < text->view->top; i++) {
		const struct row *row = &wait->functions->rows[i];
		char name[1100];
		if ((double)row->self < view_min_share(text->view, false) * (double)wait->told_ns ||
		    !row->self)
			break;
		name_waited_for(row, name, sizeof(name));
		table_row(table, STYLE_PLAIN);
		table_cell(table, format_time((uint64_t)((double)row->self * scale), unit).text);
		table_cell(table, format_percent(row->self, wait->told_ns).text);
		table_cell(table, row_kind_words(row));
		table_cell(table, name);
	}
	snprintf(title, sizeof(title), "GPU %sidle", which);
	text_heading(text, title, "what the thread did that launched what came next");
	say_wait(text, wait);
	return table_print(table, text->out, 2) < 0 ? out_of_memory(err) : 0;
}

// Each GPU that ran something has its own.
static int print_waits(const struct text *text, const struct gpu_facts *facts,
                       const struct query *query, struct error *err)
{
	for (uint32_t i = 0; i < shown(text, facts); i++) {
		const struct gpu_device_row *d = &facts->devices[i];
		struct query of_one = *query;
		char name[160] = "";
		of_one.gpu = i + 1;
		cleanup(gpu_wait) struct gpu_wait *wait =
			query_gpu_wait(text->profile, &of_one, err);
		if (!wait)
			return -1;
		if (facts->device_count > 1)
			snprintf(name, sizeof(name), "%u%s%.100s ", d->number,
			         *d->process ? " of " : "", d->process);
		if (share_of(wait->idle_ns, wait->span_ns) >= IDLE_WORTH && wait->told_ns &&
		    print_wait(text, wait, name, err) < 0)
			return -1;
	}
	return 0;
}

// Who had pages come back is told beside what moved.
static int print_managed(const struct text *text, struct error *err)
{
	cleanup(report) struct report r = text_report(text);
	const struct section *managed = section_gpu_managed(&r, err);

	if (!managed || text_section(text, managed, err) < 0)
		return -1;
	return managed->shown ? text_made(text, section_gpu_faults, err) : 0;
}

int text_gpu_kernels(const struct text *text, struct error *err)
{
	const struct query query = view_query(text->view, BY_FUNCTION, SORT_SELF);
	cleanup(gpu_rows) struct gpu_rows *rows = query_gpu(text->profile, &query, err);

	if (!rows)
		return -1;
	if (!rows->count && view_is_filtered(text->view)) {
		fputc('\n', text->out);
		text_say(text, "no GPU ran anything in this part of the run");
		return 0;
	}
	if (!rows->count) {
		text_no_gpu(text);
		return 0;
	}
	return print_rows(text, rows, err) < 0 ? -1 : print_launches(text, rows, err);
}

static bool has_streams(const struct gpu_facts *facts)
{
	uint32_t streams = 0;

	for (size_t i = 0; i < facts->device_count; i++)
		streams += facts->devices[i].streams;
	return streams > 1;
}

int text_gpu(const struct text *text, struct error *err)
{
	const struct query query = view_query(text->view, BY_FUNCTION, SORT_SELF);

	cleanup(gpu_facts) struct gpu_facts *facts = query_gpu_facts(text->profile, &query, err);
	if (!facts)
		return -1;
	cleanup(gpu_rows) struct gpu_rows *rows = query_gpu(text->profile, &query, err);
	if (!rows)
		return -1;
	print_devices(text, facts);
	if (!rows->count)
		return 0;
	if (print_rows(text, rows, err) < 0)
		return -1;
	if (!view_is_filtered(text->view) && print_managed(text, err) < 0)
		return -1;
	if (print_waits(text, facts, &query, err) < 0)
		return -1;
	if (!text->view->verbose)
		return 0;
	if (has_streams(facts) && !view_is_filtered(text->view) && text_gpu_streams(text, err) < 0)
		return -1;
	return print_launches(text, rows, err);
}

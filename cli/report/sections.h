/* SPDX-License-Identifier: MIT */
/*
 * The sections of the report: one function builds one of them from the profile and the view of a
 * report, for its reader. NULL on error: then a question could not be answered.
 */
#pragma once

#include "cli/report/section.h"
#include "merge/query/query.h"

/* A column for each metric, for programs, in place AT: OFFSET is that of an array by metric. */
void section_metrics(struct section *s, const char *what, uint8_t at, size_t offset);

struct findings;
struct gpu_facts;
struct gpu_rows;

typedef struct section *section_maker(struct report *r, struct error *err);

/* Which run the report is of, and which part of it: for people; the same for a page; and the run.
 */
section_maker section_header, section_page_header, section_run;

/* What is wrong, and the same as a table. FINDINGS must outlive the report. */
struct section *section_findings(struct report *r, const struct findings *findings,
                                 struct error *err);
section_maker section_sheet_findings;
/* What a page says first, as members of JSON: the verdict, the findings, how many rules were asked.
 */
section_maker section_summary;

/* Of them, what VERDICT does not say, nor the section of the warm-up, if that has WARNED of one: a
   line each, for people. */
struct verdict;
struct section *section_other_findings(struct report *r, const struct findings *findings,
                                       const struct verdict *verdict, bool warned,
                                       struct error *err);

/* What the run ran on and with. */
section_maker section_environment;

/* What the numbers rest on, and what they cannot show: sentences; and as tables. */
section_maker section_limits, section_sheet_run, section_sheet_debug_info, section_sheet_notes,
	section_sheet_cpu_clock, section_sheet_contention, section_sheet_cpu_quotas;

/* The steps of the run: the slowest for people, with words; all of them; and their summary. */
section_maker section_steps, section_all_steps, section_step_series;

/* The cycles of the view's schedule, or of that of the recording. */
section_maker section_cycles;

/* Whether the run measured its warm-up: in words; and what began slowly. */
section_maker section_warmup, section_all_warmup;

/* Where the wall time of the critical thread went: for people; and as a row. */
section_maker section_account, section_account_row;

/* Who had the CPUs while ALL_NS were waited for a free one: "own threads 9.9 %, other processes
   90.1 %"; NULL if that is not known. */
struct contention_parts;
const char *section_contention_words(struct report *r, const struct contention_parts *parts,
                                     uint64_t all_ns);

/* Where the time went. */
struct section *section_hotspots(struct report *r, enum query_by by, enum query_sort sort,
                                 struct error *err);
struct section *section_lines(struct report *r, struct error *err);
struct section *section_page_functions(struct report *r, struct error *err);
struct section *section_page_lines(struct report *r, struct error *err);
struct section *section_sheet_functions(struct report *r, struct error *err);
struct section *section_sheet_lines(struct report *r, struct error *err);
struct section *section_sheet_modules(struct report *r, struct error *err);
struct section *section_sheet_files(struct report *r, struct error *err);

/* Who calls whom, of time and of GPU time. */
section_maker section_call_tree;

/* Ops, exact. */
section_maker section_ops, section_page_ops, section_sheet_ops, section_sheet_op_shapes;
/* The same by torch.nn.Module: for a page, and all. */
section_maker section_op_modules;

/* Allocations. */
section_maker section_memory, section_page_memory, section_sheet_memory, section_sheet_memory_lines,
	section_sheet_memory_totals;
/* The largest of what was alive at the peak: "train.py:12 120 MB, model.py:7 80 MB", by line and by
   op; "" if nothing is known. The report's. -1 on error. */
int section_memory_alive(struct report *r, const char **lines, const char **ops, struct error *err);

/* Memory of GPUs, by PyTorch. */
section_maker section_device_memory;

/* What the program has counted. */
section_maker section_counters;

/* Wall time, by what the end of the run waited for. */
section_maker section_wall;
/* Why the run has no wall time by owner, "of merged profiles": *WHY is NULL if it has, or if that
   is not known. -1 on error. */
int section_wall_unknown(struct report *r, const char **why, struct error *err);
/* Who waited for whom, of the whole run. */
section_maker section_waits;
/* How many threads were on CPUs at once, of the whole run: as a table; and as notes of S, unless it
   is no news: then false. */
section_maker section_parallel;
/* All of this as one row, for JSON; none where wall time is not known. */
section_maker section_wall_summary;
bool section_say_parallel(struct section *s);

/* Python's imports. */
section_maker section_imports, section_sheet_imports;
/* Tasks of asyncio. */
section_maker section_tasks, section_sheet_tasks;
/* Goroutines of Go programs. */
section_maker section_goroutines, section_sheet_goroutines;
/* Compilers that the program ran. */
section_maker section_compiling, section_sheet_compiling;
section_maker section_sheet_calls, section_sheet_callers, section_memory_curves;

/* GPUs, for people: all of it, one section after the other; what they ran, alone; and who launched
   that. */
section_maker section_gpu, section_gpu_kernels;
struct section *section_gpu_callers(struct report *r, enum query_by by, struct error *err);

/* The parts of it, sections of one kind after their first: a section for each GPU, and one for all
   of them; what they waited for, each GPU by itself. Answers must outlive the report. */
struct section *section_gpu_devices(struct report *r, const struct gpu_facts *facts);
struct section *section_gpu_work(struct report *r, const struct gpu_rows *rows);
struct section *section_gpu_launches(struct report *r, const struct gpu_rows *rows);
struct section *section_gpu_idle(struct report *r, const struct gpu_facts *facts,
                                 struct error *err);
/* How many GPUs the report shows: the first ones. */
size_t section_gpus_shown(const struct report *r, const struct gpu_facts *facts);

/* The same as tables with all rows; of streams, and for people. */
section_maker section_all_gpu_devices, section_all_gpu_work, section_all_gpu_idle,
	section_gpu_streams;

/* Lines inside of kernels: for people, and all. */
section_maker section_gpu_lines, section_all_gpu_lines;
/* What moved of managed memory, and which code of the host had it come back. */
section_maker section_gpu_managed, section_gpu_faults;

/* The ranks of a merged profile, with where they wait for each other and where they differ; all of
   it as one row, for JSON: none if it is not merged. */
section_maker section_ranks, section_ranks_summary;

/* Processes that exchange data, of one run: what each computes and communicates. */
section_maker section_workers;

/* Repeated runs: for people, with what they are worth; and as tables. */
section_maker section_repeats, section_repeat_runs, section_repeat_spreads, section_repeat_ratios;

/* Counted instructions, as tables. */
section_maker section_counts, section_count_lines, section_count_totals;

/* Threads or processes; and all of them, for a page or a sheet. */
struct section *section_owners(struct report *r, enum query_by by, struct error *err);
section_maker section_all_threads, section_all_processes;

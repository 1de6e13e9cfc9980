// SPDX-License-Identifier: MIT
#include "merge/rules/file_work.h"

#include "base/format.h"
#include "base/share.h"
#include "merge/rules/evidence.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NEARLY_ALL  0.85 // of the time on files, by one kind of work: the others are not said
#define BESIDE      0.15 // of that time, by a kind that is said beside the first
#define KNOWN_SHARE 0.2  // of kernel time, by one kind of work
#define KINDS_SAID  2

// What the time is charged to where no wait for others counts.
#define METRICS_OWN                                                                                \
	(((1u << METRIC_COUNT) - 1) & ~(1u << METRIC_OFF_RUNNABLE | 1u << METRIC_OFF_CHILD))

struct kind {
	activity_set doing;
	const char *verbs; // before "files"; NULL: WORDS are said alone
	const char *words; // the whole
};

// The first that fits: what makes a file also opens it.
static const struct kind on_files[] = {
	{ ACTIVITY(LIST), NULL, "listing directories" },
	{ ACTIVITY(CREATE), "creating", "creating files" },
	{ ACTIVITY(REMOVE), "removing", "removing files" },
	{ ACTIVITY(RENAME), "renaming", "renaming files" },
	{ ACTIVITY(ATTRIBUTE), "changing", "changing attributes of files" },
	{ ACTIVITY(LOOK), "looking up", "looking up files" },
	{ ACTIVITY(OPEN), "opening and closing", "opening and closing files" },
};

static const struct kind in_kernel[] = {
	{ ACTIVITY(SYNC), NULL, "fsync" },
	{ ACTIVITY(SPAWN), NULL, "starting and ending processes" },
	{ ACTIVITY(THREAD), NULL, "starting threads" },
	{ ACTIVITY(LIST), NULL, "listing directories" },
	{ ACTIVITY(CREATE), NULL, "creating files" },
	{ ACTIVITY(REMOVE), NULL, "removing files" },
	{ ACTIVITY(RENAME), NULL, "renaming files" },
	{ ACTIVITY(ATTRIBUTE), NULL, "changing attributes of files" },
	{ ACTIVITY(LOOK), NULL, "looking up files" },
	{ ACTIVITY(OPEN), NULL, "opening and closing files" },
	{ ACTIVITY(SOCKET) | ACTIVITY(CONNECT), NULL, "sockets" },
	{ ACTIVITY(WRITE), NULL, "writing" },
	{ ACTIVITY(READ), NULL, "reading" },
	{ ACTIVITY(POLL), NULL, "polling" },
	{ ACTIVITY(MAPPED), NULL, "page faults of mapped files" },
	{ ACTIVITY(FAULT), NULL, "page faults" },
	{ ACTIVITY(ALLOCATE), NULL, "mapping and unmapping memory" },
};

#define ON_FILES  (sizeof(on_files) / sizeof(on_files[0]))
#define IN_KERNEL (sizeof(in_kernel) / sizeof(in_kernel[0]))

struct sums {
	uint64_t ns[IN_KERNEL], all;
};

static void sum_up(const struct evidence *e, const struct rule *rule, const struct finding *finding,
                   const struct kind *kinds, size_t count, struct sums *sums)
{
	uint32_t metrics = rule->metrics ? rule->metrics : METRICS_OWN;

	*sums = (struct sums){ .all = 0 };
	for (size_t i = 0; i < e->activities->time_count; i++) {
		const struct activity_time *time = &e->activities->times[i];
		uint64_t ns = finding->of_cpu ? time->ns[METRIC_ON_CPU]
		                              : evidence_sum(time->critical_ns, metrics);
		size_t kind = 0;
		if (!(time->doing & rule->doing) || time->doing & rule->not_doing)
			continue;
		sums->all += ns;
		while (kind < count && !(time->doing & kinds[kind].doing))
			kind++;
		if (kind < count)
			sums->ns[kind] += ns;
	}
}

static size_t largest(const struct sums *sums, size_t count)
{
	size_t most = 0;

	for (size_t i = 1; i < count; i++)
		if (sums->ns[i] > sums->ns[most])
			most = i;
	return most;
}

activity_set file_work_title(const struct evidence *e, const struct rule *rule,
                             const struct finding *finding, char *title, size_t size)
{
	struct sums sums;

	sum_up(e, rule, finding, on_files, ON_FILES, &sums);
	size_t first = largest(&sums, ON_FILES);
	uint64_t first_ns = sums.ns[first];
	const struct kind *most = &on_files[first];
	sums.ns[first] = 0;
	const struct kind *next = &on_files[largest(&sums, ON_FILES)];
	uint64_t next_ns = sums.ns[next - on_files];
	if (!first_ns || share_of(first_ns, sums.all) >= NEARLY_ALL ||
	    share_of(next_ns, sums.all) < BESIDE)
		snprintf(title, size, "%s", first_ns ? most->words : rule->title);
	else if (most->verbs && next->verbs && most->doing != ACTIVITY(ATTRIBUTE) &&
	         next->doing != ACTIVITY(ATTRIBUTE))
		snprintf(title, size, "%s%s%s files",
		         most->doing == ACTIVITY(OPEN) ? "opening, closing" : most->verbs,
		         next->doing == ACTIVITY(OPEN) ? ", " : " and ", next->verbs);
	else
		snprintf(title, size, "%s and %s", most->words, next->words);
	return most->doing & ~ACTIVITY(OPEN);
}

void kernel_work_words(const struct evidence *e, const struct rule *rule,
                       const struct finding *finding, char *words, size_t size)
{
	struct sums sums;
	size_t length = 0;

	words[0] = '\0';
	sum_up(e, rule, finding, in_kernel, IN_KERNEL, &sums);
	for (int said = 0; said < KINDS_SAID && length < size; said++) {
		size_t most = largest(&sums, IN_KERNEL);
		if (share_of(sums.ns[most], sums.all) < KNOWN_SHARE)
			return;
		length += (size_t)snprintf(words + length, size - length, "%s%s %%%s %s",
		                           said ? ", " : "; ",
		                           format_percent(sums.ns[most], sums.all).text,
		                           said ? " for" : " of that for", in_kernel[most].words);
		sums.ns[most] = 0;
	}
}

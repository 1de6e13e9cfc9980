// SPDX-License-Identifier: MIT
#include "cli/report/rule_words.h"

#include <stdio.h>

const char *rule_subject_words(enum rule_subject subject)
{
	static const char *const words[] = {
		[RULES_QUALITY] = "the measurement",
		[RULES_WARMUP] = "warm-up",
		[RULES_CPU] = "CPUs and threads",
		[RULES_IO] = "files and waiting",
		[RULES_MEMORY] = "memory",
		[RULES_PYTHON] = "Python",
		[RULES_OPS] = "ops",
		[RULES_GPU] = "the GPU",
		[RULES_RANKS] = "ranks and MPI",
	};

	return words[subject];
}

const char *rule_unit_key(enum rule_unit unit)
{
	static const char *const keys[] = {
		[UNIT_PERCENT] = "percent",
		[UNIT_COUNT] = "count",
		[UNIT_RATIO] = "ratio",
		[UNIT_SECONDS] = "seconds",
	};

	return keys[unit];
}

static const char *unit_words(enum rule_unit unit)
{
	static const char *const words[] = {
		[UNIT_PERCENT] = " %",
		[UNIT_COUNT] = "",
		[UNIT_RATIO] = "x",
		[UNIT_SECONDS] = " s",
	};

	return words[unit];
}

void rule_limit_words(const struct rule *rule, char *buffer, size_t size)
{
	const char *side = rule->below ? "below" : "above", *unit = unit_words(rule->unit);
	int used = snprintf(buffer, size, "%s %s %g%s", severity_name(rule->severity), side,
	                    rule->threshold, unit);

	if (rule->severe > 0 && used > 0 && (size_t)used < size)
		snprintf(buffer + used, size - (size_t)used, ", %s %s %g%s",
		         severity_name(rule->severity + 1), side, rule->severe, unit);
}

// SPDX-License-Identifier: MIT
#include "merge/rules/rule.h"

#include "base/error.h"
#include "base/nearest.h"
#include "merge/rules/evidence.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
	const struct rule *rules;
	const size_t *count;
} tables[] = {
	{ rules_quality, &rules_quality_count },
	{ rules_warmup, &rules_warmup_count },
	{ rules_cpu, &rules_cpu_count },
	{ rules_crowd, &rules_crowd_count },
	{ rules_waits, &rules_waits_count },
	{ rules_go, &rules_go_count },
	{ rules_start, &rules_start_count },
	{ rules_waste, &rules_waste_count },
	{ rules_loops, &rules_loops_count },
	{ rules_memory, &rules_memory_count },
	{ rules_io, &rules_io_count },
	{ rules_python, &rules_python_count },
	{ rules_compiling, &rules_compiling_count },
	{ rules_ops, &rules_ops_count },
	{ rules_gpu, &rules_gpu_count },
	{ rules_ranks, &rules_ranks_count },
};

#define TABLES (sizeof(tables) / sizeof(tables[0]))

size_t rule_count(void)
{
	size_t count = 0;

	for (size_t i = 0; i < TABLES; i++)
		count += *tables[i].count;
	return count;
}

const struct rule *rule_at(size_t index)
{
	for (size_t i = 0; i < TABLES; i++) {
		if (index < *tables[i].count)
			return &tables[i].rules[index];
		index -= *tables[i].count;
	}
	return NULL;
}

size_t rule_find(const char *id)
{
	size_t index = 0;

	while (index < rule_count() && strcasecmp(rule_at(index)->id, id) != 0)
		index++;
	return index;
}

int rule_unknown(const char *id, struct error *err)
{
	error_set(err, 0, "there is no rule \"%s\"", id);
	return rule_hint(id, err);
}

int rule_hint(const char *id, struct error *err)
{
	struct nearest nearest = { .word = id };

	for (size_t i = 0; i < rule_count(); i++)
		nearest_try(&nearest, rule_at(i)->id);
	if (nearest.name)
		return error_hint(err, "did you mean %s?", nearest.name);
	return error_hint(err, "\"bottleneck explain\" lists them.");
}

static const char *const severities[SEVERITY_COUNT] = { "info", "warn", "error" };

const char *severity_name(enum severity severity)
{
	return severities[severity];
}

bool severity_parse(const char *name, enum severity *severity)
{
	for (int i = 0; i < SEVERITY_COUNT; i++) {
		if (strcasecmp(name, severities[i]) != 0)
			continue;
		*severity = (enum severity)i;
		return true;
	}
	return false;
}

void rule_limits_free(struct rule_limits *limits)
{
	if (limits)
		free(limits->limits);
	free(limits);
}

struct rule_limits *rule_limits_new(struct error *err)
{
	cleanup(rule_limits) struct rule_limits *limits = calloc(1, sizeof(*limits));

	if (limits)
		limits->limits = calloc(rule_count() + 1, sizeof(*limits->limits));
	if (!limits || !limits->limits) {
		error_set(err, ENOMEM, "could not keep the rules' thresholds");
		return NULL;
	}
	for (size_t i = 0; i < rule_count(); i++)
		limits->limits[i] = (struct rule_limit){ .threshold = rule_at(i)->threshold,
			                                 .severe = rule_at(i)->severe };
	return steal(limits);
}

// A plain decimal number; *END is where it ends.
static bool take_number(const char *text, char **end, double *number)
{
	if (!*text || !strchr("0123456789.", *text))
		return false;
	*number = strtod(text, end);
	return isfinite(*number) && *end != text;
}

static bool take_limit(const char *value, struct rule_limit *limit)
{
	struct rule_limit taken = *limit;
	char *end;

	if (strcasecmp(value, "off") == 0) {
		limit->off = true;
		return true;
	}
	taken.off = false;
	if (!take_number(value, &end, &taken.threshold) ||
	    (*end == ',' && !take_number(end + 1, &end, &taken.severe)) || *end)
		return false;
	*limit = taken;
	return true;
}

int rule_limits_set(struct rule_limits *limits, const char *text, struct error *err)
{
	size_t length = strcspn(text, "=");
	char id[64];

	if (!text[length] || length >= sizeof(id))
		return error_set(err, 0, "\"%s\" is not of the form ID=VALUE", text);
	memcpy(id, text, length);
	id[length] = '\0';
	size_t rule = rule_find(id);
	if (rule == rule_count())
		return rule_unknown(id, err);
	if (!take_limit(text + length + 1, &limits->limits[rule]))
		return error_set(err, 0, "%s \"%s\": not a number, two with a comma, or off", id,
		                 text + length + 1);
	return 0;
}

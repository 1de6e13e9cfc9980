// SPDX-License-Identifier: MIT
#include "cli/option.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/format.h"
#include "base/nearest.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS_MAX 128
#define LONG_BASE   256 /* getopt's value for option N is LONG_BASE + N */

// Everything that getopt_long() wants, made from the groups.
struct getopt_tables {
	struct option longs[OPTIONS_MAX + 1];
	char shorts[2 + 2 * OPTIONS_MAX + 1];
	const struct option_spec *specs[OPTIONS_MAX];
	void *values[OPTIONS_MAX];
	size_t count;
};

static void add_option(struct getopt_tables *t, const struct option_spec *spec, void *values,
                       char **shorts)
{
	if (t->count == OPTIONS_MAX)
		return;
	t->longs[t->count] = (struct option){
		.name = spec->name,
		.has_arg = spec->argument ? required_argument : no_argument,
		.val = LONG_BASE + (int)t->count,
	};
	if (spec->letter) {
		*(*shorts)++ = spec->letter;
		if (spec->argument)
			*(*shorts)++ = ':';
	}
	t->specs[t->count] = spec;
	t->values[t->count++] = (char *)values + spec->offset;
}

static void make_tables(struct getopt_tables *t, const struct option_group *groups,
                        size_t group_count, enum option_operands operands)
{
	char *shorts = t->shorts;

	memset(t, 0, sizeof(*t));
	if (operands == OPTION_OPERANDS_END)
		*shorts++ = '+';
	*shorts++ = ':'; // a missing argument comes back as ':'
	for (size_t g = 0; g < group_count; g++)
		for (size_t i = 0; i < groups[g].count; i++)
			add_option(t, &groups[g].specs[i], groups[g].values, &shorts);
}

static int value_error(const char *option, const char *value, const char *what, struct error *err)
{
	return error_set(err, 0, "%s \"%s\": not %s", option, value, what);
}

static int set_number(const struct option_spec *spec, const char *option, const char *value,
                      void *out, struct error *err)
{
	char what[64], *end;

	errno = 0;
	unsigned long number = strtoul(value, &end, 10);
	if (isdigit((unsigned char)*value) && !*end && !errno && number >= spec->min &&
	    number <= spec->max) {
		*(uint32_t *)out = (uint32_t)number;
		return 0;
	}
	snprintf(what, sizeof(what), "a whole number from %u to %u", spec->min, spec->max);
	return value_error(option, value, what, err);
}

// A plain decimal number: no sign, no exponent, no "inf", nothing behind it.
static bool parse_decimal(const char *value, double *out)
{
	char *end;

	if (strspn(value, "0123456789.") != strlen(value) || !strpbrk(value, "0123456789"))
		return false;
	*out = strtod(value, &end);
	return !*end && isfinite(*out);
}

static int set_percent(const struct option_spec *spec, const char *option, const char *value,
                       void *out, struct error *err)
{
	double number = 0;

	if (!(spec->choices && strcmp(value, spec->choices[0]) == 0) &&
	    (!parse_decimal(value, &number) || number > 100))
		return value_error(option, value, "a share from 0 to 100 (per cent)", err);
	*(double *)out = number;
	return 0;
}

static int set_seconds(const struct option_spec *spec, const char *option, const char *value,
                       void *out, struct error *err)
{
	char text[32];
	double number;

	(void)spec;
	// "10s" is as good.
	snprintf(text, sizeof(text), "%s", value);
	size_t length = strlen(text);
	if (length > 1 && text[length - 1] == 's')
		text[length - 1] = '\0';
	if (!parse_decimal(text, &number) || number > 1e9)
		return value_error(option, value, "a number of seconds", err);
	*(uint64_t *)out = (uint64_t)(number * (double)NS_PER_SEC + 0.5);
	return 0;
}

static int choice_error(const struct option_spec *spec, const char *option, const char *value,
                        struct error *err)
{
	char what[160] = "one of";

	for (int i = 0; spec->choices[i]; i++) {
		const char *choice = spec->choices[i];
		bool counted = choice[strlen(choice) - 1] == ':';
		size_t used = strlen(what);
		snprintf(what + used, sizeof(what) - used, "%s %s%s", i ? "," : "", choice,
		         counted ? "N" : "");
	}
	return value_error(option, value, what, err);
}

static int set_choice(const struct option_spec *spec, const char *option, const char *value,
                      void *out, struct error *err)
{
	for (int i = 0; spec->choices[i]; i++) {
		if (strcmp(value, spec->choices[i]) != 0)
			continue;
		*(int *)out = i;
		return 0;
	}
	return choice_error(spec, option, value, err);
}

static int set_counted(const struct option_spec *spec, const char *option, const char *value,
                       void *out, struct error *err)
{
	struct option_counted *counted = out;
	size_t word = strcspn(value, ":");

	for (int i = 0; spec->choices[i]; i++) {
		const char *choice = spec->choices[i];
		if (strcspn(choice, ":") != word || strncmp(choice, value, word) != 0)
			continue;
		if (value[word] && !choice[word])
			break;
		uint32_t number = 0;
		if (value[word] && set_number(spec, option, value + word + 1, &number, err) < 0)
			return -1;
		*counted = (struct option_counted){ i, number };
		return 0;
	}
	return choice_error(spec, option, value, err);
}

static int set_text(const struct option_spec *spec, const char *option, const char *value,
                    void *out, struct error *err)
{
	(void)spec;
	if (!*value)
		return error_set(err, 0, "%s: its argument is empty", option);
	*(const char **)out = value;
	return 0;
}

static int set_list(const struct option_spec *spec, const char *option, const char *value,
                    void *out, struct error *err)
{
	struct option_list *list = out;

	if (list->count == OPTION_LIST_MAX)
		return error_set(err, 0, "%s: given more than %d times", option, OPTION_LIST_MAX);
	if (set_text(spec, option, value, &list->items[list->count], err) < 0)
		return -1;
	list->count++;
	return 0;
}

static int set_switch(const struct option_spec *spec, const char *option, const char *value,
                      void *out, struct error *err)
{
	(void)spec, (void)option, (void)value, (void)err;
	*(bool *)out = true;
	return 0;
}

static int (*const setters[])(const struct option_spec *, const char *, const char *, void *,
                              struct error *) = {
	[OPTION_SWITCH] = set_switch,   [OPTION_NUMBER] = set_number,
	[OPTION_PERCENT] = set_percent, [OPTION_SECONDS] = set_seconds,
	[OPTION_CHOICE] = set_choice,   [OPTION_COUNTED] = set_counted,
	[OPTION_TEXT] = set_text,       [OPTION_LIST] = set_list,
};

// What getopt's value FOUND (a letter, or LONG_BASE + index) stands for. It gives out only what it
// was told, so the search cannot fail; without a hit the first option would do.
static size_t find_option(const struct getopt_tables *t, int found)
{
	size_t hit = 0;

	if (found >= LONG_BASE)
		return (size_t)(found - LONG_BASE);
	for (size_t i = 0; i < t->count; i++)
		if (t->specs[i]->letter == found)
			hit = i;
	return hit;
}

// "-F" or "--frequency", as the user wrote it.
static struct short_text spelled(const struct getopt_tables *t, int found)
{
	struct short_text out;

	if (found >= LONG_BASE)
		snprintf(out.text, sizeof(out.text), "--%s", t->specs[find_option(t, found)]->name);
	else
		snprintf(out.text, sizeof(out.text), "-%c", found);
	return out;
}

// getopt answers '?' for options that it does not know and for switches with an argument.
static int unknown_option(const struct getopt_tables *t, const char *word, struct error *err)
{
	if (optopt >= LONG_BASE)
		return error_set(err, 0, "%s takes no argument", spelled(t, optopt).text);
	if (optopt)
		return error_set(err, 0, "unknown option \"%s\" (see --help)",
		                 spelled(t, optopt).text);
	error_set(err, 0, "unknown option \"%s\" (see --help)", word);
	char name[64];
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	struct nearest nearest = { .word = name + strspn(name, "-") };
	for (size_t i = 0; i < t->count; i++)
		nearest_try(&nearest, t->specs[i]->name);
	if (nearest.name)
		error_hint(err, "did you mean --%s?", nearest.name);
	return -1;
}

int option_parse(const struct option_group *groups, size_t group_count, int argc, char **argv,
                 enum option_operands operands, struct error *err)
{
	struct getopt_tables t;
	int found;

	make_tables(&t, groups, group_count, operands);
	optind = 0; // start anew: a process may parse twice
	opterr = 0;
	while ((found = getopt_long(argc, argv, t.shorts, t.longs, NULL)) != -1) {
		if (found == ':')
			return error_set(err, 0, "%s needs an argument", spelled(&t, optopt).text);
		if (found == '?')
			return unknown_option(&t, argv[optind - 1], err);
		size_t i = find_option(&t, found);
		const struct option_spec *spec = t.specs[i];
		if (!spec || setters[spec->kind](spec, spelled(&t, found).text, optarg, t.values[i],
		                                 err) < 0)
			return -1;
	}
	return optind;
}

#define HELP_COLUMN 27
#define HELP_WIDTH  80

// What does not fit into a line goes on below.
static void help_text(const char *help, FILE *out)
{
	const size_t room = HELP_WIDTH - HELP_COLUMN;

	while (strlen(help) > room) {
		size_t length = room;
		while (length && help[length] != ' ')
			length--;
		fprintf(out, "%.*s\n%*s", (int)length, help, HELP_COLUMN, "");
		help += length + 1;
	}
	fprintf(out, "%s\n", help);
}

static void help_line(const struct option_spec *spec, FILE *out)
{
	char left[96];

	snprintf(left, sizeof(left), "  %c%c%c --%s%s%s", spec->letter ? '-' : ' ',
	         spec->letter ? spec->letter : ' ', spec->letter ? ',' : ' ', spec->name,
	         spec->argument ? "=" : "", spec->argument ? spec->argument : "");
	if (strlen(left) + 2 > HELP_COLUMN)
		fprintf(out, "%s\n%*s", left, HELP_COLUMN, "");
	else
		fprintf(out, "%-*s", HELP_COLUMN, left);
	help_text(spec->help, out);
}

void option_help_one(const struct option_group *groups, size_t group_count, const char *name,
                     const char *help, FILE *out)
{
	for (size_t g = 0; g < group_count; g++) {
		for (size_t i = 0; i < groups[g].count; i++) {
			struct option_spec spec = groups[g].specs[i];
			spec.help = help;
			if (strcmp(spec.name, name) == 0)
				help_line(&spec, out);
		}
	}
}

void option_help(const struct option_group *groups, size_t group_count, FILE *out)
{
	for (size_t g = 0; g < group_count; g++) {
		if (groups[g].title)
			fprintf(out, "\n%s:\n", groups[g].title);
		for (size_t i = 0; i < groups[g].count; i++)
			help_line(&groups[g].specs[i], out);
	}
}

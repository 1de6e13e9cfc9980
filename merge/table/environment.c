// SPDX-License-Identifier: MIT
#include "merge/table/environment.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS 4

static void print_field(FILE *out, const char *text, char after)
{
	for (; text && *text; text++)
		fputc((unsigned char)*text < ' ' || *text == 0x7f ? ' ' : *text, out);
	fputc(after, out);
}

void environment_print(FILE *out, const struct environment_row *row)
{
	print_field(out, row->kind, '\t');
	print_field(out, row->name, '\t');
	print_field(out, row->value, '\t');
	print_field(out, row->path, '\n');
}

static bool take_row(char *line, struct environment_row *row)
{
	const char *fields[FIELDS];
	size_t count = 0;

	for (char *field; (field = strsep(&line, "\t")) != NULL; count++) {
		if (count == FIELDS)
			return false;
		fields[count] = field;
	}
	if (count != FIELDS || !*fields[0] || !*fields[1])
		return false;
	*row = (struct environment_row){ fields[0], fields[1], fields[2], fields[3] };
	return true;
}

struct environment *environment_parse(const char *text)
{
	cleanup(environment) struct environment *e = calloc(1, sizeof(*e));

	if (!e || !(e->text = strdup(text ? text : "")))
		return NULL;
	char *rest = e->text;
	for (char *line; e->count < ENVIRONMENT_ROWS && (line = strsep(&rest, "\n")) != NULL;)
		if (take_row(line, &e->rows[e->count]))
			e->count++;
	return steal(e);
}

void environment_free(struct environment *e)
{
	if (!e)
		return;
	free(e->text);
	free(e);
}

const char *environment_find(const struct environment *e, const char *kind, const char *name)
{
	for (size_t i = 0; i < e->count; i++)
		if (strcmp(e->rows[i].kind, kind) == 0 && strcmp(e->rows[i].name, name) == 0)
			return e->rows[i].value;
	return NULL;
}

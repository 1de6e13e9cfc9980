/* SPDX-License-Identifier: MIT */
/*
 * Sections as JSON: rows are objects, with a member for each column. What is not known is null.
 */
#pragma once

#include <stddef.h>

struct json;
struct section;

/* The rows alone, into the array that is open. */
void section_json_rows(struct json *j, const struct section *s);

/* What one of them consists of, as members of the object that is open. */
void section_json_members(struct json *j, const struct section *s, size_t index);

/* One of them, as the member KEY of the object that is open. */
void section_json_row(struct json *j, const char *key, const struct section *s, size_t index);

/* The member of the section's name: an array of its rows, or of its notes. */
void section_json(struct json *j, const struct section *s);
void section_json_notes(struct json *j, const struct section *s);

/* SPDX-License-Identifier: MIT */
/*
 * Sections as JSON: rows are objects, with a member for each column. What is not known is null.
 */
#pragma once

struct json;
struct section;

/* The rows alone, into the array that is open. */
void section_json_rows(struct json *j, const struct section *s);

/* The member of the section's name: an array of its rows, or of its notes. */
void section_json(struct json *j, const struct section *s);
void section_json_notes(struct json *j, const struct section *s);

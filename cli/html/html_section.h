/* SPDX-License-Identifier: MIT */
/*
 * Sections of the report as the page's own tables take them.
 */
#pragma once

#include <stddef.h>

struct json;
struct section;

/* A section that was made for READER_PAGE, with its notes, as member KEY of an object that is open.
 */
void html_put_table(struct json *j, const char *key, const struct section *s);

/* Its columns alone, with the kinds of their values. */
void html_put_columns(struct json *j, const struct section *s);

/* Its rows alone, or one of them as members of an object that is open. */
void html_put_rows(struct json *j, const char *key, const struct section *s);
void html_put_members(struct json *j, const struct section *s, size_t row);

/* Its heading and its notes, a line each. */
void html_put_notes(struct json *j, const struct section *s);

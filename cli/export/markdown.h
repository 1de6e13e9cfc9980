/* SPDX-License-Identifier: MIT */
/*
 * Foreign text within Markdown of code hosts (CommonMark with the tables of GitHub and GitLab): it
 * makes no markup, no HTML, no link, no mention of a person or an issue, no emoji, and ends no
 * line. What a terminal would obey or hide is left out. Functions without state.
 */
#pragma once

#include <stdio.h>

/* TEXT as prose, of at most BYTES bytes before it is escaped. */
void markdown_put_text(FILE *out, const char *text, size_t bytes);

/* The same, as code: names, paths, commands. Nothing where TEXT is "". */
void markdown_put_code(FILE *out, const char *text, size_t bytes);

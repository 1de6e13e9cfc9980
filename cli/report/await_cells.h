/* SPDX-License-Identifier: MIT */
/*
 * Cells about functions of tasks and goroutines, which may be unknown: NULL, or parts of them.
 *
 * Texts are borrowed. No state.
 */
#pragma once

struct await_function;
struct section_cell;

void await_cell_place(struct section_cell *cell, const struct await_function *at);
void await_cell_name(struct section_cell *cell, const struct await_function *at);
void await_cell_file(struct section_cell *cell, const struct await_function *at);
void await_cell_line(struct section_cell *cell, const struct await_function *at);

/* SPDX-License-Identifier: MIT */
/*
 * Pages that are compared with files in tests/golden/. After a change that is meant: run the test
 * with UPDATE_GOLDEN=1, and read the difference.
 */
#pragma once

#include "cli/terminal.h"

#include <stdbool.h>

/* A terminal that is the same wherever the test runs. */
struct terminal golden_terminal(int width, bool color, bool ascii);

/* PAGE, which is freed, equals NAME.txt in tests/golden/. */
void golden_expect(const char *name, char *page);

/* For .init of a suite: columns are counted in UTF-8. */
void golden_use_utf8(void);

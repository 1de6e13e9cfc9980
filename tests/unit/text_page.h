/* SPDX-License-Identifier: MIT */
/* The report of a hand-made profile: see tests/unit/fake_profile.h. */
#pragma once

#include "cli/report/view.h"
#include "cli/terminal.h"
#include "tests/unit/fake_profile.h"

/* What is printed of PROFILE; the caller frees it. */
char *text_page(struct profile *profile, const struct view *view, struct terminal t);

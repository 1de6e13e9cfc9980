// SPDX-License-Identifier: MIT
#include "tests/unit/text_page.h"

#include "base/error.h"
#include "cli/text/text.h"
#include "tests/support/expect.h"

char *text_page(struct profile *profile, const struct view *view, struct terminal t)
{
	char *page = NULL;
	size_t size;
	struct error err;
	struct text text = {
		.out = open_memstream(&page, &size), .profile = profile, .view = view, .terminal = t
	};

	cr_assert(eq(int, text_print(&text, &err), 0), "%s", err.text);
	text_say(&text, "profile: last.bneck (bottleneck report)");
	fclose(text.out);
	return page;
}

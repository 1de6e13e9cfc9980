// SPDX-License-Identifier: MIT
#include "cli/text/text.h"

#include "base/cleanup.h"
#include "cli/format.h"
#include "cli/report/verdict.h"

int text_verdict(const struct text *text, const struct findings *findings, struct error *err)
{
	const struct terminal *t = &text->terminal;
	struct verdict v;

	if (verdict_find(text->profile, text->view, findings, &v, err) < 0)
		return -1;
	fprintf(text->out, "%s  ", terminal_style(t, STYLE_BOLD));
	terminal_wrap(t, text->out, v.sentence, 2, 2);
	fprintf(text->out, "%s  ", terminal_style(t, STYLE_PLAIN));
	terminal_wrap(t, text->out, v.next, 2, 2);
	return 0;
}

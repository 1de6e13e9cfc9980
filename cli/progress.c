// SPDX-License-Identifier: MIT
#include "cli/progress.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/format.h"

#include <stdio.h>

#define PATIENCE_NS NS_PER_SEC
#define REDRAW_NS   (100 * NS_PER_MS)

void progress_start(struct progress *p, const struct terminal *t)
{
	*p = (struct progress){
		.wanted = t->is_tty,
		.width = t->width,
		.start_ns = clock_now_ns(),
	};
}

void progress_tell(void *context, const char *what)
{
	struct progress *p = context;
	uint64_t now_ns = clock_now_ns();

	if (!p->wanted || now_ns - p->start_ns < PATIENCE_NS || now_ns - p->last_ns < REDRAW_NS)
		return;
	cleanup_free char *clean = format_clean(what, false);
	cleanup_free char *clipped =
		clean ? format_clip(clean, (size_t)p->width - 20, CLIP_START, false) : NULL;
	fprintf(stderr, "\r\033[Kreading symbols: %s", clipped ? clipped : "");
	fflush(stderr);
	p->shown = true;
	p->last_ns = now_ns;
}

void progress_end(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}

// SPDX-License-Identifier: MIT
#include "base/cleanup.h"
#include "sampler/proc/proc_io.h"
#include "sampler/proc/proc_stat.h"

#include <ctype.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void count(void *context, uint32_t pid)
{
	(void)pid;
	++*(size_t *)context;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proc_stat stat;
	struct proc_io io;
	uint64_t run, wait;
	size_t children = 0;
	cleanup_free char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (proc_stat_parse(text, &stat) &&
	    (strlen(stat.name) >= sizeof(stat.name) || !isalpha((unsigned char)stat.state)))
		abort();
	proc_stat_times_parse(text, &run, &wait);
	proc_io_parse(text, &io);
	proc_stat_children_parse(text, count, &children);
	if (children > size / 2) // each takes a digit and a blank
		abort();
	return 0;
}

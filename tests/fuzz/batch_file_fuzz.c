// SPDX-License-Identifier: MIT
#include "cli/batch/batch_file.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct error err = { 0 };
	cleanup(batch_file) struct batch_file *file =
		batch_file_parse("fuzz", (const char *)bytes, size, &err);

	if (!file && !err.text[0])
		abort(); // nothing is refused without a word
	for (size_t i = 0; file && i < file->count; i++) {
		const struct batch_job *job = &file->jobs[i];
		if (!job->command || !*job->command || strchr(job->name, '/') || !job->repeat)
			abort();
		batch_job_fingerprint(job);
	}
	return 0;
}

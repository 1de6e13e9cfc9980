// SPDX-License-Identifier: MIT
#include "cli/words.h"

#include "base/error.h"

#include <errno.h>
#include <stddef.h>

static int refuse(int reason, const char *text, struct error *err)
{
	switch (reason) {
	case WRDE_NOSPACE:
		return error_set(err, ENOMEM, "could not split \"%s\" into words", text);
	case WRDE_BADCHAR:
	case WRDE_CMDSUB:
		error_set(err, 0, "\"%s\" needs a shell", text);
		return error_hint(err, "Name it: \"sh -c '...'\".");
	default:
		return error_set(err, 0, "\"%s\" has a quote or a bracket that is not closed",
		                 text);
	}
}

int words_split(const char *text, wordexp_t *words, struct error *err)
{
	int reason = wordexp(text, words, WRDE_NOCMD);

	if (reason) {
		if (reason == WRDE_NOSPACE)
			wordfree(words);
		return refuse(reason, text, err);
	}
	if (words->we_wordc)
		return 0;
	wordfree(words);
	return error_set(err, 0, "there is no command in \"%s\"", text);
}

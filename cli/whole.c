// SPDX-License-Identifier: MIT
#include "cli/whole.h"

#include "base/error.h"
#include "cli/terminal.h"

#include <errno.h>
#include <stdlib.h>

int whole_open(struct whole *whole, const char *what, struct error *err)
{
	*whole = (struct whole){ .what = what };
	whole->out = open_memstream(&whole->bytes, &whole->size);
	return whole->out ? 0 : error_set(err, errno, "could not print %s", what);
}

static int put(const struct whole *whole, FILE *out, struct error *err)
{
	if (whole->text)
		terminal_put(whole->text, out, whole->bytes, whole->size);
	else
		fwrite(whole->bytes, 1, whole->size, out);
	if (fflush(out) != 0 || ferror(out))
		return error_set(err, errno, "could not write %s", whole->what);
	return 0;
}

int whole_print(struct whole *whole, int failed, FILE *out, struct error *err)
{
	if (fclose(whole->out) != 0 && !failed)
		failed = error_set(err, errno, "could not print %s", whole->what);
	if (!failed)
		failed = put(whole, out, err);
	free(whole->bytes);
	return failed ? -1 : 0;
}

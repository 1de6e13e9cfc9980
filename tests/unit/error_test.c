// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "tests/support/expect.h"

#include <errno.h>
#include <string.h>

Test(error, a_message_is_the_text_and_then_the_cause)
{
	struct error err;
	char buffer[256];

	cr_expect(eq(int, error_set(&err, EACCES, "could not sample thread %d", 4711), -1));
	cr_expect(eq(str, (char *)error_message(&err, buffer, sizeof(buffer)),
	             "could not sample thread 4711: Permission denied"));
}

Test(error, context_goes_in_front_and_the_cause_stays)
{
	struct error err;
	char buffer[256];

	error_set(&err, 0, "size 0 is smaller than the header");
	cr_expect(eq(int, error_wrap(&err, "\"%s\", record %d", "run.bneck", 12), -1));
	cr_expect(eq(str, (char *)error_message(&err, buffer, sizeof(buffer)),
	             "\"run.bneck\", record 12: size 0 is smaller than the header"));
}

Test(error, a_new_error_forgets_the_old_hint)
{
	struct error err;

	error_set(&err, 0, "one");
	error_hint(&err, "Do %s.", "this");
	cr_expect(eq(str, err.hint, "Do this."));
	error_set(&err, 0, "two");
	cr_expect(eq(str, err.hint, ""));
}

Test(error, text_that_does_not_fit_is_cut)
{
	struct error err;
	char huge[2 * ERROR_TEXT_SIZE];

	memset(huge, 'x', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	error_set(&err, 0, "%s", huge);
	cr_expect(eq(sz, strlen(err.text), ERROR_TEXT_SIZE - 1));
	error_wrap(&err, "%s", huge);
	cr_expect(eq(sz, strlen(err.text), ERROR_TEXT_SIZE - 1));
}

Test(error, nobody_has_to_care)
{
	cr_expect(eq(int, error_set(NULL, ENOENT, "x"), -1));
	cr_expect(eq(int, error_wrap(NULL, "x"), -1));
	cr_expect(eq(int, error_hint(NULL, "x"), -1));
}

// SPDX-License-Identifier: MIT
#include "merge/record/own_threads.h"

#include "tracer/protocol.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

Test(own_threads, the_name_makes_it_one_for_good)
{
	struct own_threads own = { 0 };

	cr_expect_not(own_threads_take(&own, 7, "worker"));
	cr_expect_not(own_threads_has(&own, 7));
	cr_expect(own_threads_take(&own, 7, PROTOCOL_OWN_THREAD));
	cr_expect(own_threads_take(&own, 7, "worker"));
	cr_expect(own_threads_has(&own, 7));
	cr_expect_not(own_threads_has(&own, 8));
	for (uint32_t i = 100; i < 200; i++)
		cr_expect(own_threads_take(&own, i, PROTOCOL_OWN_THREAD));
	cr_expect(own_threads_has(&own, 150));
	own_threads_fini(&own);
}

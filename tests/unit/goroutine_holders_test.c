// SPDX-License-Identifier: MIT
// Looks at goroutines, and whom these wait for, without a profile.
#include "merge/profile/goroutine_holders.h"

#include "merge/op/goroutine_looks.h"
#include "tests/support/expect.h"

#include <string.h>

enum {
	ROW_MAIN,
	ROW_WAITS,
	ROW_SLEEPS,
	ROWS
};
enum {
	IN_MAIN = 1,
	IN_UPDATE,
	IN_SAVE,
	MUTEX,
	GROUP,
	SLEEP
};

static const uint32_t waits[] = { IN_UPDATE }, sleeps[] = { IN_UPDATE, IN_SAVE };

static const struct goroutine_doing doing[ROWS] = {
	[ROW_MAIN] = { .act = GOROUTINE_AWAITS,
	               .is_main = true,
	               .kind = { .function = IN_MAIN },
	               .place = { .function = IN_MAIN },
	               .reason = GROUP },
	[ROW_WAITS] = { .act = GOROUTINE_LOCKS,
	                .kind = { .function = IN_UPDATE },
	                .place = { .function = IN_UPDATE, .line = 7 },
	                .reason = MUTEX,
	                .functions = waits,
	                .function_count = 1 },
	[ROW_SLEEPS] = { .act = GOROUTINE_RESTS,
	                 .kind = { .function = IN_UPDATE },
	                 .place = { .function = IN_SAVE },
	                 .reason = SLEEP,
	                 .functions = sleeps,
	                 .function_count = 2 },
};

static struct goroutine_looks looks;

static void look(uint64_t pass, uint32_t waiters)
{
	cr_assert(goroutine_looks_add(&looks, 1, pass, ROW_MAIN, 1, 1000));
	cr_assert(goroutine_looks_add(&looks, 1, pass, ROW_WAITS, waiters, 1000));
	cr_assert(goroutine_looks_add(&looks, 1, pass, ROW_SLEEPS, 1, 1000));
	// Another process's are not beside them.
	cr_assert(goroutine_looks_add(&looks, 2, pass + 1, ROW_SLEEPS, 1, 1000));
}

// The time that HOLDER's waiters took, or with WALL that it took of main's.
static uint64_t ns_of(const struct awaits *awaits, enum await_kind kind)
{
	const struct await_place places[] = {
		doing[ROW_WAITS].kind,  doing[ROW_WAITS].place,  { .function = MUTEX },
		doing[ROW_SLEEPS].kind, doing[ROW_SLEEPS].place, { .function = SLEEP },
	};
	const struct await_row *row = awaits_find(awaits, kind, places, 6);

	return row ? row->ns : 0;
}

Test(goroutine_holders, some_looks_stand_for_all)
{
	struct awaits awaits = { 0 };
	const uint64_t count = 3 * GOROUTINE_LOOKS_MAX;

	for (uint64_t i = 0; i < count; i++)
		look(2 * i + 1, 3);
	cr_assert(goroutine_looks_end(&looks));
	cr_expect(eq(sz, looks.count, GOROUTINE_LOOKS_MAX));
	cr_expect(eq(u64, looks.ns, 1000 * count));
	cr_assert(goroutine_holders_add(&looks, doing, &awaits));
	cr_expect(ns_of(&awaits, AWAIT_HELD_WALL) > 990 * count &&
	          ns_of(&awaits, AWAIT_HELD_WALL) <= 1000 * count);
	cr_expect(ns_of(&awaits, AWAIT_HELD) > 2970 * count &&
	          ns_of(&awaits, AWAIT_HELD) <= 3000 * count);
	awaits_fini(&awaits);
	goroutine_looks_fini(&looks);
}

Test(goroutine_holders, a_look_that_has_not_all_is_none)
{
	struct awaits awaits = { 0 };

	look(1, GOROUTINES_WHOLE);
	look(3, 2);
	for (uint32_t row = 0; row <= GOROUTINE_PARTS_MAX; row++)
		cr_assert(goroutine_looks_add(&looks, 1, 5, row, 1, 1000));
	cr_assert(goroutine_looks_end(&looks));
	cr_expect(eq(sz, looks.count, 1));
	cr_assert(goroutine_holders_add(&looks, doing, &awaits));
	cr_expect(eq(u64, ns_of(&awaits, AWAIT_HELD_WALL), 1000));
	cr_expect(eq(u64, ns_of(&awaits, AWAIT_HELD), 2000));
	awaits_fini(&awaits);
	goroutine_looks_fini(&looks);
}

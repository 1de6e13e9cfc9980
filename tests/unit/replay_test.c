// SPDX-License-Identifier: MIT
// What a profile takes does not grow with time, whatever the program does.
#include "base/clock.h"
#include "merge/query/query.h"
#include "tests/support/expect.h"
#include "tests/support/replay.h"

#include <sys/stat.h>
#include <unistd.h>

static const struct profile_limits limits = { .nodes = 1u << 15,
	                                      .cells = 1u << 15,
	                                      .threads = 100 };

#define SLICES 5000
// How long they go on, of the time after which the tables are full. Sanitized, the same is done
// with full tables again and again; that it takes no more is seen without.
#ifdef __SANITIZE_ADDRESS__
#define HALVES 3
#else
#define HALVES 6
#endif

static off_t file_size(const struct profile *p)
{
	char path[] = "/tmp/replay_test.XXXXXX";
	struct stat st = { 0 };
	int fd = mkstemp(path);

	cr_assert(fd >= 0);
	cr_assert(eq(int, profile_write(p, path, NULL), 0));
	cr_assert(eq(int, stat(path, &st), 0));
	close(fd);
	unlink(path);
	return st.st_size;
}

Test(replay, every_load_is_flat_and_loses_no_time)
{
	static const struct {
		const char *load;
		uint64_t full_s; // by then the tables are as large as they get
	} rows[] = { { "few", 120 }, { "paths", 60 },   { "recursion", 40 },
		     { "jit", 90 },  { "waiters", 30 }, { "processes", 120 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup(replay) struct replay *r = replay_new(rows[i].load, &limits);
		profile_set_timeline(r->profile, SLICES);
		replay_run(r, rows[i].full_s * NS_PER_SEC);
		size_t bytes = replay_bytes(r);
		replay_run(r, HALVES * rows[i].full_s * NS_PER_SEC / 2);
		struct totals totals;
		query_totals(r->profile, &totals);
		// One index may double once more, at a higher tide.
		cr_expect(le(sz, replay_bytes(r), bytes / 4 * 5), "%s", rows[i].load);
		cr_expect(lt(sz, replay_bytes(r), 3 << 20), "%s", rows[i].load);
		cr_expect(lt(i64, file_size(r->profile), 400000), "%s", rows[i].load);
		cr_expect(eq(u64, totals.on_cpu_ns + totals.off_cpu_ns, r->given_ns), "%s",
		          rows[i].load);
		cr_expect(eq(u64, totals.lost_events, 0), "%s", rows[i].load);
	}
}

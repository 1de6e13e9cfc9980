// SPDX-License-Identifier: MIT
#include "merge/rules/noise.h"

#include "merge/numbers/statistics.h"
#include "merge/profile/profile.h"
#include "merge/query/query.h"
#include "tests/support/expect.h"

#include <math.h>

static bool is_near(double value, double wanted, double share)
{
	return fabs(value - wanted) <= share * fabs(wanted);
}

Test(noise, student_s_distribution_is_that_of_the_tables)
{
	static const struct {
		double freedom, p, t;
	} known[] = {
		{ 1, 0.05, 12.7062 },   { 2, 0.05, 4.30265 },   { 4, 0.01, 4.60409 },
		{ 10, 0.05, 2.22814 },  { 20, 0.001, 3.84952 }, { 120, 0.05, 1.97993 },
		{ 1e6, 0.05, 1.95996 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		double t = statistics_student_t(known[i].p, known[i].freedom);
		cr_expect(is_near(t, known[i].t, 1e-5), "%g degrees, %g: %g", known[i].freedom,
		          known[i].p, t);
		double p = statistics_student_p(-known[i].t, known[i].freedom);
		cr_expect(is_near(p, known[i].p, 1e-4), "%g degrees, t %g: %g", known[i].freedom,
		          known[i].t, p);
	}
	cr_expect(is_near(statistics_student_p(0, 5), 1, 1e-12));
}

Test(noise, holm_takes_all_rows_together)
{
	const double p[] = { 0.01, 0.04, 0.03, 0.005 };
	double adjusted[4], level[4];

	cr_assert(noise_holm(p, 4, 0.05, adjusted, level) == 0);
	cr_expect(is_near(adjusted[3], 0.02, 1e-9));
	cr_expect(is_near(adjusted[0], 0.03, 1e-9));
	cr_expect(is_near(adjusted[2], 0.06, 1e-9));
	cr_expect(is_near(adjusted[1], 0.06, 1e-9), "no less than that of a smaller p");
	for (int i = 0; i < 4; i++)
		cr_expect(eq(int, p[i] < level[i], adjusted[i] < 0.05), "row %d", i);
}

Test(noise, of_one_run_each_a_difference_is_judged_by_what_runs_are_like)
{
	struct noise_sample base = { 1000, 10 * 10, 1 }, near = { 1010, 10 * 10, 1 },
			    far = { 1100, 10 * 10, 1 };

	cr_expect(noise_compare(&base, 1, &near, 1).p > 0.3);
	struct noise_test test = noise_compare(&base, 1, &far, 1);
	cr_expect(test.p < 1e-4);
	cr_expect(is_near(test.error, sqrt(200), 1e-9));
	cr_expect(is_near(test.change, 100, 1e-9));
}

Test(noise, repeated_runs_tell_themselves_how_far_they_are_apart)
{
	// Each run claims to be exact; what they do is 10 %.
	struct noise_sample base[] = { { 1000, 1, 1 }, { 1100, 1, 1 }, { 900, 1, 1 } };
	struct noise_sample next[] = { { 1050, 1, 1 }, { 1150, 1, 1 }, { 950, 1, 1 } };
	// And here each claims to know nothing, and they are alike.
	struct noise_sample same[] = { { 1049, 1e6, 1 }, { 1050, 1e6, 1 }, { 1051, 1e6, 1 } };
	struct noise_sample was[] = { { 999, 1e6, 1 }, { 1000, 1e6, 1 }, { 1001, 1e6, 1 } };
	// By chance they may be equal: they are no better than samples are.
	struct noise_sample equal[] = { { 1050, 1, 900 }, { 1050, 1, 900 }, { 1050, 1, 900 } };
	struct noise_sample chance[] = { { 1000, 1, 900 }, { 1000, 1, 900 }, { 1000, 1, 900 } };

	cr_expect(noise_compare(base, 3, next, 3).p > 0.2);
	cr_expect(noise_compare(was, 3, same, 3).p < 1e-4);
	cr_expect(noise_compare(chance, 3, equal, 3).p > 0.05);
}

Test(noise, a_run_that_had_to_share_its_machine_tells_less)
{
	struct run quiet = {
		.wall_ns = 1000, .machine_cpus = 2, .target_cpu_ns = 900, .machine_busy_ns = 900
	};
	struct run busy = quiet;
	struct totals alone = { .on_cpu_ns = 900 },
		      waits = { .on_cpu_ns = 900, .runnable_ns = 900 };

	busy.machine_busy_ns = 2000;
	struct noise_level calm = noise_of_run(&quiet, &alone);
	cr_expect(is_near(calm.own, NOISE_QUIET, 1e-9));
	cr_expect(calm.wake_ns == 0);
	struct noise_level loud = noise_of_run(&busy, &waits);
	cr_expect(loud.own > 2 * calm.own && loud.kernel > loud.own && loud.wake_ns > 0);
	struct run unknown = { .wall_ns = 1000 };
	cr_expect(is_near(noise_of_run(&unknown, &alone).own, NOISE_QUIET, 1e-9));
}

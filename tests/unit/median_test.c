// SPDX-License-Identifier: MIT
#include "merge/numbers/median.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void expect_as_sorted(const double *values, size_t count)
{
	double sorted[200], scratch[200];

	memcpy(sorted, values, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare);
	for (size_t i = 0; i < count; i++) {
		memcpy(scratch, values, count * sizeof(*scratch));
		cr_expect_eq(nth_smallest(scratch, count, i), sorted[i], "%zu of %zu", i, count);
	}
	double middle =
		count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
	cr_expect_eq(median(values, count, scratch), middle, "%zu", count);
}

Test(median, few)
{
	double one[] = { 7 }, two[] = { 9, 1 }, three[] = { 3, 1, 2 }, same[] = { 4, 4, 4, 4 };
	double scratch[4];

	cr_expect_eq(median(one, 1, scratch), 7);
	cr_expect_eq(median(two, 2, scratch), 5);
	cr_expect_eq(median(three, 3, scratch), 2);
	cr_expect_eq(median(same, 4, scratch), 4);
	cr_expect_eq(three[0], 3, "values keep their order");
}

Test(median, as_sorted)
{
	double values[200];

	srand(1);
	for (size_t count = 1; count <= 200; count += 7) {
		for (size_t i = 0; i < count; i++)
			values[i] = rand() % 50;
		expect_as_sorted(values, count);
		qsort(values, count, sizeof(*values), compare);
		expect_as_sorted(values, count);
	}
}

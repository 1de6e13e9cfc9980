// SPDX-License-Identifier: MIT
#include "merge/numbers/median.h"

#include <string.h>

static void swap(double *a, double *b)
{
	double kept = *a;

	*a = *b;
	*b = kept;
}

// The middle one of the first, the middle and the last: no order that calls come in is slow.
static double pivot_of(const double *values, size_t low, size_t high)
{
	double a = values[low], b = values[low + (high - low) / 2], c = values[high];

	if (a > b)
		swap(&a, &b);
	return c < a ? a : c > b ? b : c;
}

// Hoare's selection: of both sides of the pivot only the one with INDEX goes on.
double nth_smallest(double *values, size_t count, size_t index)
{
	size_t low = 0, high = count - 1;

	while (low < high) {
		double pivot = pivot_of(values, low, high);
		size_t i = low, j = high;
		for (;;) {
			while (values[i] < pivot)
				i++;
			while (values[j] > pivot)
				j--;
			if (i >= j)
				break;
			swap(&values[i++], &values[j--]);
		}
		if (index <= j)
			high = j;
		else
			low = j + 1;
	}
	return values[index];
}

double median_in_place(double *values, size_t count)
{
	double upper = nth_smallest(values, count, count / 2);

	if (count % 2)
		return upper;
	// What is before it is not larger: the largest of that is its neighbour.
	double lower = values[0];
	for (size_t i = 1; i < count / 2; i++)
		lower = values[i] > lower ? values[i] : lower;
	return (lower + upper) / 2;
}

double median(const double *values, size_t count, double *scratch)
{
	memcpy(scratch, values, count * sizeof(*scratch));
	return median_in_place(scratch, count);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if an element is passed over that is equal to the key, or one is given that is below it. */
#include "base/bound.h"

#include "suite.h"

static const int sorted[] = { 2, 4, 4, 4, 7, 9 };

enum { COUNT = sizeof(sorted) / sizeof(sorted[0]) };

static int compare_ints(const void *left, const void *right)
{
	const int *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

START_TEST(the_first_that_is_not_below)
{
	for (size_t count = 0; count <= COUNT; count++)
		for (int key = 0; key < 11; key++) {
			size_t expected = 0;

			while (expected < count && sorted[expected] < key)
				expected++;
			ck_assert_uint_eq(
				bound_lower(&key, sorted, count, sizeof(sorted[0]), compare_ints),
				expected);
		}
}
END_TEST

SUITE()
{
	TEST(the_first_that_is_not_below);
}

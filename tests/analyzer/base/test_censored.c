/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a median is that of the known values alone, where bounds say that most are less. Bounds
 * with no known value between are of values, too. */
#include "base/censored.h"

#include "suite.h"

enum { VALUES_MAX = 8 };

static const struct {
	struct censored values[VALUES_MAX];
	size_t count;
	uint64_t median;
} rows[] = {
	/*  0 */ { { { 0, 0 } }, 0, 0 },
	/*  1 */ { { { 1, 5 }, { 2, 9 } }, 2, 5 },
	/*  2 */ { { { 7, 7 } }, 1, 7 },
	/*  3 */ { { { 3, 3 }, { 1, 1 }, { 2, 2 } }, 3, 2 },
	/*  4 */ { { { 4, 4 }, { 3, 3 }, { 1, 1 }, { 2, 2 } }, 4, 3 },
	/*  5 */ { { { 70, 70 }, { 80, 80 }, { 3, 3 }, { 0, 9 }, { 0, 9 }, { 2, 20 } }, 6, 3 },
	/*  6 */ { { { 70, 70 }, { 80, 80 }, { 3, 3 }, { 0, 2 }, { 10, 20 } }, 5, 20 },
	/*  7 */ { { { 1, 1 }, { 9, 9 }, { 0, 99 }, { 0, 99 }, { 5, 99 }, { 5, 99 } }, 6, 9 },
	/*  8: three are between 5 and 6 */
	{ { { 1, 1 }, { 9, 9 }, { 4, 7 }, { 4, 6 }, { 5, 8 } }, 5, 6 },
	/*  9 */ { { { 5, 5 }, { 5, 5 }, { 5, 6 }, { 4, 5 }, { 9, 9 } }, 5, 5 },
};

START_TEST(bounds_say_where_the_median_is)
{
	ck_assert_uint_eq(censored_median(rows[_i].values, rows[_i].count), rows[_i].median);
}
END_TEST

SUITE()
{
	EACH(bounds_say_where_the_median_is, rows);
}

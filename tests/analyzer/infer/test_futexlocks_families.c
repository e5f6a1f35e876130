/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if locks of one table are taken for strangers, or locks of two for one table. */
#include "infer/futexlocks_parts.h"

#include "base/memory.h"
#include "suite.h"

#include <stdlib.h>

enum { A = 4, B = 8, C = 12, NOWHERE = 0 };

/* Waits in order of process and address, each at a place. */
static const struct {
	uint32_t process;
	uint64_t address;
	uint32_t place;
	size_t family; /* the first row that is of the same one */
} rows[] = {
	{ 0, A, 1, 0 },           { 0, A, 2, 0 }, /* at two places */
	{ 0, B, 2, 0 },           { 0, C, 3, 3 }, { 0, C + 4, NOWHERE, 4 },
	{ 0, C + 8, NOWHERE, 5 }, { 1, A, 1, 6 }, { 1, B, 1, 6 },
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

START_TEST(locks_at_one_place_are_of_one_family)
{
	struct rec_wait waits[ROWS] = { { 0 } };
	struct futex_event events[ROWS];
	const struct recording rec = { .waits = waits, .wait_count = ROWS };
	uint32_t family[ROWS];
	size_t count, after = 0;

	for (uint32_t i = 0; i < ROWS; i++) {
		waits[i].stack = rows[i].place;
		events[i] =
			(struct futex_event){ rows[i].address, 10 * i, rows[i].process, i, true };
	}
	struct futex_group *groups = futex_groups_find(&rec, events, ROWS, &count);

	ck_assert_uint_eq(count, ROWS - 1); /* addresses */
	for (size_t i = 0; i < count; i++) {
		for (size_t k = groups[i].first; k < groups[i].end; k++, after++)
			family[k] = groups[i].family;
		ck_assert(!i || groups[i - 1].family <= groups[i].family);
	}
	ck_assert_uint_eq(after, ROWS);
	for (size_t i = 0; i < ROWS; i++)
		for (size_t k = 0; k < i; k++)
			ck_assert_msg((family[i] == family[k]) ==
					      (rows[i].family == rows[k].family),
				      "rows %zu and %zu", k, i);
	free(groups);
}
END_TEST

SUITE()
{
	TEST(locks_at_one_place_are_of_one_family);
}

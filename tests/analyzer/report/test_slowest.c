/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, the first screen would blame the wrong thing for slow requests.
 */
#include "report/slowest.h"

#include <stdlib.h>

#include "suite.h"

enum { PARTS = 3 };

static const struct {
	struct path_part parts[PARTS];
	double more_ms[PARTS];
	size_t told_count;
	double whole_ms;
	enum tail_state state;
	const char *expected; /* NULL = nothing is said */
} rows[] = {
	/* 0 */
	{ { { PATH_IO, 1, 0 }, { PATH_CPU_WAIT, 0, 0 }, { PATH_CPU, 2, 0 } },
	  { 5, 1, 0.5 },
	  3,
	  6.5,
	  TAIL_KNOWN,
	  "Slow requests (p99: 8.00 ms or longer) take 6.50 ms more than usual ones: 5.00 ms in "
	  "`flush/fdatasync`, 1.00 ms waiting for a CPU." },
	/* 1: the other one may be chance, or is less */
	{ { { PATH_LOCK, 1, 2 }, { PATH_CPU, 2, 0 } },
	  { 5, -1 },
	  2,
	  4,
	  TAIL_KNOWN,
	  "Slow requests (p99: 8.00 ms or longer) take 4.00 ms more than usual ones: 5.00 ms "
	  "waiting for the lock `flush/fdatasync` (held by `work`)." },
	/* 2 */
	{ { { PATH_QUEUED, 1, 2 }, { PATH_QUEUED, 0, 0 } },
	  { 5, 1 },
	  2,
	  6,
	  TAIL_KNOWN,
	  "Slow requests (p99: 8.00 ms or longer) take 6.00 ms more than usual ones: 5.00 ms "
	  "queued behind other requests in `work`, 1.00 ms queued behind other work." },
	/* 3: chance alone */
	{ { { PATH_IO, 1, 0 } },
	  { 5 },
	  0,
	  6,
	  TAIL_KNOWN,
	  "Slow requests (p99: 8.00 ms or longer) take 6.00 ms more than usual ones, and no part "
	  "of that stands out." },
	/* 4 */ { { { PATH_IO, 1, 0 } }, { 5 }, 1, 6, TAIL_TOO_FEW, NULL },
	/* 5 */ { { { PATH_IO, 1, 0 } }, { 5 }, 1, 0, TAIL_KNOWN, NULL },
};

START_TEST(slow_requests_are_told_by_what_they_have_more_of)
{
	static const char *const strings[] = { "", "flush/fdatasync", "work" };
	struct path_parts parts;
	struct tail_part told[PARTS];
	struct tail tail = { .state = rows[_i].state,
			     .percent = 99,
			     .tail_least_ns = 8000000,
			     .whole.more_ns.value = 1e6 * rows[_i].whole_ms,
			     .parts = told,
			     .part_count = PARTS,
			     .told_count = rows[_i].told_count };
	path_parts_begin(&parts);
	for (size_t i = 0; i < PARTS; i++) {
		const struct path_part *part = &rows[_i].parts[i];
		told[i] = (struct tail_part){
			.key = path_parts_add(&parts, part->kind, part->name, part->by),
			.more_ns.value = 1e6 * rows[_i].more_ms[i],
		};
	}
	char *sentence = slowest_sentence(&tail, &parts, strings);
	if (rows[_i].expected)
		ck_assert_str_eq(sentence, rows[_i].expected);
	else
		ck_assert_ptr_null(sentence);
	free(sentence);
	path_parts_free(&parts);
}
END_TEST

SUITE()
{
	EACH(slow_requests_are_told_by_what_they_have_more_of, rows);
}

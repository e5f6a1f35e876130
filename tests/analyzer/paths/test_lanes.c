/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, parts of requests would have the time of other ones. */
#include "paths/lanes.h"
#include "base/memory.h"
#include "random.h"
#include "suite.h"

#include <string.h>

enum { KEYS = 100, STRETCHES = 1000 };

struct sums {
	uint64_t ns[KEYS];
	uint64_t none_ns;
	unsigned calls;
};

static void take(void *context, uint32_t key, uint64_t ns)
{
	struct sums *sums = context;
	*(key == NO_INDEX ? &sums->none_ns : &sums->ns[key]) += ns;
	sums->calls++;
}

/* The same, stretch by stretch. */
static void add_up(struct sums *sums, const struct lanes *lanes, size_t lane, uint64_t from_ns,
		   uint64_t to_ns)
{
	sums->none_ns = to_ns - from_ns;
	for (size_t i = lanes->lanes[lane].stretch; i < lanes->lanes[lane + 1].stretch; i++) {
		const struct lane_stretch *stretch = &lanes->stretches[i];
		uint64_t start_ns = stretch->start_ns > from_ns ? stretch->start_ns : from_ns;
		uint64_t end_ns = stretch->end_ns < to_ns ? stretch->end_ns : to_ns;
		if (start_ns >= end_ns)
			continue;
		sums->ns[stretch->key] += end_ns - start_ns;
		sums->none_ns -= end_ns - start_ns;
	}
}

START_TEST(any_span_has_the_sums_of_its_stretches)
{
	uint64_t state = 1;
	struct lanes lanes;
	lanes_begin(&lanes);
	/* a lane of few keys, one of many, an empty one */
	for (uint32_t lane = 0; lane < 3; lane++) {
		uint64_t at_ns = 1000;
		lanes_next(&lanes);
		for (int i = 0; lane < 2 && i < STRETCHES; i++) {
			uint64_t gap_ns = random_number(&state, 3), ns = random_number(&state, 9);
			uint32_t key = (uint32_t)random_number(&state, lane ? KEYS : 3);
			lanes_add(&lanes, at_ns + gap_ns, at_ns + gap_ns + ns, key);
			at_ns += gap_ns + ns;
		}
	}
	lanes_end(&lanes, KEYS);
	for (int i = 0; i < 3000; i++) {
		struct sums found = { 0 }, expected = { 0 };
		size_t lane = random_number(&state, 3);
		uint64_t from_ns = random_number(&state, 8000);
		uint64_t to_ns = from_ns + random_number(&state, 8000);
		lanes_sum(&lanes, lane, from_ns, to_ns, take, &found);
		add_up(&expected, &lanes, lane, from_ns, to_ns);
		ck_assert_uint_le(found.calls, 3 * KEYS + 1);
		found.calls = 0;
		ck_assert_mem_eq(&found, &expected, sizeof(found));
	}
	lanes_free(&lanes);
}
END_TEST

START_TEST(stretches_are_found_by_time)
{
	struct lanes lanes;
	lanes_begin(&lanes);
	lanes_end(&lanes, 0);
	lanes_free(&lanes);
	lanes_begin(&lanes);
	lanes_next(&lanes);
	lanes_add(&lanes, 10, 20, 0);
	lanes_add(&lanes, 20, 20, 1);
	lanes_add(&lanes, 30, 40, 1);
	lanes_end(&lanes, 2);
	ck_assert_uint_eq(lanes.stretch_count, 2);
	static const struct {
		uint64_t at_ns;
		size_t index;
	} rows[] = { { 0, 0 }, { 10, 0 }, { 19, 0 }, { 20, 1 }, { 39, 1 }, { 40, 2 } };
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_uint_eq(lanes_find(&lanes, 0, rows[i].at_ns), rows[i].index);
	lanes_free(&lanes);
}
END_TEST

SUITE()
{
	TEST(any_span_has_the_sums_of_its_stretches);
	TEST(stretches_are_found_by_time);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a request is said to be made of parts that it does not have. */
#include "export/latency.h"
#include "suite.h"

#include <string.h>

enum { COUNT = 20, PARTS = 60 };

struct slow {
	struct request requests[COUNT];
	struct requests all;
	struct request_paths paths;
	size_t first[COUNT + 1];
	uint32_t part[COUNT + PARTS];
	uint64_t ns[COUNT + PARTS];
};

/* Requests nap for a millisecond. The last one then waits five for a lock. */
static void slow_begin(struct slow *slow)
{
	size_t at = 0;
	*slow = (struct slow){ .all = { .count = COUNT }, .paths = { .count = COUNT } };
	path_parts_begin(&slow->paths.parts);
	uint32_t nap = path_parts_add(&slow->paths.parts, PATH_IO, 1, 0);
	uint32_t lock = path_parts_add(&slow->paths.parts, PATH_LOCK, 2, 3);
	for (uint32_t i = 0; i < COUNT; i++) {
		bool is_last = i == COUNT - 1;
		slow->requests[i] =
			(struct request){ .thread = 1, .taken_ns = is_last ? 6000 : 1000 };
		slow->first[i] = at;
		slow->part[at] = nap, slow->ns[at++] = 1000;
		if (is_last)
			slow->part[at] = lock, slow->ns[at++] = 5000;
	}
	slow->first[COUNT] = at;
	slow->all.requests = slow->requests;
	slow->paths.first = slow->first;
	slow->paths.part = slow->part;
	slow->paths.ns = slow->ns;
}

static void slow_end(struct slow *slow)
{
	path_parts_free(&slow->paths.parts);
}

START_TEST(the_slow_one_waited_for_the_lock)
{
	struct slow slow;
	struct latency latency;
	slow_begin(&slow);
	latency_build(&latency, &slow.all, &slow.paths);
	ck_assert_uint_eq(latency.count, COUNT);
	ck_assert_uint_eq(latency.requests[COUNT - 1].taken_ns, 6000);
	ck_assert_uint_eq(latency.requests[COUNT - 1].index, COUNT - 1);
	ck_assert_uint_eq(latency.key_count, 2);
	ck_assert_int_eq(latency.keys[0].kind, PATH_IO);
	ck_assert_int_eq(latency.keys[1].kind, PATH_LOCK);
	ck_assert_uint_eq(latency.keys[1].by, 3);
	ck_assert_uint_eq(latency.picks[COUNT - 1].parts_ns[0], 1000);
	ck_assert_uint_eq(latency.picks[COUNT - 1].parts_ns[1], 5000);
	ck_assert_uint_eq(latency.picks[0].parts_ns[1], 0);
	latency_free(&latency);
	slow_end(&slow);
}
END_TEST

/* More parts than there are keys: together they are what the request took. */
START_TEST(parts_of_a_request_are_all_of_it)
{
	struct slow slow;
	struct latency latency;
	slow_begin(&slow);
	size_t at = slow.first[COUNT - 1];
	for (uint32_t i = 0; i < PARTS; i++) {
		slow.part[at] = path_parts_add(&slow.paths.parts, PATH_CPU, i, 0);
		slow.ns[at++] = 100;
	}
	slow.first[COUNT] = at;
	latency_build(&latency, &slow.all, &slow.paths);
	ck_assert_uint_eq(latency.key_count, LATENCY_KEYS);
	ck_assert_uint_eq(latency.pick_count, COUNT);
	for (size_t i = 0; i < latency.pick_count; i++) {
		uint64_t sum_ns = 0;
		ck_assert_uint_eq(latency.picks[i].rank, i);
		for (size_t k = 0; k <= LATENCY_KEYS; k++)
			sum_ns += latency.picks[i].parts_ns[k];
		ck_assert_uint_eq(sum_ns, latency.requests[i].taken_ns);
	}
	ck_assert_uint_eq(latency.picks[COUNT - 1].parts_ns[LATENCY_KEYS],
			  100 * (PARTS - LATENCY_KEYS + 1));
	latency_free(&latency);
	slow_end(&slow);
}
END_TEST

START_TEST(no_requests_have_no_parts)
{
	struct slow slow;
	struct latency latency;
	slow_begin(&slow);
	latency_build(&latency, &slow.all, NULL);
	ck_assert_uint_eq(latency.count, COUNT);
	ck_assert_uint_eq(latency.key_count, 0);
	latency_free(&latency);
	slow.all.judged_source = REQUEST_ASKED;
	latency_build(&latency, &slow.all, &slow.paths);
	ck_assert_uint_eq(latency.count, 0);
	ck_assert_uint_eq(latency.pick_count, 0);
	latency_free(&latency);
	slow_end(&slow);
}
END_TEST

/* Nobody knows how long an unfinished request takes: percentiles beyond it are hidden. */
START_TEST(unfinished_requests_are_longer_than_seen)
{
	static const struct {
		uint32_t unfinished; /* the longest */
		size_t marks[LATENCY_MARKS];
	} rows[] = {
		/* 0 */ { 0, { 10, 19, 19 } },
		/* 1 */ { 8, { 10, COUNT, COUNT } },
	};
	for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		struct slow slow;
		struct latency latency;
		slow_begin(&slow);
		for (uint32_t i = 0; i < COUNT; i++) {
			slow.requests[i].taken_ns = 1000 + i;
			slow.requests[i].is_unfinished = i >= COUNT - rows[row].unfinished;
		}
		latency_build(&latency, &slow.all, NULL);
		ck_assert_uint_eq(latency.unfinished_count, rows[row].unfinished);
		for (size_t i = 0; i < LATENCY_MARKS; i++)
			ck_assert_uint_eq(latency.marks[i], rows[row].marks[i]);
		latency_free(&latency);
		slow_end(&slow);
	}
}
END_TEST

SUITE()
{
	TEST(unfinished_requests_are_longer_than_seen);
	TEST(the_slow_one_waited_for_the_lock);
	TEST(parts_of_a_request_are_all_of_it);
	TEST(no_requests_have_no_parts);
}

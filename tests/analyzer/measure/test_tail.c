/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a server's owner would mend what slow requests have no more of than others.
 */
#include "measure/tail.h"

#include "base/memory.h"
#include "random.h"
#include "suite.h"

enum { REQUESTS_MAX = 2000, KEYS = 4, WORK = 0, LOCK = 1, FLUSH = 2 };

/* Each request has work, one in `slow_every` a lock, too, and perhaps a flush. */
struct made {
	uint64_t taken_ns[REQUESTS_MAX], parts_ns[3 * REQUESTS_MAX];
	uint32_t keys[3 * REQUESTS_MAX];
	size_t first[REQUESTS_MAX + 1];
	bool is_unfinished[REQUESTS_MAX];
	struct tail_input input;
};

static void make(struct made *made, size_t count, size_t slow_every, uint64_t seed)
{
	uint64_t state = seed;
	size_t parts = 0;
	*made = (struct made){ .input = { count, made->taken_ns, made->is_unfinished, made->first,
					  made->keys, made->parts_ns, KEYS } };
	for (size_t i = 0; i < count; i++) {
		const uint64_t ns[] = { 1000 + random_number(&state, 200),
					random_number(&state, slow_every) ? 0 : 5000,
					random_number(&state, 50) };
		for (uint32_t k = WORK; k <= FLUSH; k++) {
			made->keys[parts] = k;
			made->parts_ns[parts++] = ns[k];
			made->taken_ns[i] += ns[k];
		}
		made->first[i + 1] = parts;
	}
}

static const struct tail_part *part_of(const struct tail *tail, uint32_t key)
{
	for (size_t i = 0; i < tail->part_count; i++)
		if (tail->parts[i].key == key)
			return &tail->parts[i];
	return NULL;
}

START_TEST(the_lock_is_what_the_tail_has_more_of)
{
	struct made made;
	struct tail tail;
	make(&made, 2000, 40, 1);
	tail_build(&tail, &made.input, 99);
	ck_assert_uint_eq(tail.state, TAIL_KNOWN);
	ck_assert_double_eq(tail.percent, 99);
	ck_assert_uint_eq(tail.tail_count, 20);
	ck_assert_uint_ge(tail.body_count, 400);
	ck_assert_uint_lt(tail.body_count, 420);
	ck_assert_uint_eq(tail.parts[0].key, LOCK);
	ck_assert_double_eq(tail.parts[0].tail_ns, 5000);
	ck_assert_double_eq(tail.parts[0].body_ns, 0);
	ck_assert_double_eq(tail.whole.more_ns.value, tail.whole.tail_ns - tail.whole.body_ns);
	ck_assert(!part_of(&tail, KEYS - 1)); /* nobody has any */
	double sum = 0;
	for (size_t i = 0; i < tail.part_count; i++)
		sum += tail.parts[i].more_ns.value;
	ck_assert_double_eq_tol(sum, tail.whole.more_ns.value, 1e-6);
	ck_assert_uint_eq(tail.tail_least_ns, made.taken_ns[tail.examples[TAIL_FIRST]]);
	ck_assert_uint_gt(tail.tail_least_ns, 6000);
	for (size_t i = 0; i < 2000; i++)
		ck_assert_uint_le(made.taken_ns[i], made.taken_ns[tail.examples[TAIL_SLOWEST]]);
	ck_assert_uint_ge(made.taken_ns[tail.examples[TAIL_MEDIAN]], tail.body_least_ns);
	ck_assert_uint_le(made.taken_ns[tail.examples[TAIL_MEDIAN]], tail.body_most_ns);
	tail_free(&tail);
}
END_TEST

/* Half of the requests have the lock: some at 50..60 do, and so do all of the tail. A flush is in
 * as many of them. */
START_TEST(what_cannot_be_told_is_added_up)
{
	struct made made;
	struct tail tail;
	make(&made, 600, 4, 3);
	for (size_t i = 0; i < 600; i++)
		made.parts_ns[3 * i] = 1000, made.parts_ns[3 * i + 2] = 0,
				  made.taken_ns[i] = 1000 + made.parts_ns[3 * i + 1] + i % 7;
	tail_build(&tail, &made.input, 90);
	ck_assert_uint_eq(tail.told_count, 1);
	ck_assert_uint_eq(tail.parts[0].key, LOCK);
	ck_assert_double_eq(tail.untold_ns, 0); /* work is the same everywhere */
	tail_free(&tail);
}
END_TEST

START_TEST(few_requests_have_a_lower_tail_or_none)
{
	static const struct {
		size_t count;
		double asked, percent;
	} rows[] = {
		{ 50, 99, 90 },  { 499, 95, 90 },   { 499, 80, 80 },    { 500, 95, 95 },
		{ 500, 99, 99 }, { 500, 99.9, 99 }, { 2000, 99.9, 99 },
	};
	struct made made;
	struct tail tail;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make(&made, rows[i].count, 10, i + 1);
		tail_build(&tail, &made.input, rows[i].asked);
		ck_assert_uint_eq(tail.state, TAIL_KNOWN);
		ck_assert_double_eq(tail.percent, rows[i].percent);
		ck_assert_double_eq(tail.asked, rows[i].asked);
		tail_free(&tail);
	}
	make(&made, 49, 10, 1);
	tail_build(&tail, &made.input, 99);
	ck_assert_uint_eq(tail.state, TAIL_TOO_FEW);
	tail_free(&tail);
}
END_TEST

/* Had only those that finished counted, the tail would be without its longest. */
START_TEST(unfinished_ones_are_of_the_tail)
{
	struct made made;
	struct tail tail;
	make(&made, 1000, 100, 1);
	made.taken_ns[7] = 100000;
	made.parts_ns[22] = 99000;
	made.is_unfinished[7] = true;
	tail_build(&tail, &made.input, 99);
	ck_assert_uint_eq(tail.state, TAIL_KNOWN);
	ck_assert_uint_eq(tail.unfinished_count, 1);
	ck_assert_uint_eq(tail.examples[TAIL_SLOWEST], 7);
	tail_free(&tail);
	for (size_t i = 0; i < 20; i++) {
		made.is_unfinished[50 * i] = true;
		made.taken_ns[50 * i] = 90000;
	}
	tail_build(&tail, &made.input, 99);
	ck_assert_uint_eq(tail.state, TAIL_UNFINISHED);
	tail_free(&tail);
	tail_build(&tail, &made.input, 95);
	ck_assert_uint_eq(tail.state, TAIL_KNOWN);
	tail_free(&tail);
}
END_TEST

/* The truth is that of a sample so large that it is no sample. */
START_TEST(intervals_have_the_truth)
{
	static const size_t counts[] = { 60, 500, 1000 };
	struct made made;
	struct tail truth, tail;
	int tries = 0, held = 0;
	for (size_t c = 0; c < 3; c++) {
		double percent = counts[c] < 500 ? 90 : 95;
		make(&made, 2000, 30, 77);
		tail_build(&truth, &made.input, percent);
		for (uint64_t seed = 1; seed <= 10; seed++) {
			make(&made, counts[c], 30, seed);
			tail_build(&tail, &made.input, percent);
			for (uint32_t key = WORK; key <= FLUSH; key++) {
				double value = part_of(&truth, key)->more_ns.value;
				const struct tail_part *part = part_of(&tail, key);
				tries++;
				held += part && part->more_ns.least <= value &&
					value <= part->more_ns.most;
			}
			tail_free(&tail);
		}
		tail_free(&truth);
	}
	ck_assert_int_ge(held, tries * 88 / 100);
}
END_TEST

SUITE()
{
	TEST(the_lock_is_what_the_tail_has_more_of);
	TEST(what_cannot_be_told_is_added_up);
	TEST(few_requests_have_a_lower_tail_or_none);
	TEST(unfinished_ones_are_of_the_tail);
	TEST(intervals_have_the_truth);
}

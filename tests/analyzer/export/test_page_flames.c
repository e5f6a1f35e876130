/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, a flame graph would show time that no thread spent, or leave some out. */
#include "export/drawnstates.h"
#include "export/page.h"
#include "section.h"

/* The item of a lane in a state; there is one. */
static size_t item_of(const json_t *data, json_int_t lane, json_int_t state)
{
	size_t count = json_array_size(json_object_get(data, "lane"));
	for (size_t i = 0; i < count; i++)
		if (section_number(data, "lane", i) == lane &&
		    section_number(data, "state", i) == state)
			return i;
	ck_abort_msg("lane %lld was never in state %lld", (long long)lane, (long long)state);
}

START_TEST(items_are_what_threads_were_in_and_who_let_them_go)
{
	struct sketch sketch;
	section_sketch(&sketch);
	json_t *data = section_of(&sketch, page_flames);
	size_t wait = item_of(data, 2, DRAWN_LOCK);
	ck_assert_int_eq(section_number(data, "ns", wait), 25000000);
	ck_assert_str_eq(section_text(data, "strings", (size_t)section_number(data, "name", wait)),
			 "M");
	ck_assert_int_eq(section_number(data, "waker", wait), 1); /* the pool of the workers */
	ck_assert_int_eq(section_number(data, "cause", wait), REASON_MUTEX);
	json_decref(data);
	sketch_free(&sketch);
}
END_TEST

START_TEST(parts_add_up_to_all_time_of_threads)
{
	struct sketch sketch;
	json_int_t all = 0, parts = 0;
	section_sketch(&sketch);
	json_t *data = section_of(&sketch, page_flames);
	size_t count = json_array_size(json_object_get(data, "ns"));
	for (size_t i = 0; i < count; i++)
		all += section_number(data, "ns", i);
	count = json_array_size(json_object_get(data, "part_ns"));
	for (size_t i = 0; i < count; i++)
		parts += section_number(data, "part_ns", i);
	ck_assert_int_eq(all, (60 + 50 + 60) * 1000000);
	ck_assert_int_eq(parts, all);
	json_decref(data);
	sketch_free(&sketch);
}
END_TEST

/* Of 40 requests, marked by the program, the last 2 are slow: they wait for the lock. */
START_TEST(time_in_slow_requests_is_told_from_that_in_others)
{
	enum { REQUESTS = 40, SLOW = 2 };
	struct sketch sketch;
	sketch_begin(&sketch);
	sketch_join_two(&sketch, "worker", "worker", 1000, 1000);
	for (int i = 0; i < REQUESTS; i++) {
		bool is_slow = i >= REQUESTS - SLOW;
		sketch_op(&sketch, KIND_OP_USER, "request", 1, 20 * i, 20 * i + (is_slow ? 12 : 4));
		if (is_slow)
			sketch_wait(&sketch, 1, REASON_MUTEX, "M", 20 * i + 1, 20 * i + 11,
				    NO_INDEX);
	}
	sketch_end(&sketch);
	json_t *data = section_of(&sketch, page_flames);
	size_t wait = item_of(data, 1, DRAWN_LOCK), rest = item_of(data, 1, DRAWN_UNKNOWN);
	ck_assert_int_eq(json_integer_value(json_object_get(data, "slow_requests")), SLOW);
	ck_assert_int_eq(json_integer_value(json_object_get(data, "other_requests")),
			 REQUESTS - SLOW);
	ck_assert_int_eq(section_number(data, "slow_ns", wait), SLOW * 10000000);
	ck_assert_int_eq(section_number(data, "other_ns", wait), 0);
	ck_assert_int_eq(section_number(data, "slow_ns", rest), SLOW * 2000000);
	ck_assert_int_eq(section_number(data, "other_ns", rest), (REQUESTS - SLOW) * 4000000);
	json_decref(data);
	sketch_free(&sketch);
}
END_TEST

/* Function n is frame n, called by nobody. */
static void put_with_functions(const struct analysis *analysis, struct emit *emit)
{
	static uint32_t first[SKETCH_STACKS + 1], names[SKETCH_STACKS];
	static const struct labels labels = { .frames = { .first = first, .names = names } };
	struct analysis named = *analysis;
	for (uint32_t i = 0; i < SKETCH_STACKS; i++)
		first[i] = names[i] = i;
	first[SKETCH_STACKS] = SKETCH_STACKS;
	named.labels = &labels;
	page_flames(&named, emit);
}

/* Of a function, on a CPU, inside of slow requests or of others. */
static json_int_t time_on_cpu(const json_t *data, const char *function, const char *inside)
{
	json_int_t sum = 0;
	for (size_t i = 0; i < json_array_size(json_object_get(data, "lane")); i++) {
		json_int_t node = section_number(data, "node", i);
		if (section_number(data, "state", i) != DRAWN_RUNNING || node < 0)
			continue;
		json_int_t text = section_number(data, "stack_frame", (size_t)node);
		if (!strcmp(section_text(data, "strings", (size_t)text), function))
			sum += section_number(data, inside, i);
	}
	return sum;
}

/* 40 requests run in n1 for 4 ms, but for two, which run in n2 for 12 ms. A sample comes every 3 ms
 * on the CPU: the last quarter of a slow one has none, and the next sample is another's. */
START_TEST(time_on_a_cpu_goes_to_functions_that_were_sampled_inside)
{
	enum { REQUESTS = 40, SLOW_EVERY = 20 };
	struct rec_sample samples[REQUESTS * 3 + 1] = { { .thread = 1 } };
	struct sketch sketch;
	size_t count = 1;
	uint64_t cpu_ms = 0;
	sketch_begin(&sketch);
	sketch_join_two(&sketch, "worker", "worker", 1000, 1000);
	for (uint64_t i = 0; i < REQUESTS; i++) {
		bool is_slow = i % SLOW_EVERY == 5;
		uint64_t length_ms = is_slow ? 12 : 4;
		sketch_op(&sketch, KIND_OP_USER, "request", 1, 20 * (double)i,
			  (double)(20 * i + length_ms));
		for (uint64_t at_ms = 3; at_ms < length_ms; at_ms += 3)
			samples[count++] =
				(struct rec_sample){ .thread = 1,
						     .at_ns = (20 * i + at_ms) * 1000000,
						     .cpu_ns = (cpu_ms + at_ms) * 1000000,
						     .stack = is_slow ? 2 : 1 };
		cpu_ms += length_ms;
	}
	sketch.rec.samples = samples;
	sketch.rec.sample_count = count;
	sketch_end(&sketch);
	json_t *data = section_of(&sketch, put_with_functions);
	ck_assert_int_eq(json_integer_value(json_object_get(data, "slow_requests")), 2);
	ck_assert_int_gt(time_on_cpu(data, "n2", "slow_ns"), 0);
	ck_assert_int_eq(time_on_cpu(data, "n1", "slow_ns"), 0);
	ck_assert_int_eq(time_on_cpu(data, "n2", "other_ns"), 0);
	ck_assert_int_gt(time_on_cpu(data, "n1", "other_ns"), 0);
	json_decref(data);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_recording_without_threads_has_no_item)
{
	struct sketch sketch;
	sketch_begin(&sketch);
	sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 1000);
	json_t *data = section_of(&sketch, page_flames);
	ck_assert_uint_eq(json_array_size(json_object_get(data, "ns")), 0);
	json_decref(data);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(items_are_what_threads_were_in_and_who_let_them_go);
	TEST(parts_add_up_to_all_time_of_threads);
	TEST(time_in_slow_requests_is_told_from_that_in_others);
	TEST(time_on_a_cpu_goes_to_functions_that_were_sampled_inside);
	TEST(a_recording_without_threads_has_no_item);
}

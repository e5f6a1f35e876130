/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, the timeline would show states of threads, or holders of locks, that were not. */
#include "export/page.h"
#include "section.h"

/* Where the slice of a row is that begins at `at_ns`; its length in *length_ns. */
static size_t slice_at(const json_t *data, size_t row, json_int_t at_ns, json_int_t *length_ns)
{
	json_int_t at = 0;
	size_t end = (size_t)section_number(data, "first0", row + 1);
	for (size_t i = (size_t)section_number(data, "first0", row); i < end; i++) {
		at += section_number(data, "gap0", i);
		*length_ns = section_number(data, "length0", i);
		if (at == at_ns)
			return i;
		at += *length_ns;
	}
	ck_abort_msg("row %zu has no slice that begins at %lld", row, (long long)at_ns);
}

START_TEST(rows_are_states_then_holds_then_locks)
{
	enum { LANES = 3, MAIN = 0, ONE = 1, TWO = 2 };
	struct sketch sketch;
	json_int_t length_ns;
	section_sketch(&sketch);
	json_t *data = section_of(&sketch, page_timeline);
	ck_assert_uint_eq(json_array_size(json_object_get(data, "lanes")), LANES);
	ck_assert_uint_eq(json_array_size(json_object_get(data, "first0")), 2 * LANES + 2);
	size_t waited = slice_at(data, TWO, 15000000, &length_ns);
	ck_assert_int_eq(length_ns, 25000000);
	size_t detail = (size_t)section_number(data, "detail0", waited);
	ck_assert_str_eq(
		section_text(data, "states", (size_t)section_number(data, "detail_state", detail)),
		"lock");
	ck_assert_str_eq(
		section_text(data, "strings", (size_t)section_number(data, "detail_name", detail)),
		"M");
	ck_assert_int_eq(section_number(data, "detail_holder", detail), ONE);
	ck_assert_int_eq(section_number(data, "detail_waker", detail), ONE);
	size_t held = slice_at(data, LANES + ONE, 10000000, &length_ns);
	ck_assert_int_eq(length_ns, 30000000);
	ck_assert_int_eq(section_number(data, "detail0", held), 0);
	size_t lock = slice_at(data, 2 * LANES, 15000000, &length_ns);
	ck_assert_int_eq(length_ns, 25000000);
	ck_assert_int_eq(section_number(data, "detail0", lock), 1 * (LANES + 1) + ONE + 1);
	json_decref(data);
	sketch_free(&sketch);
}
END_TEST

START_TEST(the_path_goes_from_waker_to_waker)
{
	struct sketch sketch;
	section_sketch(&sketch);
	sketch.rec.samples =
		(struct rec_sample[]){ { .thread = 1, .at_ns = 0 },
				       { .thread = 1, .at_ns = 50000000, .cpu_ns = 50000000 },
				       { .thread = 2, .at_ns = 0 },
				       { .thread = 2, .at_ns = 60000000, .cpu_ns = 35000000 } };
	sketch.rec.sample_count = 4;
	json_t *data = section_of(&sketch, page_timeline);
	ck_assert_int_eq(section_number(data, "path_lane", 0), 1);
	ck_assert_int_eq(section_number(data, "path_end", 0), 40000000);
	ck_assert_int_eq(section_number(data, "path_lane", 1), 2);
	ck_assert_int_eq(section_number(data, "path_start", 1), 40000000);
	ck_assert_int_eq(section_number(data, "path_end", 1), 60000000);
	json_decref(data);
	sketch_free(&sketch);
}
END_TEST

START_TEST(the_map_has_who_waited)
{
	struct sketch sketch;
	section_sketch(&sketch);
	json_t *data = section_of(&sketch, page_timeline);
	/* the run is 60 ms: at 30 ms main waits for a thread, and one for the lock */
	ck_assert_int_eq(section_number(data, "map_waiting", 600), 200);
	ck_assert_int_eq(section_number(data, "map_waiting", 200), 100);
	json_decref(data);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_recording_without_threads_has_no_lane)
{
	struct sketch sketch;
	sketch_begin(&sketch);
	sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 1000);
	json_t *data = section_of(&sketch, page_timeline);
	ck_assert_uint_eq(json_array_size(json_object_get(data, "lanes")), 0);
	ck_assert_uint_eq(json_array_size(json_object_get(data, "cell_ns")), 1);
	json_decref(data);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(rows_are_states_then_holds_then_locks);
	TEST(the_path_goes_from_waker_to_waker);
	TEST(the_map_has_who_waited);
	TEST(a_recording_without_threads_has_no_lane);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, two different names become one, or one name two classes. */
#include <stdio.h>

#include "dump_text.h"
#include "recording/intern.h"
#include "suite.h"

enum { TEXTS = 20000 }; /* enough for the table to grow several times */

START_TEST(equal_texts_have_equal_ids)
{
	struct recording recording = { 0 };
	uint32_t ids[TEXTS], i;
	char text[32];

	ck_assert_uint_eq(recording_intern(&recording, "first"), 1);
	ck_assert_uint_eq(recording_intern(&recording, ""), 0);
	for (i = 0; i < TEXTS; i++) {
		snprintf(text, sizeof(text), "text %u", i);
		ids[i] = recording_intern(&recording, text);
		ck_assert_uint_eq(ids[i], i + 2);
	}
	for (i = 0; i < TEXTS; i++) {
		snprintf(text, sizeof(text), "text %u", i);
		ck_assert_uint_eq(recording_intern(&recording, text), ids[i]);
		ck_assert_str_eq(recording.strings[ids[i]], text);
	}
	ck_assert_uint_eq(recording.string_count, TEXTS + 2);
	recording_free(&recording);
}
END_TEST

START_TEST(a_twin_has_the_text_and_is_never_found)
{
	struct recording recording = { 0 };
	uint32_t id = recording_intern(&recording, "pipe:[7]"), twin, i;
	char text[32];

	twin = recording_add_twin(&recording, id);
	ck_assert_uint_ne(twin, id);
	for (i = 0; i < TEXTS; i++) { /* also once the table has grown */
		snprintf(text, sizeof(text), "text %u", i);
		ck_assert_uint_eq(recording_intern(&recording, text), i + 3);
	}
	ck_assert_str_eq(recording.strings[twin], "pipe:[7]");
	ck_assert_uint_eq(recording_intern(&recording, "pipe:[7]"), id);
	recording_free(&recording);
}
END_TEST

START_TEST(only_so_many_bytes)
{
	struct recording recording = { 0 };
	uint32_t whole = recording_intern(&recording, "abcdefghijk");

	ck_assert_uint_ne(recording_intern_bytes(&recording, "abcdefghijkl", 10), whole);
	ck_assert_uint_eq(recording_intern_bytes(&recording, "abcdefghijkl", 11), whole);
	ck_assert_uint_eq(recording_intern_bytes(&recording, "x", 0), 0);
	recording_free(&recording);
}
END_TEST

START_TEST(a_recording_made_by_hand)
{
	const char *strings[] = { "", "mine" };
	struct recording recording = { .strings = strings, .string_count = 2 };

	ck_assert_uint_eq(recording_intern(&recording, "mine"), 1);
	ck_assert_uint_eq(recording_intern(&recording, "yours"), 2);
	ck_assert_ptr_eq(recording.strings[1], strings[1]);
	ck_assert_ptr_ne(recording.strings, strings);
	recording_free(&recording);
}
END_TEST

SUITE()
{
	TEST(equal_texts_have_equal_ids);
	TEST(a_twin_has_the_text_and_is_never_found);
	TEST(only_so_many_bytes);
	TEST(a_recording_made_by_hand);
}

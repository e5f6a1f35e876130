/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, an event's line is not JSON, or says something else than its record. */
#include "eventtext.h"

#include "fields.h"
#include "recording.h"
#include "suite.h"

static struct dump dump;
static struct arena *arena;

static void setup(void)
{
	recording_begin();
	arena = recorder_arena;
	dump = (struct dump){ .arena = arena };
	/* As many nanoseconds as ticks. */
	dump.snapshot.clock = (struct clock_scale){ .mult = UINT64_C(1) << 32 };
}

/* The text of a record, one object; it must end where the text ends. */
static char bytes[EVENT_BYTES_MAX + 1];

static json_t *read_back(struct text *text)
{
	json_t *object;

	ck_assert(text_end(text));
	object = json_loads(bytes, JSON_REJECT_DUPLICATES, NULL);
	ck_assert_msg(object != NULL, "%s", bytes);
	return object;
}

static json_t *put(void (*write)(struct text *, const struct dump *, const struct record *),
		   const struct record *record)
{
	struct text text = { .bytes = bytes, .size = sizeof(bytes) };

	write(&text, &dump, record);
	return read_back(&text);
}

static json_t *put_open(void (*write)(struct text *, const struct dump *, const struct record *,
				      uint64_t),
			const struct record *record, uint64_t cut_ticks)
{
	struct text text = { .bytes = bytes, .size = sizeof(bytes) };

	write(&text, &dump, record, cut_ticks);
	return read_back(&text);
}

START_TEST(keys_go_by_the_kind)
{
	static const struct {
		struct record record;
		const char *key;
		json_int_t value;
	} rows[] = {
		/* 0 */ { { .type = RECORD_OP, .what = KIND_IO, .value = 7, .fd = 4 }, "n", 7 },
		/* 1 */
		{ { .type = RECORD_OP, .what = KIND_IO, .value = -11ULL, .fd = 4 }, "err", 11 },
		/* 2 */ { { .type = RECORD_OP, .what = KIND_IO, .fd = 4 }, "fd", 4 },
		/* 3 */ { { .type = RECORD_OP, .what = KIND_IO, .fd = -1 }, "fd", 0 },
		/* 4 */
		{ { .type = RECORD_OP, .what = KIND_SLEEP, .value = 9, .fd = -1 }, "rq", 9 },
		/* 5 */
		{ { .type = RECORD_OP, .what = KIND_HOLD, .value = 64, .fd = -1 }, "a", 64 },
		/* 6 */ { { .type = RECORD_OP, .what = KIND_HOLD, .count = 3, .fd = -1 }, "sq", 3 },
		/* 7 */ { { .type = RECORD_WAIT, .fd = 12 }, "h", 12 },
		/* 8 */ { { .type = RECORD_WAIT, .flags = RECORD_TIMED_OUT }, "to", 1 },
		/* 9 */ { { .type = RECORD_LINK, .flags = RECORD_ALL }, "all", 1 },
		/* 10 */ { { .type = RECORD_SAMPLE, .value = 5 }, "cpu", 5 },
		/* 11 */
		{ { .type = RECORD_OP, .what = KIND_IO, .value = 3 * RECORD_MESSAGE + 70 },
		  "n",
		  70 },
		/* 12 */
		{ { .type = RECORD_OP, .what = KIND_IO, .value = 3 * RECORD_MESSAGE + 70 },
		  "nm",
		  3 },
		/* 13 */ { { .type = RECORD_OP, .what = KIND_IO, .value = 70 }, "nm", 0 },
		/* 14 */ { { .type = RECORD_OP, .what = KIND_IO, .count = 8 }, "i2", 8 },
		/* 15 */
		{ { .type = RECORD_OP, .what = KIND_IO, .count = 8, .flags = RECORD_PEEKED },
		  "rk",
		  8 },
		/* 16 */
		{ { .type = RECORD_OP, .what = KIND_IO, .count = 8, .flags = RECORD_PEEKED },
		  "i2",
		  0 },
		/* 17 */
		{ { .type = RECORD_OP, .what = KIND_IO, .flags = RECORD_PEEKED }, "abs", 0 },
		/* 18 */
		{ { .type = RECORD_OP,
		    .what = KIND_IO,
		    .count = 44 << 16 | 8,
		    .flags = RECORD_PEEKED },
		  "rk",
		  8 },
		/* 19 */
		{ { .type = RECORD_OP,
		    .what = KIND_IO,
		    .count = 44 << 16 | 8,
		    .flags = RECORD_PEEKED },
		  "rb",
		  44 },
		/* 20: it timed out 5 ns after it was to */
		{ { .type = RECORD_WAIT, .flags = RECORD_TIMED_OUT, .end = 30, .id = 5 },
		  "rq",
		  25 },
		/* 21 */
		{ { .type = RECORD_WAIT, .flags = RECORD_TIMED_OUT, .end = 30, .id = 5 }, "t", 0 },
		/* 22: that was before it began */
		{ { .type = RECORD_WAIT, .flags = RECORD_TIMED_OUT, .end = 30, .id = 30 },
		  "rq",
		  0 },
		/* 23: not known */
		{ { .type = RECORD_WAIT, .flags = RECORD_TIMED_OUT, .end = 30 }, "rq", 0 },
	};
	json_t *line = put(eventtext_put, &rows[_i].record);

	ck_assert_int_eq(number_of(line, rows[_i].key), rows[_i].value);
	json_decref(line);
}
END_TEST

#define PROBED .type = RECORD_OP, .what = KIND_OP_USER
#define HALF   UINT64_C(0x3fe0000000000000) /* the bits of 0.5 */

START_TEST(calls_of_probed_functions_have_values)
{
	static const struct {
		struct record record;
		const char *key;
		json_int_t value;
	} rows[] = {
		/* 0 */ { { PROBED, .value = 7, .ident = 5 }, "v", 7 },
		/* 1 */ { { PROBED, .value = 7, .ident = 5 }, "vn", 5 },
		/* 2 */ { { PROBED, .value = 7, .ident = 5 }, "i", 0 },
		/* 3 */ { { PROBED, .value = -7ULL, .ident = 5, .flags = PROBE_SIGNED }, "v", -7 },
		/* 4 */ { { PROBED, .value = 9, .ident = 5, .flags = PROBE_STRING }, "vs", 9 },
		/* 5 */ { { PROBED, .ident = 5, .fd = -1 }, "vn2", 0 },
		/* 6 */ { { PROBED, .ident = 5, .fd = 6, .count = 3000000000 }, "v2", 3000000000 },
		/* 7 */ { { PROBED, .ident = 5, .fd = 6 }, "vn2", 6 },
		/* 8 */ { { PROBED, .ident = 5, .fd = 6 }, "fd", 0 },
		/* 9 */
		{ { PROBED, .ident = 5, .fd = 6, .count = -3U,
		    .flags = PROBE_SIGNED << FIELD_SECOND },
		  "v2",
		  -3 },
		/* 10 */
		{ { PROBED, .ident = 5, .fd = 6, .count = 8,
		    .flags = PROBE_STRING << FIELD_SECOND },
		  "vs2",
		  8 },
		/* 11 */ { { PROBED, .ident = 5, .flags = RECORD_ANNOTATED }, "vn", 0 },
		/* 12 */ { { PROBED, .ident = 5, .flags = RECORD_ANNOTATED }, "i", 5 },
		/* 13 */ { { PROBED, .value = 7, .ident = 5 }, "vr", 0 },
		/* 14 */
		{ { PROBED, .value = HALF, .ident = 5, .flags = PROBE_REAL },
		  "v",
		  (json_int_t)HALF },
		/* 15 */ { { PROBED, .value = HALF, .ident = 5, .flags = PROBE_REAL }, "vr", 1 },
		/* 16 */ { { PROBED, .value = HALF, .ident = 5, .flags = PROBE_REAL }, "ac", 0 },
		/* 17: its second value is a string */
		{ { PROBED, .value = HALF, .ident = 5, .fd = 6, .count = 8,
		    .flags = PROBE_REAL | PROBE_STRING << FIELD_SECOND },
		  "vs2",
		  8 },
		/* 18 */
		{ { .type = RECORD_LINK, .what = LINK_VALUE, .value = HALF, .count = PROBE_REAL },
		  "vr",
		  1 },
		/* 19 */ { { PROBED }, "pb", 1 },
		/* 20 */ { { PROBED, .flags = RECORD_ANNOTATED }, "pb", 0 },
		/* 21 */ { { .type = RECORD_OP, .what = KIND_IO }, "pb", 0 },
		/* 22 */ { { PROBED }, "ch", 0 },
		/* 23 */ { { PROBED, .flags = FIELD_CHOSEN }, "ch", 1 },
		/* 24 */ { { PROBED, .flags = RECORD_ANNOTATED | FIELD_CHOSEN }, "ch", 0 },
		/* 25 */
		{ { .type = RECORD_OP, .what = KIND_HOLD, .flags = RECORD_OWNER_DIED }, "ch", 0 },
	};
	json_t *line = put(eventtext_put, &rows[_i].record);

	ck_assert_int_eq(number_of(line, rows[_i].key), rows[_i].value);
	json_decref(line);
}
END_TEST

/* All members that can be long are: a line has room for them. */
START_TEST(the_longest_line_fits)
{
	const struct record record = { .start = INT64_MAX,
				       .end = INT64_MAX,
				       .id = INT64_MAX,
				       .parent = INT64_MAX,
				       .value = INT64_MAX,
				       .name = UINT32_MAX,
				       .ident = UINT32_MAX,
				       .stack = UINT32_MAX,
				       .count = UINT32_MAX,
				       .fd = INT32_MAX,
				       .flags = UINT8_MAX,
				       .what = (uint8_t)_i };
	struct record typed = record;

	for (int type = RECORD_OP; type <= RECORD_CONTEXT; type++) {
		typed.type = (uint8_t)type;
		json_decref(put(eventtext_put, &typed));
	}
	typed.type = RECORD_OP;
	typed.flags = (uint8_t)~RECORD_ANNOTATED;
	json_decref(put(eventtext_put, &typed));
}
END_TEST

START_TEST(what_is_open_has_no_end)
{
	const struct record op = { .id = (UINT64_C(3) << 32) + 1,
				   .start = 40,
				   .end = 50,
				   .type = RECORD_OP,
				   .what = KIND_IO,
				   .fd = -1 };
	const struct record wait = { .id = 5, .start = 41, .count = 3, .type = RECORD_WAIT };
	json_t *object = put_open(eventtext_put_open_op, &op, 0);

	ck_assert_int_eq(number_of(object, "op_id"), (3LL << 32) + 1);
	ck_assert_int_eq(number_of(object, "start_ns"), 40);
	ck_assert_int_eq(number_of(object, "th"), 3);
	ck_assert_ptr_null(json_object_get(object, "d"));
	json_decref(object);
	object = put_open(eventtext_put_open_wait, &wait, 0);
	ck_assert_int_eq(number_of(object, "t"), 5);
	ck_assert_int_eq(number_of(object, "s"), 41);
	ck_assert_ptr_null(json_object_get(object, "d"));
	json_decref(object);
}
END_TEST

START_TEST(what_was_cut_off_says_when)
{
	const struct record hold = {
		.id = 7, .start = 40, .type = RECORD_OP, .what = KIND_HOLD, .fd = 5
	};
	const struct record wait = { .id = 5, .start = 41, .count = 3, .type = RECORD_WAIT };
	json_t *object = put_open(eventtext_put_open_op, &hold, 45);

	ck_assert_int_eq(number_of(object, "d"), 45);
	ck_assert_ptr_null(json_object_get(object, "rl"));
	json_decref(object);
	object = put_open(eventtext_put_open_wait, &wait, 46);
	ck_assert_int_eq(number_of(object, "d"), 46);
	json_decref(object);
}
END_TEST

SUITE()
{
	FIXTURE(setup, recording_end);
	LOOP(keys_go_by_the_kind, 0, 20);
	LOOP(calls_of_probed_functions_have_values, 0, 26);
	LOOP(the_longest_line_fits, 0, UINT8_MAX + 1);
	TEST(what_is_open_has_no_end);
	TEST(what_was_cut_off_says_when);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a stack has another key than the recorder gives it: nothing of its class is slowed. */
#include "export/stackkeys.h"
#include "sketch.h"
#include "suite.h"

enum { SERVER, LIBC, MADE };

static struct rec_module modules[] = {
	[SERVER] = { .base = 0x550000000000, .start = 0x550000000000, .size = 0x10000 },
	/* an executable at a fixed address, or any whose first segment is not at 0 */
	[LIBC] = { .base = 0x7f0000000000, .start = 0x7f0000001000, .size = 0x200000 },
	[MADE] = { .base = 0, .size = 0 },
};

/* Keys were computed by another program. Frames are as offsets from the module's base. */
static const struct {
	int row;
	struct rec_frame frames[2];
	uint32_t count;
	uint64_t key;
} rows[] = {
	{ 0, { { SERVER, 0x1234 } }, 1, 0x129f67d3f939f786 },
	{ 1, { { SERVER, 0x1234 }, { LIBC, 0x2ad90 } }, 2, 0x6af64eaf085a38b2 },
	{ 2, { { NO_INDEX, 0x7777 } }, 1, 0x5aba9ca57c85766a },
	{ 3, { { MADE, 0x5555 } }, 1, 0x5aba9ca57c85766a },
	{ 4, { { 0, 0 } }, 0, 0xcbf29ce484222325 },
	{ 5, { { MADE, 0x5555 }, { SERVER, 0x1234 } }, 2, 0x499eb04cf87d4461 },
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* Stack i + 1 is row i. */
static void stacks_make(struct sketch *sketch)
{
	struct recording *rec = &sketch->rec;

	sketch_begin(sketch);
	modules[SERVER].path = sketch_string(sketch, "/usr/bin/server");
	modules[LIBC].path = sketch_string(sketch, "/lib/libc.so.6");
	modules[MADE].path = sketch_string(sketch, REC_JIT_PATH);
	rec->modules = modules;
	rec->module_count = 3;
	rec->stack_count = ROWS + 1;
	for (uint32_t i = 0; i < ROWS; i++) {
		rec->stacks[i + 1] = (struct rec_stack){ 2 * i, rows[i].count };
		memcpy(&rec->frames[2 * i], rows[i].frames, sizeof(rows[i].frames));
	}
}

START_TEST(a_stack_has_the_key_that_the_recorder_gives_it)
{
	struct sketch sketch;

	stacks_make(&sketch);
	ck_assert_uint_eq(stack_key(&sketch.rec, (uint32_t)_i + 1), rows[_i].key);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_key_does_not_depend_on_where_a_module_is_mapped)
{
	struct sketch sketch;

	stacks_make(&sketch);
	modules[SERVER].base += 0x1000;
	modules[SERVER].start += 0x1000;
	ck_assert_uint_eq(stack_key(&sketch.rec, 1), rows[0].key);
	sketch_free(&sketch);
}
END_TEST

START_TEST(equal_stacks_of_two_places_are_one_key)
{
	struct sketch sketch;
	struct stack_keys keys;

	stacks_make(&sketch);
	stack_keys_build(&keys, &sketch.rec);
	ck_assert_uint_eq(keys.count, ROWS - 1);
	ck_assert_uint_eq(keys.of_stack[0], NO_INDEX);
	ck_assert_uint_eq(keys.of_stack[3], keys.of_stack[4]);
	for (uint32_t i = 0; i < ROWS; i++)
		ck_assert_uint_eq(keys.keys[keys.of_stack[i + 1]], rows[i].key);
	for (size_t i = 1; i < keys.count; i++)
		ck_assert_uint_lt(keys.keys[i - 1], keys.keys[i]);
	stack_keys_free(&keys);
	sketch_free(&sketch);
}
END_TEST

/* Native frames of an interpreted program's functions are the same. */
START_TEST(functions_of_interpreted_programs_differ)
{
	struct sketch sketch;
	uint64_t keys[3];

	stacks_make(&sketch);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t text = sketch_string(&sketch, i == 1 ? "send app.py:2" : "load app.py:1");

		sketch.rec.frames[0] = (struct rec_frame){ MADE, REC_FRAME_TEXT + text };
		keys[i] = stack_key(&sketch.rec, 1);
	}
	ck_assert_uint_eq(keys[2], keys[0]);
	ck_assert_uint_ne(keys[1], keys[0]);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_recording_without_stacks_has_no_keys)
{
	struct recording nothing = { 0 };
	struct stack_keys keys;

	stack_keys_build(&keys, &nothing);
	ck_assert_uint_eq(keys.count, 0);
	stack_keys_free(&keys);
}
END_TEST

SUITE()
{
	EACH(a_stack_has_the_key_that_the_recorder_gives_it, rows);
	TEST(a_key_does_not_depend_on_where_a_module_is_mapped);
	TEST(equal_stacks_of_two_places_are_one_key);
	TEST(functions_of_interpreted_programs_differ);
	TEST(a_recording_without_stacks_has_no_keys);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, ops of different kinds or names would share their figures.
 */
#include "sketch.h"

#include "recording/classes.h"
#include "suite.h"

START_TEST(a_class_is_a_kind_and_a_name)
{
	struct sketch sketch;
	struct class_table table;
	sketch_begin(&sketch);
	sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 1);
	sketch_bare_op(&sketch, NO_INDEX, KIND_EXEC, 1, 0, 1);
	sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 2, 0, 1);
	sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 1);
	class_table_build(&table, &sketch.rec, NULL);
	ck_assert_uint_eq(table.count, 3);
	ck_assert_uint_eq(table.of_op[0], 0);
	ck_assert_uint_eq(table.of_op[1], 1);
	ck_assert_uint_eq(table.of_op[2], 2);
	ck_assert_uint_eq(table.of_op[3], 0);
	ck_assert_uint_eq(table.classes[0].op_count, 2);
	class_table_free(&table);
	sketch_free(&sketch);
}
END_TEST

START_TEST(given_names_go_before_recorded_ones)
{
	struct sketch sketch;
	struct class_table table;
	const uint32_t names[] = { 9, 9 };
	sketch_begin(&sketch);
	sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 1);
	sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 2, 0, 1);
	class_table_build(&table, &sketch.rec, names);
	ck_assert_uint_eq(table.count, 1);
	ck_assert_uint_eq(table.classes[0].name, 9);
	class_table_free(&table);
	sketch_free(&sketch);
}
END_TEST

/* The table of slots grows several times on the way. */
START_TEST(a_hundred_thousand_classes_stay_apart)
{
	enum { COUNT = 200000 };
	struct sketch sketch;
	struct class_table table;
	sketch_begin(&sketch);
	free(sketch.rec.extras);
	free(sketch.rec.ops);
	sketch.rec.extras = NULL;
	sketch.rec.ops = calloc(COUNT, sizeof(*sketch.rec.ops));
	sketch.rec.op_count = COUNT;
	for (uint32_t i = 0; i < COUNT; i++)
		sketch.rec.ops[i] = (struct rec_op){ .name = i / 2, .kind = KIND_CALL };
	class_table_build(&table, &sketch.rec, NULL);
	ck_assert_uint_eq(table.count, COUNT / 2);
	for (uint32_t i = 0; i < COUNT; i++)
		if (table.of_op[i] != i / 2 || table.classes[i / 2].op_count != 2)
			ck_abort_msg("op %u", i);
	class_table_free(&table);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_class_is_a_kind_and_a_name);
	TEST(given_names_go_before_recorded_ones);
	TEST(a_hundred_thousand_classes_stay_apart);
}

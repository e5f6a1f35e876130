/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, CPU time is put on the wrong function, or counted twice. */
#include "cpu_sample.h"
#include "measure/functions.h"
#include "suite.h"

START_TEST(each_sample_stands_for_the_time_since_the_last)
{
	static const uint64_t weights_ns[] = { 0, 1000000, 0, 1000000, 1000000, 1000000, 0, 0, 0 };
	struct sketch sketch;
	cpu_sketch(&sketch);
	struct sample_weights weights = { .recording = &sketch.rec };
	for (size_t i = 0; i < sketch.rec.sample_count; i++)
		ck_assert_uint_eq(sample_weight_next(&weights), weights_ns[i]);
	sketch_free(&sketch);
}
END_TEST

/* Largest self time first. */
static const struct function_time rows[] = {
	{ .function = CPU_LEAF, .class = 0, .samples = 2, .self_ns = 2000000, .total_ns = 2000000 },
	{ .function = CPU_MAIN, .class = 0, .samples = 1, .self_ns = 1000000, .total_ns = 3000000 },
	/* Recursive, and in no op. */
	{ .function = CPU_LEAF,
	  .class = NO_INDEX,
	  .samples = 1,
	  .self_ns = 1000000,
	  .total_ns = 1000000 },
	{ .function = CPU_MAIN,
	  .class = NO_INDEX,
	  .samples = 0,
	  .self_ns = 0,
	  .total_ns = 1000000 },
};

START_TEST(functions_have_self_and_total_time_by_class)
{
	struct sketch sketch;
	struct class_table classes;
	struct function_table table;
	cpu_sketch(&sketch);
	class_table_build(&classes, &sketch.rec, NULL);
	function_table_build(&table, &sketch.rec, &classes, &cpu_names);
	ck_assert_uint_eq(table.count, 4);
	ck_assert_uint_eq(table.sample_count, 4);
	ck_assert_uint_eq(table.total_ns, 4000000);
	for (uint32_t i = 0; i < 4; i++) {
		ck_assert_uint_eq(table.rows[i].function, rows[i].function);
		ck_assert_uint_eq(table.rows[i].class, rows[i].class);
		ck_assert_uint_eq(table.rows[i].samples, rows[i].samples);
		ck_assert_uint_eq(table.rows[i].self_ns, rows[i].self_ns);
		ck_assert_uint_eq(table.rows[i].total_ns, rows[i].total_ns);
	}
	function_table_free(&table);
	/* Without names: by class alone. */
	function_table_build(&table, &sketch.rec, &classes, NULL);
	ck_assert_uint_eq(table.count, 2);
	ck_assert_uint_eq(table.rows[0].self_ns, 3000000);
	ck_assert_uint_eq(table.rows[0].function, 0);
	function_table_free(&table);
	class_table_free(&classes);
	sketch_free(&sketch);
}
END_TEST

/* `main` as a runtime's: it is a row where it ran itself, and not where it only called. */
START_TEST(a_runtime_counts_where_it_ran_itself)
{
	bool are_runtime[sizeof(cpu_functions) / sizeof(cpu_functions[0])];
	struct frame_names names = cpu_names;
	struct sketch sketch;
	struct class_table classes;
	struct function_table table;
	cpu_sketch(&sketch);
	for (size_t i = 0; i < sizeof(are_runtime); i++)
		are_runtime[i] = cpu_functions[i] == CPU_MAIN;
	names.are_runtime = are_runtime;
	class_table_build(&classes, &sketch.rec, NULL);
	function_table_build(&table, &sketch.rec, &classes, &names);
	ck_assert_uint_eq(table.count, 3);
	ck_assert_uint_eq(table.total_ns, 4000000);
	ck_assert_uint_eq(table.rows[1].function, CPU_MAIN);
	ck_assert_uint_eq(table.rows[1].total_ns, 3000000);
	function_table_free(&table);
	class_table_free(&classes);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(each_sample_stands_for_the_time_since_the_last);
	TEST(functions_have_self_and_total_time_by_class);
	TEST(a_runtime_counts_where_it_ran_itself);
}

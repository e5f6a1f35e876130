/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, the report is silent about what the recording could not see. */
#include "measure/coverage.h"

#include "sketch.h"
#include "suite.h"

enum { FIRST_CLIENT = 10, CC = 1, AS = 2 };

static struct sketch sketch;
static struct rec_process processes[2];
static struct rec_module modules[3];
static struct class_table classes;
static struct coverage coverage;

/* Five children: of cc the first is recorded, the others and as are not. */
static void setup(void)
{
	static const uint32_t names[] = { CC, AS, CC, CC, AS };

	sketch_begin(&sketch);
	for (uint32_t i = 0; i < 5; i++) {
		uint32_t op = sketch_bare_op(&sketch, NO_INDEX, KIND_EXEC, names[i], 100, 200);

		sketch.rec.links[sketch.rec.link_count++] = (struct rec_link){
			.kind = LINK_NESTED_CLIENT,
			.from = op,
			.to = op,
			.ident = FIRST_CLIENT + i,
		};
	}
	(void)sketch_bare_op(&sketch, NO_INDEX, KIND_IO, 5, 300, 400);
	processes[0] = (struct rec_process){ .client = 9, .voluntary_switches = 40 };
	processes[1] = (struct rec_process){ .client = FIRST_CLIENT, .voluntary_switches = 2 };
	sketch.rec.processes = processes;
	sketch.rec.process_count = 2;
	modules[0] = (struct rec_module){ .path = 20, .size = 1, .has_syscalls = true };
	modules[1] =
		(struct rec_module){ .path = 21, .size = 1, .has_syscalls = true, .syscalls = 19 };
	modules[2] = (struct rec_module){ .path = 22, .size = 1 };
	sketch.rec.modules = modules;
	sketch.rec.module_count = 3;
	class_table_build(&classes, &sketch.rec, NULL);
}

static void teardown(void)
{
	coverage_free(&coverage);
	class_table_free(&classes);
	sketch_free(&sketch);
}

START_TEST(children_without_a_recording_are_counted_by_program)
{
	struct thread_table threads = { 0 };

	coverage_build(&coverage, &sketch.rec, &classes, &threads);
	ck_assert_uint_eq(coverage.children, 5);
	ck_assert_uint_eq(coverage.absent_count, 2);
	ck_assert_uint_eq(coverage.absent[0].count, 2);
	ck_assert_uint_eq(coverage.absent[0].name, CC);
	ck_assert_uint_eq(coverage.absent[1].count, 2);
	ck_assert_uint_eq(coverage.absent[1].name, AS);
}
END_TEST

START_TEST(modules_say_what_their_code_does)
{
	struct thread_table threads = { 0 };

	coverage_build(&coverage, &sketch.rec, &classes, &threads);
	ck_assert_uint_eq(coverage.modules, 3);
	ck_assert_uint_eq(coverage.modules_seen, 2);
	ck_assert_uint_eq(coverage.inlined_count, 1);
	ck_assert_uint_eq(coverage.inlined[0].name, 21);
	ck_assert_uint_eq(coverage.inlined[0].count, 19);
}
END_TEST

START_TEST(time_off_the_cpus_is_explained_or_not)
{
	struct thread_time rows[] = {
		{ .has_cpu = true,
		  .wall_ns = 100,
		  .cpu_ns = 20,
		  .blocked_ns = 70,
		  .unexplained_ns = 10 },
		/* Nothing is claimed of a thread whose CPU time is not known. */
		{ .wall_ns = 100, .unexplained_ns = 100 },
	};
	struct thread_table threads = { .rows = rows, .count = 2 };

	coverage_build(&coverage, &sketch.rec, &classes, &threads);
	ck_assert_uint_eq(coverage.off_cpu_ns, 80);
	ck_assert_uint_eq(coverage.unexplained_ns, 10);
	ck_assert_uint_eq(coverage.voluntary_switches, 42);
	ck_assert_uint_eq(coverage.blocking_events, 1);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(children_without_a_recording_are_counted_by_program);
	TEST(modules_say_what_their_code_does);
	TEST(time_off_the_cpus_is_explained_or_not);
}

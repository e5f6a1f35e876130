/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, an export's times are not those of the reports, or are at the wrong thing. */
#include "cpu_sample.h"
#include "export/walk.h"
#include "random.h"
#include "report/analysis.h"
#include "suite.h"

static void print_slice(char *to, const struct walk *walk, const struct walk_slice *slice)
{
	const struct recording *recording = walk->recording;
	sprintf(to, "%s %lu-%lu %s %s stack %u%s\n", walk_state_word(slice->state),
		(unsigned long)slice->start_ns / 1000, (unsigned long)slice->end_ns / 1000,
		slice->cause == NO_INDEX ? "-" : thread_cause_word(recording, slice->cause),
		slice->name ? recording->strings[slice->name] : "-", slice->stack,
		slice->is_end ? " end" : "");
}

START_TEST(slices_say_what_a_thread_was_in)
{
	struct sketch sketch;
	struct walk walk;
	struct walk_slice slice;
	char text[1024] = "";
	const struct labels labels = { .frames = cpu_names };
	cpu_sketch(&sketch);
	walk_begin_plain(&walk, &sketch.rec, &labels);
	for (uint32_t thread = 0; thread < walk_thread_count(&walk); thread++)
		for (walk_thread(&walk, thread); walk_next(&walk, &slice);)
			print_slice(text + strlen(text), &walk, &slice);
	ck_assert_str_eq(text, "running 0-1000 - - stack 1\n"
			       "running 1000-2000 - - stack 3\n"
			       "running 2000-3000 - - stack 2\n"
			       "running 3000-4000 - - stack 4\n"
			       "running 4000-4400 - - stack 0\n"
			       "unexplained 4400-5000 - - stack 0\n"
			       "blocked 0-2000 mutex n12 stack 2 end\n"
			       "blocked 2000-4000 sleep n5 stack 0 end\n"
			       "unexplained 4000-5000 - - stack 0\n");
	walk_end(&walk);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_wait_has_its_waker)
{
	struct sketch sketch;
	struct walk walk;
	struct walk_slice slice;
	struct walk_waker waker;
	cpu_sketch(&sketch);
	sketch.rec.waits[0].holder = 0;
	walk_begin_plain(&walk, &sketch.rec, NULL);
	walk.wakers->of_wait = memory_new(1, sizeof(*walk.wakers->of_wait));
	walk.wakers->of_op = memory_new(sketch.rec.op_count, sizeof(*walk.wakers->of_op));
	walk.wakers->of_wait[0] = (struct waker){ WAKER_OP_END, 3 };
	walk_thread(&walk, 1);
	ck_assert(walk_next(&walk, &slice));
	ck_assert_uint_eq(slice.holder, 0);
	ck_assert(walk_waker(&walk, &slice, &waker));
	ck_assert_uint_eq(waker.thread, 0);
	ck_assert_uint_eq(waker.op, 3);
	ck_assert_uint_eq(waker.at_ns, 2000000);
	sketch.rec.ops[3].end_ns += 7; /* a clock of another CPU */
	ck_assert(walk_waker(&walk, &slice, &waker));
	ck_assert_uint_eq(waker.at_ns, 2000000);
	slice.is_end = false;
	ck_assert(!walk_waker(&walk, &slice, &waker));
	ck_assert(walk_next(&walk, &slice)); /* a sleep */
	ck_assert(!walk_waker(&walk, &slice, &waker));
	walk.wakers->of_op[2] = (struct waker){ WAKER_OP_END, 3 };
	sketch.rec.ops[3].end_ns = 3000000;
	ck_assert(walk_waker(&walk, &slice, &waker));
	sketch.rec.ops[3].end_ns = 1999999; /* before the sleep began */
	ck_assert(!walk_waker(&walk, &slice, &waker));
	walk_end(&walk);
	sketch_free(&sketch);
}
END_TEST

/* A call of a class that waits for work is idle. */
START_TEST(waits_for_work_are_idle)
{
	struct sketch sketch;
	struct walk_slice slice;
	struct walk walk;
	enum arrival_sort arrivals[] = { ARRIVAL_NONE, ARRIVAL_NONE, ARRIVAL_ANY, ARRIVAL_NONE };
	cpu_sketch(&sketch);
	sketch_end(&sketch);
	walk_begin_plain(&walk, &sketch.rec, NULL);
	walk.classes = &sketch.classes;
	walk.arrivals = arrivals;
	walk_thread(&walk, 1);
	ck_assert(walk_next(&walk, &slice));
	ck_assert_int_eq(slice.state, WALK_BLOCKED);
	ck_assert_uint_eq(slice.class, sketch.classes.of_op[3]);
	ck_assert(walk_next(&walk, &slice));
	ck_assert_int_eq(slice.state, WALK_IDLE);
	ck_assert_uint_eq(slice.class, sketch.classes.of_op[2]);
	walk_end(&walk);
	sketch_free(&sketch);
}
END_TEST

START_TEST(ops_come_in_order)
{
	struct sketch sketch;
	struct walk walk;
	uint32_t index;
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	uint32_t inner = sketch_hold(&sketch, 0, "lock", 1, 3, 4);
	uint32_t outer = sketch_hold(&sketch, 0, "lock", 1, 2, 5);
	sketch_link(&sketch, 0, LINK_SIGNAL, "cond", 4, 1, NO_INDEX);
	walk_begin_plain(&walk, &sketch.rec, NULL);
	walk_thread(&walk, 0);
	ck_assert(walk_next_op(&walk, &index) && index == outer);
	ck_assert(walk_next_op(&walk, &index) && index == inner);
	ck_assert(!walk_next_op(&walk, &index));
	walk_end(&walk);
	sketch_free(&sketch);
}
END_TEST

START_TEST(requests_come_in_order)
{
	struct sketch sketch;
	size_t count;
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch_op(&sketch, KIND_OP_USER, "late", 0, 5, 9);
	sketch_op(&sketch, KIND_OP_USER, "early", 0, 1, 4);
	struct request made[] = {
		{ .class = 7, .start_ns = 5 * SKETCH_MS, .end_ns = 9 * SKETCH_MS, .op = 2 },
		{ .class = 8, .start_ns = 1 * SKETCH_MS, .end_ns = 4 * SKETCH_MS, .op = 3 }
	};
	const struct requests requests = { .requests = made, .count = 2 };
	struct walk walk;
	walk_begin_plain(&walk, &sketch.rec, NULL);
	walk.requests = &requests;
	struct walk_request *found = walk_requests(&walk, &count);
	ck_assert_uint_eq(count, 2);
	ck_assert_uint_eq(found[0].start_ns, 1 * SKETCH_MS);
	ck_assert_uint_eq(found[0].end_ns, 4 * SKETCH_MS);
	ck_assert_uint_eq(found[0].class, 8);
	ck_assert_uint_eq(found[0].request, 1);
	ck_assert_uint_eq(found[1].op, 2);
	ck_assert_uint_eq(found[1].end_ns, 9 * SKETCH_MS);
	free(found);
	walk_end(&walk);
	sketch_free(&sketch);
}
END_TEST

START_TEST(sums_are_those_of_the_reports)
{
	struct sketch sketch;
	struct thread_table table;
	struct walk walk;
	random_sketch(&sketch, (uint64_t)_i, _i % 4 > 0);
	thread_table_build(&table, &sketch.rec);
	walk_begin_plain(&walk, &sketch.rec, NULL);
	ck_assert(walk_is_valid(&walk, &table));
	for (uint32_t i = 0; i < table.count; i++) {
		table.rows[i].cpu_ns++;
		ck_assert(!walk_is_valid(&walk, &table));
		table.rows[i].cpu_ns--;
	}
	walk_end(&walk);
	thread_table_free(&table);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(slices_say_what_a_thread_was_in);
	TEST(a_wait_has_its_waker);
	TEST(waits_for_work_are_idle);
	TEST(ops_come_in_order);
	TEST(requests_come_in_order);
	LOOP(sums_are_those_of_the_reports, 0, 100);
}

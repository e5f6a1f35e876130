/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, --client, --thread, --from or --to would keep the wrong part, or leave wrong
 * indexes.
 */
#include "sketch.h"
#include <errno.h>

#include "recording/graph.h"
#include "recording/select.h"
#include "suite.h"

#define ALWAYS                \
	{                     \
		0, UINT64_MAX \
	}

/*
 * 0 is the root, 1 and 2 its children; 3 is below 1, 4 a root of its own. Client 1 is op 1's,
 * thread 0 is called "n5" and runs ops 0, 1 and 3, thread 1 "n6" runs the others.
 */
static void sample_begin(struct sketch *sketch)
{
	static struct rec_thread threads[2];
	struct recording *recording = &sketch->rec;

	sketch_begin(sketch);
	/* 0 */ sketch_bare_op(sketch, NO_INDEX, KIND_CALL, 1, 100, 200);
	/* 1 */ sketch_bare_op(sketch, 0, KIND_CALL, 1, 110, 150);
	/* 2 */ sketch_bare_op(sketch, 0, KIND_CALL, 1, 160, 190);
	/* 3 */ sketch_bare_op(sketch, 1, KIND_CALL, 1, 120, 140);
	/* 4 */ sketch_bare_op(sketch, NO_INDEX, KIND_CALL, 1, 300, 400);
	for (uint32_t i = 0; i < 5; i++)
		recording->ops[i].thread = i == 2 || i == 4;
	recording->ops[1].client = 1;
	sketch_bare_wait(sketch, 3, 2, REASON_LOCK, 125, 130);
	sketch_bare_wait(sketch, 4, 0, REASON_LOCK, 310, 320);
	sketch_bare_wait(sketch, NO_INDEX, 0, REASON_LOCK, 310, 320);
	sketch_bare_link(sketch, LINK_RESULT, 3, 0);
	sketch_bare_link(sketch, LINK_RESULT, 4, 0);
	recording->links[0].at_ns = 125;
	recording->links[1].at_ns = 305;
	threads[0] = (struct rec_thread){ .name = 5, .op = 1 };
	threads[1] = (struct rec_thread){ .name = 6, .op = 4 };
	recording->threads = threads;
	recording->thread_count = 2;
}

static const struct {
	struct selection selection;
	const char *ops; /* ids and what is left of them */
	size_t waits, links;
} rows[] = {
	/* 0 */ { { "n1", "", 0, UINT64_MAX, ALWAYS }, " 2:110-150 4:120-140^2", 1, 1 },
	/* 1 */ { { "", "n5", 0, UINT64_MAX, ALWAYS }, " 1:100-200 2:110-150^1 4:120-140^2", 1, 1 },
	/* 2 */ { { "", "n[6]", 0, UINT64_MAX, ALWAYS }, " 3:160-190 5:300-400", 1, 1 },
	/* 3 */ { { "", "", 0, 55, ALWAYS }, " 1:100-155 2:110-150^1 4:120-140^2", 1, 1 },
	/* 4 */ { { "", "", 70, UINT64_MAX, ALWAYS }, " 1:170-200 3:170-190^1 5:300-400", 1, 1 },
	/* 5: a skipped parent hands its children up */
	{ { "", "", 42, 43, ALWAYS }, " 1:142-143 2:142-143^1", 0, 0 },
	/* 6 */
	{ { "", "", 0, UINT64_MAX, ALWAYS },
	  " 1:100-200 2:110-150^1 3:160-190^1 4:120-140^2 5:300-400",
	  2,
	  2 },
};

START_TEST(the_right_part_is_left)
{
	struct sketch sketch;
	struct graph graph;
	char text[256] = "";
	sample_begin(&sketch);
	ck_assert_int_eq(selection_apply(&rows[_i].selection, &sketch.rec), 0);
	for (uint32_t i = 0; i < sketch.rec.op_count; i++) {
		const struct rec_op *op = &sketch.rec.ops[i];
		sprintf(text + strlen(text), " %lu:%lu-%lu", (unsigned long)op->dump_id,
			(unsigned long)op->start_ns, (unsigned long)op->end_ns);
		if (op->parent != NO_INDEX)
			sprintf(text + strlen(text), "^%lu",
				(unsigned long)sketch.rec.ops[op->parent].dump_id);
	}
	ck_assert_str_eq(text, rows[_i].ops);
	ck_assert_uint_eq(sketch.rec.wait_count, rows[_i].waits);
	ck_assert_uint_eq(sketch.rec.link_count, rows[_i].links);
	graph_build(&graph, &sketch.rec);
	ck_assert(graph_is_valid(&graph));
	graph_free(&graph);
	sketch_free(&sketch);
}
END_TEST

START_TEST(an_op_left_out_hands_its_children_to_the_nearest_that_stays)
{
	struct sketch sketch;
	sample_begin(&sketch);
	sketch.rec.ops[1].thread = 1;
	const struct selection selection = { "", "n5", 0, UINT64_MAX, ALWAYS };
	ck_assert_int_eq(selection_apply(&selection, &sketch.rec), 0);
	ck_assert_uint_eq(sketch.rec.op_count, 2);
	ck_assert_uint_eq(sketch.rec.ops[1].dump_id, 4);
	ck_assert_uint_eq(sketch.rec.ops[1].parent, 0);
	ck_assert_uint_eq(sketch.rec.threads[0].op, NO_INDEX);
	sketch_free(&sketch);
}
END_TEST

/* Samples of op 1, 3 and 4, at 115, 125 and 350. */
static const struct {
	struct selection selection;
	const char *kept;
} sample_rows[] = {
	/* 0 */ { { "", "", 0, UINT64_MAX, ALWAYS }, " 115 125 350" },
	/* 1 */ { { "", "n5", 0, UINT64_MAX, ALWAYS }, " 115 125" },
	/* 2 */ { { "", "", 20, 100, ALWAYS }, " 120 125" },
	/* 3 */ { { "n1", "", 0, UINT64_MAX, ALWAYS }, " 115 125" },
};

START_TEST(samples_stay_with_their_thread_and_time)
{
	struct sketch sketch;
	char text[64] = "";
	struct rec_sample samples[] = {
		{ .at_ns = 115, .op = 1, .thread = 0 },
		{ .at_ns = 125, .op = 3, .thread = 0 },
		{ .at_ns = 350, .op = 4, .thread = 1 },
	};
	sample_begin(&sketch);
	sketch.rec.samples = samples;
	sketch.rec.sample_count = 3;
	ck_assert_int_eq(selection_apply(&sample_rows[_i].selection, &sketch.rec), 0);
	for (size_t i = 0; i < sketch.rec.sample_count; i++)
		sprintf(text + strlen(text), " %lu", (unsigned long)samples[i].at_ns);
	ck_assert_str_eq(text, sample_rows[_i].kept);
	sketch_free(&sketch);
}
END_TEST

/* From 130 to 180 the thread is at what it had begun at 100, and goes on until 200. */
START_TEST(what_goes_on_at_the_end_is_open)
{
	struct sketch sketch;
	const struct selection selection = { "", "", 30, 80, ALWAYS };
	sample_begin(&sketch);
	sketch_bare_wait(&sketch, 0, NO_INDEX, REASON_LOCK, 170, 190);
	sketch.rec.end_ns = 400;
	sketch.rec.process_count = 1;
	sketch.rec.processes[0].op = NO_INDEX;
	ck_assert_int_eq(selection_apply(&selection, &sketch.rec), 0);
	ck_assert_uint_eq(sketch.rec.op_count, 4);
	for (size_t i = 0; i < 4; i++)
		ck_assert_int_eq(sketch.rec.extras[i].open, i == 0 || i == 2);
	ck_assert_uint_eq(sketch.rec.open_op_count, 2);
	ck_assert_uint_eq(sketch.rec.wait_count, 2);
	ck_assert(!sketch.rec.waits[0].open && sketch.rec.waits[1].open);
	ck_assert_uint_eq(sketch.rec.end_ns, 180);
	sketch_free(&sketch);
}
END_TEST

START_TEST(links_are_of_their_time_and_makers_of_all_before)
{
	static const uint64_t at_ns[] = { 110, 130, 190 };
	struct sketch sketch;
	const struct selection selection = { "", "", 20, 80, ALWAYS };
	sample_begin(&sketch);
	sketch.rec.link_count = 0;
	for (size_t i = 0; i < 6; i++) {
		uint32_t link = sketch_bare_link(&sketch, i < 3 ? LINK_WAKE : LINK_INIT, 0, 0);
		sketch.rec.links[link].thread = 0;
		sketch.rec.links[link].at_ns = at_ns[i % 3];
	}
	ck_assert_int_eq(selection_apply(&selection, &sketch.rec), 0);
	ck_assert_uint_eq(sketch.rec.link_count, 3);
	ck_assert_uint_eq(sketch.rec.links[0].at_ns, 130);
	ck_assert_uint_eq(sketch.rec.links[1].at_ns, 120);
	ck_assert_uint_eq(sketch.rec.links[2].at_ns, 130);
	sketch_free(&sketch);
}
END_TEST

/* Else what a server used to start would be used again in the replay of its requests. */
START_TEST(cpu_time_is_that_of_the_time)
{
	struct sketch sketch;
	const struct selection selection = { "", "", 50, 150, ALWAYS };
	struct rec_sample samples[] = {
		{ .at_ns = 100, .cpu_ns = 70, .thread = 0, .stack = 1 },
		{ .at_ns = 140, .cpu_ns = 80, .thread = 0 },
		{ .at_ns = 160, .cpu_ns = 100, .thread = 0, .stack = 1 },
		{ .at_ns = 350, .cpu_ns = 119, .thread = 0 },
		{ .at_ns = 200, .cpu_ns = 5, .thread = 1 },
		{ .at_ns = 300, .cpu_ns = 9, .thread = 1 },
	};
	const struct {
		uint64_t at_ns, cpu_ns;
		uint32_t thread, stack;
	} kept[] = { { 150, 90, 0, 0 },
		     { 160, 100, 0, 1 },
		     { 250, 109, 0, 0 },
		     { 200, 5, 1, 0 },
		     { 250, 7, 1, 0 } };
	sample_begin(&sketch);
	sketch.rec.samples = samples;
	sketch.rec.sample_count = 6;
	ck_assert_int_eq(selection_apply(&selection, &sketch.rec), 0);
	ck_assert_uint_eq(sketch.rec.sample_count, 5);
	for (size_t i = 0; i < 5; i++) {
		ck_assert_uint_eq(samples[i].at_ns, kept[i].at_ns);
		ck_assert_uint_eq(samples[i].cpu_ns, kept[i].cpu_ns);
		ck_assert_uint_eq(samples[i].thread, kept[i].thread);
		ck_assert_uint_eq(samples[i].stack, kept[i].stack);
	}
	sketch_free(&sketch);
}
END_TEST

START_TEST(so_is_idle_time)
{
	struct sketch sketch;
	const struct selection selection = { "", "", 50, 150, ALWAYS };
	struct rec_idle idles[] = { { 100, 10, 0 }, { 200, 30, 0 }, { 300, 130, 0 },
				    { 0, 0, 1 },    { 400, 40, 1 }, { 300, 7, 2 } };
	const struct rec_idle kept[] = {
		{ 150, 20, 0 }, { 200, 30, 0 }, { 250, 80, 0 }, { 150, 15, 1 }, { 250, 25, 1 }
	};
	sample_begin(&sketch);
	sketch.rec.idles = idles;
	sketch.rec.idle_count = 6;
	sketch.rec.process_count = 3;
	for (uint32_t i = 0; i < 3; i++)
		sketch.rec.processes[i].op = NO_INDEX;
	ck_assert_int_eq(selection_apply(&selection, &sketch.rec), 0);
	ck_assert_uint_eq(sketch.rec.idle_count, 5);
	for (size_t i = 0; i < 5; i++) {
		ck_assert_uint_eq(idles[i].at_ns, kept[i].at_ns);
		ck_assert_uint_eq(idles[i].idle_ns, kept[i].idle_ns);
		ck_assert_uint_eq(idles[i].process, kept[i].process);
	}
	sketch_free(&sketch);
}
END_TEST

START_TEST(nothing_left_is_an_error)
{
	struct sketch sketch;
	const struct selection selection = { "nobody", "", 0, UINT64_MAX, ALWAYS };
	sample_begin(&sketch);
	ck_assert_int_eq(selection_apply(&selection, &sketch.rec), -ENOENT);
	ck_assert_uint_eq(sketch.rec.op_count, 0);
	ck_assert_uint_eq(sketch.rec.wait_count, 0);
	sketch_free(&sketch);
}
END_TEST

/* Thread 1 is of a second process; the windows are one of each. */
static void divide(struct recording *recording, struct rec_process processes[2],
		   struct rec_window windows[2])
{
	recording->threads[1].process = 1;
	recording->processes = processes;
	recording->process_count = 2;
	recording->windows = windows;
	recording->window_count = 2;
}

/* The second process, of thread 1, was recorded from 165 to 350, the first one all the time. */
START_TEST(a_process_is_cut_where_its_window_ends)
{
	struct sketch sketch;
	struct rec_process processes[] = { { .op = NO_INDEX }, { .op = 2 } };
	struct rec_window windows[] = { { 0, 1000, 0, false }, { 165, 350, 1, false } };
	struct rec_idle idles[] = { { 100, 1, 1 }, { 200, 2, 1 }, { 360, 3, 1 } };
	const struct selection selection = { "", "", 0, UINT64_MAX, { 0, UINT64_MAX } };
	sample_begin(&sketch);
	struct recording *recording = &sketch.rec;
	divide(recording, processes, windows);
	recording->idles = idles;
	recording->idle_count = 3;
	recording->links[1].at_ns = 400;
	recording->links[1].thread = 1;
	recording->waits[1].thread = 1;
	recording->waits[1].end_ns = 360;
	recording->end_ns = 1100;
	ck_assert_int_eq(selection_apply(&selection, recording), 0);
	ck_assert_uint_eq(recording->op_count, 5);
	ck_assert_uint_eq(recording->ops[0].end_ns, 200);
	ck_assert_uint_eq(recording->ops[2].start_ns, 165);
	ck_assert_uint_eq(recording->ops[4].start_ns, 300);
	ck_assert_uint_eq(recording->ops[4].end_ns, 350);
	ck_assert_uint_eq(recording->extras[2].cut, true);
	ck_assert_uint_eq(recording->extras[4].cut, false);
	ck_assert_uint_eq(recording->waits[1].end_ns, 350);
	ck_assert_uint_eq(recording->link_count, 1);
	ck_assert_uint_eq(recording->idle_count, 3);
	ck_assert_uint_eq(recording->idles[0].at_ns, 165);
	ck_assert_uint_eq(recording->idles[1].idle_ns, 2);
	ck_assert_uint_eq(recording->idles[2].at_ns, 350);
	ck_assert_uint_eq(recording->end_ns, 1000);
	sketch_free(&sketch);
}
END_TEST

/* The second process was recorded until 150, and goes on until 400. The part asked for is later. */
START_TEST(a_process_that_was_off_then_has_no_op)
{
	struct sketch sketch;
	struct rec_process processes[] = { { .op = NO_INDEX }, { .op = NO_INDEX } };
	struct rec_window windows[] = { { 0, 1000, 0, false }, { 0, 150, 1, false } };
	const struct selection selection = { "", "", 80, UINT64_MAX, ALWAYS };
	sample_begin(&sketch);
	struct recording *recording = &sketch.rec;
	divide(recording, processes, windows);
	recording->ops[4].start_ns = 100;
	recording->waits[1].thread = 1;
	recording->waits[1].start_ns = 100;
	ck_assert_int_eq(selection_apply(&selection, recording), 0);
	for (size_t i = 0; i < recording->op_count; i++) {
		ck_assert_uint_ne(recording->ops[i].thread, 1);
		ck_assert_uint_le(recording->ops[i].start_ns, recording->ops[i].end_ns);
	}
	ck_assert_uint_eq(recording->op_count, 1);
	ck_assert_uint_eq(recording->wait_count, 0);
	sketch_free(&sketch);
}
END_TEST

START_TEST(from_counts_from_the_begin_of_the_window)
{
	struct sketch sketch;
	const struct selection selection = { "", "", 10, 20, { 130, 1000 } };
	sample_begin(&sketch);
	ck_assert_int_eq(selection_apply(&selection, &sketch.rec), 0);
	ck_assert_uint_eq(sketch.rec.ops[0].start_ns, 140);
	ck_assert_uint_eq(sketch.rec.ops[0].end_ns, 150);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(the_right_part_is_left, rows);
	TEST(an_op_left_out_hands_its_children_to_the_nearest_that_stays);
	LOOP(samples_stay_with_their_thread_and_time, 0, 4);
	TEST(what_goes_on_at_the_end_is_open);
	TEST(links_are_of_their_time_and_makers_of_all_before);
	TEST(cpu_time_is_that_of_the_time);
	TEST(so_is_idle_time);
	TEST(nothing_left_is_an_error);
	TEST(a_process_is_cut_where_its_window_ends);
	TEST(a_process_that_was_off_then_has_no_op);
	TEST(from_counts_from_the_begin_of_the_window);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this fails, a timeline shows a thread blocked when it ran, or has holes.
 */
#include "measure/threadslices.h"
#include "random.h"
#include "suite.h"

/* Thread 0 lives from 100 to 1100; slices are letters of states, ends and calls. */
static const struct {
	struct {
		bool is_wait;
		uint64_t start_ns, end_ns;
	} calls[4];
	struct {
		uint64_t at_ns, cpu_ns, queued_ns;
	} samples[4];
	const char *slices;
} rows[] = {
	/* 0: nothing is known */ { .slices = " unexplained:1100" },
	/* 1: it ran, then slept */
	{ .calls = { { false, 700, 1100 } },
	  .samples = { { 100, 0, 0 }, { 700, 600, 0 }, { 1100, 600, 0 } },
	  .slices = " running:700 blocked:1100/op1" },
	/* 2: a call was on the CPU for a half, first */
	{ .calls = { { false, 100, 900 } },
	  .samples = { { 100, 0, 0 }, { 900, 400, 0 }, { 1100, 600, 0 } },
	  .slices = " running:500/op1 blocked:900/op1 running:1100" },
	/* 3: two calls share what is left, which is no whole number for each */
	{ .calls = { { false, 100, 133 }, { true, 133, 200 } },
	  .samples = { { 100, 0, 0 }, { 200, 50, 0 }, { 1100, 950, 0 } },
	  .slices = " running:117/op1 blocked:133/op1 running:166/wait0 blocked:200/wait0 "
		    "running:1100" },
	/* 4: outside calls, running is spread */
	{ .calls = { { false, 300, 400 } },
	  .samples = { { 100, 0, 0 }, { 400, 100, 0 }, { 1100, 800, 0 } },
	  .slices = " running:200 unexplained:300 blocked:400/op1 running:1100" },
	/* 5: the inner wait counts; the call goes on after it */
	{ .calls = { { false, 100, 1100 }, { true, 300, 600 } },
	  .slices = " blocked:300/op1 blocked:600/wait0 blocked:1100/op1" },
	/* 6: a queue that the kernel counts late was before */
	{ .samples = { { 100, 0, 7 }, { 600, 400, 7 }, { 1000, 800, 57 }, { 1100, 800, 107 } },
	  .slices = " running:500 queued:550 unexplained:600 running:1000 queued:1050 "
		    "unexplained:1100" },
	/* 7: what finds no room outside calls was at the ends of calls */
	{ .calls = { { false, 100, 600 }, { true, 600, 1000 } },
	  .samples = { { 100, 0, 7 }, { 600, 300, 7 }, { 1100, 400, 107 } },
	  .slices = " running:400/op1 blocked:567/op1 queued:600/op1 blocked:933/wait0 "
		    "queued:1000/wait0 running:1100" },
	/* 8: a thread that began in the recording has waited in it for all that is counted */
	{ .samples = { { 100, 10, 0 }, { 1100, 910, 40 } },
	  .slices = " running:1000 queued:1040 unexplained:1100" },
	/* 9: of calls that only overlap, the later one counts */
	{ .calls = { { true, 100, 500 }, { true, 300, 1100 } },
	  .slices = " blocked:300/wait0 blocked:500/wait1 blocked:1100/wait1" },
};

static const char *const words[SLICE_STATES] = { "running", "queued", "blocked", "unexplained" };

static void sketch_rows(struct sketch *sketch, struct rec_sample *samples, int row)
{
	sketch_begin(sketch);
	sketch->threads[0] = (struct rec_thread){ .op = 0 };
	sketch->rec.thread_count = sketch->rec.process_count = 1;
	sketch->rec.samples = samples;
	sketch_bare_op(sketch, NO_INDEX, KIND_THREAD, 1, 100, 1100);
	sketch->rec.ops[0].thread = 0;
	for (int i = 0; i < 4 && rows[row].calls[i].end_ns; i++) {
		uint64_t start_ns = rows[row].calls[i].start_ns, end_ns = rows[row].calls[i].end_ns;
		if (rows[row].calls[i].is_wait) {
			uint32_t wait = sketch_bare_wait(sketch, 0, NO_INDEX, REASON_MUTEX,
							 start_ns, end_ns);
			sketch->rec.waits[wait].thread = 0;
		} else {
			uint32_t op = sketch_bare_op(sketch, 0, KIND_IO, 1, start_ns, end_ns);
			sketch->rec.ops[op].thread = 0;
		}
	}
	for (int i = 0; i < 4 && rows[row].samples[i].at_ns; i++)
		samples[sketch->rec.sample_count++] =
			(struct rec_sample){ .at_ns = rows[row].samples[i].at_ns,
					     .cpu_ns = rows[row].samples[i].cpu_ns,
					     .queued_ns = rows[row].samples[i].queued_ns };
}

START_TEST(states_are_laid_out_in_time)
{
	struct sketch sketch;
	struct rec_sample samples[4] = { 0 };
	struct timeline timeline;
	struct thread_slice slice;
	uint64_t start_ns, end_ns;
	char text[256] = "";
	sketch_rows(&sketch, samples, _i);
	timeline_build(&timeline, &sketch.rec);
	struct thread_slices *slices = thread_slices_new(&sketch.rec, &timeline);
	thread_slices_begin(slices, 0, &start_ns, &end_ns);
	ck_assert_uint_eq(start_ns, 100);
	ck_assert_uint_eq(end_ns, 1100);
	while (thread_slices_next(slices, &slice)) {
		char *to = text + strlen(text);
		to += sprintf(to, " %s:%d", words[slice.state], (int)slice.end_ns);
		if (slice.op != NO_INDEX)
			sprintf(to, "/op%u", slice.op);
		if (slice.wait != NO_INDEX)
			sprintf(to, "/wait%u", slice.wait);
	}
	ck_assert_str_eq(text, rows[_i].slices);
	thread_slices_free(slices);
	timeline_free(&timeline);
	sketch_free(&sketch);
}
END_TEST

/* Whatever the calls are; and a second time, as the first. */
START_TEST(slices_have_no_gaps)
{
	uint64_t state = (uint64_t)_i + 1;
	struct rec_sample samples[10] = { 0 };
	struct sketch sketch;
	struct timeline timeline;
	struct thread_slice slice;
	uint64_t at_ns, end_ns;
	sketch_begin(&sketch);
	sketch.threads[0] = (struct rec_thread){ .op = NO_INDEX };
	sketch.rec.thread_count = sketch.rec.process_count = 1;
	sketch.rec.samples = samples;
	for (int i = 0; i < 60; i++) {
		uint64_t start_ns = random_number(&state, 10000);
		sketch.rec
			.ops[sketch_bare_op(&sketch, NO_INDEX, KIND_IO, 1, start_ns,
					    start_ns + random_number(&state, 1000))]
			.thread = 0;
		sketch.rec
			.waits[sketch_bare_wait(&sketch, NO_INDEX, NO_INDEX, REASON_COND, start_ns,
						start_ns + random_number(&state, 500))]
			.thread = 0;
	}
	for (uint32_t i = 0; i < 10; i++)
		samples[i] = (struct rec_sample){ .at_ns = i * 1000 + random_number(&state, 999),
						  .queued_ns = i * random_number(&state, 300),
						  .cpu_ns = i * random_number(&state, 1500) };
	sketch.rec.sample_count = 10;
	timeline_build(&timeline, &sketch.rec);
	struct thread_slices *slices = thread_slices_new(&sketch.rec, &timeline);
	for (int round = 0; round < 2; round++) {
		thread_slices_begin(slices, 0, &at_ns, &end_ns);
		while (thread_slices_next(slices, &slice)) {
			ck_assert_uint_eq(slice.start_ns, at_ns);
			ck_assert_uint_gt(slice.end_ns, at_ns);
			ck_assert(slice.state != SLICE_BLOCKED || slice.op != NO_INDEX ||
				  slice.wait != NO_INDEX);
			at_ns = slice.end_ns;
		}
		ck_assert_uint_eq(at_ns, end_ns);
	}
	thread_slices_free(slices);
	timeline_free(&timeline);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(states_are_laid_out_in_time, rows);
	LOOP(slices_have_no_gaps, 0, 200);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a window that is reached by way of the ones before would differ from the same
 * window cut out of the whole.
 */
#include "recording/parts.h"
#include "recording/select.h"
#include "sketch.h"
#include "suite.h"

enum { WINDOWS = 3 };

static const struct window windows[WINDOWS] = { { 100, 200 }, { 300, 400 }, { 500, 600 } };
static struct rec_thread threads[2];
static struct rec_process processes[1];
static struct rec_window on[WINDOWS];

static void add_sample(struct recording *recording, uint32_t thread, uint64_t at_ns, uint32_t op)
{
	static struct rec_sample samples[32];
	recording->samples = samples;
	samples[recording->sample_count++] = (struct rec_sample){
		.at_ns = at_ns, .cpu_ns = at_ns / 2, .thread = thread, .op = op
	};
}

static void add_idle(struct recording *recording, uint64_t at_ns)
{
	static struct rec_idle idles[8];
	recording->idles = idles;
	idles[recording->idle_count++] = (struct rec_idle){ at_ns, at_ns / 4, 0 };
}

/* Two threads; the first lasts, the second is there in the second window alone. */
static void make(struct sketch *sketch)
{
	struct recording *recording = &sketch->rec;
	sketch_begin(sketch);
	recording->sample_count = recording->idle_count = 0;
	/* 0 */ sketch_bare_op(sketch, NO_INDEX, KIND_THREAD, 1, 10, 700);
	/* 1: behind its child in time, as it lasts longer */
	sketch_bare_op(sketch, 3, KIND_CALL, 2, 320, 330);
	/* 2: not in the second window, as its child is */
	sketch_bare_op(sketch, 0, KIND_CALL, 3, 110, 150);
	/* 3 */ sketch_bare_op(sketch, 2, KIND_CALL, 4, 120, 450);
	/* 4 */ sketch_bare_op(sketch, NO_INDEX, KIND_THREAD, 5, 310, 390);
	/* 5 */ sketch_bare_op(sketch, 4, KIND_CALL, 6, 320, 380);
	/* 6: it ends where the third begins */
	sketch_bare_op(sketch, 0, KIND_CALL, 7, 390, 500);
	/* 7 */ sketch_bare_op(sketch, 0, KIND_CALL, 8, 600, 650);
	for (uint32_t i = 0; i < 8; i++)
		recording->ops[i].thread = i == 4 || i == 5;
	sketch_bare_wait(sketch, 3, 2, REASON_LOCK, 125, 130);
	sketch_bare_wait(sketch, 5, 3, REASON_LOCK, 330, 340);
	sketch_bare_wait(sketch, 0, 6, REASON_LOCK, 590, 690);
	sketch_bare_link(sketch, LINK_RESULT, 3, 2);
	sketch_bare_link(sketch, LINK_INIT, 2, NO_INDEX);
	sketch_bare_link(sketch, LINK_RESULT, 5, 0);
	recording->links[0].at_ns = recording->links[1].at_ns = 125;
	recording->links[2].at_ns = 350;
	for (size_t i = 0; i < recording->wait_count; i++)
		recording->waits[i].thread = i == 1;
	for (size_t i = 0; i < recording->link_count; i++)
		recording->links[i].thread = i == 2;
	add_sample(recording, 0, 20, 0);
	add_sample(recording, 0, 150, 2);
	add_sample(recording, 0, 550, 0);
	add_sample(recording, 0, 650, 7);
	add_sample(recording, 1, 315, 4);
	add_sample(recording, 1, 360, 5);
	for (uint64_t at_ns = 50; at_ns <= 650; at_ns += 200)
		add_idle(recording, at_ns);
	threads[0] = (struct rec_thread){ .op = 0 };
	threads[1] = (struct rec_thread){ .op = 4 };
	processes[0] = (struct rec_process){ .op = NO_INDEX };
	for (int i = 0; i < WINDOWS; i++)
		on[i] = (struct rec_window){ windows[i].from_ns, windows[i].to_ns, 0, false };
	recording->threads = threads;
	recording->thread_count = 2;
	recording->processes = processes;
	recording->process_count = 1;
	recording->windows = on;
	recording->window_count = WINDOWS;
}

static void *on_heap(const void *array, size_t count, size_t element_bytes)
{
	void *copy = memory_new(count, element_bytes);
	return memcpy(copy, array, count * element_bytes);
}

/* As the reader makes it: it is taken apart. */
static void own(struct recording *recording)
{
#define OWN(array, count) \
	recording->array = on_heap(recording->array, recording->count, sizeof(*recording->array))
	OWN(samples, sample_count);
	OWN(idles, idle_count);
	OWN(threads, thread_count);
	OWN(processes, process_count);
#undef OWN
}

static void select_window(struct recording *recording, int number)
{
	const struct selection selection = { "", "", 0, UINT64_MAX, windows[number] };
	ck_assert_int_eq(selection_apply(&selection, recording), 0);
}

static void expect_same(const struct recording *recording, const struct recording *whole)
{
#define EXPECT_SAME(array, count)                          \
	ck_assert_uint_eq(recording->count, whole->count); \
	ck_assert_mem_eq(recording->array, whole->array, whole->count * sizeof(*whole->array))
	EXPECT_SAME(ops, op_count);
	EXPECT_SAME(waits, wait_count);
	EXPECT_SAME(links, link_count);
	EXPECT_SAME(samples, sample_count);
	EXPECT_SAME(idles, idle_count);
	EXPECT_SAME(threads, thread_count);
	EXPECT_SAME(processes, process_count);
#undef EXPECT_SAME
	ck_assert_uint_eq(recording->end_ns, whole->end_ns);
}

START_TEST(a_part_is_what_the_whole_has)
{
	struct sketch sketch;
	make(&sketch);
	own(&sketch.rec);
	struct parts *parts = parts_begin(&sketch.rec);
	for (int i = 0; i < WINDOWS; i++) {
		struct sketch other;
		make(&other);
		parts_go_to(parts, &windows[i]);
		select_window(&sketch.rec, i);
		select_window(&other.rec, i);
		ck_assert_uint_gt(other.rec.op_count, i == 1 ? 3 : 1);
		expect_same(&sketch.rec, &other.rec);
		sketch_free(&other);
	}
	parts_end(parts);
	free(sketch.rec.samples);
	free(sketch.rec.idles);
	free(sketch.rec.threads);
	free(sketch.rec.processes);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_part_is_what_the_whole_has);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, samples have ids of another trace, or so many that a profile cannot be opened. */
#include "export/idlabels.h"

#include "base/memory.h"
#include "suite.h"
#include "two_traces.h"

static struct two_traces two;
static struct timeline timeline;
static struct traces traces;
static struct id_labels labels;

static void setup(void)
{
	two_traces_begin(&two);
	timeline_build(&timeline, &two.sketch.rec);
	traces_build(&traces, &two.sketch.rec, &timeline);
}

static void teardown(void)
{
	id_labels_free(&labels);
	traces_free(&traces);
	timeline_free(&timeline);
	sketch_free(&two.sketch);
}

START_TEST(ids_are_of_the_thread_and_time)
{
	struct id_label label;
	id_labels_build(&labels, &two.sketch.rec, &traces);
	ck_assert(id_labels_at(&labels, 1, 4 * SKETCH_MS, &label));
	ck_assert_str_eq(label.trace, TRACE_ONE_TEXT);
	ck_assert_str_eq(label.span, "0000000000000011");
	/* one process has both threads: the client's span was its first one */
	ck_assert_str_eq(label.root, "0000000000000010");
	ck_assert(!id_labels_at(&labels, 1, 1 * SKETCH_MS, &label));
	ck_assert_str_eq(label.trace, "");
	ck_assert(!id_labels_at(&labels, NO_INDEX, 1 * SKETCH_MS, &label));
	ck_assert_uint_eq(labels.left_out, 0);
}
END_TEST

START_TEST(a_process_has_a_root_of_its_own)
{
	struct rec_process processes[2] = { two.sketch.process, two.sketch.process };
	struct id_label label;
	two.sketch.rec.processes = processes;
	two.sketch.rec.process_count = 2;
	two.sketch.rec.threads[1].process = 1;
	id_labels_build(&labels, &two.sketch.rec, &traces);
	ck_assert(id_labels_at(&labels, 1, 4 * SKETCH_MS, &label));
	ck_assert_str_eq(label.root, "0000000000000011");
}
END_TEST

/* A trace of too many spans has none; shorter traces have theirs. */
START_TEST(there_are_only_so_many)
{
	struct id_label label;
	traces.traces[0].count = ID_LABELS_MAX + 1;
	free(traces.stretches);
	traces.stretches = memory_new(ID_LABELS_MAX + 3, sizeof(*traces.stretches));
	traces.traces[1].first = ID_LABELS_MAX + 1;
	traces.stretches[0] = (struct trace_stretch){ .from_ns = 0, .to_ns = 100 };
	id_labels_build(&labels, &two.sketch.rec, &traces);
	ck_assert_uint_eq(labels.left_out, 1);
	ck_assert(!id_labels_at(&labels, 0, 2 * SKETCH_MS, &label));
	ck_assert(id_labels_at(&labels, 0, 11 * SKETCH_MS, &label));
}
END_TEST

START_TEST(without_traces_there_are_none)
{
	struct id_label label;
	id_labels_build(&labels, &two.sketch.rec, NULL);
	ck_assert(!id_labels_at(&labels, 0, 2 * SKETCH_MS, &label));
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(ids_are_of_the_thread_and_time);
	TEST(a_process_has_a_root_of_its_own);
	TEST(there_are_only_so_many);
	TEST(without_traces_there_are_none);
}

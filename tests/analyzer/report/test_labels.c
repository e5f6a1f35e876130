/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, reports would call things by other names than the program's, or not say that
 * names are missing.
 */
#include "report/labels.h"

#include "sketch.h"
#include "suite.h"

enum { PATH = 20, OP_NAME = 3 };

static struct rec_thread threads[] = { { .name = 1, .op = 0 } };
static struct rec_process processes[] = { { .pid = 7, .op = NO_INDEX } };
static struct rec_module modules[] = { { .path = PATH, .start = 0x1000, .size = 0x1000 } };
static struct rec_stack stacks[] = { { 0, 0 }, { 0, 1 } };
static struct rec_frame frames[] = { { .module = 0, .offset = 0x10 } };

static void sketch_with_stack(struct sketch *sketch)
{
	struct recording *recording = &sketch->rec;

	sketch_begin(sketch);
	recording->threads = threads;
	recording->thread_count = 1;
	recording->processes = processes;
	recording->process_count = 1;
	recording->modules = modules;
	recording->module_count = 1;
	recording->stacks = stacks;
	recording->stack_count = 2;
	recording->frames = frames;
	recording->frame_count = 1;
	recording->strings[PATH] = "/not/here";
	sketch_bare_op(sketch, NO_INDEX, KIND_THREAD, OP_NAME, 0, 100);
	sketch_bare_op(sketch, 0, KIND_SLEEP, OP_NAME + 1, 10, 20);
	recording->ops[0].thread = recording->ops[1].thread = 0;
	recording->extras[1].stack = 1;
}

START_TEST(what_has_no_symbols_keeps_its_name)
{
	struct sketch sketch;
	const struct options options = { .folded = "wall", .export = "", .root = "" };
	struct labels labels;
	sketch_with_stack(&sketch);
	labels_build(&labels, &sketch.rec, &options, NULL, CLASS_BY_FUNCTION);
	ck_assert_str_eq(sketch.rec.strings[labels.ops[1]], "n../n4");
	ck_assert_uint_eq(labels.classes[1], labels.ops[1]);
	ck_assert_uint_eq(labels.unnamed.missing_count, 1);
	ck_assert_str_eq(labels.unnamed.missing_path, "/not/here");
	ck_assert_uint_eq(labels.unnamed.other_count, 0);
	ck_assert_uint_eq(labels.spins.total_ns, 0);
	labels_free(&labels);
	ck_assert_ptr_null(labels.ops);
	sketch_free(&sketch);
}
END_TEST

START_TEST(without_threads_there_are_none)
{
	struct sketch sketch;
	const struct options options = { .folded = "", .export = "" };
	struct labels labels;
	sketch_begin(&sketch);
	sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, OP_NAME, 0, 100);
	labels_build(&labels, &sketch.rec, &options, NULL, CLASS_BY_FUNCTION);
	ck_assert(!labels.ops && !labels.classes && !labels.waits && !labels.sites);
	labels_free(&labels);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(what_has_no_symbols_keeps_its_name);
	TEST(without_threads_there_are_none);
}

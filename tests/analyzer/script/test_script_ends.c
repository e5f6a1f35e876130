/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if who reads a pipe to its end is not taken to wait for the process that writes to it. */
#include "script/script.h"

#include "sketch.h"
#include "suite.h"

static const struct script_options as_recorded = { 0 };

/* A parent reads from 2 to 20 ms; its child has the pipe, and ends. */
static const struct {
	const char *call;
	uint64_t bytes;   /* read */
	uint64_t written; /* by the child, at 5 */
	double ends_ms;
	const char *held; /* the child closes it at 1.1 */
	bool is_joined;
} reads[] = {
	/* 0 */ { "read", 0, 0, 19.5, "pipe:[7]", true },
	/* 1 */ { "getdelim", 0, 0, 11.5, "pipe:[7]", true }, /* it had much memory, say */
	/* 2 */ { "read", 0, 0, 1.5, "pipe:[7]", false },     /* before the read */
	/* 3 */ { "read", 0, 0, 25, "pipe:[7]", false },      /* after it */
	/* 4 */ { "read", 0, 0, 19.5, "pipe:[8]", false },    /* has another pipe */
	/* 5 */ { "read", 41, 0, 19.5, "pipe:[7]", true },    /* its last words */
	/* 6 */ { "read", 41, 0, 5, "pipe:[7]", false },      /* of somebody else */
	/* 7 */ { "read", 41, 41, 19.5, "pipe:[7]", false },  /* a write that is known */
	/* 8 */ { "write", 0, 0, 19.5, "pipe:[7]", false },
	/* 9 */ { "read", 0, 0, 5, "pipe:[7]", false }, /* somebody else closed it */
};

static const struct step *find(const struct script *script, uint32_t thread, enum step_type type)
{
	const struct step *step = &script->steps[script->actors[thread].first_step];

	for (; step->type != STEP_END; step++)
		if (step->type == type)
			return step;
	return NULL;
}

/* Threads 0 and 1 are the parent's, thread 2 is the child's. */
static void two_processes(struct sketch *sketch, struct rec_process *processes, double ends_ms)
{
	sketch_begin(sketch);
	sketch_thread(sketch, "parent", 0, 30);
	sketch_thread(sketch, "other", 0, 30);
	sketch_thread(sketch, "child", 1, ends_ms);
	sketch->rec.threads[2].process = 1;
	sketch->rec.threads[2].tid = 2;
	processes[0] = sketch->rec.processes[0];
	processes[1] = (struct rec_process){ .pid = 2 };
	processes[1].op = sketch_op(sketch, KIND_PROCESS, "child", NO_INDEX, 1, ends_ms);
	sketch->rec.processes = processes;
	sketch->rec.process_count = 2;
}

START_TEST(the_end_of_a_pipe_is_the_end_of_who_has_it)
{
	struct sketch sketch;
	struct script script;
	struct rec_process processes[2];

	two_processes(&sketch, processes, reads[_i].ends_ms);
	sketch_io(&sketch, 2, "close", reads[_i].held, 0, 1.1, 1.1);
	sketch_io(&sketch, 1, "close", "pipe:[7]", 0, 1, 1);
	if (reads[_i].written)
		sketch_io(&sketch, 2, "write", "pipe:[7]", reads[_i].written, 5, 5);
	sketch_io(&sketch, 0, reads[_i].call, "pipe:[7]", reads[_i].bytes, 2, 20);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	const struct step *join = find(&script, 0, STEP_JOIN);
	ck_assert_int_eq(join != NULL, reads[_i].is_joined);
	if (join) {
		ck_assert_uint_eq(join->arg, 2);
		ck_assert_uint_eq(join->ns, (uint64_t)((20 - reads[_i].ends_ms) * 1e6));
		ck_assert_ptr_null(find(&script, 0, STEP_DELAY));
	}
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* It inherited the pipe, and never used it; a thread of the reader's own process has it, too. */
START_TEST(a_pipe_that_was_never_used_ends_with_its_process)
{
	struct sketch sketch;
	struct script script;
	struct rec_process processes[2];
	const char *held[] = { "pipe:[7]", "pipe:[8]" };

	two_processes(&sketch, processes, 19.5);
	sketch_io(&sketch, 0, "read", "pipe:[7]", 0, 2, 20);
	for (uint32_t thread = 1; thread < 3; thread++) {
		uint32_t link = sketch_link(&sketch, thread, LINK_LEAVE, "", 19, 0, NO_INDEX);
		sketch.rec.links[link].ident = sketch_string(&sketch, held[_i]);
	}
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	const struct step *join = find(&script, 0, STEP_JOIN);
	ck_assert_int_eq(join != NULL, _i == 0);
	ck_assert(!join || join->arg == 2);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_poll_before_it_waits_for_the_end)
{
	struct sketch sketch;
	struct script script;
	struct rec_process processes[2];

	two_processes(&sketch, processes, 19);
	sketch_io(&sketch, 2, "close", "pipe:[7]", 0, 1.1, 1.1);
	uint32_t poll = sketch_op(&sketch, KIND_POLL, "poll", 0, 2, 20);
	sketch.rec.extras[poll].amount = 1;
	sketch_io(&sketch, 0, "read", "pipe:[7]", 0, 20.1, 20.2);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	const struct step *join = find(&script, 0, STEP_JOIN);
	ck_assert_ptr_nonnull(join);
	ck_assert_uint_eq(join->ns, 1000000);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(the_end_of_a_pipe_is_the_end_of_who_has_it, reads);
	LOOP(a_pipe_that_was_never_used_ends_with_its_process, 0, 2);
	TEST(a_poll_before_it_waits_for_the_end);
}

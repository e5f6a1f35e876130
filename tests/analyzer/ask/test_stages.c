/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a stage of one thread could not be given help, or a client would be taken for
 * one.
 */
#include "ask/stages.h"

#include "asking.h"

/* The makespan with so many times the threads of that class. */
static double asked_ms(const struct sketch *sketch, const char *class, double times)
{
	struct question question = { .pools = { { sketch_class(sketch, class), times } },
				     .pool_count = 1 };
	char error[OPTIONS_ERROR_BYTES] = "";
	double ms = asking_ms(sketch, &question, error);

	if (ms == NEVER)
		ck_assert_msg(strstr(error, "is not a pool") != NULL, "%s", error);
	return ms;
}

/* Eight items are posted at 0, and the only worker takes 10 ms for each: 80 ms. */
static void stage(struct sketch *sketch)
{
	sketch_begin(sketch);
	sketch_join_two(sketch, "worker", "idle", 80, 1);
	for (int i = 0; i < 8; i++) {
		sketch_link(sketch, 0, LINK_POST, "items", 0, 0, NO_INDEX);
		sketch_wait(sketch, 1, REASON_SEM, "items", 10 * i, 10 * i, NO_INDEX);
		sketch_sleep(sketch, 1, "job", 10 * i, 10 * i + 10);
	}
	sketch_end(sketch);
}

/* A client asks and a server answers after 10 ms, four times. A second client would ask as much
 * again; whether the client would ask two servers at once is not known. */
static void loop(struct sketch *sketch)
{
	sketch_begin(sketch);
	sketch_join_two(sketch, "client", "server", 40, 40);
	for (int i = 0; i < 4; i++) {
		sketch_link(sketch, 1, LINK_POST, "asked", 10 * i, i > 0, NO_INDEX);
		sketch_wait(sketch, 2, REASON_SEM, "asked", 10 * i, 10 * i, NO_INDEX);
		sketch_sleep(sketch, 2, "job", 10 * i, 10 * i + 10);
		sketch_link(sketch, 2, LINK_POST, "answered", 10 * i + 10, 1, NO_INDEX);
		sketch_wait(sketch, 1, REASON_SEM, "answered", 10 * i, 10 * i + 10, NO_INDEX);
	}
	sketch_end(sketch);
}

/* Two workers, each with items of its own: a third one would have others. */
static void apart(struct sketch *sketch)
{
	static const char *const items[] = { "", "first", "second" };

	sketch_begin(sketch);
	sketch_join_two(sketch, "worker", "worker", 40, 40);
	for (int i = 0; i < 8; i++) {
		uint32_t thread = 1 + (uint32_t)i % 2;
		double from_ms = 10 * (i / 2);

		sketch_link(sketch, 0, LINK_POST, items[thread], 0, 0, NO_INDEX);
		sketch_wait(sketch, thread, REASON_SEM, items[thread], from_ms, from_ms, NO_INDEX);
		sketch_sleep(sketch, thread, "job", from_ms, from_ms + 10);
	}
	sketch_end(sketch);
}

/* The thread takes what it has put itself: it lends itself permits. */
static void lender(struct sketch *sketch)
{
	sketch_begin(sketch);
	sketch_join_two(sketch, "lender", "idle", 40, 1);
	for (int i = 0; i < 4; i++) {
		sketch_link(sketch, 1, LINK_POST, "own", 10 * i, 0, NO_INDEX);
		sketch_wait(sketch, 1, REASON_SEM, "own", 10 * i, 10 * i, NO_INDEX);
		sketch_sleep(sketch, 1, "job", 10 * i, 10 * i + 10);
	}
	sketch_end(sketch);
}

static const struct {
	void (*run)(struct sketch *);
	const char *class;
	double times;
	double expected_ms;
} cases[] = {
	/* 0 */ { stage, "worker", 1, 80 },
	/* 1 */ { stage, "worker", 2, 40 },
	/* 2 */ { stage, "worker", 4, 20 },
	/* 3 */ { stage, "idle", 2, NEVER },
	/* 4 */ { loop, "server", 2, NEVER },
	/* 5 */ { loop, "client", 2, NEVER },
	/* 6 */ { lender, "lender", 2, NEVER },
	/* 7 */ { apart, "worker", 2, NEVER },
};

START_TEST(a_stage_of_one_thread_gets_help)
{
	struct sketch sketch;

	cases[_i].run(&sketch);
	ck_assert_double_eq_tol(asked_ms(&sketch, cases[_i].class, cases[_i].times),
				cases[_i].expected_ms, 0.01);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(a_stage_of_one_thread_gets_help, cases);
}

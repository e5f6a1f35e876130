/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a round that takes more than it gives back is left out, or done again. */
#include "script/script_balance.h"

#include "suite.h"

enum { STEPS = 6 };

static struct condition conditions[] = { { .model = PUT_BY_SIGNAL }, { .is_pool = true } };
static struct signal_role signals[] = { { .condition = 0 },
					{ .condition = 0, .is_gate = true },
					{ .condition = NO_INDEX } };
static const struct script script = {
	.monitors = { .conditions = conditions, .condition_count = 2, .signals = signals },
	.semaphore_count = 2,
	.lock_count = 2,
};

static const struct {
	bool counts;
	bool is_even;
	struct step steps[STEPS]; /* up to STEP_END */
} rows[] = {
	/* 0 */ { true,
		  true,
		  { { .type = STEP_RUN }, { .type = STEP_DELAY }, { .type = STEP_END } } },
	/* 1 */
	{ true,
	  true,
	  { { .type = STEP_ACQUIRE, .arg = 1 },
	    { .type = STEP_RELEASE, .arg = 1 },
	    { .type = STEP_END } } },
	/* 2: of two locks */
	{ true,
	  false,
	  { { .type = STEP_ACQUIRE, .arg = 1 },
	    { .type = STEP_RELEASE, .arg = 0 },
	    { .type = STEP_END } } },
	/* 3: a token, and a signal that puts one */
	{ true,
	  true,
	  { { .type = STEP_TAKE, .arg = 0 },
	    { .type = STEP_SIGNAL, .arg = 0 },
	    { .type = STEP_END } } },
	/* 4: one that puts none */
	{ true,
	  false,
	  { { .type = STEP_TAKE, .arg = 0 },
	    { .type = STEP_SIGNAL, .arg = 1 },
	    { .type = STEP_END } } },
	/* 5: a job */ { false, true, { { .type = STEP_TAKE, .arg = 1 }, { .type = STEP_END } } },
	/* 6: a signal to whoever waits for that */
	{ false, true, { { .type = STEP_SIGNAL, .arg = 2 }, { .type = STEP_END } } },
	/* 7 */
	{ true,
	  true,
	  { { .type = STEP_POST, .arg = 1 },
	    { .type = STEP_CLAIM, .arg = 1 },
	    { .type = STEP_YIELD, .arg = 0 },
	    { .type = STEP_END } } },
	/* 8: no lock with the number of a semaphore */
	{ true,
	  false,
	  { { .type = STEP_POST, .arg = 0 },
	    { .type = STEP_ACQUIRE, .arg = 0 },
	    { .type = STEP_END } } },
	/* 9 */ { false, true, { { .type = STEP_SEND }, { .type = STEP_END } } },
};

START_TEST(what_is_taken_is_given_back)
{
	struct script_balance balance = { .size = 0 };
	bool counts = true;
	for (const struct step *step = rows[_i].steps; step->type != STEP_END; step++)
		counts = counts && script_balances(&balance, &script, step);
	ck_assert(counts == rows[_i].counts);
	ck_assert(script_is_even(&balance) == rows[_i].is_even);
}
END_TEST

/* Of more sorts than are told apart, nothing is left out. */
START_TEST(too_many_sorts)
{
	struct script_balance balance = { .size = 0 };
	struct step step = { .type = STEP_POST };
	for (; step.arg < SCRIPT_BALANCE_MAX; step.arg++)
		ck_assert(script_balances(&balance, &script, &step));
	ck_assert(!script_balances(&balance, &script, &step));
}
END_TEST

/* A wait's own semaphore was given back, and that of the next one taken. */
START_TEST(a_permit_of_another_semaphore)
{
	const struct step post = { .type = STEP_POST, .arg = 0 };
	const struct step claim = { .type = STEP_CLAIM, .arg = 1 };
	struct script_balance balance = { .size = 0 };
	script_balances(&balance, &script, &post);
	script_balances(&balance, &script, &claim);
	ck_assert(script_is_even_but(&balance, &script, 0, 1));
	ck_assert(!script_is_even_but(&balance, &script, 1, 0));
	ck_assert(!script_is_even_but(&balance, &script, NO_INDEX, 1));
	script_balances(&balance, &script, &post);
	ck_assert(!script_is_even_but(&balance, &script, 0, 1));
}
END_TEST

SUITE()
{
	EACH(what_is_taken_is_given_back, rows);
	TEST(too_many_sorts);
	TEST(a_permit_of_another_semaphore);
}

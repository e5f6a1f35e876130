/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, the wrong class would be blamed for a slower build, or one by a replay that is
 * not good enough.
 */
#include "diff/causes.h"

#include "compared.h"
#include "printed_diff.h"
#include "suite.h"

static struct compared old_side, new_side;
static struct costs old_costs, new_costs;
static struct comparison comparison;
static struct causes causes;

static void compare(const char *call, double sleep_ms, const char *new_call, double new_sleep_ms,
		    enum diff_unit unit)
{
	compared_begin(&old_side, call, sleep_ms, 1);
	compared_begin(&new_side, new_call, new_sleep_ms, 2);
	costs_build(&old_costs, &old_side.analysis, unit, NULL);
	costs_build(&new_costs, &new_side.analysis, unit, NULL);
	comparison_build(&comparison, &old_costs, &new_costs);
}

static void end(void)
{
	causes_free(&causes);
	comparison_free(&comparison);
	costs_free(&old_costs);
	costs_free(&new_costs);
	compared_end(&old_side);
	compared_end(&new_side);
}

static const struct cause *cause_of(const char *kind, const char *name)
{
	for (size_t i = 0; i < causes.count; i++)
		if (!strcmp(causes.rows[i].row->new_class->kind, kind) &&
		    !strcmp(causes.rows[i].row->new_class->name, name))
			return &causes.rows[i];
	ck_abort_msg("no such cause");
}

static void print(struct emit *emit, const void *context)
{
	(void)context;
	causes_print(&causes, &comparison, emit);
}

static void check_prints(const char *part)
{
	char *text = printed_diff(EMIT_TEXT, print, NULL);
	ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in:\n%s", part, text);
	free(text);
}

START_TEST(a_longer_call_is_the_cause)
{
	compare("nap", 3, "nap", 4, UNIT_REQUEST);
	new_side.analysis.checks.is_withheld = false;
	causes_build(&causes, &comparison, &new_side.analysis);
	const struct cause *nap = cause_of("sleep", "nap"), *table = cause_of("hold", "table");
	ck_assert_int_eq(nap->sort, CAUSE_LENGTH);
	ck_assert_double_eq_tol(nap->times, 4.0 / 3, 0.02);
	ck_assert_double_eq_tol(nap->effect.p50_ns, 1e6, 1e5);
	ck_assert_double_eq_tol(nap->effect.p99_ns, 1e6, 2e5);
	/* The lock is held for longer because of that: no second cause. */
	ck_assert(nap->is_together && !table->is_together);
	ck_assert_double_eq_tol(causes.together.p50_ns, nap->effect.p50_ns, 1);
	ck_assert_double_eq_tol(causes.measured.p50_ns, 1e6, 1e5);
	check_prints("is because `nap` takes 1.32 x as long");
	check_prints("not explained");
	end();
}
END_TEST

START_TEST(a_new_class_is_put_back_to_nothing)
{
	compare("nap", 3, "doze", 3, UNIT_REQUEST);
	new_side.analysis.checks.is_withheld = false;
	causes_build(&causes, &comparison, &new_side.analysis);
	const struct cause *doze = cause_of("sleep", "doze");
	ck_assert_int_eq(doze->sort, CAUSE_NEW);
	ck_assert_double_eq_tol(doze->effect.p50_ns, 3e6, 3e5);
	check_prints("is new");
	end();
}
END_TEST

START_TEST(a_replay_that_is_withheld_blames_nothing)
{
	compare("nap", 3, "nap", 4, UNIT_REQUEST);
	new_side.analysis.checks.is_withheld = true;
	new_side.analysis.checks.gravest = CHECK_DRIFT;
	strcpy(new_side.analysis.checks.rows[CHECK_DRIFT].line, "the replay is off");
	causes_build(&causes, &comparison, &new_side.analysis);
	ck_assert_uint_eq(causes.count, 0);
	check_prints("Causes are withheld: the replay is off");
	end();
}
END_TEST

SUITE()
{
	TEST(a_longer_call_is_the_cause);
	TEST(a_new_class_is_put_back_to_nothing);
	TEST(a_replay_that_is_withheld_blames_nothing);
}

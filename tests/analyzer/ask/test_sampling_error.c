/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if an answer that rests on a few samples passed for exact, or an exact one for a guess. */
#include "ask/sampling_error.h"

#include "base/memory.h"
#include "suite.h"

#include <math.h>
#include <stdlib.h>

enum { RUNNING, LOCK, ASLEEP, CLASSES };

/* 25 samples in a class, of which 9 with a lock held; one function in 4 of them. */
static double *error_of(struct script *script, double cpus)
{
	const struct machine machine = { .tick_ns = 4000000, .cpus = cpus };
	const uint32_t lock = LOCK, samples[] = { 16, 9, 5, 0 };
	uint32_t held = lock;

	*script = (struct script){ .class_count = CLASSES, .actor_count = 2 };
	script->shares.functions = memory_new(1, sizeof(*script->shares.functions));
	script->shares.functions[0] =
		(struct function){ .samples = 4, .total_ns = 100, .sampled_ns = 80 };
	script->shares.function_count = 1;
	uint32_t free_scope = scopes_add(&script->scopes, RUNNING, NULL, 0);
	uint32_t held_scope = scopes_add(&script->scopes, RUNNING, &held, 1);
	uint32_t place = scopes_add_place(&script->scopes, held_scope, 7);
	uint32_t sleeping = scopes_add(&script->scopes, ASLEEP, NULL, 0);
	script->shares.in_scope =
		memory_new(script->scopes.count, sizeof(*script->shares.in_scope));
	script->shares.in_scope[free_scope] = samples[0];
	script->shares.in_scope[held_scope] = samples[1];
	script->shares.in_scope[place] = samples[2];
	script->shares.in_scope[sleeping] = samples[3];
	return sampling_error_build(script, &machine);
}

static void error_free(struct script *script, double *error)
{
	shares_free(&script->shares);
	scopes_free(&script->scopes);
	free(error);
}

START_TEST(on_crowded_cpus_classes_rest_on_samples_too)
{
	struct script script;
	double *error = error_of(&script, _i ? 1 : 2);

	ck_assert_double_eq_tol(error[RUNNING], 1.0 / 5, 1e-9);
	ck_assert_double_eq_tol(error[LOCK], 1.0 / 3, 1e-9);
	ck_assert_double_eq(error[ASLEEP], 0);
	ck_assert_double_eq_tol(error[CLASSES], 0.8 / 2, 1e-9);
	error_free(&script, error);
}
END_TEST

START_TEST(with_cpus_to_spare_only_functions_do)
{
	struct script script;
	double *error = error_of(&script, _i ? INFINITY : 3);

	ck_assert_double_eq(error[RUNNING], 0);
	ck_assert_double_eq(error[LOCK], 0);
	ck_assert_double_eq_tol(error[CLASSES], 0.8 / 2, 1e-9);
	error_free(&script, error);
}
END_TEST

START_TEST(without_samples_nothing_is_known)
{
	struct script script = { .class_count = CLASSES, .actor_count = 2 };
	const struct machine machine = { .tick_ns = 4000000, .cpus = 1 };
	double *error = sampling_error_build(&script, &machine);

	for (size_t i = 0; i < CLASSES; i++)
		ck_assert_double_eq(error[i], 0);
	free(error);
}
END_TEST

SUITE()
{
	LOOP(on_crowded_cpus_classes_rest_on_samples_too, 0, 2);
	LOOP(with_cpus_to_spare_only_functions_do, 0, 2);
	TEST(without_samples_nothing_is_known);
}

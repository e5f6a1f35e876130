/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists each hypothesis' parts, in two passes over the scopes: one counts, one fills in. Two are
 * compared by walking along both lists. One thread.
 */
#include "reach.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"

/* Samples, and what runs around calls, do not tell finer than this. */
static const double NEARLY = 0.99;

static const double MOSTLY = 0.9;

static void add_class(struct reach *reach, size_t *at, uint32_t class, uint32_t scope)
{
	if (reach->parts)
		reach->parts[at[class]] = (struct share){ scope, 1 };
	reach->total_ns[class] += reach->parts ? (double)reach->script->scope_ns[scope] : 0;
	at[class]++;
}

/* `at` has a number for each class: of parts so far, or where the next one goes. */
static void add_classes(struct reach *reach, size_t *at)
{
	const struct scopes *scopes = &reach->script->scopes;

	for (uint32_t s = 0; s < scopes->count; s++) {
		const struct scope *scope = &scopes->scopes[s];

		if (!reach->script->scope_ns[s])
			continue;
		if (scope->leaf != NO_INDEX)
			add_class(reach, at, scope->leaf, s);
		for (uint32_t i = scope->first; i < scope->first + scope->count; i++)
			if (scopes->classes[i] != scope->leaf)
				add_class(reach, at, scopes->classes[i], s);
	}
}

static void add_functions(struct reach *reach)
{
	const struct shares *shares = &reach->script->shares;

	for (size_t f = 0; f < shares->function_count; f++) {
		const struct function *function = &shares->functions[f];
		size_t hypothesis = reach->script->class_count + f;

		for (uint32_t i = 0; i < function->count; i++)
			reach->parts[reach->first[hypothesis] + i] =
				shares->shares[function->first + i];
		reach->total_ns[hypothesis] = (double)function->total_ns;
	}
}

void reach_build(struct reach *reach, const struct script *script)
{
	size_t classes = script->class_count, functions = script->shares.function_count;
	size_t *at = memory_new(classes, sizeof(*at));

	*reach = (struct reach){ .script = script, .count = classes + functions };
	reach->first = memory_new(classes + functions + 1, sizeof(*reach->first));
	reach->total_ns = memory_new(classes + functions, sizeof(*reach->total_ns));
	add_classes(reach, at);
	for (size_t i = 0; i < classes; i++) {
		reach->first[i + 1] = reach->first[i] + at[i];
		at[i] = reach->first[i];
	}
	for (size_t f = 0; f < functions; f++)
		reach->first[classes + f + 1] =
			reach->first[classes + f] + script->shares.functions[f].count;
	reach->parts = memory_new(reach->first[classes + functions], sizeof(*reach->parts));
	add_classes(reach, at);
	add_functions(reach);
	free(at);
}

void reach_free(struct reach *reach)
{
	free(reach->first);
	free(reach->parts);
	free(reach->total_ns);
	*reach = (struct reach){ 0 };
}

bool reach_is_function(const struct reach *reach, uint32_t hypothesis)
{
	uint32_t classes = reach->script->class_count;

	return hypothesis >= classes &&
	       !reach->script->shares.functions[hypothesis - classes].is_program;
}

/* Time that both scale. */
static double common_ns(const struct reach *reach, uint32_t a, uint32_t b)
{
	const struct share *left = reach->parts + reach->first[a];
	const struct share *left_end = reach->parts + reach->first[a + 1];
	const struct share *right = reach->parts + reach->first[b];
	const struct share *right_end = reach->parts + reach->first[b + 1];
	double ns = 0;

	while (left < left_end && right < right_end) {
		if (left->scope == right->scope)
			ns += (double)(left->share < right->share ? left->share : right->share) *
			      (double)reach->script->scope_ns[left->scope];
		bool is_left_done = left->scope <= right->scope;
		right += right->scope <= left->scope;
		left += is_left_done;
	}
	return ns;
}

bool reach_is_same(const struct reach *reach, uint32_t hypothesis, uint32_t other)
{
	double a_ns = reach->total_ns[hypothesis], b_ns = reach->total_ns[other];
	double most_ns = a_ns > b_ns ? a_ns : b_ns;

	return most_ns > 0 && a_ns + b_ns >= (1 + NEARLY) * most_ns &&
	       common_ns(reach, hypothesis, other) >= NEARLY * most_ns;
}

bool reach_contains(const struct reach *reach, uint32_t outer, uint32_t inner)
{
	double inner_ns = reach->total_ns[inner];

	return inner_ns > 0 && reach->total_ns[outer] > inner_ns &&
	       common_ns(reach, outer, inner) >= NEARLY * inner_ns;
}

bool reach_has_own(const struct reach *reach, uint32_t hypothesis)
{
	double ns = reach->total_ns[hypothesis];

	for (uint32_t i = 0; i < reach->count; i++)
		if (reach->total_ns[i] >= MOSTLY * ns && reach_contains(reach, hypothesis, i) &&
		    !reach_is_same(reach, hypothesis, i))
			return false;
	return true;
}

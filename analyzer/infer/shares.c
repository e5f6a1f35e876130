/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts, for each pair of scope and function, the samples that have both; then shares out time.
 *
 * Pairs are sorted and counted in place of a table of all of them. A sample counts in its scope and
 * in each scope around that, so that places without samples find the closest one that has some. A
 * scope whose own context has samples goes by those alone.
 *
 * One thread.
 */
#include "shares.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct pair {
	uint32_t function;
	uint32_t scope;
};

static int compare_pairs(const void *left, const void *right)
{
	const struct pair *a = left, *b = right;

	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	return a->scope < b->scope ? -1 : a->scope > b->scope;
}

/* Of those that take equally long the inner one comes first: names are numbered in that order. */
static int compare_functions(const void *left, const void *right)
{
	const struct function *a = left, *b = right;

	if (a->total_ns != b->total_ns)
		return a->total_ns > b->total_ns ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

/* A function's part of a scope. */
struct part {
	struct pair pair;
	float share;
};

/* One build. */
struct share_work {
	const struct shares_of *of;
	uint32_t *in_scope; /* samples by scope, those of its parts included */
	uint32_t *like;     /* by scope: the one whose samples are taken for its own, or NO_INDEX */
	struct pair *pairs;
	size_t pair_count;
	size_t pair_capacity;
	struct part *parts;
	size_t part_count;
	size_t part_capacity;
	/* scopes by the one whose samples are taken for theirs: users[first_user[s] ...] */
	uint32_t *first_user;
	uint32_t *users;
};

static const struct scope *scope_at(const struct share_work *work, uint32_t scope)
{
	return &work->of->scopes->scopes[scope];
}

/* --- samples --- */

/* The sample was taken in the scope, and so in all that it is a part of. */
static void add_sample(struct share_work *work, uint32_t stack, uint32_t scope)
{
	const struct stack_functions *functions = work->of->functions;

	for (; scope != NO_INDEX; scope = scope_at(work, scope)->parent) {
		work->in_scope[scope]++;
		for (uint32_t f = functions->first[stack]; f < functions->first[stack + 1]; f++) {
			work->pairs = memory_grow(work->pairs, &work->pair_capacity,
						  work->pair_count + 1, sizeof(*work->pairs));
			work->pairs[work->pair_count++] =
				(struct pair){ functions->functions[f], scope };
		}
	}
}

static void collect_pairs(struct share_work *work)
{
	const struct recording *rec = work->of->rec;
	const uint32_t *scope_of = work->of->scope_of_sample;

	for (size_t i = 0; scope_of && i < rec->sample_count; i++)
		if (rec->samples[i].stack && scope_of[i] != NO_INDEX)
			add_sample(work, rec->samples[i].stack, scope_of[i]);
	if (work->pair_count)
		qsort(work->pairs, work->pair_count, sizeof(*work->pairs), compare_pairs);
}

/* Only what runs is sampled: a call of the program's is not like what runs around it. */
static void find_like(struct share_work *work)
{
	const struct scopes *scopes = work->of->scopes;

	work->like = memory_new(scopes->count, sizeof(*work->like));
	for (uint32_t i = 0; i < scopes->count; i++) {
		uint32_t scope = scopes->scopes[i].place ? i : NO_INDEX;

		while (scope != NO_INDEX && !work->in_scope[scope])
			scope = scopes->scopes[scope].parent;
		work->like[i] = scope;
	}
}

static void find_users(struct share_work *work)
{
	size_t count = work->of->scopes->count;

	work->first_user = memory_new(count + 2, sizeof(*work->first_user));
	work->users = memory_new(count, sizeof(*work->users));
	for (uint32_t i = 0; i < count; i++)
		if (work->like[i] != NO_INDEX)
			work->first_user[work->like[i] + 2]++;
	for (size_t i = 2; i < count + 2; i++)
		work->first_user[i] += work->first_user[i - 1];
	for (uint32_t i = 0; i < count; i++)
		if (work->like[i] != NO_INDEX)
			work->users[work->first_user[work->like[i] + 1]++] = i;
}

/* --- parts --- */

static void add_part(struct share_work *work, uint32_t function, uint32_t scope, float share)
{
	work->parts = memory_grow(work->parts, &work->part_capacity, work->part_count + 1,
				  sizeof(*work->parts));
	work->parts[work->part_count++] = (struct part){ { function, scope }, share };
}

/* Whether samples tell about the scope's own functions, and not only of what is like it. */
static bool is_sampled(const struct share_work *work, uint32_t scope)
{
	uint32_t like = work->like[scope];

	return like != NO_INDEX && scope_at(work, like)->context == scope_at(work, scope)->context;
}

/* `hits` samples of the scope have the function: so it is in all that are like it. */
static void add_sampled(struct share_work *work, const struct pair *pair, size_t hits)
{
	const struct contexts *contexts = work->of->contexts;
	float share = (float)hits / (float)work->in_scope[pair->scope];

	for (uint32_t i = work->first_user[pair->scope]; i < work->first_user[pair->scope + 1];
	     i++) {
		uint32_t user = work->users[i];

		if (is_sampled(work, user) ||
		    !contexts_have(contexts, scope_at(work, user)->context, pair->function))
			add_part(work, pair->function, user, share);
	}
}

static void add_known(struct share_work *work, uint32_t scope)
{
	const struct contexts *contexts = work->of->contexts;
	uint32_t context = scope_at(work, scope)->context;

	for (uint32_t i = contexts->first[context]; i < contexts->first[context + 1]; i++)
		if (!is_sampled(work, scope) || contexts->functions[i] & CONTEXT_PROGRAM)
			add_part(work, contexts->functions[i], scope, 1);
}

static int compare_parts(const void *left, const void *right)
{
	const struct part *a = left, *b = right;

	return compare_pairs(&a->pair, &b->pair);
}

static void collect_parts(struct share_work *work)
{
	for (size_t from = 0, to; from < work->pair_count; from = to) {
		for (to = from + 1;
		     to < work->pair_count && !compare_pairs(&work->pairs[from], &work->pairs[to]);)
			to++;
		add_sampled(work, &work->pairs[from], to - from);
	}
	for (uint32_t i = 0; i < work->of->scopes->count; i++)
		if (work->of->scope_ns[i])
			add_known(work, i);
	if (work->part_count)
		qsort(work->parts, work->part_count, sizeof(*work->parts), compare_parts);
}

/* --- functions --- */

static void add_function(struct shares *shares, const struct share_work *work, size_t from,
			 size_t to)
{
	uint32_t number = work->parts[from].pair.function;
	double total_ns = 0, sampled_ns = 0;
	struct function function = { .name = number & ~CONTEXT_PROGRAM,
				     .is_program = number & CONTEXT_PROGRAM,
				     .first = (uint32_t)from,
				     .count = (uint32_t)(to - from) };

	for (size_t i = from; i < to; i++) {
		const struct part *part = &work->parts[i];

		shares->shares[i] = (struct share){ part->pair.scope, part->share };
		double ns = (double)part->share * (double)work->of->scope_ns[part->pair.scope];
		total_ns += ns;
		sampled_ns += work->like[part->pair.scope] != NO_INDEX ? ns : 0;
	}
	function.total_ns = (uint64_t)total_ns;
	function.sampled_ns = function.is_program ? 0 : (uint64_t)sampled_ns;
	shares->functions[shares->function_count++] = function;
}

/* Both are in order of functions. A sample counts once, where nothing is around it. */
static void count_samples(struct shares *shares, const struct share_work *work)
{
	size_t at = 0;

	for (size_t f = 0; f < shares->function_count; f++) {
		struct function *function = &shares->functions[f];

		for (; !function->is_program && at < work->pair_count &&
		       work->pairs[at].function <= function->name;
		     at++)
			function->samples +=
				work->pairs[at].function == function->name &&
				scope_at(work, work->pairs[at].scope)->parent == NO_INDEX;
	}
}

void shares_build(struct shares *shares, const struct shares_of *of)
{
	struct share_work work = { .of = of };

	assert(of->contexts->count && (!of->scope_of_sample || of->functions->first));
	*shares = (struct shares){ 0 };
	work.in_scope = memory_new(of->scopes->count, sizeof(*work.in_scope));
	collect_pairs(&work);
	find_like(&work);
	find_users(&work);
	collect_parts(&work);
	shares->functions = memory_new(work.part_count, sizeof(*shares->functions));
	shares->shares = memory_new(work.part_count, sizeof(*shares->shares));
	shares->share_count = work.part_count;
	for (size_t from = 0, to; from < work.part_count; from = to) {
		for (to = from + 1; to < work.part_count &&
				    work.parts[to].pair.function == work.parts[from].pair.function;)
			to++;
		add_function(shares, &work, from, to);
	}
	count_samples(shares, &work);
	if (shares->function_count)
		qsort(shares->functions, shares->function_count, sizeof(*shares->functions),
		      compare_functions);
	shares->in_scope = work.in_scope;
	free(work.like);
	free(work.pairs);
	free(work.parts);
	free(work.first_user);
	free(work.users);
}

void shares_free(struct shares *shares)
{
	free(shares->functions);
	free(shares->shares);
	free(shares->in_scope);
	*shares = (struct shares){ 0 };
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts, for each pair of scope and function, the samples that have both.
 *
 * Pairs are sorted and counted in place of a table of all of them. A sample counts in its scope and
 * in each scope around that, so that places without samples find the closest one that has some.
 * The CPU time that a sample stands for is taken to be the same for all: the kernel's clock ticks
 * evenly.
 *
 * One thread.
 */
#include "shares.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "recording/intern.h"
#include "recording/samples.h"

/* --- the functions of a stack --- */

struct function_list {
	uint32_t *ids;
	size_t count;
	size_t capacity;
};

static void add_place(struct function_list *list, struct recording *rec,
		      const struct callers *callers, struct rec_frame frame,
		      const struct symbol_place *place, size_t from)
{
	for (size_t i = 0; i < place->frame_count; i++) {
		const char *name = place->frames[i].function;
		bool is_there = !name || callers_is_runtime(callers, frame, name);
		uint32_t id = is_there ? 0 : recording_intern(rec, name);

		for (size_t k = from; !is_there && k < list->count; k++)
			is_there = list->ids[k] == id;
		if (is_there)
			continue;
		list->ids = memory_grow(list->ids, &list->capacity, list->count + 1, sizeof(id));
		list->ids[list->count++] = id;
	}
}

void stack_functions_build(struct stack_functions *of, struct recording *rec,
			   struct symbols *symbols, const struct callers *callers)
{
	struct function_list list = { 0 };
	bool *is_sampled = memory_new(rec->stack_count, sizeof(*is_sampled));

	for (size_t i = 0; i < rec->sample_count; i++)
		is_sampled[rec->samples[i].stack] = rec->samples[i].stack != 0;
	of->first = memory_new(rec->stack_count + 1, sizeof(*of->first));
	for (size_t s = 0; s < rec->stack_count; s++) {
		const struct rec_stack *stack = &rec->stacks[s];

		of->first[s] = (uint32_t)list.count;
		for (uint32_t f = 0; is_sampled[s] && f < stack->frame_count; f++) {
			struct rec_frame frame = rec->frames[stack->first_frame + f];

			add_place(&list, rec, callers, frame, symbols_place(symbols, frame, true),
				  of->first[s]);
		}
	}
	of->first[rec->stack_count] = (uint32_t)list.count;
	of->functions = list.ids;
	free(is_sampled);
}

void stack_functions_free(struct stack_functions *of)
{
	free(of->first);
	free(of->functions);
	*of = (struct stack_functions){ 0 };
}

/* --- shares --- */

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

static int compare_functions(const void *left, const void *right)
{
	const struct function *a = left, *b = right;

	if (a->cpu_ns != b->cpu_ns)
		return a->cpu_ns > b->cpu_ns ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

/* One build. */
struct share_work {
	const struct recording *rec;
	const struct stack_functions *of;
	const struct scopes *scopes;
	const uint32_t *scope_of; /* by sample */
	uint32_t *in_scope;       /* samples by scope, those of its places included */
	struct pair *pairs;
	size_t pair_count;
	size_t pair_capacity;
	size_t samples;
	/* places by the scope whose samples are taken for theirs: users[first_user[s] ...] */
	uint32_t *first_user;
	uint32_t *users;
};

/* The sample was taken in the scope, and so in all that it is a place of. */
static void add_sample(struct share_work *work, uint32_t stack, uint32_t scope)
{
	work->samples++;
	for (; scope != NO_INDEX; scope = work->scopes->scopes[scope].parent) {
		work->in_scope[scope]++;
		for (uint32_t f = work->of->first[stack]; f < work->of->first[stack + 1]; f++) {
			work->pairs = memory_grow(work->pairs, &work->pair_capacity,
						  work->pair_count + 1, sizeof(*work->pairs));
			work->pairs[work->pair_count++] =
				(struct pair){ work->of->functions[f], scope };
		}
	}
}

static void collect_pairs(struct share_work *work)
{
	for (size_t i = 0; i < work->rec->sample_count; i++)
		if (work->rec->samples[i].stack && work->scope_of[i] != NO_INDEX)
			add_sample(work, work->rec->samples[i].stack, work->scope_of[i]);
	if (work->pair_count)
		qsort(work->pairs, work->pair_count, sizeof(*work->pairs), compare_pairs);
}

/* The scope itself, or the closest one around it that has samples; NO_INDEX = none has. */
static uint32_t sampled_scope(const struct share_work *work, uint32_t scope)
{
	while (scope != NO_INDEX && !work->in_scope[scope])
		scope = work->scopes->scopes[scope].parent;
	return scope;
}

static void find_users(struct share_work *work)
{
	size_t count = work->scopes->count;

	work->first_user = memory_new(count + 2, sizeof(*work->first_user));
	work->users = memory_new(count, sizeof(*work->users));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t of = work->scopes->scopes[i].place ? sampled_scope(work, i) : NO_INDEX;

		if (of != NO_INDEX)
			work->first_user[of + 2]++;
	}
	for (size_t i = 2; i < count + 2; i++)
		work->first_user[i] += work->first_user[i - 1];
	for (uint32_t i = 0; i < count; i++) {
		uint32_t of = work->scopes->scopes[i].place ? sampled_scope(work, i) : NO_INDEX;

		if (of != NO_INDEX)
			work->users[work->first_user[of + 1]++] = i;
	}
}

static size_t count_shares(const struct share_work *work)
{
	size_t count = 0;

	for (size_t from = 0, to; from < work->pair_count; from = to) {
		uint32_t scope = work->pairs[from].scope;

		for (to = from + 1;
		     to < work->pair_count && !compare_pairs(&work->pairs[from], &work->pairs[to]);)
			to++;
		count += work->first_user[scope + 1] - work->first_user[scope];
	}
	return count;
}

/* As many samples of a scope as `hits` have the function. */
static void add_shares(struct shares *shares, const struct share_work *work,
		       const struct pair *pair, size_t hits)
{
	struct function *functions = shares->functions;
	size_t at = shares->function_count;

	if (!at || functions[at - 1].name != pair->function) {
		functions[at] = (struct function){ .name = pair->function,
						   .first = (uint32_t)shares->share_count };
		shares->function_count = ++at;
	}
	struct function *function = &functions[at - 1];
	/* counted once, where nothing is around it */
	if (work->scopes->scopes[pair->scope].parent == NO_INDEX) {
		function->cpu_ns += hits;
		function->samples += (uint32_t)hits;
	}
	for (uint32_t i = work->first_user[pair->scope]; i < work->first_user[pair->scope + 1];
	     i++) {
		function->count++;
		shares->shares[shares->share_count++] =
			(struct share){ work->users[i],
					(float)hits / (float)work->in_scope[pair->scope] };
	}
}

static void functions_rank(struct shares *shares, const struct share_work *work)
{
	uint64_t each_ns = work->samples ? samples_cpu_ns(work->rec) / work->samples : 0;

	for (size_t f = 0; f < shares->function_count; f++)
		shares->functions[f].cpu_ns *= each_ns;
	if (shares->function_count)
		qsort(shares->functions, shares->function_count, sizeof(*shares->functions),
		      compare_functions);
	if (shares->function_count > SHARES_FUNCTIONS_MAX)
		shares->function_count = SHARES_FUNCTIONS_MAX;
}

void shares_build(struct shares *shares, const struct recording *rec,
		  const struct stack_functions *of, const struct scopes *scopes,
		  const uint32_t *scope_of)
{
	struct share_work work = { .rec = rec, .of = of, .scopes = scopes, .scope_of = scope_of };

	assert(of->first && scope_of);
	*shares = (struct shares){ 0 };
	work.in_scope = memory_new(scopes->count, sizeof(*work.in_scope));
	collect_pairs(&work);
	find_users(&work);
	size_t count = count_shares(&work);
	shares->functions = memory_new(work.pair_count, sizeof(*shares->functions));
	shares->shares = memory_new(count, sizeof(*shares->shares));
	for (size_t from = 0, to; from < work.pair_count; from = to) {
		for (to = from + 1;
		     to < work.pair_count && !compare_pairs(&work.pairs[from], &work.pairs[to]);)
			to++;
		add_shares(shares, &work, &work.pairs[from], to - from);
	}
	assert(shares->share_count == count);
	functions_rank(shares, &work);
	shares->in_scope = work.in_scope;
	free(work.pairs);
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

bool shares_are_same(const struct shares *shares, size_t function, size_t other)
{
	assert(function < shares->function_count && other < shares->function_count);
	const struct function *a = &shares->functions[function], *b = &shares->functions[other];

	for (uint32_t i = 0; i < a->count && a->count == b->count; i++)
		if (shares->shares[a->first + i].scope != shares->shares[b->first + i].scope ||
		    shares->shares[a->first + i].share != shares->shares[b->first + i].share)
			return false;
	return a->count == b->count;
}

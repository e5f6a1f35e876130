/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts, for each pair of scope and function, the samples that have both.
 *
 * Pairs are sorted and counted in place of a table of all of them. What CPU time a sample stands
 * for is taken to be the same for all: the kernel's clock ticks evenly.
 *
 * One thread.
 */
#include "shares.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "intern.h"
#include "memory.h"

/* --- the functions of a stack --- */

static bool is_runtime(const char *module)
{
	return strncmp(module, "libc.so", 7) == 0 || strncmp(module, "ld-linux", 8) == 0 ||
	       strncmp(module, "libwcprof", 9) == 0;
}

struct function_list {
	uint32_t *ids;
	size_t count;
	size_t capacity;
};

static void add_place(struct function_list *list, struct recording *rec,
		      const struct symbol_place *place, size_t from)
{
	for (size_t i = 0; i < place->frame_count; i++) {
		const char *name = place->frames[i].function;
		bool is_there = !name || is_runtime(place->module);
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
			   struct symbols *symbols)
{
	struct function_list list = { 0 };
	bool *is_sampled = memory_new(rec->stack_count, sizeof(*is_sampled));

	for (size_t i = 0; i < rec->sample_count; i++)
		is_sampled[rec->samples[i].stack] = rec->samples[i].stack != 0;
	of->first = memory_new(rec->stack_count + 1, sizeof(*of->first));
	for (size_t s = 0; s < rec->stack_count; s++) {
		const struct rec_stack *stack = &rec->stacks[s];

		of->first[s] = (uint32_t)list.count;
		for (uint32_t f = 0; is_sampled[s] && f < stack->frame_count; f++)
			add_place(&list, rec,
				  symbols_place(symbols, rec->frames[stack->first_frame + f], true),
				  of->first[s]);
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

/* CPU time of all threads between their first and last samples. */
static uint64_t sampled_cpu_ns(const struct recording *rec)
{
	uint64_t cpu_ns = 0;

	for (size_t i = 1; i < rec->sample_count; i++)
		if (rec->samples[i].thread == rec->samples[i - 1].thread)
			cpu_ns += rec->samples[i].cpu_ns - rec->samples[i - 1].cpu_ns;
	return cpu_ns;
}

static struct pair *collect_pairs(const struct recording *rec, const struct stack_functions *of,
				  const uint32_t *scope_of, uint32_t *in_scope, size_t *count,
				  size_t *samples)
{
	struct pair *pairs = NULL;
	size_t capacity = 0;

	*count = *samples = 0;
	for (size_t i = 0; i < rec->sample_count; i++) {
		uint32_t stack = rec->samples[i].stack;

		if (!stack || scope_of[i] == NO_INDEX)
			continue;
		in_scope[scope_of[i]]++;
		(*samples)++;
		for (uint32_t f = of->first[stack]; f < of->first[stack + 1]; f++) {
			pairs = memory_grow(pairs, &capacity, *count + 1, sizeof(*pairs));
			pairs[(*count)++] = (struct pair){ of->functions[f], scope_of[i] };
		}
	}
	if (*count)
		qsort(pairs, *count, sizeof(*pairs), compare_pairs);
	return pairs;
}

static void add_share(struct shares *shares, const struct pair *pair, size_t hits,
		      uint32_t in_scope)
{
	struct function *functions = shares->functions;
	size_t at = shares->function_count;

	if (!at || functions[at - 1].name != pair->function) {
		functions[at] = (struct function){ .name = pair->function,
						   .first = (uint32_t)shares->share_count };
		shares->function_count = ++at;
	}
	functions[at - 1].count++;
	functions[at - 1].cpu_ns += hits;
	functions[at - 1].samples += (uint32_t)hits;
	shares->shares[shares->share_count++] =
		(struct share){ pair->scope, (float)hits / (float)in_scope };
}

void shares_build(struct shares *shares, const struct recording *rec,
		  const struct stack_functions *of, const uint32_t *scope_of)
{
	uint32_t scope_count = 0;
	size_t count, samples;

	*shares = (struct shares){ 0 };
	for (size_t i = 0; i < rec->sample_count; i++)
		if (scope_of[i] != NO_INDEX && scope_of[i] >= scope_count)
			scope_count = scope_of[i] + 1;
	uint32_t *in_scope = memory_new(scope_count, sizeof(*in_scope));
	struct pair *pairs = collect_pairs(rec, of, scope_of, in_scope, &count, &samples);
	shares->functions = memory_new(count, sizeof(*shares->functions));
	shares->shares = memory_new(count, sizeof(*shares->shares));
	for (size_t from = 0, to; from < count; from = to) {
		for (to = from + 1; to < count && !compare_pairs(&pairs[from], &pairs[to]);)
			to++;
		add_share(shares, &pairs[from], to - from, in_scope[pairs[from].scope]);
	}
	uint64_t each_ns = samples ? sampled_cpu_ns(rec) / samples : 0;
	for (size_t f = 0; f < shares->function_count; f++)
		shares->functions[f].cpu_ns *= each_ns;
	if (shares->function_count)
		qsort(shares->functions, shares->function_count, sizeof(*shares->functions),
		      compare_functions);
	if (shares->function_count > SHARES_FUNCTIONS_MAX)
		shares->function_count = SHARES_FUNCTIONS_MAX;
	free(in_scope);
	free(pairs);
	assert(shares->share_count <= count);
}

void shares_free(struct shares *shares)
{
	free(shares->functions);
	free(shares->shares);
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

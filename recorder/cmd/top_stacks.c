/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time by call stack; top_stacks.h has the contract.
 */
#include "top_stacks.h"

#include <stdlib.h>
#include <string.h>

enum { PLACES = 4 * TOP_STACKS_MAX };

bool top_stacks_begin(struct top_stacks *stacks)
{
	*stacks = (struct top_stacks){
		.stacks = calloc(TOP_STACKS_MAX, sizeof(*stacks->stacks)),
		.places = calloc(PLACES, sizeof(*stacks->places)),
	};
	return stacks->stacks && stacks->places;
}

void top_stacks_end(struct top_stacks *stacks)
{
	free(stacks->stacks);
	free(stacks->places);
	*stacks = (struct top_stacks){ .count = 0 };
}

static bool is_same(const struct top_stack *a, const struct top_stack *b)
{
	return a->activity == b->activity && a->stack == b->stack && a->name == b->name &&
	       a->address == b->address;
}

/* Where it is, or would be. */
static uint32_t *place_of(struct top_stacks *stacks, const struct top_stack *sought)
{
	uint64_t hash = (uint64_t)sought->stack << 32 | sought->name;

	hash = (hash ^ sought->address ^ (uint64_t)sought->activity << 56) *
	       UINT64_C(0x9e3779b97f4a7c15);
	for (uint64_t at = hash >> 32;; at++) {
		uint32_t *place = &stacks->places[at % PLACES];

		if (*place == 0 || is_same(&stacks->stacks[*place - 1], sought))
			return place;
	}
}

uint32_t top_stacks_find(struct top_stacks *stacks, enum top_part activity,
			 const struct record *record)
{
	struct top_stack sought = { .stack = record->stack, .activity = activity };
	uint32_t *place;

	if (activity < TOP_PARTS)
		sought.name = record->name;
	if (record->type == RECORD_WAIT) {
		sought.address = record->value;
		sought.ident = record->ident;
	}
	place = place_of(stacks, &sought);
	if (*place == 0 && stacks->count == TOP_STACKS_MAX)
		stacks->left_out++;
	else if (*place == 0) {
		stacks->stacks[stacks->count++] = sought;
		*place = (uint32_t)stacks->count;
	}
	return *place;
}

void top_stacks_add(struct top_stacks *stacks, uint32_t number, enum top_share share,
		    uint64_t second, double ns)
{
	if (number > 0 && number <= stacks->count)
		stacks->stacks[number - 1].ns[share][second % TOP_SECONDS] += (float)ns;
}

void top_stacks_forget_requests(struct top_stacks *stacks)
{
	for (size_t i = 0; i < stacks->count; i++)
		for (enum top_share share = TOP_OF_SLOW; share < TOP_SHARES; share++)
			memset(stacks->stacks[i].ns[share], 0, sizeof(stacks->stacks[i].ns[share]));
}

static bool has_time(const struct top_stack *stack)
{
	for (size_t i = 0; i < TOP_SECONDS; i++)
		if (stack->ns[TOP_OF_ALL][i] > 0)
			return true;
	return false;
}

static void make_room(struct top_stacks *stacks)
{
	size_t kept = 0;

	for (size_t i = 0; i < stacks->count; i++)
		if (has_time(&stacks->stacks[i]))
			stacks->stacks[kept++] = stacks->stacks[i];
	if (kept == stacks->count)
		return;
	stacks->count = kept;
	stacks->generation++;
	memset(stacks->places, 0, PLACES * sizeof(*stacks->places));
	for (size_t i = 0; i < kept; i++)
		*place_of(stacks, &stacks->stacks[i]) = (uint32_t)i + 1;
}

void top_stacks_clear(struct top_stacks *stacks, uint64_t second)
{
	for (size_t i = 0; i < stacks->count; i++)
		for (size_t share = 0; share < TOP_SHARES; share++)
			stacks->stacks[i].ns[share][second % TOP_SECONDS] = 0;
	if (stacks->count == TOP_STACKS_MAX)
		make_room(stacks);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All slices of a walk, added up by thread name, functions, state and cause: what flame graphs
 * show.
 *
 * Also what the frames and last frames of such stacks are called. Built once, read-only afterwards.
 */
#ifndef WCPROF_STACKSUMS_H
#define WCPROF_STACKSUMS_H

#include "slowspans.h"
#include "walk.h"

struct stack_sum {
	uint32_t thread_name; /* string id */
	uint32_t stack;       /* the first of those with the same functions */
	enum walk_state state;
	uint32_t cause; /* as a slice has it; NO_INDEX of running */
	uint32_t name;
	uint64_t ns;
	uint64_t count; /* of slices */
	struct slow_time inside;
};

struct stack_sums {
	struct stack_sum *sums; /* in order of first sight */
	size_t count;
};

/*
 * `spans`: what slices may be inside of; NULL: nothing. Else running time is shared out as
 * sampledspans.h says.
 */
void stack_sums_build(struct stack_sums *, struct walk *, const struct slow_spans *spans);
void stack_sums_free(struct stack_sums *);

/* By stack: the first one with the same functions; to be freed. */
uint32_t *stack_sums_same(const struct walk *);

/* State and cause as one number. */
static inline uint32_t stack_leaf_number(enum walk_state state, uint32_t cause)
{
	return state + WALK_STATES * (cause == NO_INDEX ? 0 : cause + 1);
}

/* Allocated: "mutex table_lock", "[waiting for a CPU]" ...; NULL of running in known functions. */
char *stack_leaf(const struct walk *, uint32_t number, uint32_t name, uint32_t stack);

#endif

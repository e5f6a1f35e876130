/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts: the functions, and the program, under which a stretch of time passed. Equal ones are
 * one.
 *
 * A stretch in a call is under all functions of its stack. One between two calls is under the
 * frames that both stacks have in common, from the outermost one inwards. The function that made
 * the one call and then the other comes with them. Two calls from the very same stack do not
 * say which of its functions has a loop. Innermost functions that have several callers are taken to
 * return each time: they are wrappers of the call. One thread.
 */
#ifndef WCPROF_CONTEXTS_H
#define WCPROF_CONTEXTS_H

#include "names/callers.h"
#include "names/symbols.h"
#include "recording/recording.h"

/* In a function's number: it is a program, by the string id of its name. */
#define CONTEXT_PROGRAM (UINT32_C(1) << 31)

/* The program's own functions of each stack, each once, innermost first. */
struct stack_functions {
	uint32_t *first;     /* stack s has functions[first[s] .. first[s + 1]); NULL = no stacks */
	uint32_t *functions; /* string ids */
	uint32_t *frames;  /* of each of these the outermost frame that it is in; NULL: not known */
	uint32_t *callers; /* by string id: its only caller; 0 = not known, NO_INDEX = several */
	bool *are_interpreter; /* by string id: it is an interpreter's, and none of the program */
};

/* Of the stacks of all ops, waits, links and samples. */
void stack_functions_build(struct stack_functions *, struct recording *, struct symbols *,
			   struct callers *);
void stack_functions_free(struct stack_functions *);

/* Two stacks and a program, and what they come to. */
struct context_pair {
	uint32_t stack;
	uint32_t other; /* NO_INDEX = none: a call */
	uint32_t program;
	uint32_t context; /* index + 1, 0 = free */
};

/* Context 0 is of nothing. */
struct contexts {
	const struct stack_functions *of; /* NULL: there are programs alone */
	const struct recording *rec;
	uint32_t *first; /* context c has functions[first[c] .. first[c + 1]) */
	uint32_t *functions;
	size_t count;
	size_t first_capacity;
	size_t function_capacity;
	struct context_pair *pairs; /* open addressing, as are the buckets */
	size_t pair_count;
	size_t pair_room;
	uint32_t *buckets; /* context, 0 = free */
	size_t bucket_count;
};

void contexts_begin(struct contexts *, const struct recording *, const struct stack_functions *);

/* Of the time in a call; `program` is a number as above, 0 = none. */
uint32_t contexts_within(struct contexts *, uint32_t stack, uint32_t program);

/* Of the time from one call, or the like, to the next one. */
uint32_t contexts_between(struct contexts *, uint32_t stack, uint32_t other, uint32_t program);

bool contexts_have(const struct contexts *, uint32_t context, uint32_t function);
void contexts_free(struct contexts *);

#endif

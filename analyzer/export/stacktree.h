/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts and stacks of a section of the page, each once: what is used of a recording's, by numbers
 * of the page's own.
 *
 * Stacks are a tree: a node is a function and the node of its caller. One thread.
 */
#ifndef WCPROF_STACKTREE_H
#define WCPROF_STACKTREE_H

#include "base/emit.h"
#include "base/tuples.h"
#include "names/framenames.h"
#include "recording/recording.h"

struct stack_tree {
	const struct recording *recording;
	const struct frame_names *names;
	struct tuples texts; /* (string id of the recording) */
	struct tuples nodes; /* (text, node of the caller or NO_INDEX) */
	uint32_t *node_of;   /* by stack, plus two; 1 = it has none, 0 = not looked at yet */
};

/* `names` may be NULL: no stack has functions then. */
void stack_tree_begin(struct stack_tree *stacks, const struct recording *recording,
		      const struct frame_names *names);
void stack_tree_free(struct stack_tree *stacks);

/* The page's number of a string of the recording. */
uint32_t stack_tree_text(struct stack_tree *stacks, uint32_t string);

/* The node of a function called from `caller`, which may be NO_INDEX. */
uint32_t stack_tree_call(struct stack_tree *stacks, uint32_t caller, uint32_t string);

/* The node of the innermost function of a stack; NO_INDEX: it has none. */
uint32_t stack_tree_node(struct stack_tree *stacks, uint32_t stack);

/* "strings", "stack_frame", "stack_prefix" (-1 = called by nobody). */
void stack_tree_emit(const struct stack_tree *stacks, struct emit *emit);

#endif

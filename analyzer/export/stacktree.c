/* SPDX-License-Identifier: Apache-2.0 */
/* Texts and stacks by numbers of the page; stacktree.h has the contract. */
#include "stacktree.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/numbers.h"

enum { FRAMES_MAX = 256 };

void stack_tree_begin(struct stack_tree *stacks, const struct recording *recording,
		      const struct frame_names *names)
{
	*stacks = (struct stack_tree){
		.recording = recording,
		.names = names,
		.node_of = memory_new(recording->stack_count, sizeof(*stacks->node_of)),
	};
	tuples_begin(&stacks->texts, 1);
	tuples_begin(&stacks->nodes, 2);
}

void stack_tree_free(struct stack_tree *stacks)
{
	tuples_free(&stacks->texts);
	tuples_free(&stacks->nodes);
	free(stacks->node_of);
}

uint32_t stack_tree_text(struct stack_tree *stacks, uint32_t string)
{
	return tuples_add(&stacks->texts, &string);
}

uint32_t stack_tree_call(struct stack_tree *stacks, uint32_t caller, uint32_t string)
{
	uint32_t node[] = { stack_tree_text(stacks, string), caller };
	return tuples_add(&stacks->nodes, node);
}

uint32_t stack_tree_node(struct stack_tree *stacks, uint32_t stack)
{
	if (stack >= stacks->recording->stack_count)
		return NO_INDEX;
	if (stacks->node_of[stack] > 0)
		return stacks->node_of[stack] - 2;
	uint32_t functions[FRAMES_MAX], node = NO_INDEX;
	size_t count = frame_names_of_stack(stacks->names, stacks->recording, stack, functions,
					    FRAMES_MAX);
	while (count-- > 0)
		node = stack_tree_call(stacks, node, functions[count]);
	stacks->node_of[stack] = node + 2;
	return node;
}

static void emit_strings(const struct stack_tree *stacks, struct emit *emit)
{
	static const struct emit_column columns[] = { { .key = "text" } };
	emit_table_begin(emit, "strings", EMIT_VALUES, columns, 1);
	for (uint32_t i = 0; i < stacks->texts.count; i++) {
		emit_row_begin(emit);
		emit_cell_text(emit, stacks->recording->strings[tuples_at(&stacks->texts, i)[0]]);
		emit_row_end(emit);
	}
	emit_table_end(emit);
}

void stack_tree_emit(const struct stack_tree *stacks, struct emit *emit)
{
	emit_strings(stacks, emit);
	numbers_begin(emit, "stack_frame");
	for (uint32_t i = 0; i < stacks->nodes.count; i++)
		numbers_put(emit, tuples_at(&stacks->nodes, i)[0]);
	numbers_end(emit);
	numbers_begin(emit, "stack_prefix");
	for (uint32_t i = 0; i < stacks->nodes.count; i++)
		numbers_put_index(emit, tuples_at(&stacks->nodes, i)[1]);
	numbers_end(emit);
}

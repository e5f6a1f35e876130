/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report: what did the end wait for? The blocking chain, from the root that ended last downwards.
 */
#include <inttypes.h>

#include "report.h"

void report_chain(const struct analysis *analysis, struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "op" },
		{ .head = "class", .is_flexible = true },
		{ .head = "kind" },
		{ .head = "ident", .is_flexible = true },
		{ .head = "start", .align = EMIT_RIGHT },
		{ .head = "duration", .align = EMIT_RIGHT },
		{ .head = "self", .align = EMIT_RIGHT },
	};
	const struct recording *recording = analysis->recording;
	emit_heading(emit,
		     "Which ops did the end of the run wait for? (critical path, last op first)");
	emit_table_begin(emit, "blocking_chain", EMIT_VALUES, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < analysis->chain.op_count; i++) {
		uint32_t op_index = analysis->chain.ops[i],
			 class = analysis->classes.of_op[op_index];
		const struct rec_op *op = &recording->ops[op_index];
		emit_row_begin(emit);
		emit_cell_count(emit, op->dump_id);
		emit_cell_text(emit, facts_class_name(analysis, class));
		emit_cell_text(emit, facts_class_kind(analysis, class));
		emit_cell_text(emit, recording->strings[op->ident]);
		emit_cell_ns(emit, (double)(op->start_ns - analysis->graph.start_ns));
		emit_cell_ns(emit, (double)(op->end_ns - op->start_ns));
		emit_cell_ns(emit, (double)analysis->selftime.self_ns[op_index]);
		emit_row_end(emit);
	}
	emit_table_end(emit);
}

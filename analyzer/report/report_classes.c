/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report: where was the time spent? Self times and their distribution per class.
 */
#include "report.h"

static const char *const work_words[] = {
#define WORK(number, name, word, meaning) [number] = word,
#include "events.def"
};

static const char *work_word(uint8_t work)
{
	return work < sizeof(work_words) / sizeof(work_words[0]) ? work_words[work] : "";
}

static void emit_outcomes(const struct analysis *analysis, struct emit *emit, uint32_t class)
{
	const struct selftime *selftime = &analysis->selftime;
	emit_cell_map_begin(emit);
	for (uint32_t i = selftime->classes[class].first_outcome;
	     i < selftime->classes[class + 1].first_outcome; i++)
		emit_cell_map_entry(
			emit, analysis->recording->outcomes.words[selftime->outcomes[i].outcome],
			selftime->outcomes[i].count);
	emit_cell_map_end(emit);
}

static void emit_class(const struct analysis *analysis, struct emit *emit, uint32_t class)
{
	const struct class_times *times = &analysis->selftime.classes[class];
	const struct class *description = &analysis->classes.classes[class];
	double span_ns = (double)analysis->span_ns;
	emit_row_begin(emit);
	emit_cell_text(emit, facts_class_name(analysis, class));
	emit_cell_text(emit, facts_class_kind(analysis, class));
	emit_cell_text(emit, work_word(description->work));
	emit_cell_count(emit, description->op_count);
	emit_cell_ns(emit, (double)times->self.total_ns);
	emit_cell_percent(emit, span_ns > 0 ? 100 * (double)times->self.total_ns / span_ns : 0);
	emit_cell_ns(emit, (double)times->total_wall_ns);
	emit_cell_ns(emit, (double)times->self.p50_ns);
	emit_cell_ns(emit, (double)times->self.p95_ns);
	emit_cell_ns(emit, (double)times->self.max_ns);
	emit_outcomes(analysis, emit, class);
	emit_cell_count(emit, times->duplicate_executions);
	emit_row_end(emit);
}

static bool has_duplicates(const struct analysis *analysis)
{
	for (uint32_t i = 0; i < analysis->classes.count; i++)
		if (analysis->is_shown[i] && analysis->selftime.classes[i].duplicate_executions > 0)
			return true;
	return false;
}

void report_classes(const struct analysis *analysis, struct emit *emit)
{
	bool has_twice = has_duplicates(analysis);
	const struct emit_column columns[] = {
		{ .key = "class", .head = "class", .is_flexible = true },
		{ .key = "kind", .head = "kind" },
		{ .key = "work_type", .head = "work", .yields = 6 },
		{ .key = "count", .head = "ops", .align = EMIT_RIGHT },
		{ .key = "total_self_ns", .head = "self", .align = EMIT_RIGHT },
		{ .key = NULL, .head = "of run", .align = EMIT_RIGHT },
		{ .key = "total_wall_ns", .head = "wall", .align = EMIT_RIGHT },
		{ .key = "p50_self_ns", .head = "self p50", .align = EMIT_RIGHT, .yields = 5 },
		{ .key = "p95_self_ns", .head = "self p95", .align = EMIT_RIGHT },
		{ .key = "max_self_ns", .head = "self max", .align = EMIT_RIGHT, .yields = 7 },
		{ .key = "outcomes", .head = "outcomes", .is_flexible = true, .yields = 8 },
		{ .key = "duplicate_executions",
		  .head = has_twice ? "repeated" : NULL,
		  .align = EMIT_RIGHT },
	};
	size_t shown = 0, more = 0;
	emit_heading(emit,
		     "Where was the time spent? (self time: an op's own time, without its children "
		     "and waits)");
	emit_table_begin(emit, "classes", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (uint32_t i = 0; i < analysis->classes.count; i++) {
		uint32_t class = analysis->selftime.by_total[i];
		if (!analysis->is_shown[class])
			continue;
		if (shown < analysis->options->top) {
			emit_class(analysis, emit, class);
			shown++;
		} else {
			more++;
		}
	}
	emit_table_end(emit);
	if (more > 0)
		emit_line(emit, "... and %zu more; --top shows them.", more);
	report_left_out(analysis, emit);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report: what ran on the CPU? Functions by the class of op in which they ran, from samples.
 */
#include <inttypes.h>
#include <string.h>

#include "recording/samples.h"
#include "report.h"

static void emit_function(const struct analysis *analysis, struct emit *emit,
			  const struct function_time *row)
{
	bool has_class = row->class != NO_INDEX;
	double total_ns = (double)analysis->functions.total_ns;
	emit_row_begin(emit);
	emit_cell_text(emit, row->function ? analysis->recording->strings[row->function] : "?");
	emit_cell_text(emit, has_class ? facts_class_name(analysis, row->class) : "");
	emit_cell_text(emit, has_class ? facts_class_kind(analysis, row->class) : "");
	emit_cell_count(emit, row->samples);
	emit_cell_ns(emit, (double)row->self_ns);
	emit_cell_percent(emit, total_ns > 0 ? 100 * (double)row->self_ns / total_ns : 0);
	emit_cell_ns(emit, (double)row->total_ns);
	emit_row_end(emit);
}

/* The table cannot show what no samples were taken of. */
static void say_unsampled(const struct recording *recording, struct emit *emit)
{
	for (size_t i = 0; i < recording->process_count; i++) {
		const struct rec_process *process = &recording->processes[i];
		char since[EMIT_DURATION_BYTES];
		if (!process->unsampled_why)
			continue;
		emit_format_duration(since, (double)process->unsampled_ns);
		if (strcmp(recording->strings[process->unsampled_why], "go") == 0)
			emit_line(emit,
				  "Process %" PRIu32 " is a Go program, which cannot be sampled.",
				  process->pid);
		else
			emit_line(emit,
				  "Process %" PRIu32
				  " took the signal of samples (SIGSTKFLT) for itself: they end %s "
				  "after its recording began, and what it ran later is unknown.",
				  process->pid, since);
	}
	for (size_t i = 0; i < recording->counter_count; i++) {
		const struct rec_counter *counter = &recording->counters[i];
		if (strcmp(recording->strings[counter->name], "unsampled_stacks") == 0)
			emit_line(
				emit,
				"Process %" PRIu32 ": %" PRIu64
				" threads were not sampled, as their alternate stacks have no room "
				"for a handler and a sample; what they ran is unknown.",
				recording->processes[counter->process].pid, counter->value);
	}
}

/* Shares stay those of all CPU time. */
static void say_condition(const struct recording *recording, struct emit *emit)
{
	size_t inside, outside = samples_outside(recording, &inside);
	if (outside)
		emit_line(emit,
			  "Samples were taken on a condition (WCPROF_SAMPLE_WHEN): %zu of %zu have "
			  "stacks. What ran outside of it is [outside:...], and no what-if goes by "
			  "them.",
			  inside, inside + outside);
}

void report_functions(const struct analysis *analysis, struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "function", .head = "function", .is_flexible = true },
		{ .key = "class", .head = "in class", .is_flexible = true },
		{ .key = "kind", .head = "kind", .yields = 1 },
		{ .key = "samples", .head = "samples", .align = EMIT_RIGHT },
		{ .key = "self_ns", .head = "self CPU", .align = EMIT_RIGHT },
		{ .key = NULL, .head = "of all", .align = EMIT_RIGHT },
		{ .key = "total_ns", .head = "with callees", .align = EMIT_RIGHT },
	};
	const struct function_table *functions = &analysis->functions;
	size_t shown = 0, more = 0;
	emit_heading(emit, "What ran on the CPU? (from samples)");
	if (functions->count == 0)
		emit_line(emit,
			  "No samples were recorded; WCPROF_SAMPLE_HZ=99 takes 99 per second of "
			  "CPU time.");
	say_unsampled(analysis->recording, emit);
	say_condition(analysis->recording, emit);
	emit_table_begin(emit, "functions", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (uint32_t i = 0; i < functions->count; i++) {
		const struct function_time *row = &functions->rows[i];
		if (row->class != NO_INDEX && !analysis->is_shown[row->class])
			continue;
		if (shown++ < analysis->options->top)
			emit_function(analysis, emit, row);
		else
			more++;
	}
	emit_table_end(emit);
	if (more > 0)
		emit_line(emit, "... and %zu more; --top shows them.", more);
}

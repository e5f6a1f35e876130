/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report: where did each thread's time go? On a CPU, waiting for one, blocked in which calls,
 * unexplained: the sum is the time for which it lived.
 */
#include "report.h"

static void emit_blocks(const struct analysis *analysis, struct emit *emit,
			const struct thread_time *row)
{
	emit_cell_map_begin(emit);
	for (uint32_t i = 0; i < row->block_count; i++)
		emit_cell_map_entry(emit,
				    thread_cause_word(analysis->recording, row->blocks[i].cause),
				    row->blocks[i].ns);
	emit_cell_map_end(emit);
}

/* The longest one, with its share of all that the thread was blocked. */
static void emit_first_block(const struct analysis *analysis, struct emit *emit,
			     const struct thread_time *row)
{
	char text[64] = "";
	if (row->block_count > 0 && row->blocked_ns > 0)
		snprintf(text, sizeof(text), "%.40s %.0f%%",
			 thread_cause_word(analysis->recording, row->blocks[0].cause),
			 100.0 * (double)row->blocks[0].ns / (double)row->blocked_ns);
	emit_cell_text(emit, text);
}

static void emit_thread(const struct analysis *analysis, struct emit *emit,
			const struct thread_time *row)
{
	const struct recording *recording = analysis->recording;
	const struct rec_thread *thread = &recording->threads[row->thread];
	emit_row_begin(emit);
	emit_cell_text(emit, recording->strings[thread->name]);
	emit_cell_count(emit, thread->tid);
	emit_cell_count(emit, recording->processes[thread->process].pid);
	emit_cell_ns(emit, (double)row->wall_ns);
	emit_cell_ns(emit, (double)row->cpu_ns);
	emit_cell_ns(emit, (double)row->queued_ns);
	emit_cell_ns(emit, (double)row->blocked_ns);
	emit_first_block(analysis, emit, row);
	emit_blocks(analysis, emit, row);
	emit_cell_ns(emit, (double)row->unexplained_ns);
	emit_cell_percent(emit, row->wall_ns
					? 100.0 * (double)row->unexplained_ns / (double)row->wall_ns
					: 0);
	emit_row_end(emit);
}

static void emit_sum(const struct analysis *analysis, struct emit *emit)
{
	const struct thread_table *threads = &analysis->threads;
	uint64_t cpu_ns = 0, queued_ns = 0, blocked_ns = 0, unexplained_ns = 0, without_cpu = 0;
	for (uint32_t i = 0; i < threads->count; i++) {
		cpu_ns += threads->rows[i].cpu_ns;
		queued_ns += threads->rows[i].queued_ns;
		blocked_ns += threads->rows[i].blocked_ns;
		unexplained_ns += threads->rows[i].unexplained_ns;
		without_cpu += !threads->rows[i].has_cpu;
	}
	double wall_ns = (double)(cpu_ns + queued_ns + blocked_ns + unexplained_ns);
	if (wall_ns > 0)
		emit_line(emit,
			  "All threads: %.1f%% on CPU + %.1f%% in the run queue + %.1f%% blocked "
			  "+ %.1f%% unexplained.",
			  100 * (double)cpu_ns / wall_ns, 100 * (double)queued_ns / wall_ns,
			  100 * (double)blocked_ns / wall_ns,
			  100 * (double)unexplained_ns / wall_ns);
	if (without_cpu > 0)
		emit_line(emit, "%zu of them have no known CPU time: it is counted as unexplained.",
			  (size_t)without_cpu);
}

void report_threads(const struct analysis *analysis, struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "name", .head = "thread", .is_flexible = true },
		{ .key = "tid", .head = "tid", .align = EMIT_RIGHT, .yields = 1 },
		{ .key = "pid", .head = "pid", .align = EMIT_RIGHT, .yields = 5 },
		{ .key = "wall_ns", .head = "wall", .align = EMIT_RIGHT },
		{ .key = "cpu_ns", .head = "on CPU", .align = EMIT_RIGHT },
		{ .key = "queued_ns", .head = "run queue", .align = EMIT_RIGHT },
		{ .key = "blocked_ns", .head = "blocked", .align = EMIT_RIGHT },
		{ .key = NULL, .head = "mostly on" },
		{ .key = "blocked", .head = NULL },
		{ .key = "unexplained_ns", .head = "unexplained", .align = EMIT_RIGHT },
		{ .key = NULL, .head = "of wall", .align = EMIT_RIGHT, .yields = 4 },
	};
	const struct thread_table *threads = &analysis->threads;
	emit_heading(emit, "Where did each thread's time go?");
	if (threads->count == 0)
		emit_line(emit, "The dump names no threads.");
	emit_sum(analysis, emit);
	emit_table_begin(emit, "threads", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (uint32_t i = 0; i < threads->count && i < analysis->options->top; i++)
		emit_thread(analysis, emit, &threads->rows[i]);
	emit_table_end(emit);
	if (threads->count > analysis->options->top)
		emit_line(emit, "... and %zu more; --top shows them.",
			  threads->count - analysis->options->top);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report: which processes were there, and what did their threads do?
 */
#include <stdio.h>
#include <string.h>

#include "base/tuples.h"
#include "recording/programs.h"
#include "report.h"

enum { TEXT_BYTES = 4096 + 80 }; /* a path, and a name before it */

/* The name that it was started by; a link or a script is called other than the file that runs. */
static void emit_program(const struct analysis *analysis, struct emit *emit,
			 const struct rec_process *process)
{
	const struct recording *recording = analysis->recording;
	const char *exe = recording->strings[process->exe], *slash = strrchr(exe, '/');
	const char *name = program_called(recording, (uint32_t)(process - recording->processes));
	char text[TEXT_BYTES];
	if (emit->format == EMIT_JSON || !*exe || strcmp(name, slash ? slash + 1 : exe) == 0) {
		emit_cell_text(emit, *exe || emit->format == EMIT_JSON ? exe : name);
		return;
	}
	snprintf(text, sizeof(text), "%.64s (%s)", name, exe);
	emit_cell_text(emit, text);
}

static void emit_process(const struct analysis *analysis, struct emit *emit,
			 const struct process_time *row)
{
	const struct recording *recording = analysis->recording;
	const struct rec_process *process = &recording->processes[row->process];
	emit_row_begin(emit);
	emit_program(analysis, emit, process);
	emit_cell_count(emit, process->pid);
	emit_cell_count(emit, process->ppid);
	emit_cell_text(emit, recording->strings[process->client]);
	emit_cell_text(emit, recording->strings[process->host]);
	emit_cell_text(emit, recording->strings[process->service]);
	emit_cell_text(emit, recording->strings[process->service_version]);
	emit_cell_text(emit, recording->strings[process->environment]);
	emit_cell_count(emit, process->cpus);
	emit_cell_count(emit, row->thread_count);
	emit_cell_ns(emit, (double)row->wall_ns);
	emit_cell_ns(emit, (double)row->thread_ns);
	emit_cell_ns(emit, (double)row->cpu_ns);
	emit_cell_ns(emit, (double)row->queued_ns);
	emit_cell_ns(emit, (double)row->blocked_ns);
	emit_cell_ns(emit, (double)row->unexplained_ns);
	emit_row_end(emit);
}

/* The files with code, each once, with the packages that they are of. */
static void emit_modules(const struct analysis *analysis, struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "path" },    { .key = "build_id" }, { .key = "package" },
		{ .key = "version" }, { .key = "from" },
	};
	const struct recording *recording = analysis->recording;
	struct tuples known;
	tuples_begin(&known, 2);
	emit_table_begin(emit, "modules", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (uint32_t i = 0; i < recording->module_count; i++) {
		const struct rec_module *module = &recording->modules[i];
		const uint32_t key[] = { module->path, module->build_id };
		uint32_t count = known.count;
		if (tuples_add(&known, key) != count || rec_module_is_jit(recording, module))
			continue;
		struct package package = { .sort = PACKAGE_UNKNOWN };
		if (analysis->labels)
			package = packages_of(&analysis->labels->packages, i);
		emit_row_begin(emit);
		emit_cell_text(emit, recording->strings[module->path]);
		emit_cell_text(emit, recording->strings[module->build_id]);
		emit_cell_text(emit, recording->strings[package.name]);
		emit_cell_text(emit, recording->strings[package.version]);
		emit_cell_text(emit, package_word(package.sort));
		emit_row_end(emit);
	}
	emit_table_end(emit);
	tuples_free(&known);
}

void report_processes(const struct analysis *analysis, struct emit *emit)
{
	const struct emit_column columns[] = {
		{ .key = "exe", .head = "program", .is_flexible = true },
		{ .key = "pid", .head = "pid", .align = EMIT_RIGHT },
		{ .key = "ppid", .head = "parent", .align = EMIT_RIGHT, .yields = 5 },
		{ .key = "client", .head = NULL },
		{ .key = "host", .head = analysis->recording->clock_count > 1 ? "machine" : NULL },
		{ .key = "service", .head = NULL },
		{ .key = "service_version", .head = NULL },
		{ .key = "environment", .head = NULL },
		{ .key = "cpus", .head = "CPUs", .align = EMIT_RIGHT, .yields = 6 },
		{ .key = "threads", .head = "threads", .align = EMIT_RIGHT },
		{ .key = "wall_ns", .head = "wall", .align = EMIT_RIGHT },
		{ .key = "thread_wall_ns",
		  .head = "thread time",
		  .align = EMIT_RIGHT,
		  .yields = 4 },
		{ .key = "cpu_ns", .head = "on CPU", .align = EMIT_RIGHT },
		{ .key = "queued_ns", .head = "run queue", .align = EMIT_RIGHT },
		{ .key = "blocked_ns", .head = "blocked", .align = EMIT_RIGHT },
		{ .key = "unexplained_ns", .head = "unexplained", .align = EMIT_RIGHT },
	};
	const struct thread_table *threads = &analysis->threads;
	emit_heading(emit, "Where did each process's time go? (sums over its threads)");
	if (threads->process_count == 0)
		emit_line(emit, "The dump names none.");
	emit_table_begin(emit, "processes", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (uint32_t i = 0; i < threads->process_count && i < analysis->options->top; i++)
		emit_process(analysis, emit, &threads->processes[i]);
	emit_table_end(emit);
	if (threads->process_count > analysis->options->top)
		emit_line(emit, "... and %zu more; --top shows them.",
			  threads->process_count - analysis->options->top);
	if (emit->format == EMIT_JSON)
		emit_modules(analysis, emit);
}

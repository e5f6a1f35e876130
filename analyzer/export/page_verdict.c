/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page: what was recorded, where and when.
 */
#include "page.h"
#include "recording/programs.h"
#include "report/facts.h"

/* The build id of the module that is the process's program; "" = not known. */
static const char *build_id_of(const struct recording *recording, uint32_t process)
{
	const struct rec_process *of = &recording->processes[process];
	for (size_t i = 0; i < recording->module_count; i++)
		if (recording->modules[i].process == process &&
		    recording->modules[i].path == of->exe)
			return recording->strings[recording->modules[i].build_id];
	return "";
}

static void put_programs(const struct recording *recording, struct emit *emit, size_t most)
{
	static const struct emit_column columns[] = {
		{ .key = "called" }, { .key = "exe" },  { .key = "pid" },
		{ .key = "host" },   { .key = "cpus" }, { .key = "build_id" },
	};
	emit_table_begin(emit, "programs", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (uint32_t i = 0; i < recording->process_count && i < most; i++) {
		const struct rec_process *process = &recording->processes[i];
		emit_row_begin(emit);
		emit_cell_text(emit, program_called(recording, i));
		emit_cell_text(emit, recording->strings[process->exe]);
		emit_cell_count(emit, process->pid);
		emit_cell_text(emit, recording->strings[process->host]);
		emit_cell_count(emit, process->cpus);
		emit_cell_text(emit, build_id_of(recording, i));
		emit_row_end(emit);
	}
	emit_table_end(emit);
}

void page_verdict(const struct analysis *analysis, struct emit *emit)
{
	const struct recording *recording = analysis->recording;
	static const struct emit_column drift[] = { { .key = "percent" } };
	emit_ns(emit, "epoch_unix_ns", NULL, (double)recording->epoch_unix_ns);
	emit_ns(emit, "end_ns", NULL, (double)recording->end_ns);
	emit_count(emit, "dumps", NULL, recording->dump_count);
	emit_count(emit, "processes", NULL, recording->process_count);
	emit_count(emit, "threads", NULL, recording->thread_count);
	emit_count(emit, "waits", NULL, recording->wait_count);
	emit_count(emit, "links", NULL, recording->link_count);
	emit_count(emit, "samples", NULL, recording->sample_count);
	emit_table_begin(emit, "drift", EMIT_VALUES, drift, 1);
	emit_row_begin(emit);
	emit_cell_percent(emit, facts_drift_percent(analysis));
	emit_row_end(emit);
	emit_table_end(emit);
	put_programs(recording, emit, analysis->options->top);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report: what could not be seen? Said whether there is anything of the kind or not, as a reader
 * has to know what the other figures leave out.
 */
#include <inttypes.h>

#include "recording/programs.h"
#include "report.h"

enum { NAMES_IN_A_LINE = 4, LINE_BYTES = 400 };

/* When it is about what could not be seen. */
static const char *meaning_of(const char *counter)
{
	return report_counter_is_unseen(counter) ? report_counter_meaning(counter) : NULL;
}

/* By what the process itself says: since when. */
static bool is_said_otherwise(const char *counter)
{
	return strcmp(counter, "unseen_filtered") == 0;
}

static void emit_row(struct emit *emit, const char *what, const char *name, uint64_t count)
{
	emit_row_begin(emit);
	emit_cell_text(emit, what);
	emit_cell_text(emit, name);
	emit_cell_count(emit, count);
	emit_row_end(emit);
}

static void emit_rows(const struct analysis *analysis, struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "what" },
		{ .key = "name" },
		{ .key = "count" },
	};
	const struct recording *recording = analysis->recording;
	const struct coverage *coverage = &analysis->coverage;
	emit_table_begin(emit, "coverage", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	emit_row(emit, "children", "", coverage->children);
	for (size_t i = 0; i < coverage->absent_count; i++)
		emit_row(emit, "children_unrecorded", recording->strings[coverage->absent[i].name],
			 coverage->absent[i].count);
	for (size_t i = 0; i < recording->counter_count; i++)
		if (meaning_of(recording->strings[recording->counters[i].name]))
			emit_row(emit, recording->strings[recording->counters[i].name], "",
				 recording->counters[i].value);
	for (size_t i = 0; i < recording->process_count; i++)
		if (recording->processes[i].filtered_ns > 0)
			emit_row(emit, "filtered_ns", program_called(recording, (uint32_t)i),
				 recording->processes[i].filtered_ns);
	for (size_t i = 0; i < recording->process_count; i++)
		if (recording->processes[i].unsampled_why)
			emit_row(emit, "unsampled_ns", program_called(recording, (uint32_t)i),
				 recording->processes[i].unsampled_ns);
	for (size_t i = 0; i < coverage->inlined_count; i++)
		emit_row(emit, "inline_syscalls", recording->strings[coverage->inlined[i].name],
			 coverage->inlined[i].count);
	emit_row(emit, "modules", "", coverage->modules);
	emit_row(emit, "modules_looked_at", "", coverage->modules_seen);
	emit_row(emit, "voluntary_switches", "", coverage->voluntary_switches);
	emit_row(emit, "involuntary_switches", "", coverage->involuntary_switches);
	emit_row(emit, "blocking_events", "", coverage->blocking_events);
	emit_row(emit, "off_cpu_ns", "", coverage->off_cpu_ns);
	emit_row(emit, "unexplained_ns", "", coverage->unexplained_ns);
	emit_table_end(emit);
}

/* "3 cc1, 2 as, 1 ld and others" */
static void list(char *line, const struct recording *recording, const struct coverage_count *counts,
		 size_t count)
{
	int used = 0;
	line[0] = '\0';
	for (size_t i = 0; i < count && i < NAMES_IN_A_LINE; i++) {
		const char *name = recording->strings[counts[i].name];
		const char *slash = strrchr(name, '/');
		used += snprintf(line + used, (size_t)(LINE_BYTES - used), "%s%" PRIu64 " %.60s",
				 i ? ", " : "", counts[i].count, slash ? slash + 1 : name);
	}
	if (count > NAMES_IN_A_LINE)
		snprintf(line + used, (size_t)(LINE_BYTES - used), " and others");
}

static void say_time(const struct coverage *coverage, struct emit *emit)
{
	char unexplained[EMIT_DURATION_BYTES];
	emit_format_duration(unexplained, (double)coverage->unexplained_ns);
	if (coverage->off_cpu_ns > 0)
		emit_line(
			emit,
			"%.1f%% of the time that threads spent off the CPU (%s) is in no recorded "
			"call.",
			100 * (double)coverage->unexplained_ns / (double)coverage->off_cpu_ns,
			unexplained);
	if (coverage->voluntary_switches > 0)
		emit_line(emit,
			  "Threads gave up their CPU %" PRIu64 " times; %" PRIu64
			  " calls that may have blocked were recorded.",
			  coverage->voluntary_switches, coverage->blocking_events);
}

static void say_filters(const struct recording *recording, struct emit *emit)
{
	for (size_t i = 0; i < recording->process_count; i++) {
		const struct rec_process *process = &recording->processes[i];
		char since[EMIT_DURATION_BYTES];
		emit_format_duration(since, (double)process->filtered_ns);
		if (process->filtered_ns > 0)
			emit_line(emit,
				  "Process %" PRIu32
				  " set up a system-call filter (seccomp) %s after its recording "
				  "began: nothing is recorded after that.",
				  process->pid, since);
	}
}

static void say(const struct analysis *analysis, struct emit *emit)
{
	const struct recording *recording = analysis->recording;
	const struct coverage *coverage = &analysis->coverage;
	char line[LINE_BYTES];
	uint64_t absent = 0;
	for (size_t i = 0; i < coverage->absent_count; i++)
		absent += coverage->absent[i].count;
	list(line, recording, coverage->absent, coverage->absent_count);
	if (absent > 0)
		emit_line(emit,
			  "%" PRIu64 " of %" PRIu64
			  " child processes left no recording: %s. They ended before their first "
			  "recorded call, or a line below tells why, or their dumps are missing.",
			  absent, coverage->children, line);
	for (size_t i = 0; i < recording->counter_count; i++) {
		const struct rec_counter *counter = &recording->counters[i];
		const char *meaning = meaning_of(recording->strings[counter->name]);
		if (meaning && !is_said_otherwise(recording->strings[counter->name]))
			emit_line(emit, "Process %" PRIu32 ": %" PRIu64 " %s.",
				  recording->processes[counter->process].pid, counter->value,
				  meaning);
	}
	say_filters(recording, emit);
	list(line, recording, coverage->inlined, coverage->inlined_count);
	if (coverage->inlined_count > 0)
		emit_line(emit,
			  "System calls made outside libc, whose blocking is not recorded, at "
			  "least: %s.",
			  line);
	say_time(coverage, emit);
	if (coverage->modules_seen < coverage->modules)
		emit_line(emit,
			  "%" PRIu64 " of %" PRIu64
			  " executables and libraries were not searched for system calls outside "
			  "libc: the search begins after one second of recording.",
			  coverage->modules - coverage->modules_seen, coverage->modules);
}

void report_coverage(const struct analysis *analysis, struct emit *emit)
{
	if (analysis->recording->process_count == 0)
		return;
	if (emit->format == EMIT_JSON) {
		emit_rows(analysis, emit);
		return;
	}
	emit_heading(emit, "What could not be seen?");
	say(analysis, emit);
}

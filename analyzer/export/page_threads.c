/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page: where the time of each thread and process went, with what is idle told apart.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"
#include "page.h"
#include "recording/programs.h"
#include "walk.h"

enum { THREADS_SHOWN = 500, CAUSES_MAX = 64 };

struct cause_time {
	enum walk_state state;
	uint32_t cause;
	uint64_t ns;
};

/* Of a thread, or of all threads of a process. */
struct times {
	uint64_t of_state_ns[WALK_STATES];
	struct cause_time causes[CAUSES_MAX]; /* of what is blocked or idle */
	size_t cause_count;
};

static void add(struct times *times, enum walk_state state, uint32_t cause, uint64_t ns)
{
	size_t at = 0;
	times->of_state_ns[state] += ns;
	if (state != WALK_BLOCKED && state != WALK_IDLE)
		return;
	while (at < times->cause_count &&
	       (times->causes[at].state != state || times->causes[at].cause != cause))
		at++;
	assert(at < CAUSES_MAX); /* the words of events.def are fewer */
	if (at == times->cause_count)
		times->causes[times->cause_count++] = (struct cause_time){ state, cause, 0 };
	times->causes[at].ns += ns;
}

static void put_causes(const struct recording *recording, struct emit *emit,
		       const struct times *times, enum walk_state state)
{
	emit_cell_map_begin(emit);
	for (size_t i = 0; i < times->cause_count; i++)
		if (times->causes[i].state == state)
			emit_cell_map_entry(emit,
					    thread_cause_word(recording, times->causes[i].cause),
					    times->causes[i].ns);
	emit_cell_map_end(emit);
}

static void put_times(const struct recording *recording, struct emit *emit,
		      const struct times *times)
{
	emit_cell_count(emit, times->of_state_ns[WALK_RUNNING]);
	emit_cell_count(emit, times->of_state_ns[WALK_QUEUED]);
	put_causes(recording, emit, times, WALK_BLOCKED);
	put_causes(recording, emit, times, WALK_IDLE);
	emit_cell_count(emit, times->of_state_ns[WALK_UNEXPLAINED]);
}

static void put_thread(const struct recording *recording, struct emit *emit,
		       const struct walk *walk, const struct thread_time *row,
		       const struct times *times)
{
	const struct rec_thread *thread = &recording->threads[row->thread];
	emit_row_begin(emit);
	emit_cell_text(emit, walk_thread_name(walk, row->thread));
	emit_cell_count(emit, thread->tid);
	emit_cell_count(emit, recording->processes[thread->process].pid);
	emit_cell_count(emit, row->wall_ns);
	put_times(recording, emit, times);
	emit_row_end(emit);
}

/* The threads in the order of the report; their times also go to their processes. */
static void put_threads(const struct analysis *analysis, struct emit *emit, struct times *processes)
{
	static const struct emit_column columns[] = {
		{ .key = "name" },    { .key = "tid" },        { .key = "pid" },
		{ .key = "wall_ns" }, { .key = "running_ns" }, { .key = "queued_ns" },
		{ .key = "blocked" }, { .key = "idle" },       { .key = "unexplained_ns" },
	};
	const struct recording *recording = analysis->recording;
	struct walk walk;
	struct walk_slice slice;
	walk_begin(&walk, analysis);
	emit_table_begin(emit, "threads", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (uint32_t i = 0; i < analysis->threads.count; i++) {
		const struct thread_time *row = &analysis->threads.rows[i];
		struct times times = { 0 };
		walk_thread(&walk, row->thread);
		while (walk_next(&walk, &slice)) {
			uint64_t ns = slice.end_ns - slice.start_ns;
			add(&times, slice.state, slice.cause, ns);
			add(&processes[recording->threads[row->thread].process], slice.state,
			    slice.cause, ns);
		}
		if (i < THREADS_SHOWN)
			put_thread(recording, emit, &walk, row, &times);
	}
	emit_table_end(emit);
	walk_end(&walk);
}

void page_threads(const struct analysis *analysis, struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "called" },         { .key = "pid" },        { .key = "threads" },
		{ .key = "thread_wall_ns" }, { .key = "running_ns" }, { .key = "queued_ns" },
		{ .key = "blocked" },        { .key = "idle" },       { .key = "unexplained_ns" },
	};
	const struct recording *recording = analysis->recording;
	struct times *processes = memory_new(recording->process_count, sizeof(*processes));
	put_threads(analysis, emit, processes);
	emit_table_begin(emit, "processes", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (uint32_t i = 0; i < analysis->threads.process_count && i < THREADS_SHOWN; i++) {
		const struct process_time *row = &analysis->threads.processes[i];
		emit_row_begin(emit);
		emit_cell_text(emit, program_called(recording, row->process));
		emit_cell_count(emit, recording->processes[row->process].pid);
		emit_cell_count(emit, row->thread_count);
		emit_cell_count(emit, row->thread_ns);
		put_times(recording, emit, &processes[row->process]);
		emit_row_end(emit);
	}
	emit_table_end(emit);
	free(processes);
}

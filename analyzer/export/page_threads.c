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

enum { THREADS_SHOWN = 500, CAUSES_MAX = 64, SLOTS = 240 };

/* The whole recording, all threads together. */
struct activity {
	uint64_t from_ns;
	uint64_t slot_ns; /* at least 1 */
	uint64_t running_ns[SLOTS];
	uint64_t waiting_ns[SLOTS]; /* blocked or queued, but not idle */
};

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

static void add_activity(struct activity *activity, const struct walk_slice *slice)
{
	bool is_running = slice->state == WALK_RUNNING;
	uint64_t *to = is_running ? activity->running_ns : activity->waiting_ns;
	uint64_t at_ns = slice->start_ns > activity->from_ns ? slice->start_ns : activity->from_ns;
	if (!is_running && slice->state != WALK_BLOCKED && slice->state != WALK_QUEUED)
		return;
	for (size_t slot = (at_ns - activity->from_ns) / activity->slot_ns;
	     slot < SLOTS && at_ns < slice->end_ns; slot++) {
		uint64_t end_ns = activity->from_ns + (slot + 1) * activity->slot_ns;
		uint64_t until_ns = end_ns < slice->end_ns ? end_ns : slice->end_ns;
		to[slot] += until_ns - at_ns;
		at_ns = until_ns;
	}
}

static void put_activity(struct emit *emit, const struct activity *activity)
{
	static const struct emit_column columns[] = { { .key = "running_ns" },
						      { .key = "waiting_ns" } };
	emit_count(emit, "slot_ns", NULL, activity->slot_ns);
	emit_table_begin(emit, "activity", EMIT_ARRAYS, columns, 2);
	for (size_t i = 0; i < SLOTS; i++) {
		emit_row_begin(emit);
		emit_cell_count(emit, activity->running_ns[i]);
		emit_cell_count(emit, activity->waiting_ns[i]);
		emit_row_end(emit);
	}
	emit_table_end(emit);
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

/* The threads in the order of the report; their times also go to their processes and into slots. */
static void put_threads(const struct analysis *analysis, struct emit *emit, struct times *processes,
			struct activity *activity)
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
			add_activity(activity, &slice);
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
	struct activity *activity = memory_new(1, sizeof(*activity));
	activity->from_ns = analysis->graph.start_ns;
	activity->slot_ns = (analysis->graph.end_ns - analysis->graph.start_ns) / SLOTS + 1;
	put_threads(analysis, emit, processes, activity);
	put_activity(emit, activity);
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
	free(activity);
}

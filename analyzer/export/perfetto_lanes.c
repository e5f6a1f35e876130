/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes that are no threads: locks with their holds, the critical path, counters.
 *
 * Slices of one track may not overlap, and readers hold a lock at the same time. So a lock has as
 * many tracks of its name as had it at once. Viewers show them as one.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"
#include "contended.h"
#include "pathslices.h"
#include "perfetto_parts.h"

enum { PARTS_MAX = 4096, RATE_PARTS = 128 };

/* --- Locks --- */

struct lock_lanes {
	uint64_t *tracks;
	uint64_t *ends_ns; /* by track: of its last hold */
	size_t count, track_room, end_room;
};

static uint64_t free_track(struct trace *trace, struct lock_lanes *lanes, uint64_t parent,
			   const char *name, const struct rec_op *hold)
{
	size_t i = 0;
	while (i < lanes->count && lanes->ends_ns[i] > hold->start_ns)
		i++;
	if (i == lanes->count) {
		lanes->tracks = memory_grow(lanes->tracks, &lanes->track_room, i + 1,
					    sizeof(*lanes->tracks));
		lanes->ends_ns = memory_grow(lanes->ends_ns, &lanes->end_room, i + 1,
					     sizeof(*lanes->ends_ns));
		lanes->tracks[lanes->count++] = trace_new_track(trace, parent, name);
	}
	lanes->ends_ns[i] = hold->end_ns;
	return lanes->tracks[i];
}

static void put_hold(struct trace *trace, uint64_t track, uint32_t op)
{
	const struct rec_op *hold = &trace->walk.recording->ops[op];
	const struct rec_op_extra *extra = &trace->walk.recording->extras[op];
	struct trace_event event = { .type = TRACE_BEGIN, .at_ns = hold->start_ns, .track = track };
	event.name = trace_thread(trace, TABLE_NAMES, hold->thread);
	event.stack = extra->stack ? trace_stack(trace, extra->stack) : 0;
	if (extra->open)
		trace_note(trace, &event, KEY_OPEN, trace_word(trace, TABLE_VALUES, 0, "yes"));
	trace_put_event(trace, &event);
	trace_put_event(trace, &(struct trace_event){
				       .type = TRACE_END, .at_ns = hold->end_ns, .track = track });
}

void trace_put_locks(struct trace *trace)
{
	struct contended contended;
	contended_build(&contended, trace->walk.recording, trace->walk.labels, CONTENDED_MAX);
	uint64_t parent = contended.count > 0 ? trace_new_track(trace, 0, "locks") : 0;
	for (size_t i = 0; i < contended.count; i++) {
		const struct contended_lock *lock = &contended.locks[i];
		const char *name = trace->walk.recording->strings[lock->name];
		struct lock_lanes lanes = { 0 };
		for (size_t k = 0; k < lock->hold_count; k++) {
			const struct rec_op *hold = &trace->walk.recording->ops[lock->holds[k]];
			put_hold(trace, free_track(trace, &lanes, parent, *name ? name : "?", hold),
				 lock->holds[k]);
		}
		free(lanes.tracks);
		free(lanes.ends_ns);
	}
	if (contended.left_out > 0)
		export_note(trace->export, "%zu locks that were waited for less have no lane",
			    contended.left_out);
	contended_free(&contended);
}

/* --- The critical path --- */

static uint64_t class_name(struct trace *trace, const struct walk_slice *slice)
{
	const struct class_table *classes = trace->walk.classes;
	if (!classes || slice->class == NO_INDEX)
		return trace_slice_name(trace, slice);
	return trace_string(trace, TABLE_NAMES, classes->classes[slice->class].name);
}

void trace_put_critical_path(struct trace *trace)
{
	struct path_slices path;
	path_slices_build(&path, &trace->walk);
	uint64_t track = path.count > 0 ? trace_new_track(trace, 0, "critical path") : 0;
	for (size_t i = 0; i < path.count; i++) {
		const struct walk_slice *slice = &path.slices[i];
		struct trace_event event = { .type = TRACE_BEGIN,
					     .at_ns = slice->start_ns,
					     .track = track };
		event.name = class_name(trace, slice);
		event.stack = slice->stack ? trace_stack(trace, slice->stack) : 0;
		trace_note(trace, &event, KEY_THREAD,
			   trace_thread(trace, TABLE_VALUES, slice->thread));
		trace_note(trace, &event, KEY_REASON, trace_reason(trace, slice));
		trace_put_event(trace, &event);
		trace_put_event(trace, &(struct trace_event){ .type = TRACE_END,
							      .at_ns = slice->end_ns,
							      .track = track });
	}
	path_slices_free(&path);
}

/* --- Counters --- */

void trace_levels_begin(struct trace_levels *levels, const char *name, uint64_t start_ns,
			uint64_t end_ns)
{
	assert(start_ns <= end_ns);
	uint64_t part_ns = (end_ns - start_ns) / PARTS_MAX + 1;
	size_t parts = (size_t)((end_ns - start_ns + part_ns - 1) / part_ns);
	*levels = (struct trace_levels){ .name = name,
					 .ns = memory_new(parts, sizeof(*levels->ns)),
					 .start_ns = start_ns,
					 .part_ns = part_ns,
					 .part_count = parts };
}

void trace_levels_add(struct trace_levels *levels, uint64_t from_ns, uint64_t to_ns)
{
	assert(from_ns >= levels->start_ns);
	while (from_ns < to_ns) {
		size_t part = (size_t)((from_ns - levels->start_ns) / levels->part_ns);
		uint64_t end_ns = levels->start_ns + (part + 1) * levels->part_ns;
		uint64_t until_ns = to_ns < end_ns ? to_ns : end_ns;
		assert(part < levels->part_count);
		levels->ns[part] += until_ns - from_ns;
		from_ns = until_ns;
	}
}

void trace_levels_put(struct trace *trace, struct trace_levels *levels)
{
	uint64_t track = trace_new_counter(trace, levels->name);
	uint64_t last_ns = UINT64_MAX;
	for (size_t i = 0; i < levels->part_count; i++) {
		if (levels->ns[i] != last_ns)
			trace_put_level(trace, track, levels->start_ns + i * levels->part_ns,
					(double)levels->ns[i] / (double)levels->part_ns);
		last_ns = levels->ns[i];
	}
	trace_put_level(trace, track, levels->start_ns + levels->part_count * levels->part_ns, 0);
	free(levels->ns);
}

/* Counted where they end. */
void trace_put_request_rate(struct trace *trace, uint64_t start_ns, uint64_t end_ns)
{
	size_t count;
	struct walk_request *requests = walk_requests(&trace->walk, &count);
	uint64_t part_ns = (end_ns - start_ns) / RATE_PARTS + 1, track;
	uint64_t ended[RATE_PARTS] = { 0 };
	for (size_t i = 0; i < count; i++)
		if (requests[i].end_ns >= start_ns && requests[i].end_ns <= end_ns)
			ended[(requests[i].end_ns - start_ns) / part_ns]++;
	if (count > 0) {
		track = trace_new_counter(trace, "requests/s");
		for (size_t i = 0; i < RATE_PARTS; i++)
			trace_put_level(trace, track, start_ns + i * part_ns,
					(double)ended[i] * 1e9 / (double)part_ns);
	}
	free(requests);
}

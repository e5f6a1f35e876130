/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perfetto's protobuf of track events: a lane for each thread, with slices by state.
 *
 * Beside them are lanes of the locks that were waited for, the critical path, and counters. An
 * arrow goes from the thread that ended a wait to the one that went on. Both ends are events of
 * their own, without length. For a viewer takes the direction from the order in which the ends
 * begin, and a wait begins before it is ended.
 *
 * Times are those of the recording. All is one sequence of packets, thread by thread: viewers sort.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "perfetto_parts.h"

enum {
	TRACE_PACKET = 1,
	PACKET_CLOCKS = 6,
	PACKET_SEQUENCE = 10,
	PACKET_FLAGS = 13,
	PACKET_TRACK = 60,
	CLOCKS_CLOCK = 1,
	CLOCK_ID = 1,
	CLOCK_NS = 2,
	CLOCK_REALTIME = 1,
	CLOCK_BOOTTIME_ID = 6,
	TRACK_NUMBER = 1,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,
	SEQUENCE = 1,
	TABLES_ARE_EMPTY = 1
};

/* --- Tracks --- */

static void put_clock(struct trace *trace, uint32_t clock, uint64_t ns)
{
	size_t mark = protobuf_begin(&trace->packet, CLOCKS_CLOCK);
	protobuf_number(&trace->packet, CLOCK_ID, clock);
	protobuf_number(&trace->packet, CLOCK_NS, ns);
	protobuf_end(&trace->packet, mark);
}

/* The first packet: tables are empty, and the begin of time is then. */
static void put_begin(struct trace *trace)
{
	size_t packet = protobuf_begin(&trace->packet, TRACE_PACKET);
	protobuf_number(&trace->packet, PACKET_SEQUENCE, SEQUENCE);
	protobuf_number(&trace->packet, PACKET_FLAGS, TABLES_ARE_EMPTY);
	size_t clocks = protobuf_begin(&trace->packet, PACKET_CLOCKS);
	put_clock(trace, CLOCK_BOOTTIME_ID, 0);
	put_clock(trace, CLOCK_REALTIME, trace->walk.recording->epoch_unix_ns);
	protobuf_end(&trace->packet, clocks);
	protobuf_end(&trace->packet, packet);
}

static void put_process(struct trace *trace, uint32_t index)
{
	size_t packet, track, process;
	trace_begin_packet(trace, &packet);
	track = protobuf_begin(&trace->packet, PACKET_TRACK);
	protobuf_number(&trace->packet, TRACK_NUMBER, ++trace->last_track);
	process = protobuf_begin(&trace->packet, TRACK_PROCESS);
	protobuf_number(&trace->packet, PROCESS_PID,
			trace->walk.recording->processes[index].pid +
				trace->lanes.pid_shifts[index]);
	protobuf_text(&trace->packet, PROCESS_NAME, trace->lanes.programs[index]);
	protobuf_end(&trace->packet, process);
	protobuf_end(&trace->packet, track);
	trace_end_packet(trace, packet);
}

static void put_thread(struct trace *trace, uint32_t index, uint64_t first_process)
{
	const struct rec_thread *thread = &trace->walk.recording->threads[index];
	uint32_t shift = trace->lanes.pid_shifts[thread->process];
	size_t packet, track, mark;
	trace_begin_packet(trace, &packet);
	track = protobuf_begin(&trace->packet, PACKET_TRACK);
	protobuf_number(&trace->packet, TRACK_NUMBER, ++trace->last_track);
	protobuf_number(&trace->packet, TRACK_PARENT, first_process + thread->process);
	mark = protobuf_begin(&trace->packet, TRACK_THREAD);
	protobuf_number(&trace->packet, THREAD_PID,
			trace->walk.recording->processes[thread->process].pid + shift);
	protobuf_number(&trace->packet, THREAD_TID, thread->tid + shift);
	protobuf_text(&trace->packet, THREAD_NAME, walk_thread_name(&trace->walk, index));
	protobuf_end(&trace->packet, mark);
	protobuf_end(&trace->packet, track);
	trace_end_packet(trace, packet);
}

static void put_tracks(struct trace *trace)
{
	const struct recording *recording = trace->walk.recording;
	uint64_t first_process = trace->last_track + 1;
	for (uint32_t i = 0; i < recording->process_count; i++)
		put_process(trace, i);
	trace->first_thread = trace->last_track + 1;
	for (uint32_t i = 0; i < walk_thread_count(&trace->walk); i++)
		put_thread(trace, i, first_process);
}

/* --- Threads --- */

static void add_cause(struct trace *trace, struct trace_event *event,
		      const struct walk_slice *slice)
{
	if (slice->state != WALK_BLOCKED && slice->state != WALK_IDLE)
		return;
	trace_note(trace, event, KEY_REASON, trace_reason(trace, slice));
	if (slice->holder != NO_INDEX)
		trace_note(trace, event, KEY_HOLDER,
			   trace_thread(trace, TABLE_VALUES, slice->holder));
}

static void put_slice_begin(struct trace *trace, uint64_t track, const struct walk_slice *slice,
			    const struct walk_waker *waker)
{
	struct trace_event event = { .type = TRACE_BEGIN,
				     .at_ns = slice->start_ns,
				     .track = track };
	event.name = trace_slice_name(trace, slice);
	event.category =
		trace_word(trace, TABLE_CATEGORIES, slice->state, walk_state_word(slice->state));
	event.stack = slice->stack ? trace_stack(trace, slice->stack) : 0;
	add_cause(trace, &event, slice);
	struct id_label label;
	if (id_labels_at(&trace->ids, slice->thread, slice->start_ns, &label)) {
		trace_note_plain(trace, &event, KEY_TRACE, label.trace);
		if (label.span[0])
			trace_note_plain(trace, &event, KEY_SPAN, label.span);
	}
	if (waker)
		trace_note(trace, &event, KEY_ENDED_BY,
			   trace_thread(trace, TABLE_VALUES, waker->thread));
	trace_put_event(trace, &event);
}

static void put_slice_end(struct trace *trace, uint64_t track, uint64_t at_ns)
{
	trace_put_event(trace,
			&(struct trace_event){ .type = TRACE_END, .at_ns = at_ns, .track = track });
}

/* From the thread that ended a wait to the one that went on. */
static void put_arrow(struct trace *trace, uint64_t track, const struct walk_slice *slice,
		      const struct walk_waker *waker)
{
	enum { WORD_WAKES = WALK_STATES, WORD_WOKEN };
	struct trace_event wake = { .type = TRACE_INSTANT,
				    .at_ns = waker->at_ns,
				    .track = trace->first_thread + waker->thread,
				    .flow_from = ++trace->last_flow };
	struct trace_event woken = { .type = TRACE_INSTANT,
				     .at_ns = slice->end_ns,
				     .track = track,
				     .flow_to = trace->last_flow };
	wake.name = trace_word(trace, TABLE_NAMES, WORD_WAKES, "wakes");
	woken.name = trace_word(trace, TABLE_NAMES, WORD_WOKEN, "woken");
	trace_put_event(trace, &wake);
	trace_put_event(trace, &woken);
}

struct levels {
	struct trace_levels running;
	struct trace_levels waiting;
};

static void put_lane(struct trace *trace, uint32_t thread, struct levels *levels)
{
	uint64_t track = trace->first_thread + thread;
	struct walk_slice slice;
	struct walk_waker waker;
	for (walk_thread(&trace->walk, thread); walk_next(&trace->walk, &slice);) {
		bool has_waker = walk_waker(&trace->walk, &slice, &waker);
		put_slice_begin(trace, track, &slice, has_waker ? &waker : NULL);
		put_slice_end(trace, track, slice.end_ns);
		if (has_waker)
			put_arrow(trace, track, &slice, &waker);
		if (slice.state == WALK_RUNNING)
			trace_levels_add(&levels->running, slice.start_ns, slice.end_ns);
		else if (slice.state == WALK_BLOCKED && slice.wait != NO_INDEX)
			trace_levels_add(&levels->waiting, slice.start_ns, slice.end_ns);
	}
}

static void put_lanes(struct trace *trace)
{
	struct levels levels;
	uint64_t start_ns = UINT64_MAX, end_ns = 0;
	uint32_t threads = walk_thread_count(&trace->walk);
	for (uint32_t i = 0; i < threads; i++) {
		walk_thread(&trace->walk, i);
		start_ns = trace->walk.start_ns < start_ns ? trace->walk.start_ns : start_ns;
		end_ns = trace->walk.end_ns > end_ns ? trace->walk.end_ns : end_ns;
	}
	start_ns = start_ns > end_ns ? end_ns : start_ns;
	trace_levels_begin(&levels.running, "running threads", start_ns, end_ns);
	trace_levels_begin(&levels.waiting, "waiting threads", start_ns, end_ns);
	for (uint32_t i = 0; i < threads; i++)
		put_lane(trace, i, &levels);
	trace_levels_put(trace, &levels.running);
	trace_levels_put(trace, &levels.waiting);
	trace_put_request_rate(trace, start_ns, end_ns);
}

/* --- The file --- */

static void trace_free(struct trace *trace)
{
	free(trace->has_stack);
	free(trace->has_frame);
	free(trace->has_module);
	addresses_free(&trace->texts);
	id_labels_free(&trace->ids);
	lane_names_free(&trace->lanes);
	protobuf_free(&trace->packet);
	walk_end(&trace->walk);
}

static size_t frame_name_count(const struct walk *walk)
{
	return walk->labels && walk->labels->frames.first
		       ? walk->labels->frames.first[walk->recording->frame_count]
		       : 0;
}

void export_perfetto(struct export *export)
{
	const struct recording *recording = export->analysis->recording;
	struct trace trace = { .export = export, .file = export_file(export) };
	walk_begin(&trace.walk, export->analysis);
	lane_names_build(&trace.lanes, &trace.walk);
	id_labels_build(&trace.ids, recording,
			trace.walk.requests ? &trace.walk.requests->traces : NULL);
	trace.has_stack = memory_new(recording->stack_count, sizeof(*trace.has_stack));
	trace.has_frame = memory_new(frame_name_count(&trace.walk), sizeof(*trace.has_frame));
	trace.has_module = memory_new(recording->module_count, sizeof(*trace.has_module));
	put_begin(&trace);
	put_tracks(&trace);
	put_lanes(&trace);
	trace_put_locks(&trace);
	trace_put_critical_path(&trace);
	fwrite(trace.packet.bytes, 1, trace.packet.length, trace.file);
	trace_free(&trace);
}

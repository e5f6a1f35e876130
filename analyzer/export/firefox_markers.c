/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Markers: waits, calls and declared ops on the lanes of their threads, requests likewise, and
 * holds on the lanes of their locks.
 *
 * A front end that gets too many of them stands still, so only the longest are written. A first
 * look at all finds how long these are, a second one picks them.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "firefox_parts.h"
#include "format.h"
#include "recording/words.h"

enum { MARKERS_MAX = 100000 };

enum marker_sort { MARKER_WAIT, MARKER_CALL, MARKER_OP, MARKER_REQUEST, MARKER_HOLD };

struct marker {
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t lane;
	uint32_t index; /* of the wait, op or request */
	enum marker_sort sort;
};

struct firefox_markers {
	struct walk_request *requests;
	size_t request_count;
	struct marker *markers; /* lane by lane, in order of time */
	size_t count, next;
	uint64_t *lengths_ns; /* of all, while they are looked at first */
	size_t length_count, length_room;
	uint64_t least_ns;  /* longer ones are kept */
	size_t equal_count; /* and so many of this length */
};

/* --- Which ones --- */

typedef void marker_visit(struct firefox_markers *, const struct marker *);

static void visit_ops(struct firefox *firefox, struct firefox_markers *markers, marker_visit *visit)
{
	const struct recording *recording = firefox->walk.recording;
	for (uint32_t i = 0; i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];
		bool is_call = words_is_call(op->kind);
		if (op->thread == NO_INDEX ||
		    (!is_call && op->kind != KIND_OP_USER && op->kind != KIND_EXEC))
			continue;
		visit(markers, &(struct marker){ op->start_ns, op->end_ns, op->thread, i,
						 is_call ? MARKER_CALL : MARKER_OP });
	}
}

static void visit_all(struct firefox *firefox, struct firefox_markers *markers, marker_visit *visit)
{
	const struct recording *recording = firefox->walk.recording;
	uint32_t threads = walk_thread_count(&firefox->walk);
	if (threads == 0)
		return;
	visit_ops(firefox, markers, visit);
	for (uint32_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		if (wait->thread != NO_INDEX)
			visit(markers, &(struct marker){ wait->start_ns, wait->end_ns, wait->thread,
							 i, MARKER_WAIT });
	}
	for (uint32_t i = 0; i < markers->request_count; i++) {
		const struct walk_request *request = &markers->requests[i];
		uint32_t thread = recording->ops[request->op].thread;
		if (thread != NO_INDEX)
			visit(markers, &(struct marker){ request->start_ns, request->end_ns, thread,
							 i, MARKER_REQUEST });
	}
	for (uint32_t i = 0; i < firefox->contended.count; i++) {
		const struct contended_lock *lock = &firefox->contended.locks[i];
		for (size_t k = 0; k < lock->hold_count; k++) {
			const struct rec_op *hold = &recording->ops[lock->holds[k]];
			visit(markers, &(struct marker){ hold->start_ns, hold->end_ns, threads + i,
							 lock->holds[k], MARKER_HOLD });
		}
	}
}

static void note_length(struct firefox_markers *markers, const struct marker *marker)
{
	markers->lengths_ns = memory_grow(markers->lengths_ns, &markers->length_room,
					  markers->length_count + 1, sizeof(*markers->lengths_ns));
	markers->lengths_ns[markers->length_count++] = marker->end_ns - marker->start_ns;
}

/* Puts the one that has `rank` longer ones, or as long, in its place: those before it are no
 * shorter. */
static uint64_t select_longest(uint64_t *lengths, size_t count, size_t rank)
{
	size_t low = 0, high = count;
	assert(rank < count);
	while (high - low > 1) {
		uint64_t pivot = lengths[low + (high - low) / 2];
		size_t longer = low, at = low, shorter = high;
		while (at < shorter) {
			uint64_t length = lengths[at];
			if (length > pivot) {
				lengths[at++] = lengths[longer];
				lengths[longer++] = length;
			} else if (length < pivot) {
				lengths[at] = lengths[--shorter];
				lengths[shorter] = length;
			} else {
				at++;
			}
		}
		if (rank < longer)
			high = longer;
		else if (rank >= shorter)
			low = shorter;
		else
			return pivot;
	}
	return lengths[low];
}

static void find_least(struct firefox_markers *markers)
{
	markers->equal_count = SIZE_MAX;
	if (markers->length_count <= MARKERS_MAX)
		return;
	markers->least_ns =
		select_longest(markers->lengths_ns, markers->length_count, MARKERS_MAX - 1);
	markers->equal_count = MARKERS_MAX;
	for (size_t i = 0; i < markers->length_count; i++)
		markers->equal_count -= markers->lengths_ns[i] > markers->least_ns;
}

static void keep_long(struct firefox_markers *markers, const struct marker *marker)
{
	uint64_t length_ns = marker->end_ns - marker->start_ns;
	if (length_ns < markers->least_ns)
		return;
	if (length_ns == markers->least_ns) {
		if (markers->equal_count == 0)
			return;
		markers->equal_count--;
	}
	markers->markers[markers->count++] = *marker;
}

static int compare_markers(const void *a, const void *b)
{
	const struct marker *left = a, *right = b;
	if (left->lane != right->lane)
		return left->lane < right->lane ? -1 : 1;
	if (left->start_ns != right->start_ns)
		return left->start_ns < right->start_ns ? -1 : 1;
	if (left->end_ns != right->end_ns)
		return left->end_ns > right->end_ns ? -1 : 1;
	if (left->sort != right->sort)
		return left->sort < right->sort ? -1 : 1;
	return (left->index > right->index) - (left->index < right->index);
}

struct firefox_markers *firefox_markers_new(struct firefox *firefox)
{
	struct firefox_markers *markers = memory_new(1, sizeof(*markers));
	markers->requests = walk_requests(&firefox->walk, &markers->request_count);
	visit_all(firefox, markers, note_length);
	find_least(markers);
	size_t count = markers->length_count < MARKERS_MAX ? markers->length_count : MARKERS_MAX;
	free(markers->lengths_ns);
	markers->lengths_ns = NULL;
	markers->markers = memory_new(count, sizeof(*markers->markers));
	visit_all(firefox, markers, keep_long);
	assert(markers->count == count);
	if (count > 1)
		qsort(markers->markers, count, sizeof(*markers->markers), compare_markers);
	firefox->marker_count = count;
	firefox->marker_all = markers->length_count;
	return markers;
}

void firefox_markers_free(struct firefox_markers *markers)
{
	free(markers->requests);
	free(markers->markers);
	free(markers);
}

/* --- What they say --- */

static void put_member(struct firefox *firefox, const char *key, uint32_t text)
{
	jsongz_raw(firefox->json, ",\"");
	jsongz_raw(firefox->json, key);
	jsongz_raw(firefox->json, "\":");
	jsongz_number(firefox->json, text);
}

/* The trace and span that a thread works for then. */
static void put_ids(struct firefox *firefox, uint32_t thread, uint64_t at_ns)
{
	struct id_label label;
	if (!id_labels_at(&firefox->ids, thread, at_ns, &label))
		return;
	put_member(firefox, "trace", firefox_text(firefox, label.trace));
	if (label.span[0])
		put_member(firefox, "span", firefox_text(firefox, label.span));
}

static void put_cause(struct firefox *firefox, uint32_t stack, uint64_t at_ns, uint32_t thread)
{
	const struct rec_thread *of = &firefox->walk.recording->threads[thread];
	uint32_t node = firefox_stack(firefox, stack);
	if (node == NO_INDEX)
		return;
	jsongz_raw(firefox->json, ",\"cause\":{\"time\":");
	jsongz_ms(firefox->json, at_ns);
	jsongz_raw(firefox->json, ",\"stack\":");
	jsongz_number(firefox->json, node);
	jsongz_raw(firefox->json, ",\"tid\":");
	jsongz_number(firefox->json, of->tid + firefox->lanes.pid_shifts[of->process]);
	jsongz_raw(firefox->json, "}");
}

/* "table_lock <- worker-3"; either may be missing. */
static void put_label(struct firefox *firefox, const char *resource, const char *by)
{
	char *label;
	if (asprintf(&label, "%s%s%s", resource, by ? (*resource ? " <- " : "<- ") : "",
		     by ? by : "") < 0)
		return;
	put_member(firefox, "label", firefox_text(firefox, label));
	free(label);
}

/* The label, and the threads that it speaks of. */
static void put_threads(struct firefox *firefox, const struct walk_slice *slice, uint32_t name)
{
	struct walk_waker waker;
	bool has_waker = walk_waker(&firefox->walk, slice, &waker);
	uint32_t by = slice->holder != NO_INDEX ? slice->holder
		      : has_waker               ? waker.thread
						: NO_INDEX;
	put_label(firefox, firefox->walk.recording->strings[name],
		  by == NO_INDEX ? NULL : firefox->lanes.threads[by]);
	if (slice->holder != NO_INDEX)
		put_member(firefox, "holder", firefox_thread_text(firefox, slice->holder));
	if (has_waker)
		put_member(firefox, "ended", firefox_thread_text(firefox, waker.thread));
}

static void put_wait(struct firefox *firefox, uint32_t index)
{
	const struct rec_wait *wait = &firefox->walk.recording->waits[index];
	const struct labels *labels = firefox->walk.labels;
	uint32_t name = labels && labels->waits ? labels->waits[index] : wait->ident;
	const struct walk_slice whole = { .thread = wait->thread,
					  .end_ns = wait->end_ns,
					  .op = NO_INDEX,
					  .wait = index,
					  .holder = wait->holder,
					  .is_end = !wait->open };
	jsongz_raw(firefox->json, "{\"type\":\"Wait\"");
	put_threads(firefox, &whole, name);
	if (wait->open || wait->timed_out || wait->owner_died)
		put_member(firefox, "outcome",
			   firefox_text(firefox, wait->open        ? "not over at the end"
						 : wait->timed_out ? "timed out"
								   : "the holder died"));
	put_ids(firefox, wait->thread, wait->start_ns);
	put_cause(firefox, wait->stack, wait->start_ns, wait->thread);
}

static void put_op(struct firefox *firefox, const struct marker *marker)
{
	const struct recording *recording = firefox->walk.recording;
	const struct rec_op *op = &recording->ops[marker->index];
	const struct rec_op_extra *extra =
		recording->extras ? &recording->extras[marker->index] : NULL;
	const struct walk_slice whole = { .thread = op->thread,
					  .end_ns = op->end_ns,
					  .op = marker->index,
					  .wait = NO_INDEX,
					  .holder = NO_INDEX,
					  .is_end = !(extra && extra->open) };
	jsongz_raw(firefox->json,
		   marker->sort == MARKER_CALL ? "{\"type\":\"Call\"" : "{\"type\":\"Op\"");
	put_threads(firefox, &whole, op->ident);
	if (op->outcome != OUTCOME_NONE && op->outcome != OUTCOME_OK)
		put_member(firefox, "outcome",
			   firefox_text(firefox, recording->outcomes.words[op->outcome]));
	if (extra && extra->open)
		put_member(firefox, "outcome", firefox_text(firefox, "not over at the end"));
	if (extra && op->kind == KIND_IO) {
		jsongz_raw(firefox->json, ",\"bytes\":");
		jsongz_number(firefox->json, extra->amount);
	}
	put_ids(firefox, op->thread, op->start_ns);
	put_cause(firefox, extra ? extra->stack : 0, op->start_ns, op->thread);
}

static void put_hold(struct firefox *firefox, uint32_t index)
{
	/* As the front end names them; grey ones are left to what has no colour. */
	static const char *const colors[] = { "blue", "orange", "green",   "purple", "red",
					      "teal", "yellow", "magenta", "ink" };
	const struct rec_op *op = &firefox->walk.recording->ops[index];
	const struct rec_op_extra *extra = &firefox->walk.recording->extras[index];
	jsongz_raw(firefox->json, "{\"type\":\"Hold\"");
	put_label(firefox, firefox->lanes.threads[op->thread], NULL);
	jsongz_raw(firefox->json, ",\"color\":");
	jsongz_text(firefox->json, colors[op->thread % (sizeof(colors) / sizeof(colors[0]))]);
	if (extra->open)
		put_member(firefox, "outcome", firefox_text(firefox, "not over at the end"));
	put_ids(firefox, op->thread, op->start_ns);
	put_cause(firefox, extra->stack, op->start_ns, op->thread);
}

/* The ids that its thread comes to work for in it: as it is answered, it may do so no more. */
static void put_request(struct firefox *firefox, const struct walk_request *request)
{
	const struct rec_ids *ids = &firefox->walk.requests->requests[request->request].ids;
	char trace[IDS_TRACE_BYTES], span[IDS_SPAN_BYTES];
	jsongz_raw(firefox->json, "{\"type\":\"Request\"");
	ids_trace_text(trace, ids->trace);
	ids_span_text(span, ids->span);
	if (trace[0])
		put_member(firefox, "trace", firefox_text(firefox, trace));
	if (span[0])
		put_member(firefox, "span", firefox_text(firefox, span));
}

static uint32_t request_name(struct firefox *firefox, const struct walk_request *request)
{
	const struct class_table *classes = firefox->walk.classes;
	char *name;
	if (asprintf(&name, "request %s",
		     firefox->walk.recording->strings[classes->classes[request->class].name]) < 0)
		return 0;
	uint32_t text = firefox_text(firefox, name);
	free(name);
	return text;
}

static uint32_t name_of(struct firefox *firefox, const struct firefox_markers *markers,
			const struct marker *marker)
{
	const struct recording *recording = firefox->walk.recording;
	switch (marker->sort) {
	case MARKER_WAIT:
		return firefox_text(
			firefox, recording->reasons.words[recording->waits[marker->index].reason]);
	case MARKER_REQUEST:
		return request_name(firefox, &markers->requests[marker->index]);
	case MARKER_HOLD:
		return firefox_text(firefox, "held by");
	case MARKER_CALL:
	case MARKER_OP:
		break;
	}
	return firefox_string(firefox, recording->ops[marker->index].name);
}

static enum firefox_category category_of(const struct firefox *firefox, const struct marker *marker)
{
	const struct recording *recording = firefox->walk.recording;
	if (marker->sort == MARKER_WAIT)
		return firefox_category_of(recording, recording->waits[marker->index].reason);
	if (marker->sort == MARKER_CALL)
		return firefox_category_of(recording, (uint32_t)recording->reasons.count +
							      recording->ops[marker->index].kind);
	return marker->sort == MARKER_HOLD ? CATEGORY_LOCK : CATEGORY_RUNNING;
}

/* --- Columns --- */

/* Markers of one lane. */
struct lane {
	const struct firefox_markers *markers;
	const struct marker *first;
	size_t count;
};

static void put_data(struct firefox *firefox, const void *context, size_t index)
{
	const struct lane *lane = context;
	const struct marker *marker = &lane->first[index];
	switch (marker->sort) {
	case MARKER_WAIT:
		put_wait(firefox, marker->index);
		break;
	case MARKER_HOLD:
		put_hold(firefox, marker->index);
		break;
	case MARKER_REQUEST:
		put_request(firefox, &lane->markers->requests[marker->index]);
		break;
	case MARKER_CALL:
	case MARKER_OP:
		put_op(firefox, marker);
		break;
	}
	jsongz_raw(firefox->json, "}\n");
}

static void put_name(struct firefox *firefox, const void *context, size_t index)
{
	const struct lane *lane = context;
	jsongz_number(firefox->json, name_of(firefox, lane->markers, &lane->first[index]));
}

static void put_start(struct firefox *firefox, const void *context, size_t index)
{
	jsongz_ms(firefox->json, ((const struct lane *)context)->first[index].start_ns);
}

static void put_end(struct firefox *firefox, const void *context, size_t index)
{
	jsongz_ms(firefox->json, ((const struct lane *)context)->first[index].end_ns);
}

static void put_category(struct firefox *firefox, const void *context, size_t index)
{
	const struct lane *lane = context;
	jsongz_number(firefox->json, category_of(firefox, &lane->first[index]));
}

void firefox_put_markers(struct firefox *firefox, struct firefox_markers *markers,
			 uint32_t lane_index)
{
	struct lane lane = { .markers = markers, .first = markers->markers + markers->next };
	while (markers->next < markers->count &&
	       markers->markers[markers->next].lane == lane_index) {
		markers->next++;
		lane.count++;
	}
	jsongz_raw(firefox->json, "\"markers\":{");
	firefox_put_column(firefox, "data", lane.count, put_data, &lane);
	firefox_put_column(firefox, "name", lane.count, put_name, &lane);
	firefox_put_column(firefox, "startTime", lane.count, put_start, &lane);
	firefox_put_column(firefox, "endTime", lane.count, put_end, &lane);
	firefox_put_column(firefox, "category", lane.count, put_category, &lane);
	firefox_put_same(firefox, "phase", lane.count, "1");
	jsongz_raw(firefox->json, "\"length\":");
	jsongz_number(firefox->json, lane.count);
	jsongz_raw(firefox->json, "}");
}

void firefox_put_schemas(struct firefox *firefox)
{
	static const char display[] =
		",\"display\":[\"marker-chart\",\"marker-table\",\"timeline-overview\"],"
		"\"tooltipLabel\":\"{marker.name} {marker.data.label}\","
		"\"tableLabel\":\"{marker.data.label}\",\"chartLabel\":\"{marker.data.label}\",";
	static const char label[] =
		"\"fields\":[{\"key\":\"label\",\"label\":\"What\",\"format\":\"unique-string\"}";
	static const char outcome[] =
		",{\"key\":\"ended\",\"label\":\"Ended by\",\"format\":\"unique-string\"}"
		",{\"key\":\"outcome\",\"label\":\"Outcome\",\"format\":\"unique-string\"}";
	static const char ids[] =
		"{\"key\":\"trace\",\"label\":\"Trace\",\"format\":\"unique-string\"}"
		",{\"key\":\"span\",\"label\":\"Span\",\"format\":\"unique-string\"}";
	static const struct {
		const char *name, *fields, *end;
	} schemas[] = {
		{ "Wait",
		  ",{\"key\":\"holder\",\"label\":\"Held by\",\"format\":\"unique-string\"}",
		  "],\"description\":\"A thread waited for another one.\"}" },
		{ "Call", ",{\"key\":\"bytes\",\"label\":\"Bytes\",\"format\":\"bytes\"}",
		  "],\"description\":\"A call that may block.\"}" },
		{ "Op", "", "],\"description\":\"An op that the program declares.\"}" },
		{ "Hold", ",{\"key\":\"color\",\"format\":\"string\",\"hidden\":true}",
		  "],\"colorField\":\"color\",\"description\":\"A thread had the lock.\"}" },
	};
	jsongz_raw(firefox->json, "\"markerSchema\":[");
	for (size_t i = 0; i < sizeof(schemas) / sizeof(schemas[0]); i++) {
		jsongz_raw(firefox->json, "\n{\"name\":\"");
		jsongz_raw(firefox->json, schemas[i].name);
		jsongz_raw(firefox->json, "\"");
		jsongz_raw(firefox->json, display);
		jsongz_raw(firefox->json, label);
		jsongz_raw(firefox->json, schemas[i].fields);
		jsongz_raw(firefox->json, outcome);
		jsongz_raw(firefox->json, ",");
		jsongz_raw(firefox->json, ids);
		jsongz_raw(firefox->json, schemas[i].end);
		jsongz_raw(firefox->json, ",");
	}
	jsongz_raw(firefox->json,
		   "\n{\"name\":\"Request\",\"display\":[\"marker-chart\",\"marker-table\","
		   "\"timeline-overview\"],\"fields\":[");
	jsongz_raw(firefox->json, ids);
	jsongz_raw(firefox->json, "],\"description\":\"Something that was asked for, until it was "
				  "answered.\"}]");
}

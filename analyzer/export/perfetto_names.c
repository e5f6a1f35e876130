/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets, and the tables of texts, frames and stacks that events point to.
 *
 * The entries of all tables of texts have one shape. A text's key is where it comes from, so that
 * no text is compared. A frame's number is its place in the names of all frames, a stack's its own.
 */
#include <assert.h>
#include <stdlib.h>

#include "names/framenames.h"
#include "perfetto_parts.h"
#include "stacksums.h"

/* Fields of the messages; the tables' are in enum trace_table. */
enum {
	TRACE_PACKET = 1,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_TRACK = 60,
	EVENT_CATEGORY = 3,
	EVENT_NOTE = 4,
	EVENT_TYPE = 9,
	EVENT_NAME = 10,
	EVENT_TRACK = 11,
	EVENT_FLOW_FROM = 47,
	EVENT_FLOW_TO = 48,
	EVENT_VALUE = 44,
	EVENT_STACK = 56,
	NOTE_KEY = 1,
	NOTE_PLAIN = 6,
	NOTE_TEXT = 17,
	ENTRY_NUMBER = 1,
	ENTRY_TEXT = 2,
	INTERNED_FRAMES = 6,
	INTERNED_STACKS = 7,
	INTERNED_MODULES = 19,
	FRAME_FUNCTION = 2,
	FRAME_MODULE = 3,
	FRAME_OFFSET = 4,
	FRAME_SOURCE = 5,
	FRAME_LINE = 6,
	STACK_FRAME = 2,
	MODULE_BUILD = 2,
	MODULE_PATH = 7,
	TRACK_NUMBER = 1,
	TRACK_NAME = 2,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	COUNTER_UNIT = 3,
	UNIT_COUNT = 2,
	SEQUENCE = 1,
	NEEDS_TABLES = 2
};

/* Where a text comes from; below it is the key. */
#define FROM_WORD   (UINT64_C(1) << 60)
#define FROM_LEAF   (UINT64_C(2) << 60)
#define FROM_THREAD (UINT64_C(3) << 60)

static const char *const key_words[TRACE_KEYS] = {
	[KEY_REASON] = "reason",
	[KEY_HOLDER] = "holder",
	[KEY_ENDED_BY] = "ended by",
	[KEY_THREAD] = "thread",
	[KEY_OPEN] = "still at the end of the recording",
	[KEY_TRACE] = "trace_id",
	[KEY_SPAN] = "span_id",
};

void trace_begin_packet(struct trace *trace, size_t *mark)
{
	*mark = protobuf_begin(&trace->packet, TRACE_PACKET);
	protobuf_number(&trace->packet, PACKET_SEQUENCE, SEQUENCE);
	protobuf_number(&trace->packet, PACKET_FLAGS, NEEDS_TABLES);
}

void trace_end_packet(struct trace *trace, size_t mark)
{
	enum { WRITE_BYTES = 1 << 16 };
	protobuf_end(&trace->packet, mark);
	if (trace->packet.length < WRITE_BYTES)
		return;
	fwrite(trace->packet.bytes, 1, trace->packet.length, trace->file);
	protobuf_clear(&trace->packet);
}

static void add_note(struct trace *trace, struct trace_event *event, struct trace_note note)
{
	assert(event->note_count < TRACE_NOTES_MAX);
	if (!trace->keys[note.key])
		trace->keys[note.key] =
			trace_word(trace, TABLE_KEYS, note.key, key_words[note.key]);
	event->notes[event->note_count++] = note;
}

void trace_note(struct trace *trace, struct trace_event *event, enum trace_key key, uint64_t text)
{
	add_note(trace, event, (struct trace_note){ .key = key, .text = text });
}

void trace_note_plain(struct trace *trace, struct trace_event *event, enum trace_key key,
		      const char *text)
{
	add_note(trace, event, (struct trace_note){ .key = key, .plain = text });
}

void trace_put_event(struct trace *trace, const struct trace_event *event)
{
	struct protobuf *to = &trace->packet;
	size_t packet;
	trace_begin_packet(trace, &packet);
	protobuf_number(to, PACKET_TIMESTAMP, event->at_ns);
	size_t mark = protobuf_begin(to, PACKET_EVENT);
	protobuf_number(to, EVENT_TYPE, event->type);
	protobuf_number(to, EVENT_TRACK, event->track);
	if (event->name)
		protobuf_number(to, EVENT_NAME, event->name);
	if (event->category)
		protobuf_number(to, EVENT_CATEGORY, event->category);
	for (size_t i = 0; i < event->note_count; i++) {
		size_t note = protobuf_begin(to, EVENT_NOTE);
		protobuf_number(to, NOTE_KEY, trace->keys[event->notes[i].key]);
		if (event->notes[i].plain)
			protobuf_text(to, NOTE_PLAIN, event->notes[i].plain);
		else
			protobuf_number(to, NOTE_TEXT, event->notes[i].text);
		protobuf_end(to, note);
	}
	if (event->flow_from)
		protobuf_fixed64(to, EVENT_FLOW_FROM, event->flow_from);
	if (event->flow_to)
		protobuf_fixed64(to, EVENT_FLOW_TO, event->flow_to);
	if (event->stack)
		protobuf_number(to, EVENT_STACK, event->stack);
	protobuf_end(to, mark);
	trace_end_packet(trace, packet);
}

void trace_put_level(struct trace *trace, uint64_t track, uint64_t at_ns, double value)
{
	size_t packet;
	trace_begin_packet(trace, &packet);
	protobuf_number(&trace->packet, PACKET_TIMESTAMP, at_ns);
	size_t mark = protobuf_begin(&trace->packet, PACKET_EVENT);
	protobuf_number(&trace->packet, EVENT_TYPE, TRACE_COUNTER);
	protobuf_number(&trace->packet, EVENT_TRACK, track);
	protobuf_double(&trace->packet, EVENT_VALUE, value);
	protobuf_end(&trace->packet, mark);
	trace_end_packet(trace, packet);
}

/* --- Texts --- */

/* Of the messages around an entry of a table. */
struct marks {
	size_t packet, tables, entry;
};

static struct marks begin_entry(struct trace *trace, uint32_t table, uint64_t number)
{
	struct marks marks;
	trace_begin_packet(trace, &marks.packet);
	marks.tables = protobuf_begin(&trace->packet, PACKET_INTERNED);
	marks.entry = protobuf_begin(&trace->packet, table);
	protobuf_number(&trace->packet, ENTRY_NUMBER, number);
	return marks;
}

static void end_entry(struct trace *trace, const struct marks *marks)
{
	protobuf_end(&trace->packet, marks->entry);
	protobuf_end(&trace->packet, marks->tables);
	trace_end_packet(trace, marks->packet);
}

/* The number of this text, which has just been added if is_new. */
static uint64_t number_of(struct trace *trace, enum trace_table table, uint64_t key, bool *is_new)
{
	size_t known = trace->texts.count;
	uint32_t number = addresses_add(&trace->texts, table, key);
	*is_new = number == known;
	return (uint64_t)number + 1;
}

static void put_text(struct trace *trace, enum trace_table table, uint64_t number, const char *text)
{
	const struct marks marks = begin_entry(trace, table, number);
	protobuf_text(&trace->packet, ENTRY_TEXT, text);
	end_entry(trace, &marks);
}

static uint64_t text_of(struct trace *trace, enum trace_table table, uint64_t key, const char *text)
{
	bool is_new;
	uint64_t number = number_of(trace, table, key, &is_new);
	if (is_new)
		put_text(trace, table, number, text);
	return number;
}

uint64_t trace_string(struct trace *trace, enum trace_table table, uint32_t string)
{
	const char *text = trace->walk.recording->strings[string];
	return text_of(trace, table, string, *text ? text : "?");
}

uint64_t trace_word(struct trace *trace, enum trace_table table, uint32_t number, const char *text)
{
	return text_of(trace, table, FROM_WORD | number, text);
}

uint64_t trace_thread(struct trace *trace, enum trace_table table, uint32_t thread)
{
	return text_of(trace, table, FROM_THREAD | thread, trace->lanes.threads[thread]);
}

uint64_t trace_slice_name(struct trace *trace, const struct walk_slice *slice)
{
	if (slice->state == WALK_RUNNING)
		return trace_word(trace, TABLE_NAMES, WALK_RUNNING, walk_state_word(WALK_RUNNING));
	uint32_t leaf = stack_leaf_number(slice->state, slice->cause);
	uint64_t key = FROM_LEAF | (uint64_t)leaf << 32 | slice->name;
	bool is_new;
	uint64_t number = number_of(trace, TABLE_NAMES, key, &is_new);
	if (is_new) {
		char *text = stack_leaf(&trace->walk, leaf, slice->name, 0);
		put_text(trace, TABLE_NAMES, number, text);
		free(text);
	}
	return number;
}

uint64_t trace_reason(struct trace *trace, const struct walk_slice *slice)
{
	bool is_call = slice->state == WALK_BLOCKED || slice->state == WALK_IDLE;
	uint32_t leaf = stack_leaf_number(is_call ? WALK_BLOCKED : slice->state,
					  is_call ? slice->cause : NO_INDEX);
	return text_of(trace, TABLE_VALUES, FROM_LEAF | leaf,
		       is_call ? thread_cause_word(trace->walk.recording, slice->cause)
			       : walk_state_word(slice->state));
}

/* --- Stacks --- */

/* As bytes: the recording has it in hex. */
static uint64_t build_of(struct trace *trace, uint32_t string)
{
	enum { BUILD_BYTES_MAX = 64 };
	const char *hex = trace->walk.recording->strings[string];
	uint8_t bytes[BUILD_BYTES_MAX];
	size_t length = 0;
	bool is_new;
	uint64_t number = number_of(trace, TABLE_BUILDS, string, &is_new);
	if (!is_new)
		return number;
	while (length < BUILD_BYTES_MAX && sscanf(hex + 2 * length, "%2hhx", &bytes[length]) == 1)
		length++;
	const struct marks marks = begin_entry(trace, TABLE_BUILDS, number);
	protobuf_bytes(&trace->packet, ENTRY_TEXT, bytes, length);
	end_entry(trace, &marks);
	return number;
}

static uint64_t module_of(struct trace *trace, uint32_t index)
{
	const struct recording *recording = trace->walk.recording;
	if (index == NO_INDEX || rec_module_is_jit(recording, &recording->modules[index]))
		return 0;
	const struct rec_module *module = &recording->modules[index];
	if (trace->has_module[index])
		return (uint64_t)index + 1;
	trace->has_module[index] = true;
	uint64_t path = trace_string(trace, TABLE_PATHS, module->path);
	uint64_t build = build_of(trace, module->build_id);
	const struct marks marks = begin_entry(trace, INTERNED_MODULES, (uint64_t)index + 1);
	protobuf_number(&trace->packet, MODULE_BUILD, build);
	protobuf_number(&trace->packet, MODULE_PATH, path);
	end_entry(trace, &marks);
	return (uint64_t)index + 1;
}

/* Name `name` of a frame: of a function that was inlined, or of its own. */
static void put_frame(struct trace *trace, const struct rec_frame *frame, uint32_t name)
{
	const struct frame_names *names = &trace->walk.labels->frames;
	if (trace->has_frame[name])
		return;
	trace->has_frame[name] = true;
	uint64_t module = module_of(trace, frame->module);
	uint64_t function = trace_string(trace, TABLE_FUNCTIONS, names->names[name]);
	const struct frame_place place =
		names->places ? names->places[name] : (struct frame_place){ 0 };
	uint64_t source = place.file ? trace_string(trace, TABLE_SOURCES, place.file) : 0;
	const struct marks marks = begin_entry(trace, INTERNED_FRAMES, (uint64_t)name + 1);
	struct protobuf *to = &trace->packet;
	protobuf_number(to, FRAME_FUNCTION, function);
	if (module) {
		protobuf_number(to, FRAME_MODULE, module);
		protobuf_number(to, FRAME_OFFSET, frame->offset);
	}
	if (source)
		protobuf_number(to, FRAME_SOURCE, source);
	if (place.line)
		protobuf_number(to, FRAME_LINE, place.line);
	end_entry(trace, &marks);
}

uint64_t trace_stack(struct trace *trace, uint32_t stack)
{
	const struct recording *recording = trace->walk.recording;
	const struct frame_names *names = trace->walk.labels ? &trace->walk.labels->frames : NULL;
	const struct rec_stack *frames = &recording->stacks[stack];
	if (!names || !names->first || frames->frame_count == 0)
		return 0;
	uint32_t end = frames->first_frame + frames->frame_count;
	if (names->first[frames->first_frame] == names->first[end])
		return 0;
	if (trace->has_stack[stack])
		return (uint64_t)stack + 1;
	trace->has_stack[stack] = true;
	for (uint32_t i = frames->first_frame; i < end; i++)
		for (uint32_t name = names->first[i]; name < names->first[i + 1]; name++)
			put_frame(trace, &recording->frames[i], name);
	const struct marks marks = begin_entry(trace, INTERNED_STACKS, (uint64_t)stack + 1);
	for (uint32_t name = names->first[end]; name-- > names->first[frames->first_frame];)
		protobuf_number(&trace->packet, STACK_FRAME, (uint64_t)name + 1);
	end_entry(trace, &marks);
	return (uint64_t)stack + 1;
}

/* --- Tracks --- */

static uint64_t new_track(struct trace *trace, uint64_t parent, const char *name, bool is_counter)
{
	size_t packet, track;
	trace_begin_packet(trace, &packet);
	track = protobuf_begin(&trace->packet, PACKET_TRACK);
	protobuf_number(&trace->packet, TRACK_NUMBER, ++trace->last_track);
	protobuf_text(&trace->packet, TRACK_NAME, name);
	if (parent)
		protobuf_number(&trace->packet, TRACK_PARENT, parent);
	if (is_counter) {
		size_t counter = protobuf_begin(&trace->packet, TRACK_COUNTER);
		protobuf_number(&trace->packet, COUNTER_UNIT, UNIT_COUNT);
		protobuf_end(&trace->packet, counter);
	}
	protobuf_end(&trace->packet, track);
	trace_end_packet(trace, packet);
	return trace->last_track;
}

uint64_t trace_new_track(struct trace *trace, uint64_t parent, const char *name)
{
	return new_track(trace, parent, name, false);
}

uint64_t trace_new_counter(struct trace *trace, const char *name)
{
	return new_track(trace, 0, name, true);
}

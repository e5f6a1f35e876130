/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One event line, and what it adds to the recording.
 *
 * Most of a dump passes through read_event(), so it does one pass over the line: a name is looked
 * up by its length and bytes, its value goes into an array by field, and only at the end of the
 * line, when it is known what the event is, is anything checked and added. A line that turns out to
 * be wrong has changed nothing.
 */
#include "reading.h"

#include "format.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* A name of up to three letters as one number. */
#define NAME1(a)       ((uint32_t)(a))
#define NAME2(a, b)    (NAME1(a) | (uint32_t)(b) << 8)
#define NAME3(a, b, c) (NAME2(a, b) | (uint32_t)(c) << 16)

static enum event_field long_field(const struct json_text *name)
{
	if (name->length == 14 && memcmp(name->bytes, "schema_version", 14) == 0)
		return FIELD_SCHEMA_VERSION;
	return FIELD_UNKNOWN;
}

static enum event_field field_of(const struct json_text *name)
{
	if (name->length - 1 > 2)
		return long_field(name);
	switch ((uint32_t)json_load(name->bytes) & (UINT32_MAX >> (32 - 8 * name->length))) {
	case NAME1('e'):
		return FIELD_EVENT;
	case NAME1('k'):
		return FIELD_KIND;
	case NAME1('w'):
		return FIELD_WORK;
	case NAME1('o'):
		return FIELD_OUTCOME;
	case NAME2('r', 's'):
		return FIELD_REASON;
	case NAME2('l', 'k'):
		return FIELD_LINK;
	case NAME2('i', 'd'):
		return FIELD_ID;
	case NAME1('p'):
		return FIELD_PARENT;
	case NAME1('t'):
		return FIELD_TARGET;
	case NAME1('r'):
		return FIELD_RESULT;
	case NAME1('c'):
		return FIELD_CLASS;
	case NAME1('i'):
		return FIELD_IDENT;
	case NAME2('c', 'l'):
		return FIELD_CLIENT;
	case NAME1('m'):
		return FIELD_META;
	case NAME1('s'):
		return FIELD_START;
	case NAME1('d'):
		return FIELD_END;
	case NAME2('t', 'h'):
		return FIELD_THREAD;
	case NAME2('s', 't'):
		return FIELD_STACK;
	case NAME1('a'):
		return FIELD_ADDRESS;
	case NAME2('f', 'd'):
		return FIELD_FD;
	case NAME1('n'):
		return FIELD_BYTES;
	case NAME2('r', 'q'):
		return FIELD_REQUESTED;
	case NAME3('a', 'b', 's'):
		return FIELD_ABSOLUTE;
	case NAME2('s', 'q'):
		return FIELD_SEQ;
	case NAME2('t', 'o'):
		return FIELD_TIMED_OUT;
	case NAME3('c', 'p', 'u'):
		return FIELD_CPU;
	default:
		return FIELD_UNKNOWN;
	}
}

void event_begin(struct event *event)
{
	*event = (struct event){ .fd = -1, .work = -1 };
}

static enum event_type event_type_of(const struct json_text *text)
{
	if (text->length == 2 && memcmp(text->bytes, "op", 2) == 0)
		return EVENT_OP;
	if (text->length == 4 && memcmp(text->bytes, "wait", 4) == 0)
		return EVENT_WAIT;
	if (text->length == 4 && memcmp(text->bytes, "link", 4) == 0)
		return EVENT_LINK;
	return EVENT_OTHER;
}

static bool read_word_field(struct reading *reading, struct json *json, enum event_field field,
			    struct event *event)
{
	struct json_text text;

	if (!json_take_string(json, &text))
		return false;
	switch ((int)field) {
	case FIELD_EVENT:
		event->type = event_type_of(&text);
		return true;
	case FIELD_KIND:
		return reading_word(reading, &reading->kinds, &text, &event->kind);
	case FIELD_OUTCOME:
		return reading_word(reading, &reading->outcomes, &text, &event->outcome);
	case FIELD_REASON:
		return reading_word(reading, &reading->reasons, &text, &event->reason);
	case FIELD_LINK:
		return reading_word(reading, &reading->link_kinds, &text, &event->link);
	default:
		assert(field == FIELD_WORK);
		event->work = words_work(text.bytes, text.length);
		return true;
	}
}

/* Yes and no are written as numbers; true and false are taken as well. */
static bool read_number(struct json *json, enum event_field field, struct event *event)
{
	if ((field != FIELD_ABSOLUTE && field != FIELD_TIMED_OUT) ||
	    (*json->at != 't' && *json->at != 'f'))
		return json_take_uint(json, &event->number[field]);
	event->number[field] = *json->at == 't';
	return json_skip(json);
}

bool event_field_read(struct reading *reading, struct json *json, enum event_field field,
		      struct event *event)
{
	if (*json->at == 'n') /* null: as if it were absent */
		return json_skip(json);
	if (field < FIELD_NUMBERS)
		return read_number(json, field, event);
	if (field == FIELD_FD)
		return json_take_int(json, &event->fd);
	if (field >= FIELD_SCHEMA_VERSION)
		return json_skip(json);
	return read_word_field(reading, json, field, event);
}

bool event_thread(struct reading *reading, uint64_t number, uint32_t *thread)
{
	struct recording *recording = reading->recording;

	*thread = NO_INDEX;
	if (number == 0)
		return true;
	if (number >= READ_THREADS_MAX)
		return reading_fail_here(
			reading, "a thread index of %" PRIu64 ", the largest possible is %d",
			number, READ_THREADS_MAX - 1);
	*thread = idmap_index(&reading->thread_ids, reading->dump.process, number);
	if (*thread == NO_INDEX)
		return reading_fail_memory(reading);
	if (*thread < recording->thread_count)
		return true;
	if (!reading_reserve(reading, &recording->threads, &reading->thread_capacity,
			     recording->thread_count, sizeof(*recording->threads)))
		return false;
	assert(*thread == recording->thread_count);
	recording->threads[recording->thread_count++] =
		(struct rec_thread){ .process = reading->dump.process, .op = NO_INDEX };
	return true;
}

bool event_id(struct reading *reading, uint64_t id, uint32_t *index)
{
	*index = NO_INDEX;
	if (id == 0)
		return true;
	*index = idmap_index(&reading->ids, reading->dump.process, id);
	if (*index == NO_INDEX)
		return reading_fail_memory(reading);
	if (*index < reading->op_of_count)
		return true;
	if (!reading_reserve(reading, &reading->op_of, &reading->op_of_capacity,
			     reading->op_of_count, sizeof(*reading->op_of)))
		return false;
	assert(*index == reading->op_of_count);
	reading->op_of[reading->op_of_count++] = NO_INDEX;
	return true;
}

static bool event_stack(struct reading *reading, uint64_t id, uint32_t *stack)
{
	*stack = 0;
	if (id == 0)
		return true;
	if (id >= reading->dump.stack_count)
		return reading_fail_here(reading,
					 "stack %" PRIu64 ", but the dump's header has %zu", id,
					 reading->dump.stack_count);
	*stack = reading->dump.stacks[id];
	return true;
}

/* Start and end on the common axis; an open event ends when the dump was taken. */
static bool event_times(struct reading *reading, const struct event *event, uint64_t *start_ns,
			uint64_t *end_ns)
{
	uint64_t start = event->number[FIELD_START];
	uint64_t end = event->number[FIELD_END];

	if (event->is_open)
		end = reading->dump.end_ns > start ? reading->dump.end_ns : start;
	if (start > READ_TIME_NS_MAX || end > READ_TIME_NS_MAX)
		return reading_fail_here(reading,
					 "a time of %" PRIu64
					 " ns, over 36 years after the recording began",
					 start > READ_TIME_NS_MAX ? start : end);
	if (end < start)
		return reading_fail_here(
			reading, "it ends (at %" PRIu64 " ns) before it starts (at %" PRIu64 " ns)",
			end, start);
	*start_ns = start + reading->dump.offset_ns;
	*end_ns = end + reading->dump.offset_ns;
	return true;
}

static bool has_extra(const struct event *event)
{
	const uint64_t *number = event->number;

	return (number[FIELD_ADDRESS] | number[FIELD_BYTES] | number[FIELD_REQUESTED] |
		number[FIELD_STACK] | number[FIELD_CPU] | number[FIELD_SEQ] |
		number[FIELD_ABSOLUTE]) != 0 ||
	       event->fd != -1;
}

/* The first op that has any extra: those before it get empty ones. */
static bool extras_begin(struct reading *reading)
{
	struct recording *recording = reading->recording;
	size_t i;

	recording->extras = malloc(reading->op_capacity * sizeof(*recording->extras));
	if (!recording->extras)
		return reading_fail_memory(reading);
	for (i = 0; i < recording->op_count; i++)
		recording->extras[i] = (struct rec_op_extra){ .fd = -1 };
	return true;
}

static bool reserve_op(struct reading *reading)
{
	struct recording *recording = reading->recording;
	size_t extra_capacity = reading->op_capacity;
	size_t line_capacity = reading->op_capacity;

	if (recording->op_count < reading->op_capacity)
		return true;
	if (recording->op_count >= READ_OPEN_OP - 1)
		return reading_fail(reading, -E2BIG, reading_line(reading),
				    "more than %u ops; analyse fewer dumps at a time",
				    READ_OPEN_OP - 1);
	if (recording->extras &&
	    !reading_grow(reading, &recording->extras, &extra_capacity, sizeof(*recording->extras)))
		return false;
	return reading_grow(reading, &reading->op_lines, &line_capacity,
			    sizeof(*reading->op_lines)) &&
	       reading_grow(reading, &recording->ops, &reading->op_capacity,
			    sizeof(*recording->ops));
}

static const char *line_file(const struct reading *reading, uint64_t line, uint64_t *line_in_file)
{
	size_t i = reading->file_count - 1;

	while (i > 0 && reading->files[i].first_line > line)
		i--;
	*line_in_file = line - reading->files[i].first_line + 1;
	return reading->files[i].path;
}

/*
 * Where the op of this id goes: a place of its own, or that of the same op while it was open; for
 * an op that is open here and known already, none (NO_INDEX) unless it goes on for longer here.
 */
static bool op_place(struct reading *reading, const struct event *event, uint32_t id,
		     uint64_t end_ns, uint32_t *place)
{
	struct recording *recording = reading->recording;
	uint32_t known = reading->op_of[id];
	uint64_t line;
	const char *file;

	if (known == NO_INDEX) {
		if (!reserve_op(reading))
			return false;
		*place = (uint32_t)recording->op_count++;
		recording->open_op_count += event->is_open;
		reading->op_of[id] = *place | (event->is_open ? READ_OPEN_OP : 0);
		return true;
	}
	*place = known & ~READ_OPEN_OP;
	if (known == *place && !event->is_open) {
		file = line_file(reading, reading->op_lines[*place], &line);
		return reading_fail(reading, -EBADMSG, reading_line(reading),
				    "op %" PRIu64 " is also at %s:%" PRIu64 "; give each dump once",
				    event->number[FIELD_ID], file, line);
	}
	if (event->is_open) {
		if (known == *place || (int64_t)(end_ns - recording->ops[*place].end_ns) <= 0)
			*place = NO_INDEX;
		return true;
	}
	recording->open_op_count--;
	reading->op_of[id] = *place;
	return true;
}

static bool op_strings(struct reading *reading, const struct event *event, struct rec_op *op)
{
	uint32_t meta;

	return reading_string(reading, event->number[FIELD_CLASS], &op->name) &&
	       reading_string(reading, event->number[FIELD_IDENT], &op->ident) &&
	       reading_string(reading, event->number[FIELD_CLIENT], &op->client) &&
	       reading_string(reading, event->number[FIELD_META], &meta);
}

static bool op_extra(struct reading *reading, const struct event *event, struct rec_op_extra *extra)
{
	const uint64_t *number = event->number;

	if (event->fd < -1 || event->fd > INT32_MAX)
		return reading_fail_here(reading, "a descriptor of %" PRId64, event->fd);
	*extra = (struct rec_op_extra){
		.address = number[FIELD_ADDRESS],
		.bytes = number[FIELD_REQUESTED] ? number[FIELD_REQUESTED] : number[FIELD_BYTES],
		.cpu_ns = number[FIELD_CPU],
		.fd = (int32_t)event->fd,
		.seq = (uint32_t)number[FIELD_SEQ],
		.absolute = number[FIELD_ABSOLUTE] != 0,
	};
	return event_stack(reading, number[FIELD_STACK], &extra->stack);
}

/* The ops that stand for a whole thread or process. */
static void note_owner(struct reading *reading, const struct rec_op *op, uint32_t id)
{
	struct recording *recording = reading->recording;

	if (op->kind == KIND_PROCESS && recording->processes[reading->dump.process].op == NO_INDEX)
		recording->processes[reading->dump.process].op = id;
	if (op->kind == KIND_THREAD && op->thread != NO_INDEX &&
	    recording->threads[op->thread].op == NO_INDEX)
		recording->threads[op->thread].op = id;
}

bool event_add_op(struct reading *reading, const struct event *event)
{
	struct recording *recording = reading->recording;
	struct rec_op_extra extra;
	struct rec_op op = {
		.dump_id = event->number[FIELD_ID],
		.kind = (uint16_t)event->kind,
		.work = event->work >= 0 ? (uint8_t)event->work : words_kind_work(event->kind),
		.outcome = (uint8_t)event->outcome,
	};
	uint32_t id, place;

	if (op.dump_id == 0)
		return reading_fail_here(reading, "an op without an id");
	if (!event_times(reading, event, &op.start_ns, &op.end_ns) ||
	    !op_strings(reading, event, &op) || !op_extra(reading, event, &extra) ||
	    !event_thread(reading, event->number[FIELD_THREAD], &op.thread) ||
	    !event_id(reading, op.dump_id, &id) ||
	    !event_id(reading, event->number[FIELD_PARENT], &op.parent) ||
	    !op_place(reading, event, id, op.end_ns, &place))
		return false;
	if (place == NO_INDEX)
		return true;
	if (!recording->extras && has_extra(event) && !extras_begin(reading))
		return false;
	recording->ops[place] = op;
	reading->op_lines[place] = (uint32_t)reading->line;
	if (recording->extras)
		recording->extras[place] = extra;
	note_owner(reading, &op, id);
	return true;
}

bool event_add_wait(struct reading *reading, const struct event *event)
{
	struct recording *recording = reading->recording;
	struct rec_wait wait = {
		.address = event->number[FIELD_ADDRESS],
		.reason = (uint16_t)event->reason,
		.open = event->is_open,
		.timed_out = event->number[FIELD_TIMED_OUT] != 0,
	};

	if (!event_times(reading, event, &wait.start_ns, &wait.end_ns) ||
	    !reading_string(reading, event->number[FIELD_IDENT], &wait.ident) ||
	    !reading_string(reading, event->number[FIELD_CLASS], &wait.name) ||
	    !event_stack(reading, event->number[FIELD_STACK], &wait.stack) ||
	    !event_thread(reading, event->number[FIELD_THREAD], &wait.thread) ||
	    !event_id(reading, event->number[FIELD_PARENT], &wait.waiter) ||
	    !event_id(reading, event->number[FIELD_TARGET], &wait.target))
		return false;
	if (!reading_reserve(reading, &recording->waits, &reading->wait_capacity,
			     recording->wait_count, sizeof(*recording->waits)))
		return false;
	recording->waits[recording->wait_count++] = wait;
	reading->open_wait_count += event->is_open;
	return true;
}

static bool add_link(struct reading *reading, struct event *event)
{
	struct recording *recording = reading->recording;
	uint64_t count = event->number[FIELD_BYTES];
	struct rec_link link = {
		.result = event->number[FIELD_RESULT],
		.address = event->number[FIELD_ADDRESS],
		.kind = (uint16_t)event->link,
		.count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX,
	};
	uint64_t end_ns;

	event->number[FIELD_END] = event->number[FIELD_START]; /* a point in time */
	if (!event_times(reading, event, &link.at_ns, &end_ns) ||
	    !reading_string(reading, event->number[FIELD_IDENT], &link.ident) ||
	    !event_stack(reading, event->number[FIELD_STACK], &link.stack) ||
	    !event_thread(reading, event->number[FIELD_THREAD], &link.thread) ||
	    !event_id(reading, event->number[FIELD_PARENT], &link.from) ||
	    !event_id(reading, event->number[FIELD_TARGET], &link.to))
		return false;
	if (!reading_reserve(reading, &recording->links, &reading->link_capacity,
			     recording->link_count, sizeof(*recording->links)))
		return false;
	recording->links[recording->link_count++] = link;
	return true;
}

static bool add_event(struct reading *reading, struct event *event)
{
	if (!reading->has_header)
		return reading_fail(
			reading, -EBADMSG, reading_line(reading),
			"no header (a line with \"schema_version\") before the first event; "
			"this is no dump, or its beginning is missing");
	reading->dump.events_seen++;
	switch (event->type) {
	case EVENT_OP:
		return event_add_op(reading, event);
	case EVENT_WAIT:
		return event_add_wait(reading, event);
	case EVENT_LINK:
		return add_link(reading, event);
	case EVENT_NONE:
		return reading_fail_here(
			reading, "an object that says neither \"e\" nor \"schema_version\"");
	case EVENT_OTHER:
		break;
	}
	reading->recording->skipped_events++;
	return true;
}

bool read_event(struct reading *reading, struct json *json)
{
	const char *begin = json->at;
	struct json_text name;
	struct event event;
	bool is_first = true;

	event_begin(&event);
	if (!json_open_object(json))
		return reading_fail_json(reading, json, begin);
	while (json_member(json, &is_first, &name)) {
		enum event_field field = field_of(&name);

		if (field == FIELD_SCHEMA_VERSION) {
			json->at = begin;
			return read_header(reading, json);
		}
		if (event.type == EVENT_OTHER)
			field = FIELD_UNKNOWN; /* its fields may mean anything */
		if (field < FIELD_NUMBERS && json_is_at_digit(json)
			    ? !json_take_uint(json, &event.number[field])
			    : !event_field_read(reading, json, field, &event)) {
			if (!json->error)
				return false;
			break;
		}
	}
	if (json->error || !json_finish(json))
		return reading_fail_json(reading, json, begin);
	return add_event(reading, &event);
}

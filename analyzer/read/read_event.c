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

#include <assert.h>
#include <errno.h>

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

/* Names that the format's ancestor does not have. */
static enum event_field own_field(uint32_t name)
{
	switch (name) {
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
	case NAME2('a', 'c'):
		return FIELD_ACCEPTED;
	case NAME1('h'):
		return FIELD_HOLDER;
	case NAME2('o', 'd'):
		return FIELD_OWNER_DIED;
	case NAME2('t', 'r'):
		return FIELD_TRIED;
	case NAME2('r', 'l'):
		return FIELD_RELOCK;
	case NAME3('a', 'l', 'l'):
		return FIELD_ALL;
	case NAME2('i', '2'):
		return FIELD_OTHER_IDENT;
	case NAME1('q'):
		return FIELD_QUEUED;
	case NAME3('c', 'p', 'u'):
		return FIELD_CPU;
	default:
		return FIELD_UNKNOWN;
	}
}

static enum event_field field_of(const struct json_text *text)
{
	if (text->length - 1 > 2)
		return long_field(text);
	uint32_t name = (uint32_t)json_load(text->bytes) & (UINT32_MAX >> (32 - 8 * text->length));

	switch (name) {
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
	default:
		return own_field(name);
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
	if (text->length == 6 && memcmp(text->bytes, "sample", 6) == 0)
		return EVENT_SAMPLE;
	if (text->length == 5 && memcmp(text->bytes, "names", 5) == 0)
		return EVENT_NAMES;
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
	if ((field != FIELD_ABSOLUTE && field != FIELD_TIMED_OUT && field != FIELD_ACCEPTED &&
	     field != FIELD_OWNER_DIED && field != FIELD_TRIED && field != FIELD_ALL) ||
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

static bool check_header(struct reading *reading)
{
	if (reading->has_header)
		return true;
	return reading_fail(reading, -EBADMSG, reading_line(reading),
			    "no header (a line with \"schema_version\") before the first event; "
			    "this is no dump, or its beginning is missing");
}

static bool add_event(struct reading *reading, struct event *event)
{
	if (!check_header(reading))
		return false;
	reading->dump.events_seen++;
	switch (event->type) {
	case EVENT_OP:
		return event_add_op(reading, event);
	case EVENT_WAIT:
		return event_add_wait(reading, event);
	case EVENT_LINK:
		return event_add_link(reading, event);
	case EVENT_SAMPLE:
		return event_add_sample(reading, event);
	case EVENT_NONE:
		return reading_fail_here(
			reading, "an object that says neither \"e\" nor \"schema_version\"");
	case EVENT_OTHER:
	case EVENT_NAMES:
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
		if (event.type >= EVENT_OTHER)
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
	if (event.type == EVENT_NAMES) {
		json->at = begin;
		return check_header(reading) && read_names(reading, json);
	}
	return add_event(reading, &event);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One event line, and its row in the recording.
 *
 * Most of a dump passes through read_event(), so it does one pass over the line. A key is looked up
 * as one number and its value goes into an array by field. Checks and additions wait for the end of
 * the line, when it is known what the event is. A line that turns out to be wrong has changed
 * nothing. One thread.
 */
#include "reading.h"

#include <assert.h>
#include <errno.h>

/* The field of a key of an event's line; a header may come as well. */
static enum event_field field_of(const struct reading *reading, const struct json_text *key)
{
	if (key->length > FIELD_KEY_LETTERS_MAX && read_is_header_key(key))
		return FIELD_SCHEMA_VERSION;
	return fields_find(&reading->fields, key);
}

void event_begin(struct event *event)
{
	*event = (struct event){ .number[FIELD_FD] = UINT64_MAX, .work = -1 };
}

static enum event_type event_type_of(const struct json_text *text)
{
#define LINE(name, word, meaning)                                                             \
	if (text->length == sizeof(word) - 1 && memcmp(text->bytes, word, text->length) == 0) \
		return EVENT_##name;
#include "keys.def"
	return EVENT_OTHER;
}

/* From the lowest bits on; false if it is anything but so many digits. */
static bool read_hexadecimal(const struct json_text *text, uint64_t *high, uint64_t *low)
{
	*high = *low = 0;
	for (size_t i = 0; i < text->length; i++) {
		char digit = text->bytes[i];
		uint64_t value = digit >= '0' && digit <= '9'   ? (uint64_t)(digit - '0')
				 : digit >= 'a' && digit <= 'f' ? (uint64_t)(digit - 'a' + 10)
								: 16;

		if (value == 16)
			return false;
		*high = *high << 4 | *low >> 60;
		*low = *low << 4 | value;
	}
	return true;
}

static bool read_id(struct reading *reading, const struct json_text *text, enum event_field field,
		    struct rec_ids *ids)
{
	uint64_t none;
	bool is_good = field == FIELD_TRACE
			       ? text->length == 32 &&
					 read_hexadecimal(text, &ids->trace[0], &ids->trace[1])
			       : text->length == 16 && read_hexadecimal(text, &none, &ids->span);

	return is_good || reading_fail_here(reading, "\"%.*s\" is no id of a %s", (int)text->length,
					    text->bytes, field == FIELD_TRACE ? "trace" : "span");
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
	case FIELD_TRACE:
	case FIELD_SPAN:
		return read_id(reading, &text, field, &event->ids);
	default:
		assert(field == FIELD_WORK);
		event->work = words_work(text.bytes, text.length);
		return true;
	}
}

/* Yes and no are written as numbers; true and false are taken as well. */
static bool read_number(struct json *json, enum event_field field, struct event *event)
{
	if (field_is_signed(field) && *json->at == '-')
		return json_take_int(json, (int64_t *)&event->number[field]);
	if (!field_is_flag(field) || (*json->at != 't' && *json->at != 'f'))
		return json_take_uint(json, &event->number[field]);
	event->number[field] = *json->at == 't';
	return json_skip(json);
}

bool event_field_read(struct reading *reading, struct json *json, enum event_field field,
		      struct event *event)
{
	assert(!json->error);
	if (*json->at == 'n') /* null: as if it were absent */
		return json_skip(json);
	if (field_is_number(field))
		return read_number(json, field, event);
	if (field < FIELD_UNKNOWN)
		return read_word_field(reading, json, field, event);
	return json_skip(json);
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
	case EVENT_CONTEXT:
		return event_add_context(reading, event);
	case EVENT_NONE:
		return reading_fail_here(
			reading, "an object that says neither \"e\" nor \"schema_version\"");
	case EVENT_NAMES:
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
		enum event_field field = field_of(reading, &name);

		if (field == FIELD_SCHEMA_VERSION) {
			json->at = begin;
			return read_header(reading, json);
		}
		if (event.type >= EVENT_NAMES)
			field = FIELD_UNKNOWN;
		if (field_is_number(field) && json_is_at_digit(json)
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

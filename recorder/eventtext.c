/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records as JSON. See eventtext.h.
 *
 * Keys whose value is zero or empty are left out. Words and keys come from events.def and keys.def
 * with the punctuation around them, so that each is one copy of a known length.
 */
#include "eventtext.h"

#include "clock.h"
#include "fields.h"

#include "in_target.h"

/* --- Words ----------------------------------------------------------------------------------- */

struct word {
	const char *bytes;
	uint32_t length;
};
/* In quotes. */
#define WORD_ROW(number, word_of_row) \
	[number] = { "\"" word_of_row "\"", sizeof("\"" word_of_row "\"") - 1 },

static const struct word kind_words[] = {
#define KIND(number, name, word, work, meaning) WORD_ROW(number, word)
#include "events.def"
};
static const struct word work_words[] = {
#define WORK(number, name, word, meaning) WORD_ROW(number, word)
#include "events.def"
};
static const struct word outcome_words[] = {
#define OUTCOME(number, name, word, meaning) WORD_ROW(number, word)
#include "events.def"
};
static const struct word reason_words[] = {
#define REASON(number, name, word, meaning) WORD_ROW(number, word)
#include "events.def"
};
static const struct word link_words[] = {
#define LINK(number, name, word, meaning) WORD_ROW(number, word)
#include "events.def"
};
static const uint8_t kind_works[] = {
#define KIND(number, name, word, work, meaning) [number] = WORK_##work,
#include "events.def"
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static void put_word(struct text *text, const struct word *words, size_t count, uint32_t number)
{
	const struct word *word = &words[number < count ? number : 0];

	text_put_bytes(text, word->bytes, word->length);
}

/* --- Keys ------------------------------------------------------------------------------------ */

/* Each key with the comma before it and the colon after it; of yes or no, with the value. */
#define AFTER_NUMBER ""
#define AFTER_SIGNED ""
#define AFTER_UNREAD ""
#define AFTER_WORD   ""
#define AFTER_HEX    ""
#define AFTER_FLAG   "1"
static const struct {
#define EVENT_KEY(name, key, type, meaning)     char name[sizeof(",\"" key "\":" AFTER_##type)];
#define OPEN_KEY(name, key, event_key, meaning) char name[sizeof(",\"" key "\":")];
#include "keys.def"
} keys = {
#define EVENT_KEY(name, key, type, meaning)     .name = ",\"" key "\":" AFTER_##type,
#define OPEN_KEY(name, key, event_key, meaning) .name = ",\"" key "\":",
#include "keys.def"
};

static const struct {
#define LINE(name, word, meaning) char name[sizeof("\"" word "\"")];
#include "keys.def"
} lines = {
#define LINE(name, word, meaning) .name = "\"" word "\"",
#include "keys.def"
};

#define PUT_KEY(text, key) text_put_bytes((text), keys.key, sizeof(keys.key) - 1)

/* The first key of an object has no comma. */
#define PUT_FIRST(text, key)                                                \
	do {                                                                \
		text_put_literal((text), "{");                              \
		text_put_bytes((text), keys.key + 1, sizeof(keys.key) - 2); \
	} while (0)

#define PUT_LINE(text, word)                                                \
	do {                                                                \
		PUT_FIRST((text), EVENT);                                   \
		text_put_bytes((text), lines.word, sizeof(lines.word) - 1); \
	} while (0)

#define PUT_U64(text, key, value)              \
	do {                                   \
		PUT_KEY((text), key);          \
		text_put_u64((text), (value)); \
	} while (0)

#define PUT_NONZERO(text, key, value)                     \
	do {                                              \
		uint64_t value_once = (value);            \
		if (value_once)                           \
			PUT_U64((text), key, value_once); \
	} while (0)

#define PUT_IF(text, key, condition)          \
	do {                                  \
		if (condition)                \
			PUT_KEY((text), key); \
	} while (0)

static void put_work(struct text *text, const struct record *record)
{
	uint32_t work = record->what < COUNT_OF(kind_works) ? kind_works[record->what] : 0;

	put_word(text, work_words, COUNT_OF(work_words), work);
}

/* --- Events ---------------------------------------------------------------------------------- */

static void put_moved(struct text *text, uint64_t value)
{
	PUT_NONZERO(text, AMOUNT, value & (RECORD_MESSAGE - 1));
	PUT_NONZERO(text, MESSAGES, value / RECORD_MESSAGE);
}

static void put_request(struct text *text, const struct record *record)
{
	PUT_NONZERO(text, REQUEST, field_request_kind(record));
	PUT_NONZERO(text, REQUEST_BYTES, field_request_bytes(record));
}

static void put_number(struct text *text, uint64_t value, enum probe_type type)
{
	if (type == PROBE_SIGNED)
		text_put_i64(text, (int64_t)value);
	else
		text_put_u64(text, value);
}

/* Values that a probed function got or returned. */
static void put_first_value(struct text *text, uint64_t value, enum probe_type type)
{
	if (type == PROBE_STRING)
		PUT_KEY(text, TEXT);
	else
		PUT_KEY(text, VALUE);
	put_number(text, value, type);
	PUT_IF(text, REAL, type == PROBE_REAL);
}

static void put_second_value(struct text *text, uint64_t value, enum probe_type type)
{
	if (type == PROBE_STRING)
		PUT_KEY(text, TEXT2);
	else
		PUT_KEY(text, VALUE2);
	put_number(text, value, type);
}

static void put_values(struct text *text, const struct record *record)
{
	if (field_value_name(record, false) == 0)
		return;
	PUT_U64(text, VALUE_NAME, field_value_name(record, false));
	put_first_value(text, field_value(record, false), field_value_type(record, false));
	if (field_value_name(record, true) == 0)
		return;
	PUT_U64(text, VALUE2_NAME, field_value_name(record, true));
	put_second_value(text, field_value(record, true), field_value_type(record, true));
}

/* An io's result, a lock's hold, what a sleep asked for: the keys that depend on the kind. */
static void put_value(const struct dump *dump, struct text *text, const struct record *record)
{
	if (record->flags & RECORD_ANNOTATED)
		PUT_NONZERO(text, RESULT, record->value);
	else if (record->what == KIND_IO && (int64_t)record->value < 0)
		PUT_NONZERO(text, ERROR, -record->value);
	else if (record->what == KIND_IO)
		put_moved(text, record->value);
	else if (record->what == KIND_SLEEP)
		PUT_NONZERO(text, REQUESTED, record->value);
	else if (record->what == KIND_HOLD || record->what == KIND_THREAD)
		PUT_NONZERO(text, ADDRESS, record->value);
	if (record->what == KIND_HOLD)
		PUT_NONZERO(text, SEQ, record->count);
	PUT_IF(text, OWNER_DIED, record->what == KIND_HOLD && record->flags & RECORD_OWNER_DIED);
	if (record->what == KIND_POLL && (int64_t)record->value > 0)
		PUT_NONZERO(text, AMOUNT, record->value);
	if (record->what == KIND_IO && record->flags & RECORD_PEEKED)
		put_request(text, record);
	else if (record->what == KIND_IO)
		PUT_NONZERO(text, OTHER_IDENT, record->count);
	PUT_IF(text, TRIED, record->what == KIND_HOLD && record->flags & RECORD_TRIED);
	if (record->what == KIND_HOLD && record->end)
		PUT_NONZERO(text, RELOCK,
			    dump_ns(dump, record->start + field_relock_ticks(record)) -
				    dump_ns(dump, record->start));
	PUT_IF(text, ABSOLUTE, record->what == KIND_SLEEP && record->flags & RECORD_ABSOLUTE);
	PUT_IF(text, ACCEPTED, record->what != KIND_OP_USER && record->flags & RECORD_ACCEPTED);
	PUT_IF(text, FULL, record->what == KIND_POLL && record->flags & RECORD_FULL);
	PUT_IF(text, PROBED, field_is_probed(record));
	PUT_IF(text, CHOSEN, field_is_probed(record) && record->flags & FIELD_CHOSEN);
	if (field_descriptor(record) >= 0)
		PUT_U64(text, FD, (uint64_t)field_descriptor(record));
}

static void put_times(const struct dump *dump, struct text *text, const struct record *record)
{
	PUT_U64(text, START, dump_ns(dump, record->start));
	PUT_U64(text, END, dump_ns(dump, record->end));
}

static void put_op(const struct dump *dump, struct text *text, const struct record *record)
{
	PUT_LINE(text, OP);
	PUT_KEY(text, KIND);
	put_word(text, kind_words, COUNT_OF(kind_words), record->what);
	PUT_KEY(text, WORK);
	put_work(text, record);
	if (record->outcome != OUTCOME_NONE) {
		PUT_KEY(text, OUTCOME);
		put_word(text, outcome_words, COUNT_OF(outcome_words), record->outcome);
	}
	PUT_U64(text, ID, record->id);
	PUT_NONZERO(text, PARENT, record->parent);
	PUT_NONZERO(text, CLASS, record->name);
	if (field_value_name(record, false) == 0)
		PUT_NONZERO(text, IDENT, record->ident);
	if (record->what == KIND_PROCESS)
		PUT_NONZERO(text, CLIENT, dump->arena->client);
	put_times(dump, text, record);
	PUT_NONZERO(text, THREAD, record->id >> 32);
	PUT_NONZERO(text, STACK, record->stack);
	put_value(dump, text, record);
	put_values(text, record);
	text_put_literal(text, "}\n");
}

/* How long the wait was to last, where that is known. */
static void put_asked(const struct dump *dump, struct text *text, const struct record *record)
{
	uint64_t length_ns = dump_ns(dump, record->end) - dump_ns(dump, record->start);

	if (record->id > 0 && record->id < length_ns)
		PUT_U64(text, REQUESTED, length_ns - record->id);
}

static void put_wait(const struct dump *dump, struct text *text, const struct record *record)
{
	PUT_LINE(text, WAIT);
	PUT_KEY(text, REASON);
	put_word(text, reason_words, COUNT_OF(reason_words), record->what);
	PUT_NONZERO(text, PARENT, record->parent);
	if (record->flags & RECORD_TIMED_OUT)
		put_asked(dump, text, record);
	else
		PUT_NONZERO(text, TARGET, record->id);
	PUT_NONZERO(text, CLASS, record->name);
	PUT_NONZERO(text, IDENT, record->ident);
	PUT_NONZERO(text, ADDRESS, record->value);
	put_times(dump, text, record);
	PUT_NONZERO(text, THREAD, record->count);
	PUT_NONZERO(text, STACK, record->stack);
	PUT_NONZERO(text, HOLDER, field_holder(record));
	PUT_IF(text, OWNER_DIED, record->flags & RECORD_OWNER_DIED);
	PUT_IF(text, TIMED_OUT, record->flags & RECORD_TIMED_OUT);
	text_put_literal(text, "}\n");
}

static void put_link(const struct dump *dump, struct text *text, const struct record *record)
{
	PUT_LINE(text, LINK);
	PUT_KEY(text, LINK);
	put_word(text, link_words, COUNT_OF(link_words), record->what);
	PUT_NONZERO(text, PARENT, record->parent);
	PUT_NONZERO(text, TARGET, record->id);
	PUT_NONZERO(text, IDENT, record->ident);
	if (record->what == LINK_VALUE) {
		put_first_value(text, record->value, (enum probe_type)record->count);
	} else {
		PUT_NONZERO(text, ADDRESS, record->value);
		PUT_NONZERO(text, AMOUNT, record->count);
	}
	put_times(dump, text, record);
	PUT_NONZERO(text, THREAD, record->name);
	PUT_NONZERO(text, STACK, record->stack);
	PUT_IF(text, ALL, record->flags & RECORD_ALL);
	text_put_literal(text, "}\n");
}

static void put_sample(const struct dump *dump, struct text *text, const struct record *record)
{
	PUT_LINE(text, SAMPLE);
	PUT_U64(text, THREAD, record->name);
	PUT_U64(text, PARENT, record->parent);
	PUT_U64(text, START, dump_ns(dump, record->start));
	PUT_NONZERO(text, CPU, record->value);
	PUT_NONZERO(text, QUEUED, record->id);
	PUT_NONZERO(text, AMOUNT, record->count);
	PUT_NONZERO(text, STACK, record->stack);
	text_put_literal(text, "}\n");
}

/* All its digits. */
static void put_id(struct text *text, uint64_t high, uint64_t low, size_t bytes)
{
	const uint64_t halves[2] = { __builtin_bswap64(high), __builtin_bswap64(low) };

	text_put_literal(text, "\"");
	text_put_hex(text, (const uint8_t *)halves, bytes);
	text_put_literal(text, "\"");
}

static void put_context(const struct dump *dump, struct text *text, const struct record *record)
{
	PUT_LINE(text, CONTEXT);
	if ((record->id | record->parent) != 0) {
		PUT_KEY(text, TRACE);
		put_id(text, record->id, record->parent, 2 * sizeof(uint64_t));
	}
	if (record->value != 0) {
		PUT_KEY(text, SPAN);
		put_id(text, record->value, 0, sizeof(uint64_t));
	}
	PUT_U64(text, START, dump_ns(dump, record->start));
	PUT_U64(text, THREAD, record->name);
	text_put_literal(text, "}\n");
}

void eventtext_put(struct text *text, const struct dump *dump, const struct record *record)
{
	if (record->type == RECORD_OP)
		put_op(dump, text, record);
	else if (record->type == RECORD_WAIT)
		put_wait(dump, text, record);
	else if (record->type == RECORD_SAMPLE)
		put_sample(dump, text, record);
	else if (record->type == RECORD_CONTEXT)
		put_context(dump, text, record);
	else
		put_link(dump, text, record);
}

/* --- What has not ended ---------------------------------------------------------------------- */

/* Not where it ended, which is not known. */
static void put_cut(const struct dump *dump, struct text *text, uint64_t cut_ticks)
{
	if (cut_ticks != 0)
		PUT_U64(text, END, dump_ns(dump, cut_ticks));
}

void eventtext_put_open_op(struct text *text, const struct dump *dump, const struct record *record,
			   uint64_t cut_ticks)
{
	PUT_FIRST(text, op_id);
	text_put_u64(text, record->id);
	PUT_NONZERO(text, parent_id, record->parent);
	PUT_KEY(text, kind);
	put_word(text, kind_words, COUNT_OF(kind_words), record->what);
	PUT_KEY(text, work_type);
	put_work(text, record);
	PUT_NONZERO(text, class_id, record->name);
	if (field_value_name(record, false) == 0)
		PUT_NONZERO(text, ident_id, record->ident);
	if (record->what == KIND_PROCESS)
		PUT_NONZERO(text, client_id, dump->arena->client);
	PUT_U64(text, start_ns, dump_ns(dump, record->start));
	put_cut(dump, text, cut_ticks);
	PUT_NONZERO(text, THREAD, record->id >> 32);
	PUT_NONZERO(text, STACK, record->stack);
	put_value(dump, text, record);
	text_put_literal(text, "}");
}

void eventtext_put_open_wait(struct text *text, const struct dump *dump,
			     const struct record *record, uint64_t cut_ticks)
{
	PUT_FIRST(text, REASON);
	put_word(text, reason_words, COUNT_OF(reason_words), record->what);
	PUT_NONZERO(text, PARENT, record->parent);
	PUT_NONZERO(text, TARGET, record->id);
	PUT_NONZERO(text, IDENT, record->ident);
	PUT_NONZERO(text, ADDRESS, record->value);
	PUT_U64(text, START, dump_ns(dump, record->start));
	put_cut(dump, text, cut_ticks);
	PUT_NONZERO(text, THREAD, record->count);
	PUT_NONZERO(text, STACK, record->stack);
	PUT_NONZERO(text, CLASS, record->name);
	PUT_NONZERO(text, HOLDER, field_holder(record));
	text_put_literal(text, "}");
}

void eventtext_put_mark(struct text *text, const struct dump *dump,
			const struct snapshot_thread *thread)
{
	const struct record record = {
		.start = thread->marked_ticks,
		.id = thread->delay_ns,
		.parent = thread->op,
		.value = thread->cpu_ns,
		.name = thread->thread,
		.type = RECORD_SAMPLE,
	};

	if (thread->is_marked)
		eventtext_put(text, dump, &record);
}

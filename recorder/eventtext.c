/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records as JSON. See eventtext.h. Keys whose value is zero or empty are left out.
 */
#include "eventtext.h"

#include "clock.h"

#include "in_target.h"

/* --- Words ----------------------------------------------------------------------------------- */

struct word {
	const char *bytes;
	uint32_t length;
};
#define WORD_ROW(number, word_of_row) [number] = { "" word_of_row, sizeof(word_of_row) - 1 },

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
	if (number < count)
		text_put_bytes(text, words[number].bytes, words[number].length);
}

/* ,"KEY":NUMBER unless it is zero. */
#define PUT_NONZERO(text, key, value)                              \
	do {                                                       \
		uint64_t value_once = (value);                     \
		if (value_once) {                                  \
			text_put_literal((text), ",\"" key "\":"); \
			text_put_u64((text), value_once);          \
		}                                                  \
	} while (0)

static void put_work(struct text *text, const struct record *record)
{
	uint32_t work = record->what < COUNT_OF(kind_works) ? kind_works[record->what] : 0;

	put_word(text, work_words, COUNT_OF(work_words), work);
}

/* --- Events ---------------------------------------------------------------------------------- */

/* An io's result, a lock's hold, what a sleep asked for: the keys that depend on the kind. */
static void put_value(const struct dump *dump, struct text *text, const struct record *record)
{
	if (record->flags & RECORD_ANNOTATED)
		PUT_NONZERO(text, "r", record->value);
	else if (record->what == KIND_IO && (int64_t)record->value < 0)
		PUT_NONZERO(text, "err", -record->value);
	else if (record->what == KIND_IO)
		PUT_NONZERO(text, "n", record->value);
	else if (record->what == KIND_SLEEP)
		PUT_NONZERO(text, "rq", record->value);
	else if (record->what == KIND_HOLD || record->what == KIND_THREAD)
		PUT_NONZERO(text, "a", record->value);
	if (record->what == KIND_HOLD)
		PUT_NONZERO(text, "sq", record->count);
	if (record->what == KIND_HOLD && record->flags & RECORD_OWNER_DIED)
		text_put_literal(text, ",\"od\":1");
	if (record->what == KIND_POLL && (int64_t)record->value > 0)
		PUT_NONZERO(text, "n", record->value);
	if (record->what == KIND_IO)
		PUT_NONZERO(text, "i2", record->count);
	if (record->what == KIND_HOLD && record->flags & RECORD_TRIED)
		text_put_literal(text, ",\"tr\":1");
	if (record->what == KIND_HOLD && record->end && record->fd > 0)
		PUT_NONZERO(text, "rl",
			    dump_ns(dump, record->start + (uint64_t)record->fd * RELOCK_TICKS) -
				    dump_ns(dump, record->start));
	if (record->what == KIND_SLEEP && record->flags & RECORD_ABSOLUTE)
		text_put_literal(text, ",\"abs\":1");
	if (record->flags & RECORD_ACCEPTED)
		text_put_literal(text, ",\"ac\":1");
	if (record->fd >= 0 && record->what != KIND_HOLD && record->what != KIND_THREAD) {
		text_put_literal(text, ",\"fd\":");
		text_put_u64(text, (uint64_t)record->fd);
	}
}

static void put_times(const struct dump *dump, struct text *text, const struct record *record)
{
	text_put_literal(text, ",\"s\":");
	text_put_u64(text, dump_ns(dump, record->start));
	text_put_literal(text, ",\"d\":");
	text_put_u64(text, dump_ns(dump, record->end));
}

static void put_op(const struct dump *dump, struct text *text, const struct record *record)
{
	text_put_literal(text, "{\"e\":\"op\",\"k\":\"");
	put_word(text, kind_words, COUNT_OF(kind_words), record->what);
	text_put_literal(text, "\",\"w\":\"");
	put_work(text, record);
	if (record->outcome != OUTCOME_NONE) {
		text_put_literal(text, "\",\"o\":\"");
		put_word(text, outcome_words, COUNT_OF(outcome_words), record->outcome);
	}
	text_put_literal(text, "\",\"id\":");
	text_put_u64(text, record->id);
	PUT_NONZERO(text, "p", record->parent);
	PUT_NONZERO(text, "c", record->name);
	PUT_NONZERO(text, "i", record->ident);
	if (record->what == KIND_PROCESS)
		PUT_NONZERO(text, "cl", dump->arena->client);
	put_times(dump, text, record);
	PUT_NONZERO(text, "th", record->id >> 32);
	PUT_NONZERO(text, "st", record->stack);
	put_value(dump, text, record);
	text_put_literal(text, "}\n");
}

static void put_wait(const struct dump *dump, struct text *text, const struct record *record)
{
	text_put_literal(text, "{\"e\":\"wait\",\"rs\":\"");
	put_word(text, reason_words, COUNT_OF(reason_words), record->what);
	text_put_literal(text, "\"");
	PUT_NONZERO(text, "p", record->parent);
	PUT_NONZERO(text, "t", record->id);
	PUT_NONZERO(text, "c", record->name);
	PUT_NONZERO(text, "i", record->ident);
	PUT_NONZERO(text, "a", record->value);
	put_times(dump, text, record);
	PUT_NONZERO(text, "th", record->count);
	PUT_NONZERO(text, "st", record->stack);
	if (record->fd > 0)
		PUT_NONZERO(text, "h", (uint32_t)record->fd);
	if (record->flags & RECORD_OWNER_DIED)
		text_put_literal(text, ",\"od\":1");
	if (record->flags & RECORD_TIMED_OUT)
		text_put_literal(text, ",\"to\":1");
	text_put_literal(text, "}\n");
}

static void put_link(const struct dump *dump, struct text *text, const struct record *record)
{
	text_put_literal(text, "{\"e\":\"link\",\"lk\":\"");
	put_word(text, link_words, COUNT_OF(link_words), record->what);
	text_put_literal(text, "\"");
	PUT_NONZERO(text, "p", record->parent);
	PUT_NONZERO(text, "t", record->id);
	PUT_NONZERO(text, "i", record->ident);
	PUT_NONZERO(text, "a", record->value);
	PUT_NONZERO(text, "n", record->count);
	put_times(dump, text, record);
	PUT_NONZERO(text, "th", record->name);
	PUT_NONZERO(text, "st", record->stack);
	if (record->flags & RECORD_ALL)
		text_put_literal(text, ",\"all\":1");
	text_put_literal(text, "}\n");
}

static void put_sample(const struct dump *dump, struct text *text, const struct record *record)
{
	text_put_literal(text, "{\"e\":\"sample\",\"th\":");
	text_put_u64(text, record->name);
	text_put_literal(text, ",\"p\":");
	text_put_u64(text, record->parent);
	text_put_literal(text, ",\"s\":");
	text_put_u64(text, dump_ns(dump, record->start));
	PUT_NONZERO(text, "cpu", record->value);
	PUT_NONZERO(text, "q", record->id);
	PUT_NONZERO(text, "n", record->count);
	PUT_NONZERO(text, "st", record->stack);
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
	else
		put_link(dump, text, record);
}

/* --- What has not ended ---------------------------------------------------------------------- */

void eventtext_put_open_op(struct text *text, const struct dump *dump, const struct record *record)
{
	text_put_literal(text, "{\"op_id\":");
	text_put_u64(text, record->id);
	PUT_NONZERO(text, "parent_id", record->parent);
	text_put_literal(text, ",\"kind\":\"");
	put_word(text, kind_words, COUNT_OF(kind_words), record->what);
	text_put_literal(text, "\",\"work_type\":\"");
	put_work(text, record);
	text_put_literal(text, "\"");
	PUT_NONZERO(text, "class_id", record->name);
	PUT_NONZERO(text, "ident_id", record->ident);
	if (record->what == KIND_PROCESS)
		PUT_NONZERO(text, "client_id", dump->arena->client);
	text_put_literal(text, ",\"start_ns\":");
	text_put_u64(text, dump_ns(dump, record->start));
	PUT_NONZERO(text, "th", record->id >> 32);
	PUT_NONZERO(text, "st", record->stack);
	put_value(dump, text, record);
	text_put_literal(text, "}");
}

void eventtext_put_open_wait(struct text *text, const struct dump *dump,
			     const struct record *record)
{
	text_put_literal(text, "{\"rs\":\"");
	put_word(text, reason_words, COUNT_OF(reason_words), record->what);
	text_put_literal(text, "\"");
	PUT_NONZERO(text, "p", record->parent);
	PUT_NONZERO(text, "t", record->id);
	PUT_NONZERO(text, "i", record->ident);
	PUT_NONZERO(text, "a", record->value);
	text_put_literal(text, ",\"s\":");
	text_put_u64(text, dump_ns(dump, record->start));
	PUT_NONZERO(text, "th", record->count);
	PUT_NONZERO(text, "st", record->stack);
	PUT_NONZERO(text, "c", record->name);
	if (record->fd > 0)
		PUT_NONZERO(text, "h", (uint32_t)record->fd);
	text_put_literal(text, "}");
}

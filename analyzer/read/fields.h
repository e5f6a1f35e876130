/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of events, and which field of an event each is.
 *
 * An event's key has at most three letters, so it is looked up as one number. The small hash table
 * for this is filled from keys.def when reading begins, and read only afterwards.
 */
#ifndef WCPROF_FIELDS_H
#define WCPROF_FIELDS_H

#include "base/json.h"

enum event_field {
#define EVENT_KEY(name, key, type, meaning) FIELD_##name,
#include "keys.def"
	FIELD_UNKNOWN,
	FIELD_SCHEMA_VERSION, /* no event's: the line is a header */
	FIELD_WORDS =         /* how many are words: they come before numbers */
#define WORDS_OF_NUMBER                     0
#define WORDS_OF_SIGNED                     0
#define WORDS_OF_UNREAD                     0
#define WORDS_OF_FLAG                       0
#define WORDS_OF_WORD                       1
#define WORDS_OF_HEX                        1
#define EVENT_KEY(name, key, type, meaning) +WORDS_OF_##type
#include "keys.def"
};

static inline bool field_is_number(enum event_field field)
{
	return field >= FIELD_WORDS && field < FIELD_UNKNOWN;
}

enum {
	FIELD_KEY_LETTERS_MAX = 3,
	FIELD_SLOTS = 256 /* a power of two */
};

struct field_table {
	struct field_slot {
		uint32_t key; /* its letters, the first lowest; 0 = free */
		uint32_t field;
	} slots[FIELD_SLOTS];
};

void fields_begin(struct field_table *table);

static inline uint32_t field_slot_of(uint32_t key)
{
	return key * UINT32_C(0x9e3779b1) >> 24;
}

/* The field of a key; FIELD_UNKNOWN if events have no such key. */
static inline enum event_field fields_find(const struct field_table *table,
					   const struct json_text *text)
{
	if (text->length - 1 >= FIELD_KEY_LETTERS_MAX)
		return FIELD_UNKNOWN;
	uint32_t key = (uint32_t)json_load(text->bytes) & (UINT32_MAX >> (32 - 8 * text->length));
	uint32_t slot = field_slot_of(key);

	while (table->slots[slot].key != key && table->slots[slot].key != 0)
		slot = (slot + 1) % FIELD_SLOTS;
	return (enum event_field)table->slots[slot].field;
}

/* Yes and no are written as numbers; true and false are taken as well. */
bool field_is_flag(enum event_field field);
bool field_is_signed(enum event_field field);

#endif

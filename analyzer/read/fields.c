/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of events' keys, with open addressing. See fields.h.
 *
 * One thread fills it, before any line is read.
 */
#include "fields.h"

#include <assert.h>
#include <string.h>

enum field_type { TYPE_NUMBER, TYPE_UNREAD, TYPE_SIGNED, TYPE_FLAG, TYPE_WORD, TYPE_HEX };

static const struct {
	const char *key;
	enum field_type type;
} fields[] = {
#define EVENT_KEY(name, key, type, meaning) [FIELD_##name] = { key, TYPE_##type },
#include "keys.def"
};

#define EVENT_KEY(name, key, type, meaning)                                                       \
	_Static_assert(sizeof(key) - 1 <= FIELD_KEY_LETTERS_MAX, "an event's key is one number"); \
	_Static_assert((TYPE_##type >= TYPE_WORD) == (FIELD_##name < FIELD_WORDS),                \
		       "words before all other keys");
#include "keys.def"

enum { FIELD_COUNT = sizeof(fields) / sizeof(fields[0]) };
_Static_assert(FIELD_COUNT * 2 < FIELD_SLOTS, "most keys are found at once");

static uint32_t key_of(const char *text)
{
	uint32_t key = 0;

	memcpy(&key, text, strlen(text));
	return key;
}

void fields_begin(struct field_table *table)
{
	for (uint32_t i = 0; i < FIELD_SLOTS; i++)
		table->slots[i] = (struct field_slot){ 0, FIELD_UNKNOWN };
	for (uint32_t i = 0; i < FIELD_COUNT; i++) {
		uint32_t slot = field_slot_of(key_of(fields[i].key));

		while (table->slots[slot].key != 0) {
			assert(table->slots[slot].key != key_of(fields[i].key));
			slot = (slot + 1) % FIELD_SLOTS;
		}
		table->slots[slot] = (struct field_slot){ key_of(fields[i].key), i };
	}
}

bool field_is_flag(enum event_field field)
{
	return field < FIELD_UNKNOWN && fields[field].type == TYPE_FLAG;
}

bool field_is_signed(enum event_field field)
{
	return field < FIELD_UNKNOWN && fields[field].type == TYPE_SIGNED;
}

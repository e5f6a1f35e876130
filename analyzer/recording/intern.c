/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An open-addressed table of ids over recording->strings; the hash of each text is kept, so that
 * growing and most mismatches never touch the texts.
 *
 * The table is at most half full. The number of texts is below NO_INDEX. One thread.
 */
#include "intern.h"

#include "base/blocks.h"
#include "recording.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct intern {
	struct blocks blocks; /* owns the texts */
	uint32_t *hashes;     /* one for each string of the recording */
	size_t capacity;      /* of hashes and of recording->strings */
	uint32_t *slots;      /* ids, NO_INDEX = free */
	size_t slot_count;    /* a power of two, >= 2 * string_count */
};

enum { SLOTS_FIRST = 1024 };

static uint32_t text_hash(const char *bytes, size_t byte_count)
{
	const uint64_t factor = 0x9e3779b97f4a7c15u;
	uint64_t hash = byte_count * factor;
	uint64_t word;

	for (; byte_count >= sizeof(word); bytes += sizeof(word), byte_count -= sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		hash = (hash ^ word) * factor;
		hash ^= hash >> 29;
	}
	word = 0;
	memcpy(&word, bytes, byte_count);
	hash = (hash ^ word) * factor;
	return (uint32_t)(hash >> 32);
}

/* The slot where this text is, or the free one where it belongs. */
static uint32_t *find_slot(const struct recording *recording, uint32_t hash, const char *bytes,
			   size_t byte_count)
{
	const struct intern *intern = recording->intern;
	size_t mask = intern->slot_count - 1;
	size_t i;

	assert(intern->slot_count > recording->string_count);
	for (i = hash & mask; intern->slots[i] != NO_INDEX; i = (i + 1) & mask) {
		uint32_t id = intern->slots[i];
		const char *text = recording->strings[id];

		if (intern->hashes[id] == hash && strncmp(text, bytes, byte_count) == 0 &&
		    text[byte_count] == '\0')
			break;
	}
	return &intern->slots[i];
}

static void fill_slots(const struct recording *recording)
{
	struct intern *intern = recording->intern;
	size_t mask = intern->slot_count - 1;
	size_t id, i;

	memset(intern->slots, 0xff, intern->slot_count * sizeof(*intern->slots));
	for (id = 0; id < recording->string_count; id++) {
		for (i = intern->hashes[id] & mask; intern->slots[i] != NO_INDEX;
		     i = (i + 1) & mask)
			continue;
		intern->slots[i] = (uint32_t)id;
	}
}

/* Room for one more text, in the arrays and in the table. */
static bool make_room(struct recording *recording)
{
	struct intern *intern = recording->intern;
	size_t capacity = intern->capacity * 2;
	void *moved;

	if (recording->string_count < intern->capacity)
		return true;
	if (capacity >= NO_INDEX)
		return false;
	moved = realloc(recording->strings, capacity * sizeof(*recording->strings));
	if (!moved)
		return false;
	recording->strings = moved;
	moved = realloc(intern->hashes, capacity * sizeof(*intern->hashes));
	if (!moved)
		return false;
	intern->hashes = moved;
	moved = realloc(intern->slots, 2 * capacity * sizeof(*intern->slots));
	if (!moved)
		return false;
	intern->slots = moved;
	intern->slot_count = 2 * capacity;
	intern->capacity = capacity;
	fill_slots(recording);
	return true;
}

/* The table over what strings the recording already has: none, or those of one made by hand. */
static bool intern_begin(struct recording *recording)
{
	struct intern *intern = calloc(1, sizeof(*intern));
	size_t slot_count = SLOTS_FIRST;
	void *strings;
	size_t id;

	while (slot_count / 2 < recording->string_count + 1)
		slot_count *= 2;
	strings = malloc(slot_count / 2 * sizeof(*recording->strings));
	if (intern)
		intern->hashes = malloc(slot_count / 2 * sizeof(*intern->hashes));
	if (intern)
		intern->slots = malloc(slot_count * sizeof(*intern->slots));
	if (!intern || !strings || !intern->hashes || !intern->slots) {
		free(strings);
		intern_free(intern);
		return false;
	}
	if (recording->string_count > 0)
		memcpy(strings, recording->strings,
		       recording->string_count * sizeof(*recording->strings));
	recording->strings = strings; /* those of one made by hand are its maker's */
	recording->intern = intern;
	intern->capacity = slot_count / 2;
	intern->slot_count = slot_count;
	for (id = 0; id < recording->string_count; id++)
		intern->hashes[id] =
			text_hash(recording->strings[id], strlen(recording->strings[id]));
	fill_slots(recording);
	return true;
}

static uint32_t add_text(struct recording *recording, uint32_t *slot, uint32_t hash,
			 const char *bytes, size_t byte_count)
{
	uint32_t id = (uint32_t)recording->string_count;
	const char *text = blocks_text(&recording->intern->blocks, bytes, byte_count);

	if (!text)
		return NO_INDEX;
	recording->strings[id] = text;
	recording->intern->hashes[id] = hash;
	recording->string_count++;
	*slot = id;
	return id;
}

uint32_t recording_intern_bytes(struct recording *recording, const char *bytes, size_t byte_count)
{
	uint32_t hash = text_hash(bytes, byte_count);
	uint32_t *slot;

	assert(memchr(bytes, '\0', byte_count) == NULL);
	if (!recording->intern && !intern_begin(recording))
		return NO_INDEX;
	if (recording->string_count == 0 && byte_count > 0 &&
	    recording_intern_bytes(recording, "", 0) != 0)
		return NO_INDEX;
	if (!make_room(recording))
		return NO_INDEX;
	slot = find_slot(recording, hash, bytes, byte_count);
	return *slot != NO_INDEX ? *slot : add_text(recording, slot, hash, bytes, byte_count);
}

uint32_t recording_intern(struct recording *recording, const char *text)
{
	return recording_intern_bytes(recording, text, strlen(text));
}

uint32_t recording_add_twin(struct recording *recording, uint32_t string)
{
	uint32_t id;

	assert(string < recording->string_count);
	if ((!recording->intern && !intern_begin(recording)) || !make_room(recording))
		return NO_INDEX;
	id = (uint32_t)recording->string_count++;
	recording->strings[id] = recording->strings[string];
	recording->intern->hashes[id] = recording->intern->hashes[string];
	return id;
}

void intern_free(struct intern *intern)
{
	if (!intern)
		return;
	blocks_free(&intern->blocks);
	free(intern->hashes);
	free(intern->slots);
	free(intern);
}

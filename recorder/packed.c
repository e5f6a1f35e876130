/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed records, read. See packed.h.
 *
 * They may lie in memory that another process writes to. So each word is read once.
 */
#include "packed.h"

#include "atomics.h"

#include "in_target.h"

static uint64_t word_at(const uint64_t *words, uint32_t at)
{
	/* Pairs with none: `published` orders them; whoever overwrites them nevertheless may. */
	return load_relaxed(&words[at]);
}

static uint32_t words_of(uint64_t head)
{
	if (!(head & PACKED_SHORT))
		return RECORD_WORDS;
	return PACKED_LEAST + ((head & SHORT_HAS_REST) != 0) + ((head & SHORT_HAS_PARENT) != 0) +
	       ((head & SHORT_HAS_ID) != 0);
}

static void read_whole(const uint64_t *words, uint64_t start, struct record *to)
{
	uint64_t names = word_at(words, 5), numbers = word_at(words, 6), types = word_at(words, 7);
	bool is_hold = packed_is_hold((uint32_t)(types >> 32));

	*to = (struct record){
		.start = start,
		.end = word_at(words, 1),
		.id = word_at(words, 2),
		.parent = word_at(words, 3),
		.value = word_at(words, 4),
		.name = (uint32_t)(is_hold ? numbers : names),
		.stack = (uint32_t)(names >> 32),
		.ident = (uint32_t)(is_hold ? names : numbers),
		.count = (uint32_t)(numbers >> 32),
		.fd = (int32_t)(uint32_t)types,
		.type = (uint8_t)(types >> 32),
		.what = (uint8_t)(types >> 40),
		.outcome = (uint8_t)(types >> 48),
		.flags = (uint8_t)(types >> 56),
	};
}

/* Makes of the base, which `to` has, the short one. `words`: those after its first. */
static void apply(uint64_t head, const uint64_t *words, struct record *to)
{
	uint32_t name = (uint16_t)(head >> SHORT_NAME), small = (uint16_t)(head >> SHORT_SMALL);
	bool is_hold = packed_is_hold(packed_type(to));
	uint64_t times = word_at(words, 0), base_id = to->id, rest = 0;
	uint32_t used = 1;

	to->start += (uint32_t)times;
	to->end = to->start + (times >> 32);
	if (head & SHORT_HAS_REST)
		rest = word_at(words, used++);
	to->value += (uint64_t)(int32_t)(uint32_t)rest;
	to->count += is_hold ? small : (uint32_t)(rest >> 32);
	to->fd =
		is_hold ? (int32_t)((uint32_t)to->fd + (uint32_t)(rest >> 32)) : (int32_t)small - 1;
	*(is_hold ? &to->name : &to->ident) = name;
	if (head & SHORT_HAS_PARENT)
		to->parent = word_at(words, used++);
	to->id += head >> SHORT_ID & ((1 << SHORT_ID_BITS) - 1);
	if (head & SHORT_HAS_ID)
		to->id = word_at(words, used);
	if (head & SHORT_IS_NESTED)
		to->parent += to->id - base_id;
}

/* Writes a whole record. */
static void put_whole(uint64_t *to, const struct record *record, const struct packed_end *ended)
{
	uint32_t other = packed_is_hold(ended->type) ? record->name : record->ident;

	to[0] = record->start & ~PACKED_SHORT;
	to[1] = ended->end;
	to[2] = ended->id;
	to[3] = record->parent;
	to[4] = ended->value;
	to[5] = packed_names(record, ended->type);
	to[6] = other | (uint64_t)record->count << 32;
	to[7] = (uint32_t)ended->fd | (uint64_t)ended->type << 32;
}

uint32_t packed_write(uint64_t *words, uint32_t at, uint16_t *bases, const struct record *record,
		      const struct packed_end *ended, uint32_t *place)
{
	uint32_t used = packed_write_next(words, at, bases, record, *ended);
	uint16_t last;

	*place = packed_place(record, ended->type);
	if (used != 0)
		return used;
	if (!packed_fits(words, at, bases, record, ended->type, *place)) {
		last = bases[*place];
		bases[*place] = bases[*place + PACKED_HASHES];
		bases[*place + PACKED_HASHES] = last;
		used = packed_write_next(words, at, bases, record, *ended);
	}
	if (used != 0)
		return used;
	put_whole(&words[at], record, ended);
	return RECORD_WORDS;
}

bool packed_read(const uint64_t *words, uint32_t *at, uint32_t end, struct record *to)
{
	uint32_t begin = *at;
	uint64_t head = begin < end ? word_at(words, begin) : 0;
	uint32_t base = head & ((1 << SHORT_BASE_BITS) - 1);
	uint64_t start;

	*at = end;
	if (begin >= end || words_of(head) > end - begin)
		return false;
	if (head & PACKED_SHORT) {
		if (base >= begin || begin - base < RECORD_WORDS)
			return false;
		start = word_at(words, base);
		if (start & PACKED_SHORT)
			return false;
		read_whole(&words[base], start, to);
		apply(head, &words[begin + 1], to);
	} else {
		read_whole(&words[begin], head, to);
	}
	*at = begin + words_of(head);
	return true;
}

uint32_t packed_last(const uint64_t *words, uint32_t at, uint32_t end)
{
	uint32_t last = end;

	while (at < end) {
		last = at;
		at += words_of(word_at(words, at));
	}
	return last;
}

bool packed_is_valid(const uint64_t *words, uint32_t at, uint32_t end, uint32_t count)
{
	struct record record;
	uint32_t found = 0;

	while (at < end) {
		if (!packed_read(words, &at, end, &record))
			return false;
		found++;
	}
	return found == count;
}

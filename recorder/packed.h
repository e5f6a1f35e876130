/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records in words of 64 bits, as chunks have them: whole, or as what is different from another
 * record of the same chunk, its base.
 *
 * A whole record has 8 words:
 *
 *   0 to 4   start, end, id, parent, value; the highest bit of start is 0
 *   5        name, stack << 32; of a hold ident instead of name
 *   6        ident, count << 32; of a hold name instead of ident
 *   7        fd, type << 32, what << 40, outcome << 48, flags << 56
 *
 * The base of a short one is whole, and comes before it. Type, what, outcome, flags and word 5 are
 * the base's. A short one has 2 to 5 words:
 *
 *   0        the highest bit; SHORT_* below: which words follow; where its base is, in words
 *   1        start less the base's, 32 bits; end less start, 32 bits
 *   rest     value less the base's, 32 bits with a sign; count, of a hold fd, less the base's
 *   parent
 *   id
 *
 * Of the last three those are there whose bit is set; else value and parent are the base's. A
 * record that does not fit is written whole, and is a base then. So any record can be read alone.
 *
 * Any thread: all memory is the caller's.
 */
#ifndef WCPROF_PACKED_H
#define WCPROF_PACKED_H

#include <stdbool.h>

#include "format.h"
#include "recorder.h"

enum {
	RECORD_WORDS = 8, /* of a whole one, which is the longest */
	PACKED_LEAST = 2,
	/* Whole records that a thread knows as bases: two of each hash. */
	PACKED_HASH_BITS = 7,
	PACKED_HASHES = 1 << PACKED_HASH_BITS,
	PACKED_BASES = 2 * PACKED_HASHES,
	/* Bits and fields of a short one's first word. */
	SHORT_BASE_BITS = 12,
	SHORT_HAS_REST = 1 << 12,
	SHORT_HAS_PARENT = 1 << 13,
	SHORT_HAS_ID = 1 << 14,
	SHORT_IS_NESTED = 1 << 15, /* its parent and id are equally far from the base's */
	SHORT_NAME = 16,           /* 16 bits: ident; of a hold name */
	SHORT_SMALL = 32,          /* 16 bits: fd + 1; of a hold count less the base's */
	SHORT_ID = 48,             /* 15 bits: id less the base's */
	SHORT_ID_BITS = 15
};
#define PACKED_SHORT (UINT64_C(1) << 63)

/* One record more in an extent. */
enum { EXTENT_RECORD = 1 << 16 };

static inline uint32_t extent_words(uint32_t extent)
{
	return extent % EXTENT_RECORD;
}

static inline uint32_t extent_records(uint32_t extent)
{
	return extent / EXTENT_RECORD;
}

_Static_assert((int)PACKED_BASES == (int)SLOT_BASES, "slots have them");
_Static_assert(CHUNK_WORDS < 1 << SHORT_BASE_BITS, "a base is found by its number");
_Static_assert(CHUNK_RECORDS == CHUNK_WORDS / RECORD_WORDS, "all records may be whole");

/* Reads the record at word *at of `words`, and moves *at to the next. Words from `end` on are not
 * looked at. False: there is none; *at is `end` then. The words may be anything, and may be changed
 * meanwhile. */
bool packed_read(const uint64_t *words, uint32_t *at, uint32_t end, struct record *) HIDDEN;
/* Where the last record below `end` begins, from a record at `at` on; `end`: there is none. */
uint32_t packed_last(const uint64_t *words, uint32_t at, uint32_t end) HIDDEN;
/* Whether so many records are there, from `at` up to `end`, and nothing else. */
bool packed_is_valid(const uint64_t *words, uint32_t at, uint32_t end, uint32_t count) HIDDEN;

/* The part of a record that becomes known when its op or wait ends; the rest is in its entry. */
struct packed_end {
	uint64_t end;
	uint64_t id;
	uint64_t value;
	uint32_t type; /* type, what << 8, outcome << 16, flags << 24 */
	int32_t fd;
};

enum { TYPE_WHAT = 8, TYPE_OUTCOME = 16, TYPE_FLAGS = 24 };

static inline uint32_t packed_type(const struct record *record)
{
	return record->type | (uint32_t)record->what << TYPE_WHAT |
	       (uint32_t)record->outcome << TYPE_OUTCOME | (uint32_t)record->flags << TYPE_FLAGS;
}

/* Of a record that is complete. */
static inline struct packed_end packed_end_of(const struct record *record)
{
	return (struct packed_end){ record->end, record->id, record->value, packed_type(record),
				    record->fd };
}

static inline bool packed_is_hold(uint32_t type)
{
	return (type & 0xffff) == (RECORD_OP | KIND_HOLD << TYPE_WHAT);
}

static inline uint64_t packed_names(const struct record *record, uint32_t type)
{
	return (packed_is_hold(type) ? record->ident : record->name) | (uint64_t)record->stack
									       << 32;
}

/* Where bases of that kind and stack are, and where one is that is written now. */
static inline uint32_t packed_place(const struct record *record, uint32_t type)
{
	uint32_t hash = type * UINT32_C(0x9e3779b1) >> (32 - PACKED_HASH_BITS);

	return (record->stack + hash) % PACKED_HASHES;
}

/* Whether the base of that place, which begins below `at`, is one for this record. */
static inline bool packed_fits(const uint64_t *words, uint32_t at, const uint16_t *bases,
			       const struct record *record, uint32_t type, uint32_t place)
{
	const uint64_t *from = &words[bases[place]];

	return bases[place] < at &&
	       ((packed_names(record, type) ^ from[5]) | (type ^ from[7] >> 32)) == 0;
}

/* Writes a record as what is different from the whole one at word `base`, which is alike. The
 * number of words; 0: it does not fit, and is to be written whole. */
static inline __attribute__((always_inline)) uint32_t packed_put_short(uint64_t *words, uint32_t at,
								       uint32_t base,
								       const struct record *record,
								       struct packed_end ended)
{
	const uint64_t *from = &words[base];
	uint64_t *to = &words[at];
	bool is_hold = packed_is_hold(ended.type);
	uint64_t start = record->start - from[0], taken = ended.end - record->start;
	uint64_t id = ended.id - from[2], parent = record->parent - from[3];
	uint64_t value = ended.value - from[4], head;
	uint32_t count = record->count - (uint32_t)(from[6] >> 32), fd = (uint32_t)ended.fd;
	uint32_t name = is_hold ? record->name : record->ident;
	uint32_t small = is_hold ? count : fd + 1, rest = is_hold ? fd - (uint32_t)from[7] : count;
	uint32_t used = PACKED_LEAST;

	if (UNLIKELY((start | taken | (value + (UINT64_C(1) << 31))) >> 32 | (small | name) >> 16))
		return 0;
	head = PACKED_SHORT | base | (uint64_t)name << SHORT_NAME | (uint64_t)small << SHORT_SMALL |
	       (id & ((1 << SHORT_ID_BITS) - 1)) << SHORT_ID;
	to[1] = start | taken << 32;
	to[used] = (uint32_t)value | (uint64_t)rest << 32;
	if ((value | rest) != 0) {
		head |= SHORT_HAS_REST;
		used++;
	}
	if (UNLIKELY((parent | id >> SHORT_ID_BITS) != 0)) {
		if (parent == id) {
			head |= SHORT_IS_NESTED;
		} else if (parent != 0) {
			head |= SHORT_HAS_PARENT;
			to[used++] = record->parent;
		}
		if (id >> SHORT_ID_BITS != 0) {
			head |= SHORT_HAS_ID;
			to[used++] = ended.id;
		}
	}
	to[0] = head;
	return used;
}

/*
 * Writes a record at word `at`, where there is room for RECORD_WORDS, if the base that its place
 * has fits. The number of words; 0: packed_write() is to be called.
 *
 * Inline, and nearly without branches: each recorded call takes this way.
 */
static inline __attribute__((always_inline)) uint32_t packed_write_next(uint64_t *words,
									uint32_t at,
									const uint16_t *bases,
									const struct record *record,
									struct packed_end ended)
{
	uint32_t place = packed_place(record, ended.type);

	if (UNLIKELY(!packed_fits(words, at, bases, record, ended.type, place)))
		return 0;
	return packed_put_short(words, at, bases[place], record, ended);
}

/* The same of any record. If it has RECORD_WORDS, `at` is to be written at *place of the bases when
 * the record is there for good. Of two bases that have one place the last one is found at once. */
uint32_t packed_write(uint64_t *words, uint32_t at, uint16_t *bases, const struct record *,
		      const struct packed_end *, uint32_t *place) HIDDEN;

#endif

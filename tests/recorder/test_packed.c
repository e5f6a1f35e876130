/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, events come out of a chunk other than they went in, or a reader leaves it. */
#include "packed.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "suite.h"

/* Words of a chunk, filled as a thread does it. */
struct writer {
	uint64_t words[CHUNK_WORDS];
	uint16_t bases[PACKED_BASES];
	uint32_t at;
	uint32_t count;
	struct record records[CHUNK_WORDS / PACKED_LEAST];
};

static struct writer writer;

/* How many words it took. */
static uint32_t put(const struct record *record)
{
	struct packed_end ended = packed_end_of(record);
	uint32_t place, used;

	used = packed_write(writer.words, writer.at, writer.bases, record, &ended, &place);
	if (used == RECORD_WORDS)
		writer.bases[place] = (uint16_t)writer.at;
	writer.records[writer.count++] = *record;
	writer.at += used;
	return used;
}

static void check_all(void)
{
	uint32_t at = 0, last = 0;
	struct record record;

	for (uint32_t i = 0; i < writer.count; i++) {
		last = at;
		if (!packed_read(writer.words, &at, writer.at, &record) ||
		    memcmp(&record, &writer.records[i], sizeof(record)) != 0)
			ck_abort_msg("record %u is another one", i);
	}
	ck_assert_uint_eq(at, writer.at);
	ck_assert_uint_eq(packed_last(writer.words, 0, writer.at), last);
	ck_assert(packed_is_valid(writer.words, 0, writer.at, writer.count));
	ck_assert(!packed_is_valid(writer.words, 0, writer.at, writer.count + 1));
	ck_assert(!packed_read(writer.words, &at, writer.at, &record));
}

static void begin(void)
{
	memset(&writer, 0, sizeof(writer));
	/* As a chunk that was used before. */
	memset(writer.words, 0xa5, sizeof(writer.words));
}

/* --- Each field ------------------------------------------------------------------------------- */

static const struct record io = {
	.start = 1000000,
	.end = 1000500,
	.id = UINT64_C(3) << 32 | 70,
	.parent = UINT64_C(3) << 32 | 1,
	.value = 100,
	.name = 7,
	.stack = 9,
	.ident = 11,
	.fd = 5,
	.type = RECORD_OP,
	.what = KIND_IO,
	.outcome = OUTCOME_OK,
};

#define CHANGED(member, to, words)                                            \
	{                                                                     \
		offsetof(struct record, member), sizeof(io.member), to, words \
	}

/* An io like the one before, of which one field is another, and the words that it takes. */
static const struct {
	size_t offset;
	size_t bytes;
	uint64_t to;
	uint32_t words;
} fields[] = {
	/*  0 */ CHANGED(fd, 5, 2),
	/*  1 */ CHANGED(start, 1000001, 2),
	/*  2: before its base */ CHANGED(start, 999999, 8),
	/*  3 */ CHANGED(end, 1000000 + UINT64_C(0xffffffff), 2),
	/*  4 */ CHANGED(end, 1000000 + UINT64_C(0x100000000), 8),
	/*  5 */ CHANGED(id, UINT64_C(3) << 32 | 70 | 0x7fff, 2),
	/*  6 */ CHANGED(id, (UINT64_C(3) << 32) + 70 + 0x8000, 3),
	/*  7 */ CHANGED(id, UINT64_C(4) << 32, 3),
	/*  8 */ CHANGED(parent, 0, 3),
	/*  9 */ CHANGED(value, 0, 3),
	/* 10 */ CHANGED(value, 100 + (uint64_t)INT32_MAX, 3),
	/* 11 */ CHANGED(value, 101 + (uint64_t)INT32_MAX, 8),
	/* 12 */ CHANGED(value, (uint64_t)-11, 3),
	/* 13 */ CHANGED(name, 8, 8),
	/* 14 */ CHANGED(stack, 10, 8),
	/* 15 */ CHANGED(ident, 0xffff, 2),
	/* 16 */ CHANGED(ident, 0x10000, 8),
	/* 17 */ CHANGED(count, UINT32_MAX, 3),
	/* 18 */ CHANGED(fd, (uint32_t)-1, 2),
	/* 19 */ CHANGED(fd, 0xfffe, 2),
	/* 20 */ CHANGED(fd, 0xffff, 8),
	/* 21 */ CHANGED(fd, (uint32_t)-2, 8),
	/* 22 */ CHANGED(outcome, OUTCOME_ERROR, 8),
	/* 23 */ CHANGED(flags, RECORD_ACCEPTED, 8),
	/* 24 */ CHANGED(what, KIND_POLL, 8),
	/* 25 */ CHANGED(type, RECORD_WAIT, 8),
};

START_TEST(a_field_that_differs_is_kept)
{
	struct record other = io;

	memcpy((char *)&other + fields[_i].offset, &fields[_i].to, fields[_i].bytes);
	begin();
	ck_assert_uint_eq(put(&io), RECORD_WORDS);
	ck_assert_uint_eq(put(&other), fields[_i].words);
	check_all();
}
END_TEST

static const struct record hold = {
	.start = 5000,
	.end = 5001,
	.id = UINT64_C(1) << 32 | 2,
	.parent = UINT64_C(1) << 32 | 1,
	.value = 0x7f0000001000,
	.name = 3,
	.count = 10,
	.type = RECORD_OP,
	.what = KIND_HOLD,
};

/* Of a hold count and name are short, and fd is the rare one. */
START_TEST(holds_of_a_lock_take_two_words)
{
	struct record next = hold;

	begin();
	ck_assert_uint_eq(put(&hold), RECORD_WORDS);
	next.count += 0xffff;
	next.name = 4;
	ck_assert_uint_eq(put(&next), 2);
	next.fd = -1;
	ck_assert_uint_eq(put(&next), 3);
	next.fd = 77;
	ck_assert_uint_eq(put(&next), 3);
	next.count++;
	ck_assert_uint_eq(put(&next), RECORD_WORDS);
	check_all();
}
END_TEST

/* An op in another one that was begun just before. */
START_TEST(a_parent_as_far_as_before_takes_no_word)
{
	struct record next = hold;

	begin();
	ck_assert_uint_eq(put(&hold), RECORD_WORDS);
	next.id += 10;
	next.parent += 10;
	ck_assert_uint_eq(put(&next), 2);
	next.parent++;
	ck_assert_uint_eq(put(&next), 3);
	next.id += UINT64_C(1) << 40;
	ck_assert_uint_eq(put(&next), 4);
	next.parent = next.id - 1;
	ck_assert_uint_eq(put(&next), 3);
	check_all();
}
END_TEST

/* Two that have one hash take turns. */
START_TEST(two_bases_of_one_hash_are_known)
{
	struct record other = io;

	other.stack += PACKED_HASHES;
	begin();
	put(&io);
	put(&other);
	for (int i = 0; i < 4; i++)
		ck_assert_uint_eq(put(i % 2 ? &other : &io), 2);
	check_all();
}
END_TEST

/* --- Whatever --------------------------------------------------------------------------------- */

static uint64_t random_state = 1;

static uint64_t random_below(uint64_t most)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (random_state >> 33) % most;
}

static uint64_t random_bits(void)
{
	return (random_below(UINT32_MAX) << 32 | random_below(UINT32_MAX)) >> random_below(64);
}

static struct record random_record(void)
{
	struct record record;
	uint8_t *bytes = (uint8_t *)&record;

	record = random_below(2) ? io : hold;
	record.stack = (uint32_t)random_below(300);
	for (uint64_t changes = random_below(5); changes > 0; changes--) {
		uint64_t bits = random_bits();
		size_t field = random_below(5), small = random_below(5);

		if (random_below(2))
			memcpy(bytes + field * 8, &bits, 8);
		else
			memcpy(bytes + 40 + small * 4, &bits, 4);
		bytes[60 + random_below(4)] ^= (uint8_t)(random_below(8) == 0 ? bits : 0);
	}
	record.start &= ~PACKED_SHORT;
	return record;
}

START_TEST(any_records_come_out_as_they_went_in)
{
	for (int round = 0; round < 200; round++) {
		begin();
		while (writer.at <= CHUNK_WORDS - RECORD_WORDS) {
			struct record record = random_record();

			put(&record);
		}
		check_all();
	}
}
END_TEST

/* Hostile words, up to the end of the memory. */
START_TEST(nothing_beyond_the_end_is_looked_at)
{
	size_t page = 4096;
	char *memory =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(memory, MAP_FAILED);
	ck_assert_int_eq(mprotect(memory + page, page, PROT_NONE), 0);
	for (int round = 0; round < 20000; round++) {
		uint32_t count = (uint32_t)random_below(40), at = 0, records = 0;
		uint64_t *words = (uint64_t *)(memory + page) - count;
		struct record record;

		for (uint32_t i = 0; i < count; i++)
			words[i] = random_bits() << random_below(64) | random_bits();
		ck_assert_uint_le(packed_last(words, 0, count), count);
		while (packed_read(words, &at, count, &record))
			records++;
		ck_assert_uint_le(records, count / PACKED_LEAST);
		ck_assert_uint_eq(at, count);
		at = count + 3;
		ck_assert(!packed_read(words, &at, count, &record));
	}
	munmap(memory, 2 * page);
}
END_TEST

SUITE()
{
	LOOP(a_field_that_differs_is_kept, 0, (int)(sizeof(fields) / sizeof(fields[0])));
	TEST(holds_of_a_lock_take_two_words);
	TEST(a_parent_as_far_as_before_takes_no_word);
	TEST(two_bases_of_one_hash_are_known);
	TEST(any_records_come_out_as_they_went_in);
	TEST(nothing_beyond_the_end_is_looked_at);
}

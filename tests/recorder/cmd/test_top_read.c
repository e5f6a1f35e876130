/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, top shows events that never were, or some twice, or crashes on a torn arena. */
#include "../recording.h"

#include <sys/mman.h>

#include "roster.h"
#include "suite.h"
#include "top_read.h"
#include "wcprof.h"

enum { RING_EVENTS = 20000, ROUNDS = 60, BURST = 3000 };

static struct top_reader reader;

static void begin(const char *full)
{
	setenv("WCPROF_FULL", full, 1);
	setenv("WCPROF_MAX_EVENTS", "20000", 1);
	recording_begin();
	(void)record_io(0);
	ck_assert_int_eq(top_reader_open(&reader, recorder_arena->path), 0);
}

static void end(void)
{
	top_reader_close(&reader);
	recording_end();
}

/* Those of an io that are new: their sum of bytes. */
static uint64_t read_sum(size_t *count)
{
	uint64_t sum = 0;

	*count = 0;
	ck_assert(top_reader_next(&reader));
	for (size_t i = 0; i < reader.count; i++) {
		if (reader.records[i].type != RECORD_OP || reader.records[i].what != KIND_IO)
			continue;
		sum += reader.records[i].value;
		++*count;
	}
	return sum;
}

START_TEST(each_event_is_read_once)
{
	size_t count;

	begin("drop");
	for (int round = 1; round <= 5; round++) {
		for (int i = 0; i < 1000; i++)
			(void)record_io((uint64_t)round);
		ck_assert_uint_eq(read_sum(&count), 1000 * (uint64_t)round);
		ck_assert_uint_eq(count, 1000);
	}
	ck_assert_uint_eq(read_sum(&count), 0);
	ck_assert_uint_eq(reader.missed, 0);
	end();
}
END_TEST

START_TEST(nothing_can_be_written)
{
	begin("drop");
	/* a write would be a signal */
	ck_assert_int_eq(
		mprotect((char *)reader.remains.arena + ARENA_CHUNKS, 4096, PROT_READ | PROT_WRITE),
		-1);
	end();
}
END_TEST

START_TEST(a_dump_in_between_takes_what_was_not_read_and_that_is_counted)
{
	size_t count;

	begin("drop");
	for (int i = 0; i < 100; i++)
		(void)record_io(1);
	(void)read_sum(&count);
	for (int i = 0; i < 3 * CHUNK_RECORDS; i++)
		(void)record_io(1);
	(void)recording_dump(true);
	(void)read_sum(&count);
	ck_assert_uint_lt(count, 3 * CHUNK_RECORDS);
	ck_assert_uint_gt(reader.missed, 0);
	end();
}
END_TEST

/* The reader comes when all is given to a dump, and again when it was overwritten twice. */
START_TEST(laps_of_chunks_that_were_seen_empty_are_counted)
{
	size_t count;

	begin("ring");
	for (int i = 0; i < RING_EVENTS; i++)
		(void)record_io(1);
	(void)read_sum(&count);
	(void)recording_dump(true);
	(void)read_sum(&count);
	ck_assert_uint_eq(reader.missed, 0);
	for (int i = 0; i < 4 * RING_EVENTS; i++)
		(void)record_io(1);
	(void)read_sum(&count);
	ck_assert_uint_lt(count, 4 * RING_EVENTS);
	ck_assert_uint_gt(reader.missed, reader.cursor_count / 2);
	end();
}
END_TEST

/* Each value is its event's number, so that a torn or repeated one shows. */
static void *record_numbers(void *unused)
{
	(void)unused;
	for (uint64_t i = 1; i <= (uint64_t)ROUNDS * BURST; i++)
		(void)record_io(i);
	return NULL;
}

START_TEST(a_ring_may_lap_its_reader)
{
	pthread_t thread;
	uint64_t last = 0, seen = 0;

	begin("ring");
	ck_assert_int_eq(pthread_create(&thread, NULL, record_numbers, NULL), 0);
	while (last < (uint64_t)ROUNDS * BURST) {
		ck_assert(top_reader_next(&reader));
		for (size_t i = 0; i < reader.count; i++) {
			const struct record *record = &reader.records[i];

			if (record->type != RECORD_OP || record->what != KIND_IO)
				continue;
			ck_assert_uint_gt(record->value, last);
			ck_assert_uint_le(record->value, (uint64_t)ROUNDS * BURST);
			ck_assert_uint_ge(record->end, record->start);
			last = record->value;
			seen++;
		}
	}
	pthread_join(thread, NULL);
	ck_assert(seen == (uint64_t)ROUNDS * BURST || reader.missed > 0);
	end();
}
END_TEST

/* Into an entry of its thread's, or one among the handles. */
static void write_open(unsigned *seed)
{
	struct slot *slot = (struct slot *)(void *)roster_slot(recorder_arena, 0);
	struct open_entry *entry = &slot->entries[rand_r(seed) % SLOT_ENTRIES];
	uint64_t *words = (uint64_t *)(void *)entry;

	if (rand_r(seed) % 2)
		words = (uint64_t *)arena_at(recorder_arena, ARENA_HANDLES);
	words[(size_t)rand_r(seed) % (sizeof(*entry) / sizeof(*words))] =
		(uint64_t)rand_r(seed) << 33 ^ (uint64_t)rand_r(seed);
}

/* The process may write anything there at any time. */
START_TEST(a_hostile_arena_harms_nobody)
{
	unsigned seed = (unsigned)_i + 1;
	uint32_t count;
	char text[64];
	uint64_t frames[8];

	begin("drop");
	for (int i = 0; i < 2000; i++)
		(void)record_io((uint64_t)i);
	for (int i = 0; i < 2000; i++) {
		struct chunk *chunk = chunk_at(recorder_arena, 0);
		uint64_t *words = (uint64_t *)(void *)chunk;
		size_t at = (size_t)rand_r(&seed) % (i % 2 ? 32 : sizeof(*chunk) / 8);

		words[at] = (uint64_t)rand_r(&seed) << 33 ^ (uint64_t)rand_r(&seed);
		if (i % 7 == 0)
			recorder_arena->string_count = (uint32_t)rand_r(&seed);
		if (i % 11 == 0)
			recorder_arena->stack_count = (uint32_t)rand_r(&seed);
		write_open(&seed);
		if (i % 20 == 0)
			(void)top_reader_opens(&reader, &count);
		ck_assert(top_reader_next(&reader));
		for (size_t k = 0; k < reader.count; k++) {
			ck_assert_uint_le(reader.records[k].end, top_reader_now_ns(&reader));
			ck_assert_uint_le(reader.records[k].start, reader.records[k].end);
			top_reader_string(&reader, reader.records[k].name, text, sizeof(text));
			ck_assert_uint_le(
				top_reader_stack(&reader, reader.records[k].stack, frames, 8), 8);
		}
	}
	top_reader_close(&reader);
	arena_unlink(recorder_arena);
}
END_TEST

START_TEST(a_file_that_becomes_shorter_reads_as_nothing)
{
	size_t count;

	begin("drop");
	for (int i = 0; i < 2000; i++)
		(void)record_io(1);
	ck_assert_int_eq(truncate(recorder_arena->path, ARENA_CHUNKS), 0);
	(void)read_sum(&count);
	ck_assert_uint_eq(count, 0);
	top_reader_close(&reader);
	(void)unlink(recorder_arena->path);
	_exit(0);
}
END_TEST

/* The process's arena is mapped for reading only, where the copy is made. */
START_TEST(what_is_open_is_seen)
{
	const struct snapshot_open *opens;
	uint64_t before_ns, now_ns, call;
	bool has_op = false, has_call = false;
	wcprof_op op;
	uint32_t count;

	begin("drop");
	before_ns = top_reader_now_ns(&reader);
	op = wcprof_begin("serve", "/a");
	call = op_begin_call(KIND_SLEEP, CALL_READ, -1, NULL, NULL);
	opens = top_reader_opens(&reader, &count);
	now_ns = top_reader_now_ns(&reader);
	for (uint32_t i = 0; i < count; i++) {
		const struct record *record = &opens[i].record;

		has_op |= record->what == KIND_OP_USER && record->id == op;
		has_call |= record->id == call && record->parent == op;
		if (record->id == op || record->id == call) {
			ck_assert_uint_ge(record->start, before_ns);
			ck_assert_uint_le(record->start, now_ns);
		}
	}
	ck_assert(has_op && has_call);
	op_end_call(call, OUTCOME_OK, 0, false);
	wcprof_end(op, WCPROF_OK, 0);
	opens = top_reader_opens(&reader, &count);
	for (uint32_t i = 0; i < count; i++)
		ck_assert(opens[i].record.id != op && opens[i].record.id != call);
	end();
}
END_TEST

SUITE()
{
	TEST(each_event_is_read_once);
	TEST(nothing_can_be_written);
	TEST(a_dump_in_between_takes_what_was_not_read_and_that_is_counted);
	TEST(laps_of_chunks_that_were_seen_empty_are_counted);
	TEST(a_ring_may_lap_its_reader);
	LOOP(a_hostile_arena_harms_nobody, 0, 20);
	TEST(a_file_that_becomes_shorter_reads_as_nothing);
	TEST(what_is_open_is_seen);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, other programs' use of the CPUs is taken for the program's own. */
#include "idle.h"

#include "recording.h"
#include "suite.h"

#define REST "intr 77 1 2 3\ncpu9 1 1 1 1000 1\n"

static const struct {
	const char *text;
	uint64_t mask;
	uint64_t idle_ticks;
	uint32_t cpus;
} rows[] = {
	/* 0: the sum of all is nobody's */ { "cpu  9 9 9 9 9 9 9\n" REST, 3, 0, 0 },
	/* 1 */ { "cpu  9 9 9 9 9 9 9\ncpu0 1 2 3 40 5 6 7 8 0 0\n" REST, 1, 45, 1 },
	/* 2 */ { "cpu  9 9 9 9\ncpu0 1 2 3 40 5 6\ncpu1 1 2 3 100 0 6\n" REST, 3, 145, 2 },
	/* 3: not ours */ { "cpu  9 9\ncpu0 1 2 3 40 5 6\ncpu1 1 2 3 100 0 6\n" REST, 2, 100, 1 },
	/* 4: one is away */ { "cpu  9 9\ncpu1 1 2 3 100 0 6\n" REST, 3, 100, 1 },
	/* 5 */ { "cpu  9 9\ncpu10 1 2 3 7 0 6\ncpu12 1 2 3 9 1 6\n" REST, 1 << 12, 10, 1 },
	/* 6: there is no such CPU */ { "cpu  9 9\ncpu70000 1 2 3 7 0 6\n" REST, UINT64_MAX, 0, 0 },
	/* 7: what old kernels have */ { "cpu  9 9\ncpu0 1 2 3 7\n" REST, 1, 7, 1 },
};

START_TEST(idle_times_of_its_cpus_are_added)
{
	uint64_t mask[IDLE_CPUS_MAX / 64] = { rows[_i].mask };

	/* in pieces of any length */
	for (size_t piece = 1; piece < 40; piece++) {
		struct idle_scan scan = { .mask = mask };
		const char *text = rows[_i].text;
		size_t left = strlen(text);

		for (; left > 0; left -= left < piece ? left : piece)
			idle_scan(&scan, text + strlen(text) - left, left < piece ? left : piece);
		ck_assert_uint_eq(scan.idle_ticks, rows[_i].idle_ticks);
		ck_assert_uint_eq(scan.cpus_seen, rows[_i].cpus);
		ck_assert(scan.is_over);
	}
}
END_TEST

static json_t *idle_of(json_t *lines)
{
	return json_object_get(json_array_get(lines, 0), "idle");
}

START_TEST(a_dump_has_them_in_order)
{
	json_t *list;

	recording_begin();
	for (int i = 0; i < 5; i++)
		idle_note(recorder_arena, clock_mono_ns());
	ck_assert_uint_eq(idle_count(recorder_arena), 5);
	list = idle_of(recording_dump(false));
	/* once more for the dump */
	ck_assert_uint_eq(json_array_size(list), 12);
	for (size_t i = 2; i < 12; i++)
		ck_assert_int_ge(json_integer_value(json_array_get(list, i)),
				 json_integer_value(json_array_get(list, i - 2)));
	/* a reader from outside came upon entries that were just going */
	recorder_arena->idles[2].ticks = recorder_arena->idles[0].ticks;
	list = idle_of(recording_dump(false));
	ck_assert_uint_eq(json_array_size(list), 12);
	recording_end();
}
END_TEST

START_TEST(a_full_table_is_thinned_out)
{
	uint64_t first, last, now_ns = 1;
	uint32_t most = 0;

	recording_begin();
	idle_note(recorder_arena, now_ns);
	first = recorder_arena->idles[0].ticks;
	for (int i = 0; i < 3 * IDLES_MAX; i++) {
		uint32_t before = idle_count(recorder_arena);

		last = clock_now_ticks();
		idle_note(recorder_arena, now_ns);
		most = before > most ? before : most;
		if (idle_count(recorder_arena) > before)
			ck_assert_uint_ge(recorder_arena->idles[before].ticks, last);
	}
	ck_assert_uint_eq(most, IDLES_MAX - 1);
	ck_assert_uint_eq(recorder_arena->idles[0].ticks, first);
	for (uint32_t i = 1; i < idle_count(recorder_arena); i++)
		ck_assert_uint_gt(recorder_arena->idles[i].ticks,
				  recorder_arena->idles[i - 1].ticks);
	/* from then on they come more seldom */
	most = idle_count(recorder_arena);
	idle_note(recorder_arena, now_ns);
	idle_tick(recorder_arena, now_ns + 390000000);
	ck_assert_uint_eq(idle_count(recorder_arena), most + 1);
	idle_tick(recorder_arena, now_ns + 100000000000);
	ck_assert_uint_eq(idle_count(recorder_arena), most + 2);
	recording_end();
}
END_TEST

/* As where the file does not have all of the CPUs, or is missing. */
START_TEST(what_cannot_be_read_is_not_tried_at_each_tick)
{
	uint64_t now_ns = 1;

	recording_begin();
	recorder_arena->cpus++;
	idle_note(recorder_arena, now_ns);
	recorder_arena->cpus--;
	idle_tick(recorder_arena, now_ns + 50000000);
	ck_assert_uint_eq(idle_count(recorder_arena), 0);
	idle_tick(recorder_arena, now_ns + 1000000000000);
	ck_assert_uint_eq(idle_count(recorder_arena), 1);
	recording_end();
}
END_TEST

SUITE()
{
	EACH(idle_times_of_its_cpus_are_added, rows);
	TEST(a_dump_has_them_in_order);
	TEST(a_full_table_is_thinned_out);
	TEST(what_cannot_be_read_is_not_tried_at_each_tick);
}

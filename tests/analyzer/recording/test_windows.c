/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, pauses of a recording would count as time of its program. */
#include "recording/windows.h"

#include "sketch.h"
#include "suite.h"

static const struct {
	struct rec_window windows[5];
	size_t window_count, process_count;
	const char *found;
} rows[] = {
	/* 0: nothing is known */
	{ { { 0 } }, 0, 1, " 0-end" },
	/* 1 */ { { { 10, 20, 0, false } }, 1, 1, " 10-20" },
	/* 2 */ { { { 10, 20, 0, false }, { 30, 40, 0, false } }, 2, 1, " 10-20 30-40" },
	/* 3: of the other process nothing is known */
	{ { { 10, 20, 0, false }, { 30, 40, 0, false } }, 2, 2, " 0-20 30-end" },
	/* 4: the other one was on for longer */
	{ { { 10, 20, 0, false }, { 30, 40, 0, false }, { 5, 60, 1, false } },
	  3,
	  2,
	  " 5-20 30-60" },
	/* 5: pauses lie in each other, and one after the other */
	{ { { 0, 20, 0, false }, { 50, 60, 0, false }, { 0, 30, 1, false }, { 40, 60, 1, false } },
	  4,
	  2,
	  " 0-20 50-60" },
	/* 6: the last one begins in a pause */
	{ { { 0, 20, 0, false }, { 30, 60, 0, false }, { 0, 25, 1, false }, { 35, 60, 1, false } },
	  4,
	  2,
	  " 0-20 35-60" },
	/* 7: no pause lies between two processes */
	{ { { 0, 20, 0, false }, { 50, 60, 1, false } }, 2, 2, " 0-60" },
	/* 8: dumps between two windows and behind them have none */
	{ { { 10, 20, 0, false },
	    { 25, 25, 0, false },
	    { 50, 60, 0, false },
	    { 70, 70, 0, false } },
	  4,
	  1,
	  " 10-20 50-60" },
	/* 9: nor has the only one */
	{ { { 70, 70, 0, false } }, 1, 1, " 70-70" },
};

START_TEST(pauses_part_windows)
{
	struct rec_window windows[5];
	struct rec_process processes[2] = { 0 };
	struct recording recording = { .windows = windows,
				       .window_count = rows[_i].window_count,
				       .processes = processes,
				       .process_count = rows[_i].process_count };
	char text[128] = "";
	size_t count;
	memcpy(windows, rows[_i].windows, sizeof(windows));
	struct window *found = windows_find(&recording, &count);
	for (size_t i = 0; i < count; i++) {
		sprintf(text + strlen(text), " %lu-", (unsigned long)found[i].from_ns);
		if (found[i].to_ns == UINT64_MAX)
			strcat(text, "end");
		else
			sprintf(text + strlen(text), "%lu", (unsigned long)found[i].to_ns);
	}
	ck_assert_str_eq(text, rows[_i].found);
	free(found);
}
END_TEST

enum { EPOCH_MS = 1000 };

/* Times in ms. Two servers, pid 1 and 2, that were there before; pid 3, which pid 1 made. */
static const struct {
	struct rec_window windows[3];
	size_t window_count;
	uint64_t start_ms[3]; /* of the windows' processes; 0 = not known */
	uint64_t from_ms, to_ms;
} edge_rows[] = {
	/* 0: the second one was turned on later, and off earlier */
	{ { { 0, 500, 0, true }, { 80, 400, 1, true } }, 2, { 200, 300 }, 80, 400 },
	/* 1: it goes on behind the last dump, or has ended */
	{ { { 0, 500, 0, true }, { 80, 400, 1, false } }, 2, { 200, 300 }, 80, 500 },
	/* 2: it began then */
	{ { { 0, 500, 0, false }, { 300, 400, 1, false } }, 2, { 200, 1290 }, 0, 500 },
	/* 3: when it began is not known */
	{ { { 0, 500, 0, false }, { 300, 400, 1, false } }, 2, { 200, 0 }, 0, 500 },
	/* 4: a child that took long to become another program */
	{ { { 0, 500, 0, false }, { 300, 400, 2, false } }, 2, { 200, 0, 1200 }, 0, 500 },
	/* 5: its parent was recorded only later */
	{ { { 250, 500, 0, true }, { 300, 400, 2, false } }, 2, { 200, 0, 1100 }, 300, 500 },
	/* 6: recorded one after the other */
	{ { { 0, 100, 0, true }, { 300, 400, 1, true } }, 2, { 200, 300 }, 0, 400 },
};

START_TEST(a_window_is_the_time_in_which_all_were_recorded)
{
	struct rec_window windows[3];
	struct rec_process processes[3] = { { .pid = 1 }, { .pid = 2 }, { .pid = 3, .ppid = 1 } };
	struct recording recording = { .windows = windows,
				       .window_count = edge_rows[_i].window_count,
				       .processes = processes,
				       .process_count = edge_rows[_i].window_count,
				       .epoch_unix_ns = EPOCH_MS * SKETCH_MS };
	size_t count;
	for (size_t i = 0; i < 3; i++) {
		windows[i] = edge_rows[_i].windows[i];
		windows[i].from_ns *= SKETCH_MS;
		windows[i].to_ns *= SKETCH_MS;
		processes[i].start_unix_ns = edge_rows[_i].start_ms[i] * SKETCH_MS;
	}
	struct window *found = windows_find(&recording, &count);
	ck_assert_uint_eq(count, 1);
	ck_assert_uint_eq(found->from_ns / SKETCH_MS, edge_rows[_i].from_ms);
	ck_assert_uint_eq(found->to_ns / SKETCH_MS, edge_rows[_i].to_ms);
	free(found);
}
END_TEST

/* Process 1 has none, process 2 two. */
static const struct {
	uint32_t process;
	struct window window, of;
	bool is_on;
} process_rows[] = {
	/* 0 */ { 0, { 0, 100 }, { 10, 20 }, true },
	/* 1 */ { 0, { 12, 15 }, { 12, 15 }, true },
	/* 2 */ { 0, { 20, 100 }, { 0, 0 }, false },
	/* 3 */ { 0, { 0, 10 }, { 0, 0 }, false },
	/* 4 */ { 1, { 5, 60 }, { 5, 60 }, true },
	/* 5 */ { 2, { 0, 35 }, { 30, 35 }, true },
	/* 6 */ { 2, { 40, 60 }, { 50, 60 }, true },
	/* 7 */ { 2, { 60, 70 }, { 0, 0 }, false },
	/* 8 */ { 3, { 60, 70 }, { 60, 70 }, true },
};

START_TEST(a_process_has_a_part_of_a_window)
{
	struct rec_window windows[] = { { 10, 20, 0, false },
					{ 30, 40, 2, false },
					{ 50, 60, 2, false } };
	struct recording recording = { .windows = windows, .window_count = 3, .process_count = 4 };
	struct window of;
	ck_assert_int_eq(window_of_process(&recording, process_rows[_i].process,
					   &process_rows[_i].window, &of),
			 process_rows[_i].is_on);
	if (process_rows[_i].is_on) {
		ck_assert_uint_eq(of.from_ns, process_rows[_i].of.from_ns);
		ck_assert_uint_eq(of.to_ns, process_rows[_i].of.to_ns);
	}
}
END_TEST

SUITE()
{
	EACH(pauses_part_windows, rows);
	EACH(a_window_is_the_time_in_which_all_were_recorded, edge_rows);
	EACH(a_process_has_a_part_of_a_window, process_rows);
}

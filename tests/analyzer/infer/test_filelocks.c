/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, threads would wait for locks on files that nobody has, or for others than those
 * that kept them waiting.
 */
#include "infer/filelocks.h"

#include "infer/looks.h"
#include "sketch.h"
#include "suite.h"

enum { PROCESSES = 3 };

static struct rec_process processes[PROCESSES];

/* One thread a process, from 0 to 100 ms. */
static void begin(struct sketch *sketch)
{
	sketch_begin(sketch);
	memset(processes, 0, sizeof(processes));
	sketch->rec.processes = processes;
	sketch->rec.process_count = PROCESSES;
	for (uint32_t i = 0; i < PROCESSES; i++) {
		processes[i] = (struct rec_process){ .pid = i + 1, .op = NO_INDEX };
		sketch_thread(sketch, "main", 0, 100);
		sketch->rec.threads[i].process = i;
	}
}

static uint32_t call(struct sketch *sketch, uint32_t thread, const char *asked, double from_ms,
		     double to_ms)
{
	uint32_t op =
		sketch_io(sketch, thread, asked ? "fcntl" : "close", "file /db", 0, from_ms, to_ms);
	sketch->rec.extras[op].fd = 3;
	if (asked)
		sketch->rec.extras[op].other_ident = sketch_string(sketch, asked);
	return op;
}

static void fails(struct sketch *sketch, uint32_t op)
{
	sketch->rec.ops[op].outcome = OUTCOME_ERROR;
}

/* The holds of a thread, "from-to" in ms, "r" of readers; in order of time. */
static void expect_holds(const struct recording *rec, uint32_t thread, const char *expected)
{
	char text[200] = "";
	for (size_t i = 0; i < rec->op_count; i++)
		if (rec->ops[i].kind == KIND_HOLD && rec->ops[i].thread == thread)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%g-%g%s ",
				 (double)rec->ops[i].start_ns / 1e6,
				 (double)rec->ops[i].end_ns / 1e6,
				 rec->extras[i].shared ? "r" : "");
	ck_assert_str_eq(text, expected);
}

/* Process 0 has the lock from 2 ms until it lets go; process 1 waits for that, or not. */
static const struct {
	const char *first, *unlock, *second;
	double unlock_ms, from_ms, to_ms; /* of the second one's call */
	const char *first_hold, *second_hold;
	int waits;
} rows[] = {
	/* 0 */ { "file-lock write 0+0 of 1:2", "file-lock none 0+0 of 1:2",
		  "file-lock write 0+0 of 1:2", 20, 5, 20.1, "2-20 ", "20.1-100 ", 1 },
	/* 1: closing the file is unlocking it */
	{ "file-lock write 0+0 of 1:2", NULL, "file-lock write 0+0 of 1:2", 20, 5, 20.1, "2-20 ",
	  "20.1-100 ", 1 },
	/* 2: readers wait for a writer */
	{ "file-lock write 0+0 of 1:2", "file-lock none 0+0 of 1:2", "file-lock read 0+0 of 1:2",
	  20, 5, 20.1, "2-20 ", "20.1-100r ", 1 },
	/* 3: but not for readers */
	{ "file-lock read 0+0 of 1:2", "file-lock none 0+0 of 1:2", "file-lock read 0+0 of 1:2", 20,
	  5, 20.1, "", "", 0 },
	/* 4: of some of the bytes */
	{ "file-lock write 10+5 of 1:2", "file-lock none 0+0 of 1:2", "file-lock write 14+9 of 1:2",
	  20, 5, 20.1, "2-20 ", "20.1-100 ", 1 },
	/* 5: of other ones */
	{ "file-lock write 10+5 of 1:2", "file-lock none 0+0 of 1:2", "file-lock write 15+9 of 1:2",
	  20, 5, 20.1, "", "", 0 },
	/* 6: of another file */
	{ "file-lock write 0+0 of 1:2", "file-lock none 0+0 of 1:2", "file-lock write 0+0 of 1:3",
	  20, 5, 20.1, "", "", 0 },
	/* 7: another sort of locks */
	{ "file-lock write 0+0 of 1:2", "file-lock none 0+0 of 1:2", "flock write 0+0 of 1:2", 20,
	  5, 20.1, "", "", 0 },
	/* 8: of open files, as of processes */
	{ "open-lock write 0+0 of 1:2", "open-lock none 0+0 of 1:2", "file-lock write 0+0 of 1:2",
	  20, 5, 20.1, "2-20 ", "20.1-100 ", 1 },
	/* 9: it went on long after that: for another reason */
	{ "flock write 0+0 of 1:2", "flock none 0+0 of 1:2", "flock write 0+0 of 1:2", 20, 5, 40,
	  "", "", 0 },
	/* 10: it came later */
	{ "flock write 0+0 of 1:2", "flock none 0+0 of 1:2", "flock write 0+0 of 1:2", 20, 21, 22,
	  "", "", 0 },
	/* 11: a CPU took some time to come to it */
	{ "flock write 0+0 of 1:2", "flock none 0+0 of 1:2", "flock write 0+0 of 1:2", 17, 15, 20.1,
	  "2-17 ", "20.1-100 ", 1 },
	/* 12: no words of ours */
	{ "127.0.0.1:80", "127.0.0.1:80", "127.0.0.1:80", 20, 5, 20.1, "", "", 0 },
};

START_TEST(a_call_waits_for_who_has_the_file)
{
	struct sketch sketch;
	begin(&sketch);
	call(&sketch, 0, rows[_i].first, 1, 2);
	call(&sketch, 0, rows[_i].unlock, rows[_i].unlock_ms, rows[_i].unlock_ms + 0.01);
	uint32_t second = call(&sketch, 1, rows[_i].second, rows[_i].from_ms, rows[_i].to_ms);
	sketch.rec.extras[second].fd = 4;
	file_locks_find(&sketch.rec);
	expect_holds(&sketch.rec, 0, rows[_i].first_hold);
	expect_holds(&sketch.rec, 1, rows[_i].second_hold);
	ck_assert_uint_eq(sketch.rec.wait_count, (size_t)rows[_i].waits);
	for (size_t i = 0; i < sketch.rec.wait_count; i++) {
		ck_assert_uint_eq(sketch.rec.waits[i].thread, 1);
		ck_assert(!sketch.rec.waits[i].timed_out);
		ck_assert_uint_eq(sketch.rec.waits[i].end_ns, (uint64_t)(20.1 * SKETCH_MS));
	}
	sketch_free(&sketch);
}
END_TEST

/* Process 1 tries every 10 ms, from 11 on; process 0 has the file from 2 to 25. */
START_TEST(tries_in_vain_are_a_row_until_the_lock_is_there)
{
	static const char try[] = "file-lock try-write 7+1 of 1:2";
	static const char unlock[] = "file-lock none 7+1 of 1:2";
	struct sketch sketch;
	struct looks looks;
	struct flows flows;
	struct timeline timeline;
	begin(&sketch);
	call(&sketch, 0, try, 1, 2);
	call(&sketch, 0, unlock, 25, 25.01);
	for (int i = 0; i < 3; i++) {
		uint32_t op = call(&sketch, 1, try, 10 * i + 10, 10 * i + 10.01);
		if (i == 2)
			break;
		fails(&sketch, op);
		sketch_sleep(&sketch, 1, "nap", 10 * i + 10.02, 10 * i + 19.9);
	}
	call(&sketch, 1, unlock, 40, 40.01);
	sketch_sleep(&sketch, 1, "nap", 50, 60);
	file_locks_find(&sketch.rec);
	expect_holds(&sketch.rec, 0, "2-25 ");
	expect_holds(&sketch.rec, 1, "30.01-40 ");
	ck_assert_uint_eq(sketch.rec.wait_count, 2);
	sketch_end(&sketch);
	timeline_build(&timeline, &sketch.rec);
	flows_build(&flows, &sketch.rec);
	looks_build(&looks, &sketch.rec, &sketch.classes, &timeline, &flows);
	flows_free(&flows);
	ck_assert_uint_eq(looks.count, 1);
	ck_assert_int_eq(looks.rows[0].sort, LOOK_LOCKED);
	ck_assert_uint_eq(looks.rows[0].thread, 1);
	ck_assert_uint_eq(looks.rows[0].count, 2);
	ck_assert_uint_eq(looks.rows[0].lock_count, 1);
	ck_assert_uint_eq(looks.locks[0].address, sketch.rec.waits[0].address);
	ck_assert(!looks.locks[0].is_read);
	looks_free(&looks);
	timeline_free(&timeline);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(a_call_waits_for_who_has_the_file, rows);
	TEST(tries_in_vain_are_a_row_until_the_lock_is_there);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, waits would be missing, or would be charged to the wrong stack. */
#include "pprof_exported.h"

#define THREAD(id) "|thread id=" id ",thread name=?,process id=1,process=program,"

static const struct {
	const char *file, *lines;
} rows[] = {
	/* 0 */ { "block",
		  "mutex m" THREAD(
			  "2") "state=blocked,reason=mutex,lock=m|2 5000000\n"
			       "sem s" THREAD(
				       "3") "state=blocked,reason=sem,resource=s|1 1000000\n" },
	/* 1 */
	{ "mutex", "[held] m" THREAD("1") "lock=m,class=m|1 3000000\n"
					  "[free: the waiter wakes up] m|lock=m|0 2000000\n"
					  "[holder not recorded] m|lock=m|1 0\n" },
};

/* Thread 1 waits for m while thread 0 has it, and again while nobody does; thread 2 for a post. */
START_TEST(waits_are_those_of_waiters_and_of_holders)
{
	struct sketch sketch;
	struct profile_read read;
	sketch_begin(&sketch);
	for (int i = 0; i < 3; i++)
		sketch_thread(&sketch, "t", 0, 20);
	sketch_hold(&sketch, 0, "m", 5, 0, 4);
	sketch_hold(&sketch, 1, "m", 6, 5, 6);
	uint32_t first = sketch_wait(&sketch, 1, REASON_MUTEX, "m", 1, 5, NO_INDEX);
	uint32_t again = sketch_wait(&sketch, 1, REASON_MUTEX, "m", 7, 8, NO_INDEX);
	uint32_t post = sketch_wait(&sketch, 2, REASON_SEM, "s", 2, 3, NO_INDEX);
	sketch.rec.waits[first].ident = sketch.rec.waits[again].ident = sketch_string(&sketch, "m");
	sketch.rec.waits[post].ident = sketch_string(&sketch, "s");
	pprof_read(&read, &sketch.rec, NULL, UINT64_MAX, rows[_i].file);
	ck_assert_str_eq(profile_lines(&read), rows[_i].lines);
	profile_read_free(&read);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(waits_are_those_of_waiters_and_of_holders, rows);
}

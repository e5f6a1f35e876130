/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, a profile would have other time than there was, or lack what it was spent on. */
#include "cpu_sample.h"
#include "pprof_exported.h"

#define ONE "|thread name=n1,process id=7,state="
#define TWO "|thread name=n2,process id=7,state="

static const struct {
	const char *file, *lines;
} rows[] = {
	/* 0: two places in leaf are two samples */
	{ "cpu", "n10;n11" ONE "running,class=n3|1 1000000\n"
		 "n10;n11" ONE "running,class=n3|1 1000000\n"
		 "n10" ONE "running,class=n3|1 1000000\n"
		 "n10;n11;n11" ONE "running,class=n3|1 1000000\n"
		 "[on CPU]" ONE "running,class=n3|0 400000\n" },
	/* 1 */
	{ "wall", "n10;n11" ONE "running,class=n3|1000000 1000000 0 0 0\n"
		  "n10;n11" ONE "running,class=n3|1000000 1000000 0 0 0\n"
		  "n10" ONE "running,class=n3|1000000 1000000 0 0 0\n"
		  "n10;n11;n11" ONE "running,class=n3|1000000 1000000 0 0 0\n"
		  "[on CPU]" ONE "running,class=n3|400000 400000 0 0 0\n"
		  "[unexplained]" ONE "unexplained,class=n3|600000 0 0 0 0\n"
		  "n10;mutex n12" TWO "blocked,reason=mutex,lock=n12,class=n12"
		  "|2000000 0 0 2000000 0\n"
		  "sleep n5" TWO "blocked,reason=sleep,resource=n5,class=n5"
		  "|2000000 0 0 2000000 0\n"
		  "[unexplained]" TWO "unexplained,class=n4|1000000 0 0 0 0\n" },
	/* 2: all threads have ended */
	{ "threads", "" },
	/* 3 */
	{ "wait", "" },
};

START_TEST(time_is_by_stack_state_and_cause)
{
	struct sketch sketch;
	struct profile_read read;
	cpu_sketch(&sketch);
	sketch.frames[0] = (struct rec_frame){ NO_INDEX, 100 };
	pprof_read(&read, &sketch.rec, &cpu_names, UINT64_MAX, rows[_i].file);
	ck_assert_str_eq(profile_lines(&read), rows[_i].lines);
	profile_read_free(&read);
	sketch_free(&sketch);
}
END_TEST

#define WAITS                                                                                   \
	"mutex m|thread id=1,thread name=%s,process id=1,process=p,state=blocked,reason=mutex," \
	"lock=m,holder=%s|%d\n"
#define ID_3 "|thread id=3,thread name=?,process id=1,process=p"
#define RUNS "[unexplained]" ID_3 ",state=unexplained,class=runs|1\n"

static const struct {
	const char *file;
	bool is_cut; /* by --to, else the dump was taken then */
	const char *name;
	int value;
	const char *more;
} open_rows[] = {
	/* 0 */ { "threads", false, "?", 1, RUNS },
	/* 1 */ { "wait", false, "?", 5000000, "" },
	/* 2 */ { "threads", true, "?", 1, RUNS },
	/* 3 */ { "wait", true, "?", 5000000, "" },
	/* 4 */ { "threads", false, "a\xFF\n", 1, RUNS },
};

/* Thread 0 waits for a lock at the end, 1 ended before, 2 runs on; 3 is of a former image. */
START_TEST(the_end_has_threads_and_waits_that_go_on)
{
	struct sketch sketch;
	struct profile_read read;
	struct rec_process processes[2] = { { .pid = 1, .op = NO_INDEX }, { .pid = 1 } };
	char expected[1000], name[40];
	const char *shown = open_rows[_i].name[0] == 'a' ? "a\xEF\xBF\xBD\\x0a" : "?";
	bool is_open = !open_rows[_i].is_cut;
	sketch_begin(&sketch);
	sketch.rec.processes = processes;
	sketch.rec.process_count = 2;
	sketch_thread(&sketch, "waits", 1, 20);
	sketch_thread(&sketch, "ends", 1, 10);
	sketch_thread(&sketch, "runs", 1, 20);
	sketch_thread(&sketch, "replaced", 0, 9);
	processes[1].op = sketch_op(&sketch, KIND_PROCESS, "p", NO_INDEX, 1, 20);
	for (int i = 0; i < 3; i++)
		sketch.threads[i].process = 1;
	snprintf(name, sizeof(name), "%s", open_rows[_i].name);
	sketch.threads[0].name = name[0] == '?' ? 0 : sketch_string(&sketch, name);
	uint32_t wait = sketch_wait(&sketch, 0, REASON_MUTEX, "m", 15, 20, NO_INDEX);
	sketch.rec.waits[wait].ident = sketch_string(&sketch, "m");
	sketch.rec.waits[wait].open = is_open;
	sketch.rec.waits[wait].holder = 2;
	for (int i = 0; i < 4; i++)
		sketch.rec.extras[sketch.threads[i].op].open = is_open && i != 1;
	pprof_read(&read, &sketch.rec, NULL, is_open ? UINT64_MAX : 20000000, open_rows[_i].file);
	snprintf(expected, sizeof(expected), WAITS "%s", shown, "?", open_rows[_i].value,
		 open_rows[_i].more);
	ck_assert_str_eq(profile_lines(&read), expected);
	profile_read_free(&read);
	sketch_free(&sketch);
}
END_TEST

START_TEST(nothing_is_in_the_profiles_of_nothing)
{
	static const char *const names[] = { "cpu", "wall", "block", "mutex", "threads", "wait" };
	struct sketch sketch;
	struct profile_read read;
	sketch_begin(&sketch);
	pprof_read(&read, &sketch.rec, NULL, UINT64_MAX, names[_i]);
	ck_assert_str_eq(profile_lines(&read), "");
	ck_assert(read.numbers[14] > 0);
	profile_read_free(&read);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(time_is_by_stack_state_and_cause, rows);
	EACH(the_end_has_threads_and_waits_that_go_on, open_rows);
	LOOP(nothing_is_in_the_profiles_of_nothing, 0, 6);
}

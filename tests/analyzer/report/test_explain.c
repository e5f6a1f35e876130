/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if --explain shows other steps than the replay has, other threads than were meant, or none
 * in silence.
 */
#include "report/explain.h"

#include "rebuilt.h"
#include "keyed.h"
#include "suite.h"

#include <errno.h>

static struct options options_for(const char *thread)
{
	return (struct options){ .explain = thread, .model = "threads" };
}

/* Two workers take jobs off a pipe; main has a lock that one of them tries, in rounds. */
static void sketch_make(struct sketch *sketch)
{
	rebuilt_pool(sketch);
	class_table_free(&sketch->classes);
	sketch_hold(sketch, 0, "M", 1, 1, 20);
	for (int i = 0; i < 4; i++) {
		uint32_t wait =
			sketch_wait(sketch, 2, REASON_MUTEX, "M", 2 + 2 * i, 2 + 2 * i, NO_INDEX);

		sketch->rec.waits[wait].timed_out = true;
		sketch->rec.waits[wait].name = sketch_string(sketch, "pthread_mutex_trylock");
	}
	sketch_hold(sketch, 2, "M", 2, 9, 9.5);
	sketch->rec.threads[0].name = sketch_string(sketch, "program");
	sketch->rec.threads[1].name = sketch->rec.threads[2].name = sketch_string(sketch, "helper");
	sketch_end(sketch);
}

/* The text that is printed, to be freed; the result is that of explain_write(). */
static char *explained(const struct options *options, int *result, char error[OPTIONS_ERROR_BYTES])
{
	struct sketch sketch;
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	error[0] = '\0';
	sketch_make(&sketch);
	*result = explain_write(file, &sketch.rec, options, NULL, error);
	fclose(file);
	sketch_free(&sketch);
	return text;
}

static const struct {
	int row;
	const char *thread;
	const char *has[4];
	const char *has_not;
} rows[] = {
	/* a list of all */
	{ 0,
	  "",
	  { "thread 0, main: program, tid 1, 30 steps, begins by itself at 0, finishes at 40.0 ms",
	    "thread 1, worker: helper, tid 2,", "thread 2, worker: helper, tid 3," },
	  "run" },
	/* by name: several */
	{ 1,
	  "worker",
	  { "thread 1, worker: helper, tid 2,", "thread 2, worker: helper, tid 3,",
	    "  10 bytes, pipe:[1]", "  sleep job (scope " },
	  "thread 0" },
	{ 2, "helper", { "thread 1, worker", "thread 2, worker" }, "thread 0" },
	/* by tid, by number */
	{ 3, "2", { "thread 1, worker: helper, tid 2," }, "thread 2" },
	{ 4, "0", { "thread 0, main: program, tid 1," }, "tid 2" },
	/* the rounds of a try; takes from a pool, and jobs */
	{ 5, "3", { "try ", "again ", "; then the next of 8 jobs", "job 1 of pipe:[1]" }, "tid 1" },
	/* starts and joins, locks */
	{ 6, "main", { "spawn ", "join ", "thread 2, worker", "M, lock 0" }, "again" },
};

START_TEST(the_threads_that_were_meant_are_explained)
{
	struct options options = options_for(rows[_i].thread);
	char error[OPTIONS_ERROR_BYTES];
	int result;
	char *text = explained(&options, &result, error);

	ck_assert_msg(result == 0, "row %d: %s", rows[_i].row, error);
	for (size_t i = 0; i < 4 && rows[_i].has[i]; i++)
		ck_assert_msg(strstr(text, rows[_i].has[i]) != NULL, "row %d: no \"%s\" in\n%s",
			      rows[_i].row, rows[_i].has[i], text);
	ck_assert_msg(!strstr(text, rows[_i].has_not), "row %d:\n%s", rows[_i].row, text);
	free(text);
}
END_TEST

START_TEST(keys_are_no_locks_of_the_recording)
{
	struct keyed keyed = { .keys = 4, .use = 1, .rest = 1 };
	struct options options = options_for("user");
	char error[OPTIONS_ERROR_BYTES] = "", *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);
	struct sketch sketch;

	keyed_sketch(&keyed, &sketch);
	sketch_end(&sketch);
	ck_assert_int_eq(explain_write(file, &sketch.rec, &options, NULL, error), 0);
	fclose(file);
	ck_assert_ptr_nonnull(strstr(text, "a key, lock "));
	ck_assert_ptr_nonnull(strstr(text, "M, lock 0"));
	free(text);
	sketch_free(&sketch);
}
END_TEST

/* A semaphore, a barrier of two, and a signal that a thread waits for. */
static void sketch_meetings(struct sketch *sketch)
{
	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, 30);
	sketch_thread(sketch, "other", 0, 30);
	sketch_wait(sketch, 1, REASON_SEM, "S", 1, 3, NO_INDEX);
	sketch_link(sketch, 0, LINK_POST, "S", 2, 1, NO_INDEX);
	sketch_wait(sketch, 0, REASON_BARRIER, "B", 10, 12.5, NO_INDEX);
	sketch_wait(sketch, 1, REASON_BARRIER, "B", 12, 12, NO_INDEX);
	sketch_link(sketch, 1, LINK_WAKE, "B", 12, 1, NO_INDEX);
	sketch_wait(sketch, 1, REASON_COND, "C", 14, 20, NO_INDEX);
	sketch_link(sketch, 0, LINK_WAKE, "C", 19, 1, NO_INDEX);
	sketch_end(sketch);
}

static const struct {
	int row;
	const char *thread;
	const char *has[4];
} meetings[] = {
	{ 0,
	  "main",
	  { "post ", "semaphore 0", "barrier 0 of 2 threads", "signal 2 of thread 0, main" } },
	{ 1, "other", { "permit ", "semaphore 0", "after ", "signal 2 of thread 0, main" } },
};

START_TEST(meetings_are_called_by_what_they_are)
{
	struct options options = options_for(meetings[_i].thread);
	char error[OPTIONS_ERROR_BYTES] = "", *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);
	struct sketch sketch;

	sketch_meetings(&sketch);
	ck_assert_int_eq(explain_write(file, &sketch.rec, &options, NULL, error), 0);
	fclose(file);
	for (size_t i = 0; i < 4; i++)
		ck_assert_msg(strstr(text, meetings[_i].has[i]) != NULL, "row %d: no \"%s\" in\n%s",
			      meetings[_i].row, meetings[_i].has[i], text);
	free(text);
	sketch_free(&sketch);
}
END_TEST

/* Each jump leads to a step that is printed, of the type that it must be. */
START_TEST(a_jump_leads_to_a_printed_step)
{
	struct options options = options_for("3");
	char error[OPTIONS_ERROR_BYTES], line[64];
	unsigned long try, again, behind, back;
	int result;
	char *text = explained(&options, &result, error);
	const char *at = strstr(text, "  try "), *end = strstr(text, "  again ");

	ck_assert(result == 0 && at && end);
	while (at[-1] != '\n')
		at--;
	while (end[-1] != '\n')
		end--;
	ck_assert_int_eq(sscanf(at, "%lu try to %lu", &try, &behind), 2);
	ck_assert_int_eq(sscanf(end, "%lu again to %lu", &again, &back), 2);
	ck_assert(back == try && behind == again + 1);
	snprintf(line, sizeof(line), "\n%8lu  ", behind);
	ck_assert(strstr(text, line));
	free(text);
}
END_TEST

static const struct {
	int row;
	const char *thread;
	const char *model;
	const char *error;
} refused[] = {
	{ 0, "workr", "threads", "--explain alone lists them; nearly so are called \"worker\"" },
	{ 1, "4711", "threads", "no thread has the name, tid or number \"4711\"" },
	{ 2, "", "recorded", "the model \"recorded\" has no steps; leave out --model" },
};

START_TEST(what_cannot_be_explained_is_refused)
{
	struct options options = options_for(refused[_i].thread);
	char error[OPTIONS_ERROR_BYTES];
	int result;

	options.model = refused[_i].model;
	char *text = explained(&options, &result, error);
	ck_assert_int_eq(result, -EINVAL);
	ck_assert_msg(strstr(error, refused[_i].error) != NULL, "row %d: %s", refused[_i].row,
		      error);
	ck_assert_str_eq(text, "");
	free(text);
}
END_TEST

SUITE()
{
	EACH(the_threads_that_were_meant_are_explained, rows);
	TEST(keys_are_no_locks_of_the_recording);
	EACH(meetings_are_called_by_what_they_are, meetings);
	TEST(a_jump_leads_to_a_printed_step);
	EACH(what_cannot_be_explained_is_refused, refused);
}

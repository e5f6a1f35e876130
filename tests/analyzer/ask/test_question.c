/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a question would be answered that was not asked, or a wrong one be answered.
 */
#include <errno.h>
#include <string.h>

#include "ask/question.h"
#include "suite.h"

static const char *names[] = { "parse",         "work_a/nanosleep", "work_a",
			       "lock_m",        "worker",           "emit(char*, int)",
			       "read_all/read", "read_all/pread",   "work_b/read" };
static const char *kinds[] = {
	"func", "sleep", "func", "hold", "thread", "func", "io", "io", "io"
};
static const struct subjects all = { names, kinds, sizeof(names) / sizeof(names[0]) };

static const struct {
	const char *text;
	size_t scalings, splits, pools;
	uint32_t first; /* class of the first scaling, else of the first rebuild */
	double number;  /* of the first scaling, else of the first rebuild */
	double cpus;
} good[] = {
	/*  0 */ { "parse*0.5", 1, 0, 0, 0, 0.5, 0 },
	/*  1 */ { "func parse*0", 1, 0, 0, 0, 0, 0 },
	/*  2 */ { "sleep work_a*0.5", 1, 0, 0, 1, 0.5, 0 },
	/*  3 */ { "work_a/nanosleep*2", 1, 0, 0, 1, 2, 0 },
	/*  4 */ { "lock_m*.25, parse*0", 2, 0, 0, 3, 0.25, 0 },
	/*  5 */ { "emit(char*, int)*0.5", 1, 0, 0, 5, 0.5, 0 },
	/*  6 */ { "read_all*0", 2, 0, 0, 6, 0, 0 },
	/*  7 */ { "lock:lock_m split 4", 0, 1, 0, 3, 4, 0 },
	/*  8 */ { "threads:worker*2", 0, 0, 1, 4, 2, 0 },
	/*  9 */ { "cpus 4", 0, 0, 0, 0, 0, 4 },
	/* 10 */ { "threads:worker*0.5,cpus 4 , lock:lock_m split 2,parse*0", 1, 1, 1, 0, 0, 4 },
	/* 11 */ { "work_a*0.5", 1, 0, 0, 2, 0.5, 0 }, /* the whole name comes first */
};

START_TEST(questions_are_understood)
{
	struct question question;
	char error[OPTIONS_ERROR_BYTES] = "";

	ck_assert_msg(question_parse(&question, good[_i].text, &all, error) == 0, "%s", error);
	ck_assert_uint_eq(question.scaling_count, good[_i].scalings);
	ck_assert_uint_eq(question.split_count, good[_i].splits);
	ck_assert_uint_eq(question.pool_count, good[_i].pools);
	ck_assert_double_eq(question.cpus, good[_i].cpus);
	ck_assert(question_rebuilds(&question) ==
		  (good[_i].splits || good[_i].pools || good[_i].cpus > 0));
	if (good[_i].scalings) {
		ck_assert_uint_eq(question.scalings[0].class, good[_i].first);
		ck_assert_double_eq(question.scalings[0].factor, good[_i].number);
	} else if (good[_i].splits || good[_i].pools) {
		const struct rebuild *rebuild = good[_i].splits ? question.splits : question.pools;

		ck_assert_uint_eq(rebuild->class, good[_i].first);
		ck_assert_double_eq(rebuild->times, good[_i].number);
	}
}
END_TEST

static const struct {
	const char *text;
	const char *said;
} bad[] = {
	/*  0 */ { "", "not a change" },
	/*  1 */ { "parse", "not a change: \"parse\"; give CLASS*0.5" },
	/*  2 */ { "parse*", "not a change" },
	/*  3 */ { "parse*0.5,", "not a change" },
	/*  4 */ { "parse*-1", "not a change" },
	/*  5 */ { "parse*1001", "from 0 to 1000" },
	/*  6 */ { "prase*0.5", "no class \"prase\"; similar names are \"func parse\"" },
	/*  7 */ { "sleep wrk_a*0", "\"sleep work_a/nanosleep\"" },
	/*  8 */ { "zzzzzzzzzz*0", "the report lists all classes" },
	/*  9 */ { "lock:worker split 2", "no class \"worker\"" },
	/* 10 */ { "lock:lock_m split 1", "from 2 to 1024" },
	/* 11 */ { "lock:lock_m split 2.5", "from 2 to 1024" },
	/* 12 */ { "threads:lock_m*2", "no class \"lock_m\"" },
	/* 13 */ { "threads:worker*0", "above 0" },
	/* 14 */ { "threads:worker*65", "up to 64" },
	/* 15 */ { "cpus 0", "above 0" },
	/* 16 */ { "lock:lock_m", "not a change" },
	/* 17 */ { "queue:q1+40*0", "above 0, up to 1000" },
	/* 18 */ { "clients*1.5", "give a whole number up to 64" },
	/* 19 */ { "clients*65", "give a whole number up to 64" },
	/* 20 */ { "clients*0", "give a whole number up to 64" },
	/* 21 */ { "work_b*0,PARSE*0", "no class \"PARSE\"; similar names are \"func parse\"" },
};

START_TEST(clients_become_several_or_one)
{
	static const char *const words[] = { "clients*2", "clients*0.5", "clients*0.333" };
	struct question question;
	char error[OPTIONS_ERROR_BYTES] = "";

	ck_assert_int_eq(question_parse(&question, words[_i], &all, error), 0);
	ck_assert(question.clients_times > 0);
	ck_assert(question_rebuilds(&question));
}
END_TEST

START_TEST(a_queue_is_called_as_its_waits)
{
	struct question question;
	char error[OPTIONS_ERROR_BYTES] = "";

	ck_assert_int_eq(question_parse(&question, "parse*0, queue: q1+40 *10", &all, error), 0);
	ck_assert_uint_eq(question.queue_count, 1);
	ck_assert_uint_eq(question.queues[0].name_bytes, strlen("q1+40"));
	ck_assert_int_eq(memcmp(question.queues[0].name, "q1+40", strlen("q1+40")), 0);
	ck_assert_double_eq(question.queues[0].times, 10);
	ck_assert(question_rebuilds(&question));
}
END_TEST

START_TEST(what_is_no_question_is_refused)
{
	struct question question;
	char error[OPTIONS_ERROR_BYTES] = "";

	ck_assert_int_eq(question_parse(&question, bad[_i].text, &all, error), -EINVAL);
	ck_assert_msg(strstr(error, "--what-if: ") == error && strstr(error, bad[_i].said),
		      "\"%s\" says: %s", bad[_i].text, error);
}
END_TEST

START_TEST(a_name_of_several_kinds_must_say_which)
{
	static const char *two[] = { "worker", "worker" }, *of[] = { "thread", "func" };
	const struct subjects both = { two, of, 2 };
	struct question question;
	char error[OPTIONS_ERROR_BYTES] = "";

	ck_assert_int_eq(question_parse(&question, "worker*0", &both, error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error, "give \"thread worker\" or \"func worker\""));
	ck_assert_int_eq(question_parse(&question, "func worker*0", &both, error), 0);
	ck_assert_uint_eq(question.scalings[0].class, 1);
	ck_assert_int_eq(question_parse(&question, "threads:worker*2", &both, error), 0);
	ck_assert_uint_eq(question.pools[0].class, 0);
}
END_TEST

START_TEST(a_name_alone_is_found_as_in_a_change)
{
	uint32_t found[QUESTION_CHANGES_MAX];
	char error[OPTIONS_ERROR_BYTES] = "";

	ck_assert_int_eq(question_find("hold lock_m", &all, "slow-rules", found, error), 1);
	ck_assert_str_eq(names[found[0]], "lock_m");
	ck_assert_int_eq(question_find("prase", &all, "slow-rules", found, error), -EINVAL);
	ck_assert_msg(strstr(error, "--slow-rules: there is no class \"prase\"; ") == error, "%s",
		      error);
}
END_TEST

SUITE()
{
	EACH(questions_are_understood, good);
	LOOP(clients_become_several_or_one, 0, 3);
	TEST(a_queue_is_called_as_its_waits);
	EACH(what_is_no_question_is_refused, bad);
	TEST(a_name_of_several_kinds_must_say_which);
	TEST(a_name_alone_is_found_as_in_a_change);
}

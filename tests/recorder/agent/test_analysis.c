/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, analyses are lost, run for ever, or run in the way of the program. */
#include "analysis.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "metrics.h"
#include "suite.h"

static char directory[] = "/tmp/wcprof-analysis.XXXXXX";
static struct analyses analyses;

/* Another wcprof-analyze, in PATH. */
static void put_program(const char *script)
{
	char path[200];
	FILE *file;

	snprintf(path, sizeof(path), "%s/wcprof-analyze", directory);
	file = fopen(path, "w");
	fprintf(file, "#!/bin/sh\n%s\n", script);
	fclose(file);
	ck_assert_int_eq(chmod(path, 0700), 0);
}

static void setup(void)
{
	char path[2000];

	ck_assert_ptr_nonnull(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s:%s", directory, getenv("PATH"));
	setenv("PATH", path, 1);
	setenv("SAYS", directory, 1);
	analysis_init(&analyses, directory);
	analyses.memory_mb = 100;
	analyses.most_s = 1000;
}

static void teardown(void)
{
	char command[64];

	analysis_end(&analyses);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	ck_assert_int_eq(system(command), 0);
}

static void add(const char *dump)
{
	struct analysis_job job = { .tags = { .service = "s" }, .window_count = 1 };

	snprintf(job.dump, sizeof(job.dump), "%s", dump);
	analysis_add(&analyses, &job);
}

/* Until the first job is done, or no more there. */
static bool go_on(void)
{
	size_t count = analyses.count;

	while (analyses.count == count) {
		if (analysis_go_on(&analyses, 0))
			return true;
		(void)poll(NULL, 0, 1);
	}
	return false;
}

static char *read_said(void)
{
	static char text[1000];
	char path[100];
	FILE *file;

	snprintf(path, sizeof(path), "%s/said", directory);
	file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	return text;
}

START_TEST(a_dump_is_analyzed_for_its_profiles)
{
	char wanted[300];

	put_program("echo \"$@\" >>$SAYS/said");
	add("/d/one");
	ck_assert(go_on());
	snprintf(wanted, sizeof(wanted),
		 "--quiet --from 0 --max-memory 100 --export pprof --output %s/profiles /d/one\n",
		 directory);
	ck_assert_str_eq(read_said(), wanted);
	analysis_drop(&analyses);
	ck_assert_uint_eq(analyses.count, 0);
	ck_assert_double_eq(metrics.analyses_total, 1);
}
END_TEST

START_TEST(otlp_is_a_second_step_with_tags)
{
	put_program("echo \"$@\" >>$SAYS/said");
	analyses.wants_otlp = true;
	add("/d/one");
	ck_assert(go_on());
	ck_assert_ptr_nonnull(strstr(read_said(), "--export otlp --output "));
	ck_assert_ptr_nonnull(strstr(read_said(), "/otlp.pb --tag service=s /d/one\n"));
}
END_TEST

START_TEST(which_packages_the_code_is_of_is_a_step)
{
	char wanted[300];

	put_program("echo \"$@\" >>$SAYS/said");
	analyses.wants_provenance = true;
	add("/d/one");
	ck_assert(go_on());
	snprintf(wanted, sizeof(wanted),
		 "--export code-provenance --output %s/profiles/code-provenance.json /d/one\n",
		 directory);
	ck_assert_ptr_nonnull(strstr(read_said(), wanted));
	ck_assert_ptr_null(strstr(read_said(), "otlp"));
}
END_TEST

#define HEADER(windows) "{\"epoch_unix_nano\":1000,\"dumped_unix_nano\":9,\"windows\":[" windows

static const struct {
	const char *header;
	size_t count;
	uint64_t begin_ns, end_ns; /* of the last one */
	double dropped;
} headers[] = {
	{ "", 1, 5, 7, 0 },
	{ HEADER("0,30]"), 1, 5, 7, 0 }, /* all of the dump, and what was lost before */
	{ HEADER("0,30,40,50]"), 2, 1040, 1050, 0 },
	{ HEADER("0,30,40,50"), 1, 5, 7, 0 }, /* cut off */
	{ HEADER("]"), 1, 5, 7, 0 },
	{ HEADER("0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,"
		 "28,29,30,31,32,33,34,35]"),
	  ANALYSIS_WINDOWS_MOST, 1030, 1031, 2 },
};

START_TEST(a_header_says_which_windows_there_are)
{
	struct analysis_job job = { .window = 0 };

	metrics.analyses_dropped_total = 0;
	analysis_windows(&job, headers[_i].header, (struct analysis_window){ 5, 7 });
	ck_assert_uint_eq(job.window_count, headers[_i].count);
	ck_assert_uint_eq(job.windows[job.window_count - 1].begin_ns, headers[_i].begin_ns);
	ck_assert_uint_eq(job.windows[job.window_count - 1].end_ns, headers[_i].end_ns);
	ck_assert_double_eq(metrics.analyses_dropped_total, headers[_i].dropped);
}
END_TEST

/* The second of three windows is of no use. */
START_TEST(each_window_has_profiles_of_its_own)
{
	put_program("echo \"$6 $7\" >>$SAYS/said; test $7 != 2");
	add("/d/one");
	add("/d/two");
	analyses.jobs[0].window_count = 3;
	ck_assert(go_on());
	ck_assert_uint_eq(analyses.jobs[0].window, 0);
	analysis_drop(&analyses);
	ck_assert(go_on());
	ck_assert_uint_eq(analyses.jobs[0].window, 2);
	ck_assert_double_eq(metrics.analyses_failed_total, 1);
	ck_assert_str_eq(read_said(), "--window 1\n--window 2\n--window 3\n");
	analysis_drop(&analyses);
	ck_assert_uint_eq(analyses.count, 1);
	ck_assert_str_eq(analyses.jobs[0].dump, "/d/two");
}
END_TEST

START_TEST(one_that_fails_makes_room_for_the_next)
{
	put_program("for last; do :; done; test $last != /d/one");
	add("/d/one");
	add("/d/two");
	ck_assert(!go_on());
	ck_assert_double_eq(metrics.analyses_failed_total, 1);
	ck_assert_str_eq(analyses.jobs[0].dump, "/d/two");
	ck_assert(go_on());
}
END_TEST

START_TEST(withheld_answers_do_not_matter)
{
	put_program("exit 3");
	add("/d/one");
	ck_assert(go_on());
}
END_TEST

START_TEST(one_that_lasts_too_long_is_ended)
{
	pid_t pid;

	put_program("exec tail -f /dev/null");
	add("/d/one");
	ck_assert(!analysis_go_on(&analyses, 0));
	pid = analyses.pid;
	ck_assert(!analysis_go_on(&analyses, analyses.until_ns - 1));
	ck_assert_int_eq(kill(pid, 0), 0);
	ck_assert(!analysis_go_on(&analyses, analyses.until_ns));
	ck_assert_int_eq(kill(pid, 0), -1);
	ck_assert_double_eq(metrics.analyses_failed_total, 1);
	ck_assert_uint_eq(analyses.count, 0);
}
END_TEST

START_TEST(it_takes_what_nobody_else_wants)
{
	put_program("cut -d' ' -f19,41 /proc/$$/stat >$SAYS/said");
	add("/d/one");
	ck_assert(go_on());
	/* nice, and the policy: SCHED_IDLE */
	ck_assert_str_eq(read_said(), "19 5\n");
}
END_TEST

START_TEST(what_does_not_fit_is_counted)
{
	for (int i = 0; i < ANALYSIS_JOBS_MOST + 3; i++)
		add("/d/one");
	ck_assert_uint_eq(analyses.count, ANALYSIS_JOBS_MOST);
	ck_assert_double_eq(metrics.analyses_dropped_total, 3);
	ck_assert_double_eq(metrics.analyses_queued, ANALYSIS_JOBS_MOST);
}
END_TEST

START_TEST(files_of_one_are_not_those_of_the_next)
{
	put_program("for last; do :; done; test $last = /d/two || : >$SAYS/profiles/old.pprof");
	add("/d/one");
	add("/d/two");
	ck_assert(go_on());
	analysis_drop(&analyses);
	ck_assert(go_on());
	setenv("SAYS", "/nowhere", 1);
	snprintf(analyses.jobs[0].dump, sizeof(analyses.jobs[0].dump), "%s/profiles/old.pprof",
		 directory);
	ck_assert_int_ne(access(analyses.jobs[0].dump, F_OK), 0);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(a_dump_is_analyzed_for_its_profiles);
	TEST(otlp_is_a_second_step_with_tags);
	TEST(which_packages_the_code_is_of_is_a_step);
	EACH(a_header_says_which_windows_there_are, headers);
	TEST(each_window_has_profiles_of_its_own);
	TEST(one_that_fails_makes_room_for_the_next);
	TEST(withheld_answers_do_not_matter);
	TEST(one_that_lasts_too_long_is_ended);
	TEST(it_takes_what_nobody_else_wants);
	TEST(what_does_not_fit_is_counted);
	TEST(files_of_one_are_not_those_of_the_next);
}

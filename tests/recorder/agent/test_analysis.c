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
	struct analysis_job job = { .tags = { .service = "s" } };

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
	TEST(one_that_fails_makes_room_for_the_next);
	TEST(withheld_answers_do_not_matter);
	TEST(one_that_lasts_too_long_is_ended);
	TEST(it_takes_what_nobody_else_wants);
	TEST(what_does_not_fit_is_counted);
	TEST(files_of_one_are_not_those_of_the_next);
}

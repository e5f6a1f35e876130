/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a file of rules is misunderstood, or half of a wrong one is followed. */
#include "slow_text.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "slowing.h"
#include "suite.h"

static const struct {
	const char *text;
	int thousandths; /* -1: nothing is slowed, and a line says so */
} files[] = {
	/*  0 */ { "factor 1.5\ncall 12,ab\n", 500 },
	/*  1 */ { "# why\n\nhold 1\nop FFFFFFFFFFFFFFFF\nwake 2\nprogress 3\nfactor 10\n", 9000 },
	/*  2 */ { "call 1\n", 0 },
	/*  3 */ { "call 1\nfactor 1\n", 0 },
	/*  4 */ { "call 1\nfactor 0.5\n", -1 },
	/*  5 */ { "call 1\nfactor\n", -1 },
	/*  6 */ { "factor 2\ncall 1\ncalls 2\n", -1 },
	/*  7 */ { "factor 2\ncall 1\ncall x\n", -1 },
	/*  8 */ { "factor 2\ncall 1\ncall\n", -1 },
	/*  9 */ { "factor 2\ncall 1\nclear 1\n", -1 },
	/* 10 */ { "factor 2\ncall 1\ncall 1 2\n", -1 },
	/* 11 */ { "factor 2.0005\ncall 1\n", -1 },
	/* 12 */ { "range 5:10:20,ff:0:1\nroutine 7\n", 0 },
	/* 13 */ { "call 1\nrange 5:10:10\n", -1 },
	/* 14 */ { "call 1\nrange 5:10\n", -1 },
	/* 15 */ { "call 1\nrange 5:10:\n", -1 },
	/* 16 */ { "call 1\nrange 0:10:20\n", -1 },
	/* 17 */ { "call 1\ncall 1:2:3\n", -1 },
};

/* All of a file, or nothing. */
START_TEST(a_file_has_rules)
{
	char path[] = "/tmp/wcprof-test-slow-XXXXXX";
	int file = mkstemp(path);

	ck_assert_int_eq(write(file, files[_i].text, strlen(files[_i].text)),
			 (ssize_t)strlen(files[_i].text));
	close(file);
	strcpy(recorder_options.slow, path);
	slow_text_load();
	unlink(path);
	ck_assert_uint_eq(recorder_gate.slowed, files[_i].thousandths >= 0);
	ck_assert_int_eq((int)(slow.window & SLOW_FACTOR_MASK),
			 files[_i].thousandths > 0 ? files[_i].thousandths : 0);
	ck_assert_int_eq(slow.window > clock_now_ticks(),
			 strstr(files[_i].text, "factor") && files[_i].thousandths >= 0);
}
END_TEST

START_TEST(a_file_that_is_not_there_slows_nothing)
{
	strcpy(recorder_options.slow, "/nowhere/to/be/found");
	slow_text_load();
	ck_assert_uint_eq(recorder_gate.slowed, 0);
}
END_TEST

/* A child may be elsewhere. */
START_TEST(a_relative_path_stays_the_same_file)
{
	int file = open("/tmp/wcprof-test-relative", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	ck_assert_int_eq(write(file, "call 1\n", 7), 7);
	close(file);
	ck_assert_int_eq(chdir("/tmp"), 0);
	strcpy(recorder_options.slow, "wcprof-test-relative");
	slow_text_load();
	unlink("/tmp/wcprof-test-relative");
	ck_assert_str_eq(recorder_options.slow, "/tmp/wcprof-test-relative");
	ck_assert_uint_eq(recorder_gate.slowed, 1);
}
END_TEST

/* The control thread comes back, and the file is gone. */
START_TEST(a_file_is_read_once)
{
	char path[] = "/tmp/wcprof-test-slow-XXXXXX";
	int file = mkstemp(path);
	uint32_t ranges;

	ck_assert_int_eq(write(file, "range 5:10:20\nfactor 2\n", 23), 23);
	close(file);
	strcpy(recorder_options.slow, path);
	slow_text_load();
	ranges = slow.range_count;
	slow_text_load();
	ck_assert_uint_eq(slow.range_count, ranges);
	unlink(path);
	slow_text_load();
	ck_assert_uint_eq(recorder_gate.slowed, 1);
	ck_assert_uint_gt(slow.window, clock_now_ticks());
}
END_TEST

/* It has nobody at its other end: whoever opened it would wait. */
START_TEST(a_pipe_is_no_file)
{
	char path[] = "/tmp/wcprof-test-slow-XXXXXX";

	ck_assert_ptr_nonnull(mkdtemp(path));
	snprintf(recorder_options.slow, sizeof(recorder_options.slow), "%s/pipe", path);
	ck_assert_int_eq(mkfifo(recorder_options.slow, 0600), 0);
	slow_text_load();
	unlink(recorder_options.slow);
	rmdir(path);
	ck_assert_uint_eq(recorder_gate.slowed, 0);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	EACH(a_file_has_rules, files);
	TEST(a_file_that_is_not_there_slows_nothing);
	TEST(a_file_is_read_once);
	TEST(a_pipe_is_no_file);
	TEST(a_relative_path_stays_the_same_file);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, two builds of which one is slower would pass for equal, or the reason be missing
 * why nothing can be said. tests/golden/diff-old and diff-new are recordings of one server; in the
 * new one work_a() sleeps for 3 ms and not for 2. The machine was busy.
 *
 * Run from the top of the tree, or with WCPROF_GOLDEN naming the folder.
 */
#include "diff/diff.h"

#include "printed_diff.h"
#include "suite.h"

static struct options options;
static struct diff diff;
static char error[SIDES_ERROR_BYTES];

/* Good for the next three calls. */
static const char *golden(const char *name)
{
	static char paths[4][500];
	static size_t next;
	const char *folder = getenv("WCPROF_GOLDEN");
	char *path = paths[next++ % 4];
	snprintf(path, sizeof(paths[0]), "%s/%s", folder ? folder : "tests/golden", name);
	return path;
}

static int diff_of(const char *old_path, const char *new_path, const char *more)
{
	static const char *words[5];
	const char *const given[] = { "wcprof-analyze", "--diff", old_path, new_path, more };
	memcpy(words, given, sizeof(words));
	ck_assert_int_eq(options_parse(&options, more ? 5 : 4, (char **)words, error), 0);
	return diff_build(&diff, &options, error);
}

static void print(struct emit *emit, const void *context)
{
	diff_print(context, emit);
}

static void check_prints(enum emit_format format, const char *part)
{
	char *text = printed_diff(format, print, &diff);
	ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in:\n%s", part, text);
	for (const char *at = text; format == EMIT_TEXT && *at; at += strcspn(at, "\n") + 1)
		ck_assert_uint_le(strcspn(at, "\n"), 100);
	free(text);
}

START_TEST(a_slower_server_is_worse_and_the_call_is_named)
{
	ck_assert_int_eq(
		diff_of(golden("diff-old.wcprof.zst"), golden("diff-new.wcprof.zst"), "--force"),
		0);
	ck_assert_int_eq(diff.outcome, DIFF_WORSE);
	check_prints(EMIT_TEXT, "NEW is worse.");
	check_prints(EMIT_TEXT, "work_a/nanosleep");
	check_prints(EMIT_JSON, "\"verdict\": \"worse\"");
	diff_free(&diff);
}
END_TEST

START_TEST(a_busy_machine_leaves_it_open)
{
	ck_assert_int_eq(
		diff_of(golden("diff-old.wcprof.zst"), golden("diff-new.wcprof.zst"), NULL), 0);
	ck_assert_int_eq(diff.outcome, DIFF_UNSURE);
	check_prints(EMIT_TEXT, "Cannot tell: other programs");
	diff_free(&diff);
}
END_TEST

START_TEST(a_recording_does_not_differ_from_itself)
{
	ck_assert_int_eq(
		diff_of(golden("diff-old.wcprof.zst"), golden("diff-old.wcprof.zst"), NULL), 0);
	ck_assert_int_eq(diff.outcome, DIFF_NOT_WORSE);
	ck_assert_uint_eq(diff.comparison.found_count, 0);
	check_prints(EMIT_TEXT, "No difference was found");
	diff_free(&diff);
}
END_TEST

START_TEST(what_has_no_requests_is_refused_by_name)
{
	ck_assert_int_eq(diff_of(golden("diff-old.wcprof.zst"), golden("g11.jsonl"), NULL), 0);
	ck_assert_int_eq(diff.outcome, DIFF_UNTOLD);
	check_prints(EMIT_TEXT, "Cannot tell: OLD has requests, NEW has none");
	check_prints(EMIT_JSON, "\"verdict\": \"cannot tell\"");
	diff_free(&diff);
	ck_assert_int_eq(diff_of(golden("g12.jsonl"), golden("g12.jsonl"), NULL), 0);
	ck_assert_int_eq(diff.outcome, DIFF_UNTOLD);
	check_prints(EMIT_TEXT, "too short to tell chance");
	diff_free(&diff);
}
END_TEST

START_TEST(what_cannot_be_read_is_an_error)
{
	ck_assert_int_lt(diff_of(golden("diff-old.wcprof.zst"), "/nowhere", NULL), 0);
	ck_assert_ptr_nonnull(strstr(error, "/nowhere"));
	ck_assert_int_lt(diff_of("/nowhere", golden("diff-old.wcprof.zst"), NULL), 0);
	ck_assert_int_lt(diff_of(golden("diff-old.wcprof.zst"), golden(""), NULL), 0);
	ck_assert_ptr_nonnull(strstr(error, "OLD has 1 recordings and NEW "));
	ck_assert_int_lt(diff_of(golden("g11.jsonl"), golden("g11.jsonl"), "--map=old"), 0);
	ck_assert_ptr_nonnull(strstr(error, "--map: \"old\" is no rule"));
}
END_TEST

START_TEST(dumps_of_one_recording_are_not_taken_for_several)
{
	char folder[] = "/tmp/test_diff.XXXXXX", command[1000];
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(command, sizeof(command),
		 "cp %s %s %s && zstd -dc %s | sed 's,/server\",/client\",' >%s/z.jsonl",
		 golden("diff-old.wcprof.zst"), golden("diff-new.wcprof.zst"), folder,
		 golden("diff-old.wcprof.zst"), folder);
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_lt(diff_of(folder, folder, NULL), 0);
	ck_assert_msg(strstr(error, "z.jsonl is no recording of server") != NULL, "%s", error);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

SUITE()
{
	TEST(dumps_of_one_recording_are_not_taken_for_several);
	TEST(a_slower_server_is_worse_and_the_call_is_named);
	TEST(a_busy_machine_leaves_it_open);
	TEST(a_recording_does_not_differ_from_itself);
	TEST(what_has_no_requests_is_refused_by_name);
	TEST(what_cannot_be_read_is_an_error);
}

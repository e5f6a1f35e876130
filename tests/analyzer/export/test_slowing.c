/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if --slow-rules is about another class than was named, or top:N not about the top. */
#include "export/slowing.h"
#include "rebuilt.h"
#include "suite.h"

#include <errno.h>

/* Two threads queue for lock L, which costs the run most; lock M is free, and io is beside. */
static void sketch_make(struct sketch *sketch)
{
	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, 40);
	sketch_thread(sketch, "worker", 0, 40);
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t hold = sketch_hold(sketch, i % 2, "L", 1 + i % 2, 10 * i, 10 * i + 9);

		if (i > 0)
			sketch_wait(sketch, i % 2, REASON_MUTEX, "L", 10 * i - 5, 10 * i, hold - 1);
	}
	sketch_hold(sketch, 0, "M", 3, 1, 3);
	uint32_t op = sketch_io(sketch, 1, "pwrite", "file /tmp/log", 10, 1, 2);
	sketch->rec.extras[op].stack = 4;
	sketch_end(sketch);
}

static int write_rules(const struct options *options, char **text, char *error)
{
	struct sketch sketch;
	size_t length;
	FILE *file = open_memstream(text, &length);

	sketch_make(&sketch);
	int failed = slowing_write(file, &sketch.rec, options, NULL, error);
	fclose(file);
	sketch_free(&sketch);
	return failed;
}

static const struct {
	int row;
	const char *asked[3];
	const char *progress;
	const char *said;    /* NULL: refused */
	const char *refused; /* its error */
} rows[] = {
	{ 0, { "L" }, "", "{\"slow_rules\":[{\"class\":\"L\",\"kind\":\"hold\",", NULL },
	{ 1, { "hold M", "pwrite" }, "", "{\"slow_rules\":[{\"class\":\"hold M\",", NULL },
	{ 2, { "M", "io pwrite" }, "", "},{\"class\":\"io pwrite\",\"kind\":\"io\",", NULL },
	/* nobody waits for L, which is held for work that has a row of its own */
	{ 3, { "top:1" }, "", "{\"slow_rules\":[{\"class\":\"main\",\"kind\":\"thread\",", NULL },
	{ 4, { "top:2", "M" }, "", "},{\"class\":\"M\",", NULL },
	{ 5,
	  { "M" },
	  "L",
	  "\"progress\":[{\"class\":\"L\",\"kind\":\"hold\",\"source\":\"asked\"",
	  NULL },
	{ 6,
	  { "M" },
	  "pwrite",
	  "\"progress\":[{\"class\":\"pwrite\",\"kind\":\"call\",\"source\":\"asked\"",
	  NULL },
	{ 7, { "nothing" }, "", NULL, "--slow-rules: there is no class \"nothing\"" },
	{ 8, { "M" }, "nothing", NULL, "--slow-progress: there is no class \"nothing\"" },
	{ 9, { "top:" }, "", NULL, "--slow-rules: \"top:\" is no number" },
	{ 10, { "top:0" }, "", NULL, "--slow-rules: \"top:0\" is no number" },
	{ 11, { "top:3x" }, "", NULL, "--slow-rules: \"top:3x\" is no number" },
};

START_TEST(rules_are_of_the_classes_that_were_named)
{
	struct options options = { .slow_progress = rows[_i].progress,
				   .model = "threads",
				   .class_regex = "",
				   .factors = { { 0, 0.5 }, 2 },
				   .min_self_ns = 1 };
	char *text, error[OPTIONS_ERROR_BYTES] = "";

	for (; options.slow_rules.count < 3 && rows[_i].asked[options.slow_rules.count];
	     options.slow_rules.count++)
		options.slow_rules.texts[options.slow_rules.count] =
			rows[_i].asked[options.slow_rules.count];
	int failed = write_rules(&options, &text, error);
	ck_assert_int_eq(failed, rows[_i].said ? 0 : -EINVAL);
	if (rows[_i].said)
		ck_assert_msg(strstr(text, rows[_i].said), "%s", text);
	else
		ck_assert_msg(strstr(error, rows[_i].refused) == error, "%s", error);
	free(text);
}
END_TEST

/* The threads hold L for most of their time: a half more is about a third more. */
START_TEST(answers_say_how_much_longer_it_would_take)
{
	const struct options options = { .slow_progress = "",
					 .model = "threads",
					 .class_regex = "",
					 .factors = { { 0, 0.5 }, 2 },
					 .slow_rules = { { "L" }, 1 },
					 .what_ifs = { { "L*1.5", "L*1" }, 2 } };
	char *text, error[OPTIONS_ERROR_BYTES] = "", name[32];
	double longer, least, most;

	ck_assert_int_eq(write_rules(&options, &text, error), 0);
	const char *at = strstr(text, "\"asked\":[");
	ck_assert_msg(at && strstr(at, "],\"drift_percent\":0.000,\"withheld\":null}\n"), "%s",
		      text);
	ck_assert_int_eq(sscanf(at,
				"\"asked\":[{\"what_if\":\"%31[^\"]\",\"longer_percent\":%lf,"
				"\"least_percent\":%lf,\"most_percent\":%lf}",
				name, &longer, &least, &most),
			 4);
	ck_assert_str_eq(name, "L*1.5");
	ck_assert_double_gt(longer, 25);
	ck_assert_double_lt(longer, 50);
	ck_assert_double_le(least, longer);
	ck_assert_double_ge(most, longer);
	ck_assert_ptr_nonnull(strstr(at, "\"L*1\",\"longer_percent\":0.000,"));
	free(text);
}
END_TEST

SUITE()
{
	EACH(rules_are_of_the_classes_that_were_named, rows);
	TEST(answers_say_how_much_longer_it_would_take);
}

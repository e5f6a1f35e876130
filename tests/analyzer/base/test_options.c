/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, an option would be misread in silence, or a wrong one not be refused.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "suite.h"

/* Parses words given with spaces between. */
static int parse(struct options *options, const char *line, char error[OPTIONS_ERROR_BYTES])
{
	static char *argv[64];
	static char text[512];
	int argc = 1;
	argv[0] = text;
	snprintf(text, sizeof(text), "%s", line);
	for (char *save = NULL, *word = strtok_r(text, " ", &save); word;
	     word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	argv[argc] = NULL;
	error[0] = '\0';
	return options_parse(options, argc, argv, error);
}

START_TEST(defaults_are_those_of_the_table)
{
	struct options options;
	char error[OPTIONS_ERROR_BYTES];
	ck_assert_int_eq(parse(&options, "a.jsonl b.jsonl", error), 0);
	ck_assert_uint_eq(options.top, 20);
	ck_assert(!options.has_top);
	ck_assert_uint_eq(options.factors.count, 3);
	ck_assert_double_eq(options.factors.factors[1], 0.5);
	ck_assert_uint_eq(options.min_self_ns, 1000000);
	ck_assert_uint_eq(options.dead_air_min_ns, 50000000);
	ck_assert_uint_eq(options.chain_depth, 25);
	ck_assert(!options.json && !options.quiet && !options.help);
	ck_assert_str_eq(options.color, "auto");
	ck_assert_double_eq(options.cpus, 0);
	ck_assert_str_eq(options.model, "threads");
	ck_assert_str_eq(options.class_regex, "");
	ck_assert_uint_eq(options.from_ns, 0);
	ck_assert_uint_eq(options.to_ns, UINT64_MAX);
	ck_assert_uint_eq(options.path_count, 2);
	ck_assert_str_eq(options.paths[1], "b.jsonl");
}
END_TEST

START_TEST(an_optional_argument_may_be_left_out)
{
	struct options options;
	char error[OPTIONS_ERROR_BYTES];
	ck_assert_int_eq(parse(&options, "a", error), 0);
	ck_assert_ptr_null(options.explain);
	ck_assert_int_eq(parse(&options, "--explain a", error), 0);
	ck_assert_str_eq(options.explain, "");
	ck_assert_uint_eq(options.path_count, 1);
	ck_assert_int_eq(parse(&options, "--explain=worker a", error), 0);
	ck_assert_str_eq(options.explain, "worker");
}
END_TEST

START_TEST(options_may_stand_anywhere)
{
	struct options options;
	char error[OPTIONS_ERROR_BYTES];
	ck_assert_int_eq(parse(&options,
			       "a --json --top=5 b --factors 0.25 --from 1s --to 2s -- --c", error),
			 0);
	ck_assert(options.json);
	ck_assert_uint_eq(options.top, 5);
	ck_assert(options.has_top);
	ck_assert_uint_eq(options.factors.count, 1);
	ck_assert_uint_eq(options.from_ns, 1000000000);
	ck_assert_uint_eq(options.path_count, 3);
	ck_assert_str_eq(options.paths[2], "--c");
	ck_assert_int_eq(parse(&options, "--help", error), 0);
	ck_assert(options.help);
	ck_assert_int_eq(parse(&options, "-", error), 0);
	ck_assert_int_eq(parse(&options, "-o one a", error), 0);
	ck_assert_str_eq(options.output, "one");
	ck_assert_int_eq(parse(&options, "a --output=two", error), 0);
	ck_assert_str_eq(options.output, "two");
}
END_TEST

START_TEST(letters_are_options_too)
{
	struct options options;
	char error[OPTIONS_ERROR_BYTES];
	ck_assert_int_eq(parse(&options, "-h", error), 0);
	ck_assert(options.help && !options.version && !options.has_top && !options.has_span);
	ck_assert_int_eq(parse(&options, "-V", error), 0);
	ck_assert(options.version && !options.help);
	ck_assert_int_eq(parse(&options, "-o out --from 0 a", error), 0);
	ck_assert_str_eq(options.output, "out");
	ck_assert(options.has_span);
}
END_TEST

START_TEST(questions_add_up)
{
	struct options options;
	char error[OPTIONS_ERROR_BYTES];
	ck_assert_int_eq(parse(&options, "--what-if a*0 b --what-if=c*0.5,d*2", error), 0);
	ck_assert_uint_eq(options.what_ifs.count, 2);
	ck_assert_str_eq(options.what_ifs.texts[0], "a*0");
	ck_assert_str_eq(options.what_ifs.texts[1], "c*0.5,d*2");
	ck_assert_int_eq(parse(&options, "a", error), 0);
	ck_assert_uint_eq(options.what_ifs.count, 0);
	ck_assert_int_eq(parse(&options, "--what-if= a", error), -EINVAL);
}
END_TEST

static const struct {
	const char *line;
	const char *said; /* part of the error */
} wrong[] = {
	/*  0 */ { "", "no dump given" },
	/*  1 */ { "--nonsense a", "--nonsense is not an option" },
	/*  2 */ { "a --top", "needs a value" },
	/*  3 */ { "a --top x", "--top: \"x\"" },
	/*  4 */ { "a --top -1", "--top: \"-1\"" },
	/*  5 */ { "a --top 99999999999999999999999", "--top" },
	/*  6 */ { "a --factors 0,,1", "--factors" },
	/*  7 */ { "a --factors 0,-1", "--factors" },
	/*  8 */ { "a --factors nan", "--factors" },
	/*  9 */ { "a --factors 0,1,", "--factors" },
	/* 10 */ { "a --min-self 1parsec", "--min-self" },
	/* 11 */ { "a --min-self -1ms", "--min-self" },
	/* 12 */ { "a --min-self ms", "--min-self" },
	/* 13 */ { "a --color maybe", "--color" },
	/* 14 */ { "a --from 2s --to 1s", "--from" },
	/* 15 */ { "a -x", "is not an option" },
	/* 16 */ { "a --dead-air-min inf", "--dead-air-min" },
	/* 17 */ { "a --cpus 0", "--cpus" },
	/* 18 */ { "a --cpus two", "--cpus" },
	/* 19 */ { "a --model guess", "--model" },
	/* 20 */ { "a --root here", "--root" },
	/* 21 */ { "a --html p --folded wait", "--folded and --html exclude each other" },
	/* 22 */
	{ "a --export svg -o d --folded wait", "--folded and --export exclude each other" },
	/* 23 */ { "a --symbolize s --export svg -o d", "--symbolize and --export exclude" },
	/* 24 */ { "a --explain --slow-rules x", "--explain and --slow-rules exclude" },
	/* 25 */ { "a --explain --folded wall --html p", "--explain and --html exclude" },
	/* 26 */ { "a --html - --export folded -o -", "both \"-\"" },
	/* 27 */ { "a -o", "-o needs a value" },
};

START_TEST(a_page_and_an_export_go_together)
{
	struct options options;
	char error[OPTIONS_ERROR_BYTES];
	ck_assert_int_eq(parse(&options, "a --html p --export svg -o d --json", error), 0);
	ck_assert_int_eq(parse(&options, "a --explain=main", error), 0);
	ck_assert_int_eq(parse(&options, "--html p --folded wait --help", error), 0);
}
END_TEST

START_TEST(wrong_options_are_refused_with_a_hint)
{
	struct options options;
	char error[OPTIONS_ERROR_BYTES];
	ck_assert_int_eq(parse(&options, wrong[_i].line, error), -EINVAL);
	ck_assert_msg(strstr(error, wrong[_i].said) != NULL, "\"%s\" is not in \"%s\"",
		      wrong[_i].said, error);
}
END_TEST

static const struct {
	const char *text;
	uint64_t ns;
} durations[] = {
	/* 0 */ { "0", 0 },
	/* 1 */ { "15", 15 },
	/* 2 */ { "15ns", 15 },
	/* 3 */ { "50us", 50000 },
	/* 4 */ { "1.5ms", 1500000 },
	/* 5 */ { "2s", 2000000000 },
	/* 6 */ { "1m", 60000000000 },
	/* 7 */ { ".5h", 1800000000000 },
};

START_TEST(durations_have_units)
{
	uint64_t ns;
	ck_assert_int_eq(options_parse_duration(durations[_i].text, &ns), 0);
	ck_assert_uint_eq(ns, durations[_i].ns);
}
END_TEST

START_TEST(help_names_every_option)
{
	static const char *const names[] = {
#define OPTION(type, field, name, argument, standard, help) "--" name,
#include "base/options.def"
	};
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);
	options_print_help(file);
	fclose(file);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ck_assert_msg(strstr(text, names[i]) != NULL, "%s", names[i]);
	free(text);
}
END_TEST

SUITE()
{
	TEST(defaults_are_those_of_the_table);
	TEST(an_optional_argument_may_be_left_out);
	TEST(options_may_stand_anywhere);
	TEST(letters_are_options_too);
	TEST(questions_add_up);
	TEST(a_page_and_an_export_go_together);
	EACH(wrong_options_are_refused_with_a_hint, wrong);
	EACH(durations_have_units, durations);
	TEST(help_names_every_option);
}

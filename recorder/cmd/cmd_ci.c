/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof ci: the command line of `ci run` and `ci check`; ci.h says how the rest goes.
 *
 * Exit status: 0 passed, 1 worse, 2 cannot tell, which all that went wrong is, too.
 */
#include "cmd.h"

#include <ctype.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ci.h"

static const double FAIL_OVER_USUAL = 0.05;

enum type { TEXT, TEXTS, FLAG };

static const struct row {
	enum type type;
	const char *commands;
	char letter;
	size_t offset; /* of its field */
	const char *name;
	const char *argument;
	const char *help;
} rows[] = {
#define CI_OPTION(type, commands, letter, field, name, argument, help) \
	{ type, commands, letter, offsetof(struct ci_options, field), name, argument, help },
#include "ci_options.def"
};

/* Not called: two options of one letter are two equal cases, which no compiler takes. */
static inline __attribute__((unused)) void letters_differ(char option)
{
	switch (option) {
#define CI_OPTION(type, commands, letter, field, name, argument, help) case letter:
#include "ci_options.def"
		break;
	}
}

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* --- Help ------------------------------------------------------------------------------------- */

static void print_options(char of)
{
	for (size_t i = 0; i < ROWS; i++) {
		char name[40];

		if (!strchr(rows[i].commands, of))
			continue;
		snprintf(name, sizeof(name), "-%c, --%s %s", rows[i].letter, rows[i].name,
			 rows[i].argument);
		if (isdigit(rows[i].letter))
			memcpy(name, "   ", 3);
		printf("  %-22s %s\n", name, rows[i].help);
	}
}

static int print_help(void)
{
	puts("usage: wcprof ci run -o DIR --base CMD --new CMD [options]\n"
	     "       wcprof ci check DIR [options]\n\n"
	     "Runs two builds of a program by turns and records each run, or judges such\n"
	     "recordings: whether the new build takes more CPU time, or calls and locks more\n"
	     "often, for each request (or run). Time is reported beside that.\n\n"
	     "wcprof ci run:");
	print_options('r');
	puts("\nwcprof ci check:");
	print_options('c');
	puts("\nCMD is run by /bin/sh if it is more than words. count:NAME is the number of a\n"
	     "call, as count:fsync, a lock or a class; count:lock is that of all locks.\n"
	     "makespan is the time of the run, p50 and p99 are of requests.\n\n"
	     "Exit status: 0 passed, 1 the new build is worse, 2 cannot tell.");
	return CI_PASSED;
}

/* --- Parsing ---------------------------------------------------------------------------------- */

static void set(struct ci_options *options, const struct row *row, const char *argument)
{
	void *field = (char *)options + row->offset;
	struct ci_texts *texts = field;

	switch (row->type) {
	case TEXT:
		*(const char **)field = argument;
		break;
	case TEXTS:
		if (texts->count < CI_TEXTS_MAX)
			texts->texts[texts->count++] = argument;
		break;
	case FLAG:
		*(bool *)field = true;
		break;
	}
}

static const struct row *row_of(int letter)
{
	size_t i = 0;

	while (rows[i].letter != letter)
		i++;
	return &rows[i];
}

/* False: wrong usage, complained of. `of`: the command's letter in the table. */
static bool parse(struct ci_options *options, char of, int argc, char **argv)
{
	struct option table[ROWS + 1] = { 0 };
	char letters[2 * ROWS + 1] = "";
	size_t count = 0, used = 0;

	for (size_t i = 0; i < ROWS; i++) {
		if (!strchr(rows[i].commands, of))
			continue;
		table[count++] =
			(struct option){ rows[i].name, rows[i].type != FLAG, NULL, rows[i].letter };
		if (isdigit(rows[i].letter))
			continue;
		letters[used++] = rows[i].letter;
		if (rows[i].type != FLAG)
			letters[used++] = ':';
	}
	opterr = 0;
	for (int found; (found = getopt_long(argc, argv, letters, table, NULL)) != -1;) {
		if (found == '?') {
			cmd_fail("ci %s does not take %s like that (wcprof help ci)", argv[0],
				 argv[optind - 1]);
			return false;
		}
		set(options, row_of(found), optarg);
	}
	return true;
}

static enum ci_verdict refuse(const char *option, const char *text, const char *advice)
{
	cmd_fail("--%s: \"%.60s\"; give %s", option, text, advice);
	return CI_CANNOT_TELL;
}

/* "5%", or 5. */
static bool take_percent(const char *text, double *share)
{
	char *end;

	*share = strtod(text, &end) / 100;
	return end != text && (!*end || strcmp(end, "%") == 0) && *share >= 0 && *share <= 10;
}

static bool take_time(const char *text, double *ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	char *end;

	*ns = strtod(text, &end);
	if (end == text || !(*ns >= 0) || isinf(*ns))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].unit) != 0)
			continue;
		*ns *= units[i].ns;
		return true;
	}
	return false;
}

static enum ci_verdict check_metrics(const struct ci_texts *metrics)
{
	struct ci_figure figure;

	for (size_t i = 0; i < metrics->count; i++) {
		if (!ci_figure_parse(metrics->texts[i], &figure))
			return refuse("metric", metrics->texts[i],
				      "cpu, count:NAME, makespan, p50 or p99");
		free(figure.name);
	}
	return CI_PASSED;
}

/* --- The commands ----------------------------------------------------------------------------- */

static enum ci_verdict run(struct ci_plan *plan)
{
	const struct ci_options *options = &plan->options;
	const char *pairs = options->pairs ? options->pairs : "10";
	char *end;

	if (!options->output || !options->base || !options->new || !options->base[0] ||
	    !options->new[0]) {
		cmd_fail("usage: wcprof ci run -o DIR --base CMD --new CMD [options] (wcprof help "
			 "ci)");
		return CI_CANNOT_TELL;
	}
	plan->pairs = strtoul(pairs, &end, 10);
	if (!isdigit(pairs[0]) || *end || plan->pairs < SIGNED_RANK_PAIRS_LEAST ||
	    plan->pairs > CI_PAIRS_MAX)
		return refuse("pairs", pairs, "a number from 5 to 100");
	plan->commands[CI_BASE] = strdup(options->base);
	plan->commands[CI_NEW] = strdup(options->new);
	if (!plan->commands[CI_BASE] || !plan->commands[CI_NEW]) {
		cmd_fail("no memory");
		return CI_CANNOT_TELL;
	}
	return ci_run(plan);
}

static enum ci_verdict check(struct ci_plan *plan)
{
	const struct ci_options *options = &plan->options;

	plan->fail_over = FAIL_OVER_USUAL;
	if (options->fail_over && !take_percent(options->fail_over, &plan->fail_over))
		return refuse("fail-over", options->fail_over, "a percentage from 0% to 1000%");
	if (options->min_effect && !take_time(options->min_effect, &plan->min_effect_ns))
		return refuse("min-effect", options->min_effect, "a time, as 1ms or 50us");
	if (check_metrics(&options->metrics) != CI_PASSED)
		return CI_CANNOT_TELL;
	if (options->json && options->markdown) {
		cmd_fail("--json and --markdown exclude each other; give one of them");
		return CI_CANNOT_TELL;
	}
	return ci_check(plan);
}

static int dispatch(struct ci_plan *plan, int argc, char **argv)
{
	bool is_check = strcmp(argv[0], "check") == 0;

	if (!is_check && strcmp(argv[0], "run") != 0) {
		cmd_fail("ci %.40s is none of ci run, ci check (wcprof help ci)", argv[0]);
		return CI_CANNOT_TELL;
	}
	if (!parse(&plan->options, is_check ? 'c' : 'r', argc, argv))
		return CI_CANNOT_TELL;
	if (plan->options.help)
		return print_help();
	if (argc - optind != is_check) {
		cmd_fail("usage: wcprof ci %s (wcprof help ci)",
			 is_check ? "check DIR [options]"
				  : "run -o DIR --base CMD --new CMD [options]");
		return CI_CANNOT_TELL;
	}
	plan->options.directory = is_check ? argv[optind] : NULL;
	return is_check ? check(plan) : run(plan);
}

int cmd_ci(struct cmd_options *options)
{
	char **words = options->arguments;
	struct ci_plan *plan;
	int status;

	if (options->argument_count == 0) {
		cmd_fail("say ci run or ci check (wcprof help ci)");
		return CI_CANNOT_TELL;
	}
	if (strcmp(words[0], "--help") == 0 || strcmp(words[0], "-h") == 0)
		return print_help();
	plan = calloc(1, sizeof(*plan));
	if (!plan) {
		cmd_fail("no memory");
		return CI_CANNOT_TELL;
	}
	status = dispatch(plan, options->argument_count, words);
	ci_plan_free(plan);
	free(plan);
	return status;
}

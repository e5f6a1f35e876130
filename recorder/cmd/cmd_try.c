/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof try: makes classes of the report slower for real. The effect on the whole is compared with
 * the replay's prediction for the same factor.
 *
 * Here is the command line; try.h says how the rest goes. An interrupt ends the measuring, and what
 * there is by then is printed.
 */
#include "cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "try.h"
#include "try_print.h"
#include "try_runs.h"
#include "try_windows.h"

enum {
	TOP_USUAL = 10,
	PAIRS_USUAL = 10,
	PAIRS_MAX = 1000,
	WINDOW_MS_USUAL = 2000,
	WINDOW_MS_LEAST = 50,
	WINDOW_MS_MAX = 50000,
	FOR_SECONDS_USUAL = 60,
	FOR_SECONDS_MAX = 2400
};

static const double FACTOR_USUAL = 1.5, FACTOR_MAX = 10;
static const uint64_t SEED_MAX = (UINT64_C(1) << 53) - 1; /* JSON holds no more */

/* --- The command line ------------------------------------------------------------------------- */

static int refuse(const char *option, const char *text, const char *advice)
{
	cmd_fail("--%s: \"%.60s\"; give %s", option, text, advice);
	return CMD_USAGE;
}

/* A number within bounds, or the usual one if none is given. */
static int take_number(const char *option, const char *text, uint64_t usual, uint64_t least,
		       uint64_t most, uint64_t *number)
{
	char advice[80], *end;

	*number = usual;
	if (!text)
		return CMD_DONE;
	errno = 0;
	*number = strtoull(text, &end, 10);
	if (text[0] >= '0' && text[0] <= '9' && !*end && !errno && *number >= least &&
	    *number <= most)
		return CMD_DONE;
	snprintf(advice, sizeof(advice), "a number from %llu to %llu", (unsigned long long)least,
		 (unsigned long long)most);
	return refuse(option, text, advice);
}

static bool factor_is(const char *text, double *factor)
{
	char *end;

	if (!strchr("0123456789.", text[0]) || !text[0])
		return false;
	*factor = strtod(text, &end);
	return !*end && *factor >= 1 && *factor <= FACTOR_MAX;
}

/* "CLASS*F", or just CLASS: names may have asterisks, too. */
static int add_row(struct try_plan *plan, const char *text)
{
	struct try_row *row = &plan->rows[plan->row_count++];
	const char *star = strrchr(text, '*');
	size_t length = strlen(text);

	row->factor = plan->factor;
	if (star && star[1] && strspn(star + 1, "0123456789.") == strlen(star + 1)) {
		if (!factor_is(star + 1, &row->factor))
			return refuse("slow", text, "a factor from 1 to 10");
		length = (size_t)(star - text);
	}
	while (length > 0 && text[length - 1] == ' ')
		length--;
	if (length == 0)
		return refuse("slow", text, "a class of the report, as 'CLASS*1.5'");
	row->name = strndup(text, length);
	row->query = strndup(text, length);
	if (asprintf(&row->what_if, "%.*s*%g", (int)length, text, row->factor) < 0)
		row->what_if = NULL;
	return row->name && row->query && row->what_if ? CMD_DONE : cmd_fail("out of memory");
}

static int take_rows(struct try_plan *plan)
{
	const struct cmd_options *options = plan->options;
	uint64_t top;
	int status = take_number("top", options->top, TOP_USUAL, 1, CMD_SLOW_MAX, &top);

	plan->factor = FACTOR_USUAL;
	if (status == CMD_DONE && options->factor && !factor_is(options->factor, &plan->factor))
		status = refuse("factor", options->factor, "a factor from 1 to 10");
	for (size_t i = 0; status == CMD_DONE && i < options->slow_count; i++)
		status = add_row(plan, options->slow[i]);
	plan->top = options->all ? (size_t)top : 0;
	/* Functions are seen by samples alone. */
	plan->takes_samples = options->all;
	for (size_t i = 0; status == CMD_DONE && i < plan->row_count; i++)
		if (strncmp(plan->rows[i].name, "func ", 5) == 0)
			plan->takes_samples = true;
	if (status == CMD_DONE && plan->row_count == 0 && plan->top == 0) {
		cmd_fail("say what to slow: --slow 'CLASS*1.5', a class of the report, or --all");
		status = CMD_USAGE;
	}
	return status;
}

static uint64_t usual_seed(void)
{
	uint64_t state = try_now_ns() ^ (uint64_t)getpid() << 32;

	return try_random(&state) & SEED_MAX;
}

static int take_options(struct try_plan *plan)
{
	const struct cmd_options *options = plan->options;
	uint64_t pairs, seconds;
	int status = take_rows(plan);

	if (status == CMD_DONE)
		status = take_number("pairs", options->pairs, PAIRS_USUAL, 1, PAIRS_MAX, &pairs);
	if (status == CMD_DONE)
		status = take_number("window", options->window, WINDOW_MS_USUAL, WINDOW_MS_LEAST,
				     WINDOW_MS_MAX, &plan->window_ms);
	if (status == CMD_DONE)
		status = take_number("for", options->seconds, FOR_SECONDS_USUAL, 1, FOR_SECONDS_MAX,
				     &seconds);
	if (status == CMD_DONE)
		status = take_number("seed", options->seed, usual_seed(), 0, SEED_MAX, &plan->seed);
	if (status != CMD_DONE)
		return status;
	plan->pairs = (size_t)pairs;
	plan->for_ms = seconds * 1000;
	plan->has_window = options->window != NULL;
	plan->has_for = options->seconds != NULL;
	plan->are_runs = options->is_program;
	if (!plan->are_runs && options->argument_count != 1) {
		cmd_fail("usage: wcprof try [options] PROCESS, or wcprof try [options] -- PROG "
			 "[ARG...] (wcprof help try)");
		return CMD_USAGE;
	}
	return CMD_DONE;
}

/* --- The whole -------------------------------------------------------------------------------- */

/* The second one ends us. */
static void interrupted(int number)
{
	try_is_interrupted = 1;
	signal(number, SIG_DFL);
}

static void take_interrupts(void)
{
	static const int numbers[] = { SIGINT, SIGTERM };
	const struct sigaction action = { .sa_handler = interrupted };
	struct sigaction before;

	/* A program that we run is to ignore what we were told to ignore. */
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
}

static int run(struct try_plan *plan)
{
	int status;

	if (!mkdtemp(plan->directory))
		return cmd_fail("%s: %s", plan->directory, strerror(errno));
	take_interrupts();
	status = plan->are_runs ? try_runs(plan) : try_windows(plan);
	cmd_remove_directory(plan->directory);
	return status == CMD_DONE ? try_print(plan) : status;
}

int cmd_try(struct cmd_options *options)
{
	struct try_plan *plan = calloc(1, sizeof(*plan));
	int status;

	if (!plan)
		return cmd_fail("out of memory");
	plan->options = options;
	snprintf(plan->directory, sizeof(plan->directory), "/tmp/wcprof-try.XXXXXX");
	status = take_options(plan);
	if (status == CMD_DONE)
		status = run(plan);
	try_plan_free(plan);
	free(plan);
	return status;
}

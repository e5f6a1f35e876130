/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trial of wcprof try: classes that are made slower for real, what that did, and what was
 * predicted.
 *
 * The command line fills in what is asked for; the analysis of a first recording adds the rules
 * (try_analysis.c). Windows of a running process or runs of a program add measurements
 * (try_windows.c, try_runs.c), and analyses of undisturbed recordings add predictions. Then it is
 * printed (try_print.c). One thread.
 */
#ifndef WCPROF_TRY_H
#define WCPROF_TRY_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd.h"
#include "try_interval.h"

enum {
	TRY_ROWS_MAX = 64,
	TRY_PREDICTIONS_MAX = 6, /* the first recording's, and of some undisturbed ones later */
	TRY_WORD_BYTES = 24,
	TRY_REASON_BYTES = 256,
	TRY_KEY_BYTES = 56 /* of a key in hexadecimal, or of a range of code, with its NUL */
};

/* Stacks whose ops are slowed, or counted, in one way. */
struct try_rule {
	char word[TRY_WORD_BYTES];
	char (*keys)[TRY_KEY_BYTES];
	size_t key_count;
};

enum { TRY_RULES_MAX = 4 };

/* One class. */
struct try_row {
	char *name;    /* as it was asked for, or as the report has it */
	char *query;   /* its name to the analyzer, with its kind where that may be needed */
	char *what_if; /* the question to the replay */
	char kind[TRY_WORD_BYTES];
	double factor;
	char why_not[TRY_REASON_BYTES]; /* empty: it can be slowed */
	double covered_percent;         /* of the class's time, by the rules */
	double purity_percent;          /* of the ops that the rules reach, the class's own */
	struct try_rule rules[TRY_RULES_MAX];
	size_t rule_count;

	double *log_ratios; /* of times for the same work, by pair: slower to undisturbed */
	size_t pair_count;
	size_t idle_pairs; /* not among them: a window had no progress, as strong effects have it */
	size_t late_pairs; /* nor these: a window was over before it was looked at */
	uint64_t slowed;   /* ops, in all slower windows or runs */
	uint64_t extra_ns;
	uint64_t refused;

	struct try_interval predictions[TRY_PREDICTIONS_MAX];
	size_t prediction_count;
	char withheld[TRY_REASON_BYTES]; /* why there is none, as the analysis says */
};

/* A way to count what was done. */
struct try_progress {
	char *name;
	char kind[TRY_WORD_BYTES];
	char source[TRY_WORD_BYTES];
	uint64_t ops; /* in the first recording */
	struct try_rule rule;
};

enum { TRY_PROGRESS_MAX = 8 };

struct try_plan {
	const struct cmd_options *options;
	struct try_row rows[TRY_ROWS_MAX];
	size_t row_count;
	size_t top;    /* number of classes of the report's top; 0 = those that were named */
	double factor; /* where none is said */
	size_t pairs;
	uint64_t window_ms;
	uint64_t for_ms;
	uint64_t seed; /* as it was at first */
	bool has_window;
	bool has_for;
	struct try_progress progress[TRY_PROGRESS_MAX]; /* the first one is counted */
	size_t progress_count;
	double progress_per_second; /* undisturbed */
	char program[64];
	size_t processes;   /* that took part */
	bool takes_samples; /* CPU time is slowed where samples are taken */
	bool are_runs;
	double run_seconds; /* of an undisturbed run */
	double took_seconds;
	char directory[64]; /* of dumps, removed at the end */
};

/* Set by SIGINT and SIGTERM: what there is gets printed. */
extern volatile sig_atomic_t try_is_interrupted;

/* The next number of a sequence that the seed begins. */
uint64_t try_random(uint64_t *state);

/* The row's intervals: what was made, and what was predicted. False: there is none. */
bool try_made(const struct try_row *row, struct try_interval *made);
bool try_predicted(const struct try_row *row, struct try_interval *predicted);
/* Rows that can be slowed. */
/* Whether some rule is for CPU time. */
bool try_slows_cpu(const struct try_plan *plan);
/* How often samples are taken then, a second. */
#define TRY_SAMPLE_HZ "199"
/* For the measurements of all pairs. False: no memory. */
bool try_make_room(struct try_plan *plan);
size_t try_count_slowable(const struct try_plan *plan);
/* CMD_FAILED, and complained of: there is none. */
int try_check_rows(const struct try_plan *plan);

uint64_t try_now_ns(void);
/* A line for each pair: standard error is a terminal. */
bool try_shows_progress(void);

void try_plan_free(struct try_plan *plan);

#endif

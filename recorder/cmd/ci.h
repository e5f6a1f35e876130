/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof ci: recordings of two builds that took turns, and whether the new one is worse.
 *
 * `ci run` fills a directory (ci_run.c). `ci check` has wcprof-analyze say what each recording
 * costs (ci_read.c). It judges gates by pairs of runs (ci_gates.c) and limits of a budget
 * (ci_budget.c). Then it prints (ci_print.c, ci_json.c). One thread.
 *
 * In the directory are base/N.jsonl and new/N.jsonl, N from 1: pair N, two runs after each other.
 * `base.command`, `new.command` and `pairs` say how to make more of them. A round has so many
 * pairs; the second one confirms what the first one found.
 */
#ifndef WCPROF_CI_H
#define WCPROF_CI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "signedrank.h"

enum { CI_BASE, CI_NEW, CI_SIDES };
enum {
	CI_PAIRS_USUAL = 10,
	CI_PAIRS_MAX = SIGNED_RANK_PAIRS_MAX / 2, /* of a round */
	CI_ROUNDS = 2,
	CI_TEXTS_MAX = 32,
	CI_PATH_BYTES = 4096,
	CI_WHY_BYTES = 400
};

/* Exit statuses of both, and verdicts. */
enum ci_verdict { CI_PASSED = 0, CI_WORSE = 1, CI_CANNOT_TELL = 2 };

struct ci_texts {
	const char *texts[CI_TEXTS_MAX];
	size_t count;
};

/* A text that was not given is NULL. */
struct ci_options {
	const char *directory; /* of ci check */
#define CI_FIELD_TEXT(field)                                           const char *field;
#define CI_FIELD_TEXTS(field)                                          struct ci_texts field;
#define CI_FIELD_FLAG(field)                                           bool field;
#define CI_OPTION(type, commands, letter, field, name, argument, help) CI_FIELD_##type(field)
#include "ci_options.def"
};

/* --- What runs cost --- */

struct ci_class {
	char *name;
	char kind[24]; /* "io", "hold", "mutex" ... */
	bool is_wait;  /* for another thread, at what `name` says; it may be a call all the same */
	double count;
	double time_ns, blocked_ns, cpu_ns, queued_ns;
};

/* A recording. Of what cannot be known the figure is NAN. */
struct ci_run {
	double units; /* requests, or 1 */
	double dropped;
	double cpu_ns, makespan_ns, p50_ns, p99_ns;
	struct ci_class *classes;
	size_t class_count;
};

struct ci_runs {
	bool are_requests; /* the unit, of all runs of both sides */
	char *request;     /* the class that they begin with */
	size_t pairs;
	struct ci_run *runs[CI_SIDES]; /* `pairs` of each */
};

/* --- What is asked of them --- */

enum ci_what { CI_CPU, CI_COUNT, CI_WAIT, CI_TIME, CI_MAKESPAN, CI_P50, CI_P99 };

/* A unit is a request where there are requests, else the run. */
enum ci_per { CI_PER_UNIT, CI_PER_REQUEST, CI_PER_RUN };

/* A figure of a run. */
struct ci_figure {
	enum ci_what what;
	enum ci_per per;
	char *name; /* of a call, lock or class; NULL = the whole run */
};

enum ci_state {
	CI_GATE_PASSED,
	CI_GATE_FAILED,
	CI_GATE_UNTOLD,
	CI_GATE_NOISY, /* untold, and nobody asked for it by name */
	CI_GATE_SHOWN  /* reported, and no gate */
};

struct ci_gate {
	struct ci_figure figure;
	bool is_asked; /* by --metric */
	bool is_gate;
	enum ci_state state;
	double base; /* medians of the runs that were judged */
	double new;
	struct signed_rank test; /* of the differences for one unit */
	bool wants_more;         /* a second round may have another outcome */
	bool is_confirmed;       /* failed in both rounds */
	char why[CI_WHY_BYTES];  /* why it failed, or cannot be told */
};

/* A line of the budget. */
struct ci_limit {
	struct ci_figure figure;
	char *text; /* as it is written */
	size_t line;
	bool is_less;   /* the figure is to be less than the value, or more */
	bool may_equal; /* or equal to it */
	bool is_optional;
	double value; /* count, or ns */
	enum ci_state state;
	double median, least, most; /* of the new build's runs */
	char why[CI_WHY_BYTES];
};

struct ci_plan {
	struct ci_options options;
	bool has_commands;        /* and `pairs` */
	char *commands[CI_SIDES]; /* NULL: not known */
	size_t pairs;             /* of a round; 0: not known */
	double fail_over;         /* 0.05 = 5% */
	double min_effect_ns;
	struct ci_runs runs;
	struct ci_gate *gates;
	size_t gate_count;
	const char *budget; /* the file, NULL = none */
	struct ci_limit *limits;
	size_t limit_count;
	size_t rounds; /* that were judged */
	enum ci_verdict verdict;
	char why[CI_WHY_BYTES];  /* why nothing can be told at all; empty = it can */
	char note[CI_WHY_BYTES]; /* why there was no second round; empty = it was, or need not be */
};

/* Runs what is missing up to so many pairs: CI_PASSED, or CI_CANNOT_TELL when it was complained
 * of. */
enum ci_verdict ci_run_pairs(const struct ci_plan *plan, const char *directory, size_t pairs);
/* The same from the command line, with the directory. */
enum ci_verdict ci_run(struct ci_plan *plan);
enum ci_verdict ci_check(struct ci_plan *plan);

/* Reads the commands and the pairs of a round. False: the directory does not have them. */
bool ci_stored(struct ci_plan *plan, const char *directory);
/* How many pairs are there, from 1 on without a gap. */
size_t ci_stored_pairs(const char *directory);
void ci_pair_path(const char *directory, int side, size_t pair, char path[CI_PATH_BYTES]);

/* Of pairs from 1 to `pairs`. False: `why` of the plan says why. */
bool ci_read(struct ci_plan *plan, const char *directory, size_t pairs);
/* The answer of wcprof-analyze --diff; the caller frees it. NULL: there is none. */
char *ci_changes(const char *directory, bool is_json);
void ci_runs_free(struct ci_runs *runs);

/* "cpu", "count:fsync", "p99" ... False: it is none. The caller frees the name. */
bool ci_figure_parse(const char *text, struct ci_figure *figure);
/* NAN = cannot be known. */
double ci_figure_of(const struct ci_figure *figure, const struct ci_run *run);
/* Whether some run has a class of that name; true without a name. */
bool ci_figure_is_seen(const struct ci_figure *figure, const struct ci_runs *runs);
/* A call, lock or op of the program's, whose number is gated unless others are asked for. */
bool ci_class_is_counted(const struct ci_class *class);
/* Of so many values, which are reordered. */
double ci_median(double *values, size_t count);
bool ci_figure_is_time(const struct ci_figure *figure);
/* "CPU time per request", "fsync calls per request" ... */
void ci_figure_words(const struct ci_figure *figure, bool are_requests, char to[128]);
/* "fsync" of "serve/fsync". */
const char *ci_call_name(const char *class_name);

/* Fills in the gates that are asked for, and those that are only shown. False: no memory, or a
 * metric is none, which is complained of. */
bool ci_gates_choose(struct ci_plan *plan);
/* By a round of `count` pairs, the first one (0) or the second one. The second one is for gates
 * that have failed, or could not be told. False: no memory. */
bool ci_gates_judge(struct ci_plan *plan, size_t round, size_t count);
/* How many are in that state. */
size_t ci_gates_count(const struct ci_plan *plan, enum ci_state state);
/* Whether a second round may have another outcome. */
bool ci_gates_want_more(const struct ci_plan *plan);

/* Reads the file. False: it cannot be read, or a line is wrong, which is complained of. */
bool ci_budget_read(struct ci_plan *plan, const char *path);
void ci_budget_judge(struct ci_plan *plan);

/* "1.23 ms", "0.50", with a sign if wanted. */
const char *ci_value(char to[40], double value, bool is_time, bool has_sign);
const char *ci_state_word(enum ci_state state);
const char *ci_verdict_word(enum ci_verdict verdict);
/* By how much of the base the gate is higher; INFINITY: the base has none. */
double ci_gate_share(const struct ci_gate *gate, double change);
void ci_print_text(const struct ci_plan *plan, const char *changes);
void ci_print_markdown(const struct ci_plan *plan, const char *changes);
void ci_print_json(const struct ci_plan *plan, const char *changes);
/* False: it could not be written. */
bool ci_write_junit(const struct ci_plan *plan, FILE *file);

void ci_plan_free(struct ci_plan *plan);

#endif

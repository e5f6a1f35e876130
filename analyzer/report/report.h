/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report is one function from the analysis to an emit. Here is also the wording that several of
 * them share.
 *
 * One thread; an analysis is only read.
 */
#ifndef WCPROF_REPORT_H
#define WCPROF_REPORT_H

#include "base/emit.h"
#include "facts.h"
#include "verdict.h"

#define REPORT(name, question) \
	void report_##name(const struct analysis *analysis, struct emit *emit);
#include "reports.def"

static const double HALF = 0.5;

/* The factor that sentences speak of: a half when that was tried, else the smallest. */
size_t report_sentence_factor(const struct factor_list *list);

/* "half as long". */
enum { REPORT_TIMES_BYTES = 32 };
void report_times(char words[REPORT_TIMES_BYTES], double factor);

/* "`NAME` (lock) were held half as long", at one of the factors; allocated. */
char *report_change(const struct analysis *analysis, uint32_t class, size_t factor);

/* The meaning of a counter of the recorder; NULL: it is none of its counters. */
const char *report_counter_meaning(const char *counter);

/* The counter is of events that were lost, not left out. */
bool report_counter_is_loss(const char *counter);

/* The counter is of calls or programs that could not be seen: a question of its own. */
bool report_counter_is_unseen(const char *counter);

/*
 * Functions that take the same time as another row have the same answers. In text one row stands
 * for all of them. These tell whether another row stands for this one, and how many functions this
 * one stands for. Functions that its name has do not count; `function` becomes the first other
 * one's name, NULL = there is none.
 */
bool report_is_repeated(const struct analysis *analysis, size_t row);
size_t report_repeated(const struct analysis *analysis, size_t row, const char **function);

/* "parse = read_all +3"; returns `text`. */
const char *report_name_of_repeated(const struct analysis *analysis, size_t row, char *text,
				    size_t text_bytes);

struct value_row;
struct value_range;
/* As a cell: "12 (3..900)", or "\"GET\" (17 of 20)". */
void report_value_range(const struct analysis *analysis, struct emit *emit,
			const struct value_row *row, const struct value_range *range);
/* In place of a table of answers that would mislead: why, and what to do. */
void report_withheld(const struct analysis *analysis, struct emit *emit);

/* Under a table of answers: where a row of the what-if table gains no more, and why. */
void report_next_limit(const struct analysis *analysis, size_t row, struct emit *emit);

/* Under a table of classes: probed functions some of whose calls are not in it. */
void report_left_out(const struct analysis *analysis, struct emit *emit);

/* Under a table of answers: the part of the run that none of them can touch. */
void report_pinned(const struct analysis *analysis, struct emit *emit);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints a trial. Percents are "longer by": of the time for the same work, or of a run.
 *
 * All names come from others, and go through visible.h.
 */
#include "try_print.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "visible.h"

enum { CELL_BYTES = 96, COLUMNS = 6, NAME_COLUMNS_MAX = 48 };

/* Below it, rules reach too little, or too much else, to speak of the class. */
static const double MOST_PERCENT = 80;

/* In points. Nobody makes anything of a smaller difference, and 1 in 20 intervals is too small. */
static const double MEET_APART = 1;

/* Of the largest effect that there can be. An interval that reaches further from its middle meets
 * any prediction. */
static const double TELLS_WITHIN = 0.2;

enum verdict {
	AGREES,
	DISAGREES,
	NO_PREDICTION,
	TOO_FEW,
	TOO_NOISY,
	TOO_WIDE, /* the prediction */
	WAS_NOT_SLOWED,
	CANNOT_BE_SLOWED
};

static bool is_noisy(const struct try_row *row, const struct try_interval *interval)
{
	return (interval->high - interval->low) / 2 > TELLS_WITHIN * 100 * (row->factor - 1);
}

static enum verdict verdict_of(const struct try_row *row)
{
	struct try_interval made, predicted;

	if (row->why_not[0])
		return CANNOT_BE_SLOWED;
	if (row->slowed == 0 && row->pair_count + row->idle_pairs > 0)
		return WAS_NOT_SLOWED;
	if (row->idle_pairs > 0 || !try_made(row, &made) || !made.has_bounds)
		return TOO_FEW;
	if (!try_predicted(row, &predicted))
		return NO_PREDICTION;
	if (!try_intervals_meet(&made, &predicted, MEET_APART))
		return DISAGREES;
	if (is_noisy(row, &made))
		return TOO_NOISY;
	return is_noisy(row, &predicted) ? TOO_WIDE : AGREES;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void put_interval(const char *name, bool has_value, const struct try_interval *interval)
{
	if (!has_value)
		printf(",\"%s_percent\":null,\"%s_low\":null,\"%s_high\":null", name, name, name);
	else if (!interval->has_bounds)
		printf(",\"%s_percent\":%.3f,\"%s_low\":null,\"%s_high\":null", name,
		       interval->value, name, name);
	else
		printf(",\"%s_percent\":%.3f,\"%s_low\":%.3f,\"%s_high\":%.3f", name,
		       interval->value, name, interval->low, name, interval->high);
}

static void put_text(const char *key, const char *text)
{
	printf(",\"%s\":%s", key, text && text[0] ? visible_json(text) : "null");
}

static void print_object(const struct try_plan *plan, const struct try_row *row)
{
	struct try_interval made = { 0 }, predicted = { 0 };
	enum verdict verdict = verdict_of(row);
	bool has_made = try_made(row, &made), has_predicted = try_predicted(row, &predicted);

	printf("{\"class\":%s", visible_json(row->name));
	put_text("kind", row->kind);
	printf(",\"factor\":%g", row->factor);
	put_interval("made", has_made, &made);
	put_interval("predicted", has_predicted, &predicted);
	printf(",\"agree\":%s,\"%s\":%zu",
	       verdict == AGREES      ? "true"
	       : verdict == DISAGREES ? "false"
				      : "null",
	       plan->are_runs ? "runs" : "windows", 2 * row->pair_count);
	put_text("withheld", has_predicted ? "" : row->withheld);
	put_text("cannot_be_slowed", row->why_not);
	printf(",\"slowed\":%" PRIu64 ",\"extra_ms\":%.3f,\"refused\":%" PRIu64, row->slowed,
	       (double)row->extra_ns / 1e6, row->refused);
	printf(",\"covered_percent\":%.2f,\"purity_percent\":%.2f", row->covered_percent,
	       row->purity_percent);
	if (plan->are_runs) {
		printf(",\"run_seconds\":%.6f", plan->run_seconds);
	} else {
		printf(",\"idle_pairs\":%zu,\"late_pairs\":%zu", row->idle_pairs, row->late_pairs);
		put_text("progress", plan->progress_count ? plan->progress[0].name : NULL);
		printf(",\"progress_per_second\":%.3f,\"window_ms\":%" PRIu64,
		       plan->progress_per_second, plan->window_ms);
	}
	printf(",\"seed\":%" PRIu64 "}\n", plan->seed);
}

/* --- The table -------------------------------------------------------------------------------- */

static const char *const heads[COLUMNS] = {
	"class", "kind", "factor", "longer by", "predicted", ""
};

struct cells {
	char text[COLUMNS][CELL_BYTES];
	const char *verdict; /* as long as it is */
};

static void format_interval(const struct try_interval *interval, char *to)
{
	if (interval->has_bounds)
		snprintf(to, CELL_BYTES, "%.1f%% (%.1f..%.1f)", interval->value, interval->low,
			 interval->high);
	else
		snprintf(to, CELL_BYTES, "%.1f%%", interval->value);
}

static void fill(const struct try_row *row, struct cells *cells)
{
	static const char *const verdicts[] = {
		[AGREES] = "agrees",
		[DISAGREES] = "disagrees: trust what was made",
		[NO_PREDICTION] = "no prediction: ",
		[TOO_FEW] = "too few pairs to say",
		[TOO_NOISY] = "too noisy to say",
		[TOO_WIDE] = "the prediction is too wide to say",
		[WAS_NOT_SLOWED] = "was not slowed",
		[CANNOT_BE_SLOWED] = "cannot be slowed: it ",
	};
	struct try_interval interval;
	enum verdict verdict = verdict_of(row);

	memset(cells, 0, sizeof(*cells));
	snprintf(cells->text[0], CELL_BYTES, "%.*s", NAME_COLUMNS_MAX, visible(row->name));
	snprintf(cells->text[1], CELL_BYTES, "%s", visible(row->kind));
	snprintf(cells->text[2], CELL_BYTES, verdict == CANNOT_BE_SLOWED ? "-" : "x%g",
		 row->factor);
	snprintf(cells->text[3], CELL_BYTES, "-");
	snprintf(cells->text[4], CELL_BYTES, "-");
	if (try_made(row, &interval))
		format_interval(&interval, cells->text[3]);
	if (verdict != CANNOT_BE_SLOWED && try_predicted(row, &interval))
		format_interval(&interval, cells->text[4]);
	snprintf(cells->text[5], CELL_BYTES, "%s", verdicts[verdict]);
	cells->verdict = verdict == CANNOT_BE_SLOWED ? row->why_not : "";
	if (verdict == NO_PREDICTION)
		cells->verdict = row->withheld[0] ? row->withheld : "nothing was analyzed";
}

static void widen(size_t widths[COLUMNS], const struct try_row *row)
{
	struct cells cells;

	fill(row, &cells);
	for (size_t i = 0; i < COLUMNS; i++)
		if (strlen(cells.text[i]) > widths[i])
			widths[i] = strlen(cells.text[i]);
}

static void print_row(const size_t widths[COLUMNS], const struct try_row *row)
{
	struct cells cells;

	fill(row, &cells);
	for (size_t i = 0; i + 1 < COLUMNS; i++)
		printf("%-*s  ", (int)widths[i], cells.text[i]);
	printf("%s%s\n", cells.text[COLUMNS - 1], visible(cells.verdict));
}

static void print_table(const struct try_plan *plan)
{
	size_t widths[COLUMNS];

	for (size_t i = 0; i < COLUMNS; i++)
		widths[i] = strlen(heads[i]);
	for (size_t i = 0; i < plan->row_count; i++)
		widen(widths, &plan->rows[i]);
	for (size_t i = 0; i + 1 < COLUMNS; i++)
		printf(i + 2 < COLUMNS ? "%-*s  " : "%-*s", (int)widths[i], heads[i]);
	putchar('\n');
	for (size_t i = 0; i < plan->row_count; i++)
		print_row(widths, &plan->rows[i]);
}

/* --- In words --------------------------------------------------------------------------------- */

static const char *source_words(const char *source)
{
	if (strcmp(source, "accepted") == 0)
		return "reads of connections that were accepted";
	if (strcmp(source, "request") == 0)
		return "the requests that the analysis sees";
	return strcmp(source, "asked") == 0 ? "as asked for" : "the most frequent calls";
}

static void print_method(const struct try_plan *plan)
{
	size_t pairs = 0;

	for (size_t i = 0; i < plan->row_count; i++)
		pairs += plan->rows[i].pair_count;
	if (plan->are_runs) {
		printf("%s ran %zu times in %.0f s, in pairs: once with the class slower, once "
		       "undisturbed (%.3f s).\n\n",
		       visible(plan->program), 2 * pairs, plan->took_seconds, plan->run_seconds);
		return;
	}
	printf("For %.0f s %s was slowed in windows of %.1f s, each beside an undisturbed one: %zu "
	       "pairs.\nProgress is `%s` (%s): %.1f a second undisturbed.\n\n",
	       plan->took_seconds, visible(plan->program), (double)plan->window_ms / 1e3, pairs,
	       visible(plan->progress[0].name), source_words(plan->progress[0].source),
	       plan->progress_per_second);
}

static void print_not_slowed(const struct try_plan *plan, const struct try_row *row)
{
	printf("`%s`: none of its ops was slowed in these %s, so they say nothing about it",
	       visible(row->name), plan->are_runs ? "runs" : "windows");
	if (row->refused > 0)
		printf("; %" PRIu64 " were to be", row->refused);
	puts(plan->are_runs ? "; the program may be too short, or confined." : ".");
}

/* Pairs that do not count. Those without progress may be the ones of the strongest effect. */
static void print_dropped(const struct try_row *row)
{
	if (row->idle_pairs > 0)
		printf("`%s`: no progress was counted in a window of %zu pairs, so the others say "
		       "too little; longer windows (-w) tell better.\n",
		       visible(row->name), row->idle_pairs);
	if (row->late_pairs > 0)
		printf("`%s`: %zu pairs do not count, as a window was over before its end was "
		       "looked at.\n",
		       visible(row->name), row->late_pairs);
}

/* The row in words, for its user. */
static void print_meaning(const struct try_plan *plan, const struct try_row *row)
{
	const char *unit = plan->are_runs ? "a run" : "the same work";
	struct try_interval made;

	print_dropped(row);
	if (verdict_of(row) == WAS_NOT_SLOWED)
		print_not_slowed(plan, row);
	if (!try_made(row, &made) || !made.has_bounds || row->why_not[0] || row->slowed == 0 ||
	    row->idle_pairs > 0)
		return;
	if (is_noisy(row, &made))
		printf("`%s`: what it changes cannot be told here, from %.1f%% to %.1f%% longer; "
		       "more pairs (-n) and longer windows (-w) tell better.\n",
		       visible(row->name), made.low, made.high);
	else if (made.low <= 0 && made.high >= 0)
		printf("`%s`: no effect that could be measured (at most %.1f%%); making it faster "
		       "would change as little.\n",
		       visible(row->name), fmax(made.high, -made.low));
	else if (made.value > 0)
		printf("`%s` matters: when it took %g times as long, %s took %.1f%% longer.\n",
		       visible(row->name), row->factor, unit, made.value);
	else
		printf("`%s`: when it took %g times as long, %s took %.1f%% less time: others got "
		       "on better meanwhile.\n",
		       visible(row->name), row->factor, unit, -made.value);
	if (row->covered_percent < MOST_PERCENT)
		printf("  Only %.0f%% of its time could be slowed: its full effect is larger.\n",
		       row->covered_percent);
	if (row->purity_percent < MOST_PERCENT)
		printf("  Of the ops that were slowed only %.0f%% were of this class: others have "
		       "the same stacks.\n",
		       row->purity_percent);
	if (row->refused > row->slowed / 10)
		printf("  %" PRIu64 " of its ops could not be slowed as far as was wanted.\n",
		       row->refused);
}

static bool has_verdict(const struct try_plan *plan, enum verdict verdict)
{
	for (size_t i = 0; i < plan->row_count; i++)
		if (verdict_of(&plan->rows[i]) == verdict)
			return true;
	return false;
}

static void print_words(const struct try_plan *plan)
{
	putchar('\n');
	for (size_t i = 0; i < plan->row_count; i++)
		print_meaning(plan, &plan->rows[i]);
	if (has_verdict(plan, AGREES))
		puts("agrees: what wcprof-analyze predicts for this class holds here.");
	if (has_verdict(plan, DISAGREES))
		puts("disagrees: the replay misses something of this class; what was made is what "
		     "happens.");
}

int try_print(const struct try_plan *plan)
{
	for (size_t i = 0; plan->options->json && i < plan->row_count; i++)
		print_object(plan, &plan->rows[i]);
	if (!plan->options->json) {
		print_method(plan);
		print_table(plan);
		print_words(plan);
	}
	return has_verdict(plan, DISAGREES) || has_verdict(plan, NO_PREDICTION) ||
			       has_verdict(plan, TOO_FEW) || has_verdict(plan, TOO_NOISY) ||
			       has_verdict(plan, TOO_WIDE) || has_verdict(plan, WAS_NOT_SLOWED)
		       ? CMD_DISAGREES
		       : CMD_DONE;
}

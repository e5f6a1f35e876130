/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what was judged, as text or as Markdown. All names come from others, and go through
 * visible.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ci.h"
#include "visible.h"

enum { COLUMNS = 5, CELL_BYTES = 160 };

const char *ci_state_word(enum ci_state state)
{
	static const char *const words[] = { [CI_GATE_PASSED] = "passed",
					     [CI_GATE_FAILED] = "failed",
					     [CI_GATE_UNTOLD] = "cannot tell",
					     [CI_GATE_NOISY] = "no gate",
					     [CI_GATE_SHOWN] = "report" };

	return words[state];
}

const char *ci_verdict_word(enum ci_verdict verdict)
{
	static const char *const words[] = {
		[CI_PASSED] = "passed", [CI_WORSE] = "worse", [CI_CANNOT_TELL] = "cannot tell"
	};

	return words[verdict];
}

const char *ci_value(char to[40], double value, bool is_time, bool has_sign)
{
	static const struct {
		double least;
		const char *unit;
	} units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 0, "ns" } };
	size_t i = 0;

	if (isnan(value)) {
		snprintf(to, 40, "-");
	} else if (!is_time) {
		snprintf(to, 40, has_sign ? "%+.4g" : "%.4g", value);
	} else {
		while (fabs(value) < units[i].least)
			i++;
		value /= units[i].least ? units[i].least : 1;
		snprintf(to, 40, has_sign ? "%+.3g %s" : "%.3g %s", value, units[i].unit);
	}
	return to;
}

/* --- The table -------------------------------------------------------------------------------- */

struct row {
	char cells[COLUMNS][CELL_BYTES];
};

static void fill_change(const struct ci_gate *gate, char *to)
{
	double share = ci_gate_share(gate, gate->test.change);
	char change[40], low[40], high[40];

	if (isnan(gate->base))
		snprintf(to, CELL_BYTES, "-");
	else if (isinf(share) || gate->base == 0)
		snprintf(
			to, CELL_BYTES, "%s (%s..%s)",
			ci_value(change, gate->test.change, ci_figure_is_time(&gate->figure), true),
			ci_value(low, gate->test.low, ci_figure_is_time(&gate->figure), true),
			ci_value(high, gate->test.high, ci_figure_is_time(&gate->figure), true));
	else
		snprintf(to, CELL_BYTES, "%+.1f%% (%+.1f..%+.1f)", 100 * share,
			 100 * ci_gate_share(gate, gate->test.low),
			 100 * ci_gate_share(gate, gate->test.high));
}

static void fill_gate(const struct ci_plan *plan, const struct ci_gate *gate, struct row *row)
{
	bool is_time = ci_figure_is_time(&gate->figure);
	char words[128], value[40];

	ci_figure_words(&gate->figure, plan->runs.are_requests, words);
	snprintf(row->cells[0], CELL_BYTES, "%s", words);
	snprintf(row->cells[1], CELL_BYTES, "%s", ci_value(value, gate->base, is_time, false));
	snprintf(row->cells[2], CELL_BYTES, "%s", ci_value(value, gate->new, is_time, false));
	fill_change(gate, row->cells[3]);
	snprintf(row->cells[4], CELL_BYTES, "%s%s", ci_state_word(gate->state),
		 gate->is_confirmed ? ", confirmed" : "");
}

static void fill_limit(const struct ci_limit *limit, struct row *row)
{
	bool is_time = ci_figure_is_time(&limit->figure);
	char value[40], least[40], most[40];

	snprintf(row->cells[0], CELL_BYTES, "%s", limit->text);
	snprintf(row->cells[1], CELL_BYTES, "-");
	snprintf(row->cells[2], CELL_BYTES, "%s", ci_value(value, limit->median, is_time, false));
	snprintf(row->cells[3], CELL_BYTES, "%s..%s", ci_value(least, limit->least, is_time, false),
		 ci_value(most, limit->most, is_time, false));
	snprintf(row->cells[4], CELL_BYTES, "%s", ci_state_word(limit->state));
}

/* Failed ones first, then what is shown alone. The caller frees them. */
static struct row *fill(const struct ci_plan *plan, size_t *count)
{
	static const enum ci_state order[] = { CI_GATE_FAILED, CI_GATE_UNTOLD, CI_GATE_PASSED,
					       CI_GATE_NOISY, CI_GATE_SHOWN };
	struct row *rows = calloc(1 + plan->gate_count + plan->limit_count, sizeof(*rows));
	static const struct row head = { { "", "base", "new", "change (90%)", "" } };

	*count = 0;
	if (!rows)
		return NULL;
	rows[(*count)++] = head;
	for (size_t state = 0; state < sizeof(order) / sizeof(order[0]); state++) {
		for (size_t i = 0; i < plan->gate_count; i++)
			if (plan->gates[i].state == order[state])
				fill_gate(plan, &plan->gates[i], &rows[(*count)++]);
		for (size_t i = 0; i < plan->limit_count; i++)
			if (plan->limits[i].state == order[state])
				fill_limit(&plan->limits[i], &rows[(*count)++]);
	}
	return rows;
}

static void print_table(const struct ci_plan *plan)
{
	size_t count, width[COLUMNS] = { 0 };
	struct row *rows = fill(plan, &count);

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < COLUMNS; k++)
			if (strlen(visible(rows[i].cells[k])) > width[k])
				width[k] = strlen(visible(rows[i].cells[k]));
	for (size_t i = 0; i < count; i++)
		printf("  %-*s  %*s  %*s  %*s  %s\n", (int)width[0], visible(rows[i].cells[0]),
		       (int)width[1], rows[i].cells[1], (int)width[2], rows[i].cells[2],
		       (int)width[3], rows[i].cells[3], rows[i].cells[4]);
	free(rows);
}

/* --- Why -------------------------------------------------------------------------------------- */

static void print_whys(const struct ci_plan *plan, const char *bullet)
{
	char words[128];

	for (size_t i = 0; i < plan->gate_count; i++) {
		const struct ci_gate *gate = &plan->gates[i];

		ci_figure_words(&gate->figure, plan->runs.are_requests, words);
		if (gate->is_gate && gate->why[0])
			printf("%s%s: %s\n", bullet, visible(words), visible(gate->why));
	}
	for (size_t i = 0; i < plan->limit_count; i++)
		if (plan->limits[i].why[0])
			printf("%s%s:%zu: %s\n", bullet, visible(plan->budget),
			       plan->limits[i].line, visible(plan->limits[i].why));
}

static void print_verdict(const struct ci_plan *plan, const char *around)
{
	static const char *const sentences[] = {
		[CI_PASSED] = "Passed: no gate found the new build worse.",
		[CI_WORSE] = "The new build is worse.",
		[CI_CANNOT_TELL] = "Cannot tell.",
	};

	if (plan->why[0])
		printf("%sCannot tell: %s.%s\n", around, visible(plan->why), around);
	else
		printf("%s%s%s\n", around, sentences[plan->verdict], around);
}

static void print_basis(const struct ci_plan *plan)
{
	if (plan->why[0])
		return;
	printf("%zu pairs of runs%s, by turns%s%s.\n", plan->runs.pairs,
	       plan->rounds > 1 ? " in two rounds" : "",
	       plan->runs.are_requests ? "; a unit is a request of "
				       : "; a unit is a run, as they have no requests",
	       plan->runs.are_requests ? visible(plan->runs.request) : "");
	if (plan->note[0])
		printf("There was no second round, to confirm this: %s.\n", visible(plan->note));
}

void ci_print_text(const struct ci_plan *plan, const char *changes)
{
	print_verdict(plan, "");
	print_basis(plan);
	if (plan->why[0])
		return;
	putchar('\n');
	print_table(plan);
	print_whys(plan, "  ");
	if (changes)
		printf("\nWhat else changed, in time (no gate):\n%s", changes);
}

/* --- Markdown --------------------------------------------------------------------------------- */

/* A bar would end the cell. */
static void put_cell(const char *text)
{
	fputs(" ", stdout);
	for (; *text; text++) {
		if (strchr("|*_<`", *text))
			putchar('\\');
		putchar(*text);
	}
	fputs(" |", stdout);
}

static void put_table(const struct ci_plan *plan)
{
	size_t count;
	struct row *rows = fill(plan, &count);

	for (size_t i = 0; i < count; i++) {
		putchar('|');
		for (size_t k = 0; k < COLUMNS; k++)
			put_cell(visible(rows[i].cells[k]));
		putchar('\n');
		if (i == 0)
			puts("|---|---:|---:|---:|---|");
	}
	free(rows);
}

void ci_print_markdown(const struct ci_plan *plan, const char *changes)
{
	puts("### wcprof ci\n");
	print_verdict(plan, "**");
	putchar('\n');
	print_basis(plan);
	if (plan->why[0])
		return;
	putchar('\n');
	put_table(plan);
	putchar('\n');
	print_whys(plan, "- ");
	if (changes)
		printf("\n<details><summary>What else changed, in time (no gate)</summary>\n\n"
		       "```\n%s```\n\n</details>\n",
		       changes);
}

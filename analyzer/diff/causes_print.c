/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints why NEW differs: one sentence, then a line for each cause.
 */
#include <stdio.h>

#include "causes.h"
#include "tables.h"

enum { CHANGE_BYTES = 128, SENTENCE_BYTES = 1024, NAMED_MAX = 3 };

static const struct emit_column columns[] = {
	{ .key = "class", .head = "class", .is_flexible = true },
	{ .key = "kind", .head = "kind" },
	{ .head = "change" },
	{ .key = "p50_ns", .head = "median", .align = EMIT_RIGHT },
	{ .key = "p99_ns", .head = "p99", .align = EMIT_RIGHT },
	{ .key = "sort" },
	{ .key = "times" },
	{ .key = "is_together" },
};

/* Of a run there is one figure. */
static const struct emit_column run_columns[] = {
	{ .key = "class", .head = "class", .is_flexible = true },
	{ .key = "kind", .head = "kind" },
	{ .head = "change" },
	{ .key = "makespan_ns", .head = "time", .align = EMIT_RIGHT },
	{ .head = NULL },
	{ .key = "sort" },
	{ .key = "times" },
	{ .key = "is_together" },
};

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

static const char *const sort_words[] = { [CAUSE_NEW] = "new",
					  [CAUSE_LENGTH] = "length",
					  [CAUSE_NUMBER] = "number",
					  [CAUSE_TIME] = "time" };

static const char *change_of(const struct cause *cause, char text[CHANGE_BYTES])
{
	bool is_hold = strcmp(cause->row->new_class->kind, "hold") == 0;
	switch (cause->sort) {
	case CAUSE_NEW:
		snprintf(text, CHANGE_BYTES, "is new");
		break;
	case CAUSE_LENGTH:
		snprintf(text, CHANGE_BYTES, "%s %.3g x as long", is_hold ? "is held" : "takes",
			 cause->times);
		break;
	case CAUSE_NUMBER:
		snprintf(text, CHANGE_BYTES, "comes %.3g x as often", cause->times);
		break;
	case CAUSE_TIME:
		snprintf(text, CHANGE_BYTES, "takes %.3g x the time", cause->times);
		break;
	}
	return text;
}

static void emit_effect(struct emit *emit, struct cause_effect effect)
{
	char text[TABLES_VALUE_BYTES];
	const double values_ns[] = { effect.p50_ns, effect.p99_ns };
	for (size_t i = 0; i < 2; i++) {
		if (emit->format == EMIT_JSON)
			emit_cell_ns(emit, values_ns[i]);
		else
			emit_cell_text(emit, tables_value(text, FIGURE_MEAN, values_ns[i], true));
	}
}

static void emit_cause(struct emit *emit, const struct cause *cause)
{
	char change[CHANGE_BYTES];
	emit_row_begin(emit);
	emit_cell_text(emit, cause->row->new_class->name);
	emit_cell_text(emit, cause->row->new_class->kind);
	emit_cell_text(emit, change_of(cause, change));
	emit_effect(emit, cause->effect);
	emit_cell_text(emit, sort_words[cause->sort]);
	emit_cell_number(emit, cause->times);
	emit_cell_flag(emit, cause->is_together);
	emit_row_end(emit);
}

/* Text: a line below those of the classes. */
static void emit_sum(struct emit *emit, const char *what, struct cause_effect effect)
{
	emit_row_begin(emit);
	emit_cell_text(emit, what);
	emit_cell_text(emit, "");
	emit_cell_text(emit, "");
	emit_effect(emit, effect);
	emit_cell_text(emit, "");
	emit_cell_number(emit, 0);
	emit_cell_flag(emit, false);
	emit_row_end(emit);
}

static struct cause_effect unexplained_of(const struct causes *causes)
{
	return (struct cause_effect){ causes->measured.p50_ns - causes->together.p50_ns,
				      causes->measured.p99_ns - causes->together.p99_ns };
}

/* The figure that the sentence is about: the tail if it differs, else the middle. */
static double figure_of(struct cause_effect effect, bool is_p99)
{
	return is_p99 ? effect.p99_ns : effect.p50_ns;
}

static void print_sentence(const struct causes *causes, const struct comparison *comparison,
			   struct emit *emit)
{
	bool is_run = comparison->new_costs->unit == UNIT_RUN;
	bool is_p99 = !is_run && comparison->rows[FIGURE_P99].is_found;
	char value[TABLES_VALUE_BYTES], change[CHANGE_BYTES], text[SENTENCE_BYTES];
	int used = snprintf(
		text, sizeof(text), "Of %s %s",
		tables_value(value, FIGURE_MEAN, figure_of(causes->measured, is_p99), true),
		is_run   ? "of the run"
		: is_p99 ? "at p99"
			 : "of the median");
	size_t named = 0;
	for (size_t i = 0; i < causes->count && named < NAMED_MAX; i++) {
		const struct cause *cause = &causes->rows[i];
		if (!cause->is_together || used >= SENTENCE_BYTES)
			continue;
		named++;
		used += snprintf(
			text + used, (size_t)(SENTENCE_BYTES - used), ", %s is because `%.200s` %s",
			tables_value(value, FIGURE_MEAN, figure_of(cause->effect, is_p99), true),
			cause->row->new_class->name, change_of(cause, change));
	}
	if (used < SENTENCE_BYTES)
		emit_strong_line(emit, "%s; %s is not explained.", text,
				 tables_value(value, FIGURE_MEAN,
					      figure_of(unexplained_of(causes), is_p99), true));
}

static void print_withheld(const struct causes *causes, struct emit *emit)
{
	emit_text(emit, "causes_withheld", NULL, causes->is_withheld ? causes->reason : "");
	if (emit->format == EMIT_TEXT && causes->is_withheld)
		emit_line(emit, "Causes are withheld: %s; --force shows them.", causes->reason);
}

void causes_print(const struct causes *causes, const struct comparison *comparison,
		  struct emit *emit)
{
	bool is_run = comparison->new_costs->unit == UNIT_RUN, is_text = emit->format == EMIT_TEXT;
	print_withheld(causes, emit);
	if (is_text && causes->count == 0)
		return;
	emit_heading(emit, "Why? (NEW replayed with each of these as it was in OLD)");
	if (is_text)
		print_sentence(causes, comparison, emit);
	emit_table_begin(emit, "causes", EMIT_OBJECTS, is_run ? run_columns : columns, COLUMNS);
	for (size_t i = 0; i < causes->count; i++)
		emit_cause(emit, &causes->rows[i]);
	if (is_text) {
		emit_sum(emit, "all of them together", causes->together);
		emit_sum(emit, "not explained", unexplained_of(causes));
	}
	emit_table_end(emit);
	emit_ns(emit, "together_ns", NULL, causes->together.p50_ns);
	emit_ns(emit, "together_p99_ns", NULL, causes->together.p99_ns);
	emit_ns(emit, "unexplained_ns", NULL, unexplained_of(causes).p50_ns);
	emit_ns(emit, "unexplained_p99_ns", NULL, unexplained_of(causes).p99_ns);
}

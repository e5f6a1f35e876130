/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wording that several reports share; report.h has the contract. Calls no report.
 */
#include "report.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "format.h"
#include "measure/leftout.h"

enum {
	COUNT_BYTES = 28,  /* " = " and " +N" with any N */
	CHANGE_BYTES = 128 /* of a change, beside the name */
};

size_t report_sentence_factor(const struct factor_list *list)
{
	size_t best = 0;
	assert(list->count > 0);
	for (size_t i = 0; i < list->count; i++) {
		if (list->factors[i] == HALF)
			return i;
		if (list->factors[i] < list->factors[best])
			best = i;
	}
	return best;
}

static bool is_lock(const struct analysis *analysis, uint32_t class)
{
	return class < analysis->classes.count &&
	       analysis->classes.classes[class].kind == KIND_HOLD;
}

static const char *what_it_is(const struct analysis *analysis, uint32_t class)
{
	if (class >= analysis->classes.count)
		return strcmp(facts_class_kind(analysis, class), "program") == 0
			       ? "program"
			       : "function with all that it waits for";
	if (is_lock(analysis, class))
		return "lock";
	return analysis->classes.classes[class].kind == KIND_THREAD
		       ? "the thread's own code"
		       : facts_class_kind(analysis, class);
}

void report_times(char words[REPORT_TIMES_BYTES], double factor)
{
	if (factor == 0)
		snprintf(words, REPORT_TIMES_BYTES, "no time at all");
	else if (factor == HALF)
		snprintf(words, REPORT_TIMES_BYTES, "half as long");
	else
		snprintf(words, REPORT_TIMES_BYTES, "%g times as long", factor);
}

char *report_change(const struct analysis *analysis, uint32_t class, size_t factor)
{
	const char *name = facts_class_name(analysis, class);
	double times = analysis->options->factors.factors[factor];
	size_t bytes = strlen(name) + CHANGE_BYTES;
	char change[REPORT_TIMES_BYTES], *text = memory_new(bytes, 1);
	report_times(change, times);
	snprintf(text, bytes, "`%s` (%s) %s %s", name, what_it_is(analysis, class),
		 is_lock(analysis, class) ? "were held" : "took", change);
	return text;
}

void report_withheld(const struct analysis *analysis, struct emit *emit)
{
	assert(analysis->checks.is_withheld && analysis->checks.gravest < CHECK_COUNT);
	const struct check *check = &analysis->checks.rows[analysis->checks.gravest];
	emit_strong_line(emit,
			 "Withheld (%s is %.1f%%, the limit is %g%%): the report's first line says "
			 "why; --force shows it",
			 verdict_check_name(analysis->checks.gravest), check->value,
			 verdict_withheld_above(analysis->checks.gravest));
}

void report_pinned(const struct analysis *analysis, struct emit *emit)
{
	const struct check *check = &analysis->checks.rows[CHECK_PINNED];
	if (check->state != CHECK_UNKNOWN && !analysis->checks.is_withheld)
		emit_line(emit, "%.1f%% of the run would remain if everything took no time.",
			  check->value);
}

void report_left_out(const struct analysis *analysis, struct emit *emit)
{
	struct leftout_table table;
	char text[LEFTOUT_TEXT_BYTES];
	leftout_table_build(&table, analysis->recording, &analysis->classes);
	for (size_t i = 0; i < table.count; i++) {
		leftout_text(&table.rows[i], analysis->recording, text);
		emit_line(emit, "%s: figures are those of the others.", text);
	}
	leftout_table_free(&table);
}

void report_next_limit(const struct analysis *analysis, size_t row, struct emit *emit)
{
	assert(row < analysis->whatif.row_count);
	const struct whatif_row *best = &analysis->whatif.rows[row];
	if (best->stops_at > 0 && best->next_class != NO_INDEX)
		emit_line(emit, "Below x%.2g of `%s` the limit is `%s` (%s).", best->stops_at,
			  facts_class_name(analysis, best->class),
			  facts_class_name(analysis, best->next_class),
			  facts_class_kind(analysis, best->next_class));
}

static const struct {
	const char *name;
	bool is_loss;
	const char *meaning;
} counters[] = {
#define COUNTER(name, is_loss, meaning) { #name, is_loss, meaning },
#include "counters.def"
#undef COUNTER
};

const char *report_counter_meaning(const char *counter)
{
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		if (strcmp(counters[i].name, counter) == 0)
			return counters[i].meaning;
	return NULL;
}

bool report_counter_is_loss(const char *counter)
{
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		if (strcmp(counters[i].name, counter) == 0)
			return counters[i].is_loss;
	return false;
}

bool report_counter_is_unseen(const char *counter)
{
	return strncmp(counter, "unseen_", strlen("unseen_")) == 0;
}

bool report_is_repeated(const struct analysis *analysis, size_t row)
{
	assert(row < analysis->whatif.row_count);
	return whatif_find(&analysis->whatif, analysis->whatif.rows[row].same_as);
}

/* "F/read" and "F" need not be told twice. */
static bool is_in_name(const struct analysis *analysis, uint32_t class, uint32_t function)
{
	const char *name = facts_class_name(analysis, class), *slash = strrchr(name, '/');
	const char *who = facts_class_name(analysis, function);
	return slash && strlen(who) == (size_t)(slash - name) &&
	       strncmp(name, who, (size_t)(slash - name)) == 0;
}

size_t report_repeated(const struct analysis *analysis, size_t row, const char **function)
{
	const struct whatif *whatif = &analysis->whatif;
	size_t count = 0;
	*function = NULL;
	for (size_t i = 0; i < whatif->row_count; i++) {
		uint32_t class = whatif->rows[i].class;
		if (whatif->rows[i].same_as != whatif->rows[row].class ||
		    is_in_name(analysis, whatif->rows[row].class, class))
			continue;
		if (!*function)
			*function = facts_class_name(analysis, class);
		count++;
	}
	return count;
}

const char *report_name_of_repeated(const struct analysis *analysis, size_t row, char *text,
				    size_t text_bytes)
{
	const char *function;
	size_t count = report_repeated(analysis, row, &function);
	int room = (int)text_bytes / 2 - COUNT_BYTES;
	assert(row < analysis->whatif.row_count && room > 0);
	int used = snprintf(text, text_bytes, "%.*s", room,
			    facts_class_name(analysis, analysis->whatif.rows[row].class));
	if (count > 0)
		used += snprintf(text + used, text_bytes - (size_t)used, " = %.*s", room, function);
	if (count > 1)
		snprintf(text + used, text_bytes - (size_t)used, " +%zu", count - 1);
	return text;
}

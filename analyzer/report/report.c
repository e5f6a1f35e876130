/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wording that several reports share; report.h has the contract. Calls no report.
 */
#include "report.h"

#include <assert.h>
#include <string.h>

enum { COUNT_BYTES = 24 }; /* " +N" with any N */

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

void report_withheld(const struct analysis *analysis, struct emit *emit)
{
	assert(analysis->checks.is_withheld && analysis->checks.gravest < CHECK_COUNT);
	const struct check *check = &analysis->checks.rows[analysis->checks.gravest];
	emit_strong_line(emit, "Withheld (%s is %.1f%%, the limit is %g%%): %s; --force shows it",
			 verdict_check_name(analysis->checks.gravest), check->value,
			 verdict_withheld_above(analysis->checks.gravest), check->line);
}

static const struct {
	const char *name;
	const char *meaning;
} counters[] = {
#define COUNTER(name, is_loss, meaning) { #name, meaning },
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

bool report_counter_is_unseen(const char *counter)
{
	return strncmp(counter, "unseen_", strlen("unseen_")) == 0;
}

static bool says_the_same(const struct analysis *analysis, size_t left, size_t right)
{
	assert(left < analysis->whatif.row_count && right < analysis->whatif.row_count);
	const struct whatif_row *a = &analysis->whatif.rows[left];
	const struct whatif_row *b = &analysis->whatif.rows[right];
	bool are_functions =
		a->class >= analysis->classes.count && b->class >= analysis->classes.count;
	bool is_same = are_functions && facts_class_self_ns(analysis, a->class) ==
						facts_class_self_ns(analysis, b->class);
	for (size_t f = 0; is_same && f < analysis->options->factors.count; f++)
		is_same = a->estimates[f].saved_ns == b->estimates[f].saved_ns;
	return is_same;
}

bool report_is_repeated(const struct analysis *analysis, size_t row)
{
	for (size_t i = 0; i < row; i++)
		if (says_the_same(analysis, i, row))
			return true;
	return false;
}

size_t report_repeated(const struct analysis *analysis, size_t row)
{
	size_t count = 0;
	for (size_t i = row + 1; i < analysis->whatif.row_count; i++)
		count += says_the_same(analysis, row, i);
	return count;
}

const char *report_name_of_repeated(const struct analysis *analysis, size_t row, char *text,
				    size_t text_bytes)
{
	size_t more = report_repeated(analysis, row);
	int room = (int)text_bytes - COUNT_BYTES;
	assert(row < analysis->whatif.row_count && text_bytes > COUNT_BYTES);
	int used = snprintf(text, text_bytes, "%.*s", room > 0 ? room : 0,
			    facts_class_name(analysis, analysis->whatif.rows[row].class));
	if (more > 0 && used > 0)
		snprintf(text + used, text_bytes - (size_t)used, " +%zu", more);
	return text;
}

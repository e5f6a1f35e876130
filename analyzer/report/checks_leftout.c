/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check of answers about functions some of whose calls were left out: those are not replayed.
 */
#include <stdio.h>
#include <string.h>

#include "analysis.h"
#include "checks_parts.h"
#include "facts.h"
#include "measure/leftout.h"

static double percent_of(const struct leftout_row *row)
{
	return row->is_counted
		       ? checks_percent((double)(row->brief + row->unmet), (double)row->calls)
		       : 100;
}

/* Answers tell what a faster class would save: by a row of the table, or as the user asked. */
static bool is_told(const struct analysis *analysis, uint32_t class)
{
	if (class == NO_INDEX)
		return false;
	for (size_t i = 0; i < analysis->asked.count; i++) {
		const struct asked_answer *answer = &analysis->asked.answers[i];

		/* several classes at once are known by the text alone */
		if (answer->class == class ||
		    (answer->class == NO_INDEX &&
		     strstr(answer->text, facts_class_name(analysis, class))))
			return true;
	}
	return whatif_find(&analysis->whatif, class) != NULL;
}

/* The answer that lacks most of its calls stands for all. */
void checks_leftout(struct check *check, const struct analysis *analysis)
{
	const struct leftout_row *most = NULL;
	struct leftout_table table;
	char text[LEFTOUT_TEXT_BYTES];

	check->state = CHECK_PASSED;
	leftout_table_build(&table, analysis->recording, &analysis->classes);
	for (size_t i = 0; i < table.count; i++)
		if (is_told(analysis, table.rows[i].class) &&
		    (!most || percent_of(&table.rows[i]) > percent_of(most)))
			most = &table.rows[i];
	if (most) {
		leftout_text(most, analysis->recording, text);
		check->value = percent_of(most);
		snprintf(check->line, sizeof(check->line),
			 "%s: savings are those of the other calls alone", text);
	}
	leftout_table_free(&table);
}

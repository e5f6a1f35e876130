/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check of answers about functions some of whose calls were left out: those are not replayed.
 */
#include <math.h>
#include <stdio.h>

#include "analysis.h"
#include "checks_parts.h"
#include "measure/leftout.h"

static double percent_of(const struct leftout_row *row)
{
	return row->is_counted
		       ? checks_percent((double)(row->brief + row->unmet), (double)row->calls)
		       : 100;
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
		if (whatif_find(&analysis->whatif, table.rows[i].class) &&
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

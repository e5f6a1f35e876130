/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check that holds the replay's answers against the recording's own variation.
 *
 * Not of a run that ends by the clock: stretches show what a turn takes, and the run is as long.
 */
#include <stdio.h>

#include "analysis.h"
#include "checks_parts.h"
#include "facts.h"

void checks_variation(struct check *check, const struct analysis *analysis)
{
	const struct variation *variation = &analysis->variation;
	double makespan_ns = facts_recorded_ns(analysis);
	if (variation->row_count == 0 || !(makespan_ns > 0) ||
	    analysis->script.clock_reads.loop_count)
		return;
	check->state = CHECK_PASSED;
	if (variation->worst == NO_INDEX)
		return;
	const struct variation_row *row = &variation->rows[variation->worst];
	check->value = 100 * row->apart_ns / makespan_ns;
	snprintf(check->line, sizeof(check->line),
		 "the run goes with `%.60s` (%s): stretches in which it took longer are longer, "
		 "which makes it %.0f +- %.0f%% of the run, where the replay says %.0f..%.0f%%: "
		 "it does not have what waits for that",
		 facts_class_name(analysis, row->class), facts_class_kind(analysis, row->class),
		 100 * row->saved_ns / makespan_ns, 100 * row->error_ns / makespan_ns,
		 100 * row->replay_least_ns / makespan_ns, 100 * row->replay_most_ns / makespan_ns);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check that finds answers which rest on the recorded order of an event loop's events.
 *
 * Between what is not known of a loop, such as a poll that nobody is seen to end, its events come
 * in any order. Beyond that they keep the recorded one. It is known how long a loop would wait then
 * although data are there. Part of that is there in the unchanged replay too, by chance; it does
 * not count.
 */
#include <inttypes.h>
#include <stdio.h>

#include "analysis.h"
#include "checks_parts.h"
#include "facts.h"

struct worst {
	double ns;
	size_t row;
	size_t factor;
};

static void worst_find(struct worst *worst, const struct analysis *analysis)
{
	const struct whatif *whatif = &analysis->whatif;
	*worst = (struct worst){ .ns = 0 };
	for (size_t i = 0; i < whatif->row_count && i < WHATIF_BEST_ROWS; i++)
		for (size_t f = 0; f < analysis->options->factors.count; f++) {
			const struct whatif_row *row = &whatif->rows[i];
			double ns = row->answers[f].order_ns - whatif->baseline.order_ns;
			if (ns > worst->ns)
				*worst = (struct worst){ ns, i, f };
		}
}

static void say_waits(struct check *check, const struct analysis *analysis,
		      const struct worst *worst)
{
	const struct whatif_row *row = &analysis->whatif.rows[worst->row];
	uint32_t actor = row->answers[worst->factor].order_actor;
	if (actor >= analysis->recording->thread_count)
		return;
	snprintf(check->line, sizeof(check->line),
		 "with `%.60s` (%s) times %g, thread `%.40s` (%" PRIu32 ") waits "
		 "for %.0f%% of the run although data are there: of events that it does not know, "
		 "the replay keeps the recorded order",
		 facts_class_name(analysis, row->class), facts_class_kind(analysis, row->class),
		 analysis->options->factors.factors[worst->factor],
		 facts_thread_name(analysis, actor), analysis->recording->threads[actor].tid,
		 check->value);
}

void checks_order(struct check *check, const struct analysis *analysis)
{
	const struct whatif *whatif = &analysis->whatif;
	double baseline_ns = facts_replayed_ns(analysis);
	struct worst worst;
	if (!analysis->has_script || !whatif->row_count || !(baseline_ns > 0) ||
	    !whatif->rows[0].answers)
		return;
	worst_find(&worst, analysis);
	check->state = CHECK_PASSED;
	check->value = 100 * worst.ns / baseline_ns;
	if (worst.ns > 0)
		say_waits(check, analysis, &worst);
}

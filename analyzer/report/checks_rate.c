/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check that finds limits of a rate at which the run goes on (infer/rates.h).
 *
 * In the replay each sleep for the limit has its length, and a faster program seems to need no more
 * of them. In truth its threads come sooner and sleep longer there.
 */
#include <inttypes.h>
#include <stdio.h>

#include "analysis.h"
#include "base/emit.h"
#include "checks_parts.h"
#include "facts.h"
#include "infer/rates.h"

void checks_rate(struct check *check, const struct analysis *analysis)
{
	char distance[EMIT_DURATION_BYTES];
	struct rate rate;

	if (!analysis->has_script || !analysis->actual_makespan_ns)
		return;
	check->state = CHECK_PASSED;
	if (!rates_find(&rate, analysis->recording, &analysis->classes))
		return;
	const struct rec_op *op = &analysis->recording->ops[rate.op];

	check->value = checks_percent((double)rate.span_ns, facts_recorded_ns(analysis));
	emit_format_duration(distance, (double)rate.distance_ns);
	snprintf(check->line, sizeof(check->line),
		 "threads as `%.40s` (%" PRIu32 ") sleep in `%.60s` for a limit of a rate, which "
		 "lets one go on every %s: what else gets faster, they sleep longer there",
		 facts_thread_name(analysis, op->thread),
		 analysis->recording->threads[op->thread].tid,
		 facts_class_name(analysis, analysis->classes.of_op[rate.op]), distance);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check that finds threads of which nothing was recorded, though they ran.
 *
 * A thread is known from its first recorded call on. One that was there before the recording, and
 * does nothing but run, is not in it. But the kernel has counted its CPU time as its process's. The
 * cost of recording is left out, whichever thread paid for it. So this is the least that it can
 * be.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "analysis.h"
#include "base/emit.h"
#include "checks_parts.h"
#include "facts.h"

static double seen_ns(const struct analysis *analysis, uint32_t process)
{
	const struct thread_table *threads = &analysis->threads;
	for (uint32_t i = 0; i < threads->process_count; i++)
		if (threads->processes[i].process == process)
			return (double)threads->processes[i].cpu_ns;
	return 0;
}

void checks_unseen(struct check *check, const struct analysis *analysis)
{
	const struct recording *recording = analysis->recording;
	double most_ns = 0;
	uint32_t worst = 0;
	char unseen[EMIT_DURATION_BYTES], all[EMIT_DURATION_BYTES];
	/* A process's CPU time is that of its last window. */
	if (!analysis->has_script || !recording->has_last_window)
		return;
	check->state = CHECK_PASSED;
	for (uint32_t i = 0; i < recording->process_count; i++) {
		const struct rec_process *process = &recording->processes[i];
		double ns = (double)process->cpu_ns - (double)process->own_window_ns -
			    seen_ns(analysis, i);
		worst = ns > most_ns ? i : worst;
		most_ns = fmax(most_ns, ns);
	}
	check->value = checks_percent(most_ns, facts_recorded_ns(analysis));
	if (!(most_ns > 0))
		return;
	emit_format_duration(unseen, most_ns);
	emit_format_duration(all, (double)recording->processes[worst].cpu_ns);
	snprintf(check->line, sizeof(check->line),
		 "threads of `%.60s` (%" PRIu32 ") that made no recorded call used %s of its %s of "
		 "CPU time: the recording does not have them",
		 recording->strings[recording->processes[worst].exe],
		 recording->processes[worst].pid, unseen, all);
}

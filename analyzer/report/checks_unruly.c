/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check that finds waits of which a faster program would have others.
 *
 * The replay keeps such waits of the recording, each with its signal, and makes no new ones
 * (script/script_unruly.c). Little hangs on those of threads that have little of the way to the end
 * of the run, as a runtime's idle ones.
 */
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis.h"
#include "base/memory.h"
#include "checks_parts.h"
#include "facts.h"

struct waiting {
	double ns;
	size_t threads;
	const struct rec_wait *longest;
};

static bool is_unruly(const struct analysis *analysis, uint32_t index)
{
	const struct script *script = &analysis->script;
	uint32_t link = script->is_unruly ? script->monitors.waking_link[index] : NO_INDEX;
	return link != NO_INDEX && script->is_unruly[link] &&
	       analysis->recording->waits[index].thread != NO_INDEX;
}

static bool is_any(const struct analysis *analysis)
{
	uint32_t i = 0;
	while (i < analysis->recording->wait_count && !is_unruly(analysis, i))
		i++;
	return i < analysis->recording->wait_count;
}

/* Of threads whose class is on the way. */
static struct waiting waiting_find(const struct analysis *analysis, const bool *is_on)
{
	const struct recording *recording = analysis->recording;
	bool *has_waited = memory_new(recording->thread_count, sizeof(*has_waited));
	struct waiting waiting = { 0 };
	for (uint32_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i], *longest = waiting.longest;
		if (!is_unruly(analysis, i))
			continue;
		uint32_t class = facts_thread_class(analysis, wait->thread);
		if (class != NO_INDEX && !is_on[class])
			continue;
		waiting.ns += (double)(wait->end_ns - wait->start_ns);
		waiting.threads += !has_waited[wait->thread];
		has_waited[wait->thread] = true;
		if (!longest || wait->end_ns - wait->start_ns > longest->end_ns - longest->start_ns)
			waiting.longest = wait;
	}
	free(has_waited);
	return waiting;
}

/* How much of a saving the best answers would have without these waits, or not have. */
static double held_back_ns(const struct whatif *whatif, size_t factor_count)
{
	double most_ns = 0;
	for (size_t i = 0; i < whatif->row_count && i < WHATIF_BEST_ROWS; i++)
		for (size_t f = 0; f < factor_count; f++)
			most_ns = fmax(most_ns, whatif->rows[i].estimates[f].waits_ns);
	return most_ns;
}

static void say(struct check *check, const struct analysis *analysis, const struct rec_wait *wait,
		bool is_held_back)
{
	const struct recording *recording = analysis->recording;
	const struct labels *labels = analysis->labels;
	const char *site = labels && labels->sites && wait->stack
				   ? recording->strings[labels->sites[wait->stack]]
				   : "";
	snprintf(check->line, sizeof(check->line),
		 "threads as `%.40s` (%" PRIu32 ") wait now and then for what a certain other one "
		 "has done, in %.40s%s%.60s%s, %s %.0f%% of the run: the replay keeps these waits, "
		 "and a faster program would have others",
		 facts_thread_name(analysis, wait->thread), recording->threads[wait->thread].tid,
		 recording->strings[wait->name], site[0] ? " (" : "", site, site[0] ? ")" : "",
		 is_held_back ? "which may hold back" : "for", check->value);
}

void checks_unruly(struct check *check, const struct analysis *analysis,
		   const struct replayer *replayer)
{
	double makespan_ns = facts_recorded_ns(analysis);
	if (!analysis->has_script || !analysis->script.arrivals || !(makespan_ns > 0))
		return;
	struct waiting waiting = { 0 };
	if (is_any(analysis)) {
		bool *is_on = checks_on_the_way(analysis, replayer, CHECK_UNRULY);
		waiting = waiting_find(analysis, is_on);
		free(is_on);
	}
	double share = waiting.threads
			       ? checks_percent(waiting.ns, (double)waiting.threads * makespan_ns)
			       : 0;
	double held_back =
		checks_percent(held_back_ns(&analysis->whatif, analysis->options->factors.count),
			       facts_replayed_ns(analysis));
	check->state = CHECK_PASSED;
	check->value = fmax(share, held_back);
	if (waiting.longest)
		say(check, analysis, waiting.longest, held_back > share);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check that finds a run which cannot get shorter, whatever is made faster.
 *
 * A wait whose end nobody in the recording brings about keeps its length in the replay. The end of
 * the run may hang on such waits. The unchanged replay is right then, and each saving is none. So
 * the run is replayed with everything at nothing: what is left is pinned.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis.h"
#include "ask/floor.h"
#include "base/memory.h"
#include "checks_parts.h"
#include "facts.h"

enum { CAUSE_BYTES = 160 };

static const char *class_text(const struct analysis *analysis, uint32_t class)
{
	return class == NO_INDEX ? "?" : facts_class_name(analysis, class);
}

/* The place in the program that waits, or what it waits for. */
static const char *site_of(const struct analysis *analysis, uint32_t wait)
{
	const struct recording *recording = analysis->recording;
	const struct labels *labels = analysis->labels;
	uint32_t stack = recording->waits[wait].stack;
	if (labels && labels->sites && stack)
		return recording->strings[labels->sites[stack]];
	return labels && labels->waits ? recording->strings[labels->waits[wait]] : "";
}

static void describe_wait(const struct analysis *analysis, uint32_t index, char text[CAUSE_BYTES])
{
	const struct rec_wait *wait = &analysis->recording->waits[index];
	const char *call = analysis->recording->strings[wait->name];
	const char *site = site_of(analysis, index);
	snprintf(text, CAUSE_BYTES, "waits in %.30s%s%.60s%s", call[0] ? call : "a call",
		 site[0] ? " (" : "", site, site[0] ? ")" : "");
}

static void describe(const struct analysis *analysis, const struct floor_cause *cause,
		     char text[CAUSE_BYTES])
{
	const char *class = class_text(analysis, cause->class);
	if (cause->part == TRACE_START && floor_is_of_later_run(analysis->recording, cause->thread))
		snprintf(text, CAUSE_BYTES, "was not there yet, as it is of a later run,");
	else if (cause->part == TRACE_START)
		snprintf(text, CAUSE_BYTES, "was started by nobody that is recorded");
	else if (cause->part == TRACE_WAKE_UP && cause->type == STEP_SPAWN)
		snprintf(text, CAUSE_BYTES, "begins late after it was started");
	else if (cause->part == TRACE_WAKE_UP)
		snprintf(text, CAUSE_BYTES, "wakes up late (%s)",
			 script_contract(cause->type)->word);
	else if (cause->wait != NO_INDEX)
		describe_wait(analysis, cause->wait, text);
	else
		snprintf(text, CAUSE_BYTES, "waits in `%.70s`", class);
}

#define MEASURE "measure the change itself: wcprof try"

/* Whether it would help depends on what the wait is for. */
static const char *advice_for(const struct analysis *analysis, const struct floor_cause *cause)
{
	if (cause->part == TRACE_START && floor_is_of_later_run(analysis->recording, cause->thread))
		return "record what starts both, or give each run its own file (WCPROF_OUTPUT)";
	if (cause->part == TRACE_START)
		return "record from the start";
	if (cause->part != TRACE_STEP)
		return MEASURE;
	if (cause->wait != NO_INDEX && analysis->recording->waits[cause->wait].timed_out)
		return MEASURE;
	if (cause->class != NO_INDEX && cause->wait == NO_INDEX && analysis->script.arrivals &&
	    analysis->script.arrivals[cause->class])
		return "record it while it is asked (wcprof enable), with what asks, or " MEASURE;
	return "record what ends it too, or " MEASURE;
}

/* The least that a change of one of these classes leaves. All of them together leave no more, even
 * where their replay waits for an order of events that it does not have. */
static double least_left_ns(const struct analysis *analysis, const bool *is_kept,
			    double baseline_ns)
{
	const struct whatif *whatif = &analysis->whatif;
	double left_ns = baseline_ns;
	for (size_t i = 0; i < whatif->row_count; i++) {
		const struct whatif_row *row = &whatif->rows[i];
		if (row->class >= analysis->classes.count || is_kept[row->class])
			continue;
		for (size_t f = 0; f < analysis->options->factors.count; f++)
			left_ns = fmin(left_ns, baseline_ns - row->estimates[f].saved_ns);
	}
	return fmax(left_ns, 0);
}

void checks_pinned(struct check *check, const struct analysis *analysis,
		   const struct replayer *replayer)
{
	double baseline_ns = facts_replayed_ns(analysis);
	struct floor floor;
	char text[CAUSE_BYTES];
	bool *is_kept = NULL;
	if (!analysis->has_script || !analysis->script.arrivals || !(baseline_ns > 0))
		return;
	is_kept = memory_new(analysis->classes.count, sizeof(*is_kept));
	for (uint32_t i = 0; i < analysis->classes.count; i++)
		is_kept[i] = analysis->script.arrivals[i] == ARRIVAL_ANY;
	floor_build(&floor, &analysis->script, &analysis->classes, is_kept, 0, replayer);
	check->state = CHECK_PASSED;
	check->value = 100 * floor.floor_ns / baseline_ns;
	/* That run needs another order of events: the rest is told by half of the way. */
	if (floor.forced_steps > analysis->whatif.baseline.forced_steps) {
		floor_build(&floor, &analysis->script, &analysis->classes, is_kept, 0.5, replayer);
		double left_ns = 2 * floor.floor_ns + floor.uncounted_ns - baseline_ns;
		check->value = fmax(0, 100 * left_ns / baseline_ns);
	}
	check->value = fmin(check->value,
			    100 * least_left_ns(analysis, is_kept, baseline_ns) / baseline_ns);
	free(is_kept);
	if (!floor.worst.ns)
		return;
	describe(analysis, &floor.worst, text);
	snprintf(check->line, sizeof(check->line),
		 "%.0f%% of the run remains if everything takes no time: thread `%.40s` (%" PRIu32
		 ") %s for %.0f%%; %s",
		 check->value, class_text(analysis, floor.worst.thread_class),
		 floor.worst.thread < analysis->recording->thread_count
			 ? analysis->recording->threads[floor.worst.thread].tid
			 : 0,
		 text, fmin(100 * (double)floor.worst.ns / baseline_ns, check->value),
		 advice_for(analysis, &floor.worst));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check that finds loops which end by the clock.
 *
 * Such a loop ends when it did in the replay, too (infer/clockreads.h). With faster turns it makes
 * more of them, and what these would give others to do is not in the replay.
 */
#include <inttypes.h>
#include <stdio.h>

#include "analysis.h"
#include "base/emit.h"
#include "checks_parts.h"
#include "facts.h"

static const char *site_of(const struct analysis *analysis, uint32_t stack)
{
	const struct labels *labels = analysis->labels;
	return labels && labels->sites ? analysis->recording->strings[labels->sites[stack]] : "";
}

/* How long it went on, in percent of the run. */
static double place_percent(const struct analysis *analysis, const struct read_place *place)
{
	const struct rec_link *links = analysis->recording->links;
	return checks_percent((double)(links[place->last].at_ns - links[place->first].at_ns),
			      facts_recorded_ns(analysis));
}

static const struct timed_loop *longest_of(const struct analysis *analysis,
					   const struct timed_loop *loops, size_t count,
					   const struct timed_loop *best)
{
	const struct read_place *places = analysis->script.clock_reads.places;
	for (size_t i = 0; i < count; i++)
		if (!best || place_percent(analysis, &places[loops[i].place]) >
				     place_percent(analysis, &places[best->place]))
			best = &loops[i];
	return best;
}

void checks_clock(struct check *check, const struct analysis *analysis)
{
	const struct clock_reads *reads = &analysis->script.clock_reads;
	char length[EMIT_DURATION_BYTES];
	if (!analysis->has_script || !analysis->script.arrivals || !analysis->actual_makespan_ns)
		return;
	check->state = CHECK_PASSED;
	const struct timed_loop *sure = longest_of(analysis, reads->loops, reads->loop_count, NULL);
	const struct timed_loop *worst =
		longest_of(analysis, reads->doubts, reads->doubt_count, sure);
	if (!worst)
		return;
	const struct read_place *place = &reads->places[worst->place];
	const char *site = site_of(analysis, place->stack);
	check->value = place_percent(analysis, place);
	emit_format_duration(length, (double)worst->length_ns);
	snprintf(check->line, sizeof(check->line),
		 "thread `%.40s` (%" PRIu32 ") %s until %s are over%s%.60s%s: %s",
		 facts_thread_name(analysis, place->thread),
		 analysis->recording->threads[place->thread].tid,
		 worst == sure ? "goes on" : "goes on, it may be,", length, site[0] ? " (" : "",
		 site, site[0] ? ")" : "",
		 worst == sure
			 ? "with faster turns it makes more of them and ends no sooner (half "
			   "the time for a turn is twice as many), and what more turns give "
			   "others to do is not in the replay"
			 : "then faster turns would be more of them, and end no sooner, where "
			   "in the replay they are as many");
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check that finds threads which go on until another one says stop, by a flag in memory.
 *
 * The replay lets such a thread do all that it did, though in a faster program it would be stopped
 * sooner. Or it guesses that the flag was set when the other one waited. Those that are told in a
 * way that the replay knows are not meant.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis.h"
#include "base/memory.h"
#include "checks_parts.h"
#include "facts.h"
#include "infer/flagged.h"

/* That the replay takes it to be told is a guess. */
static bool is_guess(const struct script *script, const struct step *step)
{
	return step->type == STEP_LOOK && script->looks.rows[step->arg].is_guess;
}

/* A wait that another thread has to end. */
static bool is_wait(const struct script *script, const struct step *step)
{
	enum step_operand operand = script_contract((enum step_type)step->type)->operand;
	bool is_own = step->type == STEP_SPAWN || step->type == STEP_SEND ||
		      step->type == STEP_SIGNAL || step->type == STEP_YIELD;
	return !is_own && !is_guess(script, step) && operand != OPERAND_NOTHING &&
	       operand != OPERAND_SCOPE && operand != OPERAND_STAMP && operand != OPERAND_WAIT &&
	       (operand != OPERAND_LOCK || step->type == STEP_TRY);
}

/* It takes tokens or permits that it does not give back, or waits for others in another way. */
static bool is_told(const struct script *script, const struct actor *actor, int32_t *taken)
{
	bool is_told = false;
	const struct step *first = &script->steps[actor->first_step], *step;
	for (step = first; step->type != STEP_END; step++) {
		uint32_t takes =
			step->type == STEP_RECEIVE ? NO_INDEX : script_source(script, step);
		uint32_t puts = script_put_source(script, step);
		if (takes != NO_INDEX)
			taken[takes]++;
		else if (puts != NO_INDEX)
			taken[puts]--;
		else
			is_told |= is_wait(script, step);
	}
	for (; step >= first; step--) {
		uint32_t takes = script_source(script, step);
		uint32_t puts = script_put_source(script, step);
		uint32_t source = takes != NO_INDEX ? takes : puts;
		if (source == NO_INDEX)
			continue;
		is_told |= taken[source] > 1;
		taken[source] = 0;
	}
	return is_told;
}

/* The one that had lived longest until the other one waited for it, NULL = none. */
static const struct flagged *worst_of(const struct analysis *analysis,
				      const struct flagged *flagged, size_t count,
				      uint64_t *lived_ns)
{
	const struct recording *recording = analysis->recording;
	const struct script *script = &analysis->script;
	int32_t *taken = memory_new(script->source_count, sizeof(*taken));
	const struct flagged *worst = NULL;
	*lived_ns = 0;
	for (size_t i = 0; i < count; i++) {
		uint32_t thread = flagged[i].thread;
		uint64_t ns = flagged[i].joins_ns -
			      recording->ops[recording->threads[thread].op].start_ns;
		if (ns <= *lived_ns || is_told(script, &script->actors[thread], taken))
			continue;
		worst = &flagged[i];
		*lived_ns = ns;
	}
	free(taken);
	return worst;
}

static bool has_guess(const struct script *script, uint32_t thread)
{
	const struct step *step = &script->steps[script->actors[thread].first_step];
	while (step->type != STEP_END && !is_guess(script, step))
		step++;
	return step->type != STEP_END;
}

void checks_stops(struct check *check, const struct analysis *analysis)
{
	const struct recording *recording = analysis->recording;
	uint64_t lived_ns;
	size_t count;
	if (!analysis->has_script || !analysis->script.arrivals || !analysis->actual_makespan_ns)
		return;
	struct flagged *flagged = flagged_find(recording, &analysis->classes, &count);
	const struct flagged *worst = worst_of(analysis, flagged, count, &lived_ns);
	check->state = CHECK_PASSED;
	check->value = checks_percent((double)lived_ns, facts_recorded_ns(analysis));
	if (worst)
		snprintf(check->line, sizeof(check->line),
			 "thread `%.40s` (%" PRIu32 ") ends as soon as `%.40s` (%" PRIu32
			 ") waits for its end, after %.0f%% of the run, as if told by a flag: %s",
			 facts_thread_name(analysis, worst->thread),
			 recording->threads[worst->thread].tid,
			 facts_thread_name(analysis, worst->teller),
			 recording->threads[worst->teller].tid, check->value,
			 has_guess(&analysis->script, worst->thread)
				 ? "the replay ends it as soon as that one waits, which is a guess"
				 : "in the replay it does all that it did, whenever that is");
	free(flagged);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check that finds waits for a turn in a group, as in group commit. Threads that come while one
 * works for all of them wait for the next turn, and then go on together.
 *
 * The replay has no tokens for that. Each thread waits for the signal that it waited for, so groups
 * stay as they were. A faster program would have others. A barrier's groups always have the same
 * size, so sizes that vary are the sign. A thread that takes all that has come, and lets others go,
 * has groups, too (infer/tokens.c). Little hangs on threads that have little of the way to the
 * end of the run, as a runtime's idle ones, or its compilers.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis.h"
#include "base/assumptions.h"
#include "base/memory.h"
#include "checks_parts.h"
#include "facts.h"
#include "format.h"

/* A signal that threads wait for as recorded, and how many did. */
struct turn {
	uint64_t address;
	uint32_t link;
	uint32_t size;
};

static int compare_turns(const void *left, const void *right)
{
	const struct turn *a = left, *b = right;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->size > b->size) - (a->size < b->size);
}

static size_t turns_find(const struct analysis *analysis, struct turn **turns)
{
	const struct script *script = &analysis->script;
	const struct recording *recording = analysis->recording;
	uint32_t *sizes = memory_new(recording->link_count, sizeof(*sizes));
	size_t count = 0;
	for (size_t i = 0; i < script->step_count; i++)
		if (script->steps[i].type == STEP_AFTER)
			sizes[script->steps[i].arg]++;
	*turns = memory_new(recording->link_count, sizeof(**turns));
	for (uint32_t i = 0; i < recording->link_count; i++)
		if (sizes[i])
			(*turns)[count++] =
				(struct turn){ recording->links[i].address, i, sizes[i] };
	free(sizes);
	qsort(*turns, count, sizeof(**turns), compare_turns);
	return count;
}

/* The first and the last turn, of which the recording may not have all. */
enum { ENDS = 2 };

/* Turns of one condition: how many are not of the most frequent size. */
static size_t odd_ones(const struct turn *turns, size_t count)
{
	size_t most = 0;
	for (size_t first = 0, end; first < count; first = end) {
		for (end = first; end < count && turns[end].size == turns[first].size;)
			end++;
		most = end - first > most ? end - first : most;
	}
	return count - most;
}

/* By link: of a condition whose groups vary. To be freed. */
static bool *varying_links(const struct analysis *analysis)
{
	bool *varies = memory_new(analysis->recording->link_count, sizeof(*varies));
	struct turn *turns;
	size_t count = turns_find(analysis, &turns);
	for (size_t first = 0, end; first < count; first = end) {
		for (end = first; end < count && turns[end].address == turns[first].address;)
			end++;
		bool is_group = (double)odd_ones(turns + first, end - first) >
				ENDS + assume.group_varies * (double)(end - first);
		for (size_t i = first; is_group && i < end; i++)
			varies[turns[i].link] = true;
	}
	free(turns);
	return varies;
}

static void say(struct check *check, const struct analysis *analysis, const struct rec_wait *wait)
{
	const struct recording *recording = analysis->recording;
	const struct labels *labels = analysis->labels;
	const char *site = labels && labels->sites && wait->stack
				   ? recording->strings[labels->sites[wait->stack]]
				   : "";
	snprintf(check->line, sizeof(check->line),
		 "threads as `%.40s` (%" PRIu32 ") wait for a turn in groups of varying size, in "
		 "%.40s%s%.60s%s, for %.0f%% of the run: the replay keeps the groups as they were, "
		 "which a faster program would not",
		 facts_thread_name(analysis, wait->thread), recording->threads[wait->thread].tid,
		 recording->strings[wait->name], site[0] ? " (" : "", site, site[0] ? ")" : "",
		 check->value);
}

static bool is_any(const bool *flags, size_t count)
{
	size_t i = 0;
	while (i < count && !flags[i])
		i++;
	return i < count;
}

static void judge(struct check *check, const struct analysis *analysis, const bool *varies,
		  const bool *is_on)
{
	const struct recording *recording = analysis->recording;
	bool *has_waited = memory_new(recording->thread_count, sizeof(*has_waited));
	const struct rec_wait *longest = NULL;
	double sum_ns = 0;
	size_t threads = 0;
	for (size_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		uint32_t link = analysis->script.monitors.waking_link[i];
		if (link == NO_INDEX || !varies[link] || wait->thread == NO_INDEX)
			continue;
		uint32_t class = facts_thread_class(analysis, wait->thread);
		if (class != NO_INDEX && !is_on[class])
			continue;
		sum_ns += (double)(wait->end_ns - wait->start_ns);
		threads += !has_waited[wait->thread];
		has_waited[wait->thread] = true;
		if (!longest || wait->end_ns - wait->start_ns > longest->end_ns - longest->start_ns)
			longest = wait;
	}
	check->value = threads ? 100 * sum_ns / (double)threads / facts_recorded_ns(analysis) : 0;
	if (longest)
		say(check, analysis, longest);
	free(has_waited);
}

/* A thread that is busy for longer than this is in the way of a run of half the length. */
static const double BUSY_PERCENT = 50;

/* A thread that takes all that has come, in a way that the replay has no tokens for. */
static void judge_lumps(struct check *check, const struct analysis *analysis, const bool *is_on)
{
	const struct monitors *monitors = &analysis->script.monitors;
	for (size_t i = 0; i < monitors->condition_count; i++) {
		const struct condition *condition = &monitors->conditions[i];
		double percent =
			checks_percent((double)condition->lumps_ns, facts_recorded_ns(analysis));
		uint32_t class = condition->lumps_ns
					 ? facts_thread_class(analysis, condition->lumps_of)
					 : NO_INDEX;
		bool is_in_the_way = class == NO_INDEX || is_on[class] || percent > BUSY_PERCENT;
		if (percent <= check->value || !is_in_the_way)
			continue;
		check->value = percent;
		snprintf(check->line, sizeof(check->line),
			 "thread `%.40s` (%" PRIu32 ") takes all that has come, and works the "
			 "longer the more that is, for %.0f%% of the run: the replay keeps what it "
			 "took, which a faster program would not",
			 facts_thread_name(analysis, condition->lumps_of),
			 analysis->recording->threads[condition->lumps_of].tid, percent);
	}
}

static bool has_lumps(const struct monitors *monitors)
{
	size_t i = 0;
	while (i < monitors->condition_count && !monitors->conditions[i].lumps_ns)
		i++;
	return i < monitors->condition_count;
}

void checks_groups(struct check *check, const struct analysis *analysis,
		   const struct replayer *replayer)
{
	if (!analysis->has_script || !analysis->script.arrivals ||
	    !(facts_recorded_ns(analysis) > 0))
		return;
	bool *varies = varying_links(analysis);
	check->state = CHECK_PASSED;
	if (is_any(varies, analysis->recording->link_count) ||
	    has_lumps(&analysis->script.monitors)) {
		bool *is_on = checks_on_the_way(analysis, replayer, CHECK_GROUPS);
		judge(check, analysis, varies, is_on);
		judge_lumps(check, analysis, is_on);
		free(is_on);
	}
	free(varies);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check of the times at which threads end: where the replay has them, and the recording.
 *
 * Threads of one routine stand for each other. So do all that take jobs from one queue: which one
 * gets the last job is chance. The ends of such a group are compared in order of time. A pool's
 * threads may not have ended when main did. The end of such a thread is that of its last job. Of
 * these only the last one of a group is compared.
 * Threads that tick, or did next to nothing, may end at any time.
 */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis.h"
#include "ask/astray.h"
#include "base/memory.h"
#include "base/percentile.h"
#include "checks_parts.h"
#include "facts.h"
#include "verdict.h"

static const double NOTHING = 0.01; /* of all CPU time */

/* The end of a thread, since the first one began. */
struct finish {
	uint32_t group;
	bool is_open; /* it had not ended */
	uint32_t thread;
	uint64_t at_ns;
};

/* Of one group, those that ended are before those that did not, each in order of time. */
static int compare_finishes(const void *left, const void *right)
{
	const struct finish *a = left, *b = right;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->is_open != b->is_open)
		return a->is_open - b->is_open;
	return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

/* --- groups --- */

/* Sets of classes and sources of jobs; each leads to another one of its set, or to itself. */
struct groups {
	uint32_t *leads_to;
	uint32_t class_count;
};

static uint32_t group_of(const struct groups *groups, uint32_t node)
{
	while (groups->leads_to[node] != node)
		node = groups->leads_to[node];
	return node;
}

static uint32_t class_of(const struct analysis *analysis, uint32_t thread)
{
	uint32_t op = analysis->recording->threads[thread].op;
	return op == NO_INDEX ? analysis->classes.count : analysis->classes.of_op[op];
}

static void groups_build(struct groups *groups, const struct analysis *analysis)
{
	const struct script *script = &analysis->script;
	uint32_t class_count = analysis->classes.count + 1; /* the last one: not known */
	size_t node_count = class_count + script->source_count;
	groups->class_count = class_count;
	groups->leads_to = memory_new(node_count, sizeof(*groups->leads_to));
	for (uint32_t i = 0; i < node_count; i++)
		groups->leads_to[i] = i;
	for (uint32_t t = 0; t < analysis->recording->thread_count; t++) {
		const struct step *step = &script->steps[script->actors[t].first_step];
		for (; step->type != STEP_END; step++) {
			uint32_t source = script_source(script, step);
			if (source == NO_INDEX || !script->jobs[source].count)
				continue;
			uint32_t pool = group_of(groups, class_count + source);
			groups->leads_to[pool] = group_of(groups, class_of(analysis, t));
		}
	}
}

static bool is_pool(const struct groups *groups, const struct script *script, uint32_t group)
{
	for (uint32_t source = 0; source < script->source_count; source++)
		if (script->jobs[source].count &&
		    group_of(groups, groups->class_count + source) == group)
			return true;
	return false;
}

/*
 * By thread: whether it used hardly any of the CPU time, so that its end is no matter. Of a pool
 * that is chance, too: all of its threads or none. To be freed.
 */
static bool *threads_doing_nothing(const struct groups *groups, const struct analysis *analysis,
				   size_t count)
{
	const struct thread_table *threads = &analysis->threads;
	size_t node_count = groups->class_count + analysis->script.source_count;
	bool *are_idle = memory_new(count, sizeof(*are_idle));
	bool *is_busy_pool = memory_new(node_count, sizeof(*is_busy_pool));
	double all_ns = 0;
	for (uint32_t i = 0; i < threads->count; i++)
		all_ns += (double)threads->rows[i].cpu_ns;
	for (uint32_t i = 0; i < threads->count; i++) {
		const struct thread_time *row = &threads->rows[i];
		uint32_t group = group_of(groups, class_of(analysis, row->thread));
		if (row->thread >= count)
			continue;
		are_idle[row->thread] = row->has_cpu && (double)row->cpu_ns < NOTHING * all_ns;
		if (!are_idle[row->thread])
			is_busy_pool[group] = is_pool(groups, &analysis->script, group);
	}
	for (uint32_t t = 0; t < count; t++)
		are_idle[t] &= !is_busy_pool[group_of(groups, class_of(analysis, t))];
	free(is_busy_pool);
	return are_idle;
}

/* --- ends --- */

struct finishes {
	struct finish *recorded;
	struct finish *replayed;
	size_t count;
};

static void finishes_build(struct finishes *finishes, const struct analysis *analysis)
{
	const struct script *script = &analysis->script;
	const struct recording *recording = analysis->recording;
	size_t all = analysis->whatif.finish_count;
	struct groups groups;
	groups_build(&groups, analysis);
	bool *are_idle = threads_doing_nothing(&groups, analysis, all);
	*finishes = (struct finishes){ memory_new(all, sizeof(struct finish)),
				       memory_new(all, sizeof(struct finish)), 0 };
	assert(all <= script->actor_count);
	for (uint32_t t = 0; t < all; t++) {
		uint32_t op = recording->threads[t].op;
		uint64_t finish_ns = script->actors[t].finish_ns;
		struct finish finish = { .group = group_of(&groups, class_of(analysis, t)),
					 .is_open = op == NO_INDEX || recording->extras[op].open,
					 .thread = t };
		if (script->actors[t].ticks || script->actors[t].rests || are_idle[t])
			continue;
		finish.at_ns = finish_ns > script->start_ns ? finish_ns - script->start_ns : 0;
		finishes->recorded[finishes->count] = finish;
		finish.at_ns = analysis->whatif.baseline_finish_ns[t];
		finishes->replayed[finishes->count++] = finish;
	}
	qsort(finishes->recorded, finishes->count, sizeof(struct finish), compare_finishes);
	qsort(finishes->replayed, finishes->count, sizeof(struct finish), compare_finishes);
	free(groups.leads_to);
	free(are_idle);
}

/* Of those that had not ended only the last one of a group is. */
static bool is_compared(const struct finishes *finishes, size_t i)
{
	const struct finish *finish = &finishes->recorded[i];
	assert(finish->group == finishes->replayed[i].group &&
	       finish->is_open == finishes->replayed[i].is_open);
	return !finish->is_open || i + 1 == finishes->count || finish[1].group != finish->group;
}

struct thread_drift checks_thread_drift(const struct analysis *analysis)
{
	struct thread_drift drift = { .worst = NO_INDEX };
	struct finishes finishes;
	size_t count = 0;
	if (!analysis->has_script)
		return drift;
	finishes_build(&finishes, analysis);
	uint64_t *off_ns = memory_new(finishes.count, sizeof(*off_ns));
	for (size_t i = 0; i < finishes.count; i++) {
		if (!is_compared(&finishes, i))
			continue;
		double later_ns =
			(double)finishes.replayed[i].at_ns - (double)finishes.recorded[i].at_ns;
		off_ns[count++] = (uint64_t)fabs(later_ns);
		if (drift.worst != NO_INDEX && fabs(later_ns) <= fabs(drift.worst_ns))
			continue;
		drift.worst = finishes.recorded[i].thread;
		drift.worst_ns = later_ns;
	}
	drift.p95_ns = count ? percentile_select(off_ns, count, (count * 95 + 99) / 100 - 1) : 0;
	free(finishes.recorded);
	free(finishes.replayed);
	free(off_ns);
	return drift;
}

/* How late the replay is, as far as the check goes by that; its worst thread else. < 0: early. */
static double error_ns(const struct analysis *analysis)
{
	double drift = facts_drift_percent(analysis);
	return fabs(drift) > verdict_failed_above(CHECK_DRIFT)
		       ? drift / 100 * facts_recorded_ns(analysis)
		       : checks_thread_drift(analysis).worst_ns;
}

static void add_place(struct check *check, const struct place *place, const char *text)
{
	size_t length = strlen(check->line);
	snprintf(check->line + length, sizeof(check->line) - length, "; %s", text);
	check->place = *place;
}

void checks_name_astray(struct checks *checks, const struct analysis *analysis,
			const struct replayer *replayer)
{
	static const enum check_id ids[] = { CHECK_DRIFT, CHECK_THREADS };
	struct astray astray;
	char text[2 * PLACE_BYTES], where[PLACE_BYTES];
	bool has_failed = false;
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		has_failed |= checks->rows[ids[i]].state != CHECK_UNKNOWN &&
			      checks->rows[ids[i]].value > verdict_failed_above(ids[i]);
	if (!has_failed || !analysis->has_script || analysis->whatif.baseline.ran_away ||
	    !astray_find(&astray, &analysis->script, replayer, error_ns(analysis)))
		return;
	struct place place = place_of(analysis, astray.place);
	double percent = checks_percent(astray.ns, facts_recorded_ns(analysis));
	if ((astray.is_wait && !place.action) || fabs(percent) < verdict_failed_above(CHECK_DRIFT))
		return;
	if (astray.is_wait)
		snprintf(text, sizeof(text), "it waits too %s (%+.1f%% of the run) where %s",
			 astray.ns > 0 ? "long" : "briefly", percent,
			 place_describe(&place, where));
	else if (!place.thread)
		snprintf(text, sizeof(text),
			 "%+.1f%% of the run came in by clients that are not recorded", percent);
	else
		snprintf(text, sizeof(text),
			 "%+.1f%% of the run came in by the code of thread `%.40s` (%" PRIu32 ")",
			 percent, place.thread, place.tid);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		add_place(&checks->rows[ids[i]], astray.is_wait ? &place : &(struct place){ 0 },
			  text);
}

void checks_threads(struct check *check, const struct analysis *analysis)
{
	double actual_ns = facts_recorded_ns(analysis);
	const struct thread_drift drift = checks_thread_drift(analysis);
	if (analysis->options->cpus > 0 || drift.worst == NO_INDEX)
		return;
	check->state = CHECK_PASSED;
	check->value = checks_percent((double)drift.p95_ns, actual_ns);
	snprintf(check->line, sizeof(check->line),
		 "one thread in 20 ends too early or too late in the replay, by %.1f%% of the "
		 "makespan or more; the worst is `%.40s` (%" PRIu32 ") with %+.1f%%",
		 check->value, facts_thread_name(analysis, drift.worst),
		 analysis->recording->threads[drift.worst].tid,
		 checks_percent(drift.worst_ns, actual_ns));
}

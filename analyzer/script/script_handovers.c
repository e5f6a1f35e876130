/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues that hand each job over from the thread that puts it; script_handovers.h has the contract.
 *
 * Threads that put may wait for their own jobs, by futures. In the recorded order the job of a
 * thread that comes later now is taken first, and the others wait for that. So a job goes with its
 * put where several threads put. It does so where a pool puts jobs for itself, which in the
 * recorded order could come before what put them. Where some job is put by nobody known, and the
 * pool does not, the recorded order stays.
 *
 * One thread.
 */
#include "script_handovers.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "script_parts.h"

/* Its messages have their jobs with them. */
static bool is_flow(const struct script *script, uint32_t source)
{
	size_t conditions = script->monitors.condition_count;

	return source >= conditions && source < conditions + script->flows.flow_count;
}

void script_queue_hands_over(struct script *script, uint32_t source)
{
	struct job_list *jobs = &script->jobs[source];
	int64_t before = script_jobs_before(script, source);

	jobs->is_handed_over = !is_flow(script, source);
	if (before > 0)
		jobs->there =
			before < (int64_t)jobs->count ? (uint32_t)before : (uint32_t)jobs->count;
}

/* By source: more than one thread puts. */
static bool *several_put(const struct script *script)
{
	bool *several = memory_new(script->source_count, sizeof(*several));
	uint32_t *putter = memory_new(script->source_count, sizeof(*putter));
	uint32_t actor = 0;

	memset(putter, 0xff, script->source_count * sizeof(*putter));
	for (uint32_t i = 0; i < script->step_count; i++) {
		uint32_t source = script_put_source(script, &script->steps[i]);

		if (script_has_jobs(script, source)) {
			several[source] |= putter[source] != NO_INDEX && putter[source] != actor;
			putter[source] = actor;
		}
		actor += script->steps[i].type == STEP_END;
	}
	free(putter);
	return several;
}

/* Threads of its pool put jobs, too. */
static bool is_fed_back(const struct script *script, uint32_t source)
{
	return source < script->monitors.condition_count &&
	       script->monitors.conditions[source].is_pool &&
	       script->monitors.conditions[source].is_fed_back && script_has_jobs(script, source);
}

void script_handovers_find(struct script *script, const struct queued *queued)
{
	bool *several = several_put(script);
	uint32_t *puts = memory_new(script->source_count, sizeof(*puts));

	for (uint32_t i = 0; i < script->step_count; i++)
		if (queued->put_job[i] != NO_INDEX)
			puts[queued->source_of[queued->put_job[i]]]++;
	for (uint32_t source = 0; source < script->source_count; source++) {
		int64_t there = several[source] ? script_jobs_before(script, source) : 0;
		bool is_known = puts[source] + (there > 0 ? there : 0) ==
				(int64_t)script->jobs[source].count;

		if (is_fed_back(script, source) || (several[source] && is_known))
			script_queue_hands_over(script, source);
	}
	free(puts);
	free(several);
}

/* The queue hands its jobs on, each to whoever takes it. */
static void puts_know(struct script *script, const struct queued *queued)
{
	for (uint32_t i = 0; i < script->step_count; i++) {
		uint32_t source = script_put_source(script, &script->steps[i]);

		if (source != NO_INDEX && script->jobs[source].is_handed_over &&
		    queued->put_job[i] != NO_INDEX)
			script->steps[i].job = queued->put_job[i] - script->jobs[source].first + 1;
	}
}

/* Which jobs give which signals: none does before it is put. */
static void signals_find(struct script *script)
{
	for (uint32_t source = 0; source < script->source_count; source++) {
		const struct job_list *jobs = &script->jobs[source];

		for (uint32_t n = 0; jobs->is_handed_over && n < jobs->count; n++)
			for (uint32_t i = jobs->steps[n];
			     script->steps[i].type != STEP_END &&
			     !script_has_jobs(script, script_source(script, &script->steps[i]));
			     i++)
				if (script->steps[i].type == STEP_SIGNAL)
					script->job_of_link[script->steps[i].arg] = jobs->first + n;
	}
}

void script_handovers_end(struct script *script, const struct queued *queued)
{
	puts_know(script, queued);
	script_latest_find(script);
	signals_find(script);
}

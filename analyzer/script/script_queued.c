/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs on their way through queues; script_queued.h has the contract.
 *
 * Method. Jobs leave a queue in the order in which they came there. So the n-th of those that are
 * put is the n-th that is taken. One thread.
 */
#include "script_queued.h"

#include "base/memory.h"
#include "format.h"
#include "script_parts.h"

#include <stdlib.h>
#include <string.h>

struct put {
	uint64_t at_ns;
	uint32_t source;
	uint32_t step;
};

static int compare_puts(const void *left, const void *right)
{
	const struct put *a = left, *b = right;

	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (a->step > b->step) - (a->step < b->step);
}

bool script_has_jobs(const struct script *script, uint32_t source)
{
	return source != NO_INDEX && script->jobs[source].count && !script->jobs[source].items;
}

uint64_t script_time_of(const struct script *script, const struct step_origin *origin)
{
	const struct recording *rec = script->recording;

	switch ((enum origin_sort)origin->sort) {
	case ORIGIN_WAIT:
		return script->steps[origin->step].type == STEP_ACQUIRE
			       ? rec->waits[origin->index].end_ns
			       : rec->waits[origin->index].start_ns;
	case ORIGIN_LINK:
		return rec->links[origin->index].at_ns;
	case ORIGIN_OP:
		break;
	}
	const struct rec_op *op = &rec->ops[origin->index];
	return op->kind == KIND_HOLD && script->steps[origin->step].type == STEP_PUT ? op->end_ns
										     : op->start_ns;
}

/* Its messages have their jobs with them. */
static bool is_flow(const struct script *script, uint32_t source)
{
	size_t conditions = script->monitors.condition_count;

	return source >= conditions && source < conditions + script->flows.flow_count;
}

int64_t script_jobs_before(const struct script *script, uint32_t source)
{
	size_t others = script->monitors.condition_count + script->flows.flow_count;

	if (is_flow(script, source))
		return 0;
	if (source < script->monitors.condition_count)
		return script->monitors.conditions[source].initial;
	return (int64_t)script->permits[source - others] -
	       (int64_t)script->owed_permits[source - others];
}

/* The n-th that is put is the n-th that is taken. */
static void puts_number(struct queued *queued, const struct script *script, const struct put *puts,
			size_t count)
{
	int64_t number = 0;

	for (size_t i = 0; i < count; i++, number++) {
		const struct job_list *jobs = &script->jobs[puts[i].source];

		if (!i || puts[i].source != puts[i - 1].source)
			number = script_jobs_before(script, puts[i].source);
		if (number >= 0 && number < (int64_t)jobs->count)
			queued->put_job[puts[i].step] = jobs->first + (uint32_t)number;
	}
}

/* A message knows its job by itself. */
static uint32_t job_in_message(const struct script *script, const struct step *step)
{
	uint32_t flow = script->flows.transfers[step->arg].flow;
	uint32_t number = script->messages.job_of[step->arg];

	return number == NO_INDEX
		       ? NO_INDEX
		       : script->jobs[script->monitors.condition_count + flow].first + number;
}

static void puts_find(struct queued *queued, const struct script *script)
{
	struct put *puts = NULL;
	size_t count = 0, capacity = 0, origin = 0;

	for (uint32_t i = 0; i < script->step_count; i++) {
		const struct step *step = &script->steps[i];
		uint32_t source = script_put_source(script, step);

		if (step->type == STEP_SEND)
			queued->put_job[i] = job_in_message(script, step);
		if (!script_has_jobs(script, source))
			continue;
		while (origin < script->origin_count && script->origins[origin].step < i)
			origin++;
		if (origin == script->origin_count || script->origins[origin].step != i)
			continue;
		puts = memory_grow(puts, &capacity, count + 1, sizeof(*puts));
		puts[count++] =
			(struct put){ script_time_of(script, &script->origins[origin]), source, i };
	}
	if (count)
		qsort(puts, count, sizeof(*puts), compare_puts);
	puts_number(queued, script, puts, count);
	free(puts);
}

static void sources_find(struct queued *queued, const struct script *script)
{
	for (uint32_t source = 0; source < script->source_count; source++) {
		const struct job_list *jobs = &script->jobs[source];

		for (uint32_t i = 0; i < jobs->count; i++)
			queued->source_of[jobs->first + i] = source;
	}
}

static uint32_t body_of(const struct queued *queued, const struct script *script, uint32_t job)
{
	const struct job_list *jobs = &script->jobs[queued->source_of[job]];

	return jobs->steps[job - jobs->first];
}

/* The step behind a job's body, or with which it rings. */
static uint32_t body_end(const struct queued *queued, const struct script *script, uint32_t job)
{
	uint32_t i = body_of(queued, script, job);

	while (script->steps[i].type != STEP_END && !script_rings(script, &script->steps[i]) &&
	       !script_has_jobs(script, script_source(script, &script->steps[i])))
		i++;
	return i;
}

static void callers_find(struct queued *queued, const struct script *script)
{
	for (uint32_t source = 0; source < script->source_count; source++) {
		const struct job_list *jobs = &script->jobs[source];

		for (uint32_t i = 0;
		     script_has_jobs(script, source) && !queued->calls[source] && i < jobs->count;
		     i++)
			queued->calls[source] = script_rings(
				script, &script->steps[body_end(queued, script, jobs->first + i)]);
	}
}

uint64_t script_done_ns(const struct queued *queued, const struct script *script, uint32_t job,
			uint32_t lock)
{
	uint32_t end = body_end(queued, script, job), done = end;

	for (uint32_t i = body_of(queued, script, job); i < end; i++)
		if (script->steps[i].type == STEP_ACQUIRE && script->steps[i].arg == lock)
			done = i;
	bool is_seen = done < end || script_rings(script, &script->steps[end]) ||
		       (lock == NO_INDEX && script->steps[end].type != STEP_END);
	const struct step_origin *origin = is_seen ? script_origin(script, done) : NULL;

	return origin ? script_time_of(script, origin) : NEVER_SEEN;
}

void script_queued_find(struct queued *queued, const struct script *script)
{
	queued->put_job = memory_new(script->step_count, sizeof(*queued->put_job));
	memset(queued->put_job, 0xff, script->step_count * sizeof(*queued->put_job));
	queued->calls = memory_new(script->source_count, sizeof(*queued->calls));
	queued->source_of = memory_new(script->job_count, sizeof(*queued->source_of));
	sources_find(queued, script);
	puts_find(queued, script);
	callers_find(queued, script);
}

void script_queued_free(struct queued *queued)
{
	free(queued->put_job);
	free(queued->calls);
	free(queued->source_of);
}

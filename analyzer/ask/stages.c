/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds stages of one thread; stages.h has the contract.
 *
 * Such a thread takes from a condition variable or a semaphore and puts nothing there. Its work
 * must come from others. A second client, which waits for the answers to its own requests, would
 * double the work, not share it. A worker that says when it is free, and is then told what to do,
 * has a queue of its own. Another thread would have another queue. So the puts of the thread are
 * followed from taker to taker, and may not lead back to its source. Puts that give room back are
 * no part of that: there was room at the start. Of several threads that take alone none is a stage.
 *
 * One thread.
 */
#include "stages.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { MANY_ACTORS = UINT32_MAX - 1 };

/* One hand-over from a step's thread to another one, or from another one. */
struct end {
	uint32_t source; /* NO_INDEX = the step is none */
	bool is_put;
};

struct survey {
	const struct script *script;
	uint32_t *actor_of; /* by step */
	uint32_t *taker;    /* by source: NO_INDEX = nobody, MANY_ACTORS */
	bool *is_reached;   /* by actor: it goes on as the thread in question lets it */
	bool *is_fed;       /* by source: such an actor puts there */
};

static uint32_t source_of_link(const struct script *script, uint32_t link)
{
	return script->monitors.signals[link].condition;
}

static struct end end_of(const struct script *script, const struct step *step)
{
	uint32_t conditions = (uint32_t)script->monitors.condition_count;
	uint32_t flows = (uint32_t)script->flows.flow_count;

	switch (step->type) {
	case STEP_PUT:
		return (struct end){ step->arg, true };
	case STEP_SIGNAL:
		return (struct end){ source_of_link(script, step->arg), true };
	case STEP_SEND:
		return (struct end){ conditions + script->flows.transfers[step->arg].flow, true };
	case STEP_POST:
		return (struct end){ conditions + flows + step->arg, true };
	case STEP_AFTER:
		return (struct end){ source_of_link(script, step->arg), false };
	default:
		return (struct end){ script_source(script, step), false };
	}
}

/* It held something at the start: who takes there need not wait for who puts. */
static bool has_room(const struct script *script, uint32_t source)
{
	size_t conditions = script->monitors.condition_count, flows = script->flows.flow_count;

	if (source < conditions)
		return script->monitors.conditions[source].initial > 0;
	return source >= conditions + flows && script->permits[source - conditions - flows] > 0;
}

static void survey_begin(struct survey *survey, const struct script *script)
{
	uint32_t actor = 0;

	*survey = (struct survey){
		.script = script,
		.actor_of = memory_new(script->step_count, sizeof(*survey->actor_of)),
		.taker = memory_new(script->source_count, sizeof(*survey->taker)),
		.is_reached = memory_new(script->actor_count, sizeof(*survey->is_reached)),
		.is_fed = memory_new(script->source_count, sizeof(*survey->is_fed)),
	};
	memset(survey->taker, 0xff, script->source_count * sizeof(*survey->taker));
	for (size_t i = 0; i < script->step_count; i++) {
		struct end end = end_of(script, &script->steps[i]);

		survey->actor_of[i] = actor;
		actor += script->steps[i].type == STEP_END;
		if (end.source == NO_INDEX || end.is_put)
			continue;
		uint32_t *taker = &survey->taker[end.source];
		*taker = *taker == NO_INDEX || *taker == survey->actor_of[i] ? survey->actor_of[i]
									     : MANY_ACTORS;
	}
}

static void survey_end(struct survey *survey)
{
	free(survey->is_fed);
	free(survey->is_reached);
	free(survey->taker);
	free(survey->actor_of);
}

/* Notes all sources that the actor feeds, by itself or by way of others. */
static void follow(struct survey *survey, uint32_t actor)
{
	const struct script *script = survey->script;
	bool goes_on = true;

	memset(survey->is_reached, 0, script->actor_count * sizeof(*survey->is_reached));
	memset(survey->is_fed, 0, script->source_count * sizeof(*survey->is_fed));
	survey->is_reached[actor] = true;
	while (goes_on) {
		goes_on = false;
		for (size_t i = 0; i < script->step_count; i++) {
			struct end end = end_of(script, &script->steps[i]);
			bool *is_reached = &survey->is_reached[survey->actor_of[i]];

			if (end.source == NO_INDEX || has_room(script, end.source))
				continue;
			bool *is_next = end.is_put ? &survey->is_fed[end.source] : is_reached;
			if (!*is_next && (end.is_put ? *is_reached : survey->is_fed[end.source]))
				*is_next = goes_on = true;
		}
	}
}

/* A source of counted tokens or permits, so that each take is of one piece of work. */
static bool is_counted(const struct script *script, uint32_t source)
{
	size_t conditions = script->monitors.condition_count;
	enum put_model model =
		source < conditions ? script->monitors.conditions[source].model : PUT_NONE;

	if (source < conditions)
		return model == PUT_BY_SIGNAL || model == PUT_BY_SECTION;
	return source >= conditions + script->flows.flow_count;
}

static bool puts_to(const struct survey *survey, uint32_t actor, uint32_t source)
{
	const struct step *step = &survey->script->steps[survey->script->actors[actor].first_step];

	for (; step->type != STEP_END; step++) {
		struct end end = end_of(survey->script, step);

		if (end.is_put && end.source == source)
			return true;
	}
	return false;
}

/* The only thread of one of the classes in question, and not a program's first one. */
static bool is_asked(const struct script *script, const struct class_table *classes,
		     const struct question *question, uint32_t actor)
{
	const struct recording *rec = script->recording;
	uint32_t op = rec->threads[actor].op, class = op == NO_INDEX ? op : classes->of_op[op];
	bool is_one = false;

	for (size_t i = 0; op != NO_INDEX && i < question->pool_count; i++)
		is_one = is_one || class == question->pools[i].class;
	for (uint32_t i = 0; is_one && i < script->actor_count; i++) {
		uint32_t other = rec->threads[i].op;

		is_one = i == actor || other == NO_INDEX || classes->of_op[other] != class;
	}
	return is_one && script->actors[actor].is_spawned;
}

static void jobs_add(struct survey *survey, struct job_list *jobs, uint32_t source,
		     uint32_t *job_count)
{
	const struct script *script = survey->script;
	uint32_t actor = survey->taker[source];

	for (uint32_t i = script->actors[actor].first_step; script->steps[i].type != STEP_END;
	     i++) {
		if (script_source(script, &script->steps[i]) != source)
			continue;
		jobs->steps = memory_grow(jobs->steps, &jobs->capacity, jobs->count + 1,
					  sizeof(*jobs->steps));
		jobs->steps[jobs->count++] = i + 1;
	}
	jobs->first = *job_count;
	*job_count += (uint32_t)jobs->count;
}

/* Whether the only thread that takes work there is one of those, and others make that work. */
static bool is_work_for(struct survey *survey, const struct class_table *classes,
			const struct question *question, uint32_t source)
{
	uint32_t actor = survey->taker[source];

	if (actor == NO_INDEX || actor == MANY_ACTORS || survey->script->jobs[source].count ||
	    has_room(survey->script, source) || !is_counted(survey->script, source) ||
	    !is_asked(survey->script, classes, question, actor))
		return false;
	follow(survey, actor);
	return !survey->is_fed[source];
}

struct job_list *stages_find(const struct script *script, const struct class_table *classes,
			     const struct question *question, uint32_t *job_count)
{
	struct job_list *jobs = memory_new(script->source_count, sizeof(*jobs));
	bool *is_stage = memory_new(script->actor_count, sizeof(*is_stage));
	struct survey survey;

	*job_count = script->job_count;
	survey_begin(&survey, script);
	for (uint32_t i = 0; i < script->source_count; i++) {
		jobs[i] = script->jobs[i];
		jobs[i].capacity = jobs[i].count;
		jobs[i].steps = memory_new(jobs[i].count, sizeof(*jobs[i].steps));
		if (jobs[i].count)
			memcpy(jobs[i].steps, script->jobs[i].steps,
			       jobs[i].count * sizeof(*jobs[i].steps));
		if (!is_work_for(&survey, classes, question, i))
			continue;
		jobs_add(&survey, &jobs[i], i, job_count);
		is_stage[survey.taker[i]] = true;
	}
	/* A stage waits for room, too: who has it goes on with the next piece that is done. */
	for (uint32_t i = 0; i < script->source_count; i++) {
		uint32_t actor = survey.taker[i];

		if (actor < MANY_ACTORS && is_stage[actor] && !jobs[i].count &&
		    has_room(script, i) && is_counted(script, i) && !puts_to(&survey, actor, i))
			jobs_add(&survey, &jobs[i], i, job_count);
	}
	survey_end(&survey);
	free(is_stage);
	return jobs;
}

void stages_free(struct job_list *jobs, size_t source_count)
{
	for (size_t i = 0; i < source_count; i++)
		free(jobs[i].steps);
	free(jobs);
}

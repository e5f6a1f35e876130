/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools: the work after a take belongs to the job, not to the thread that happened to take it.
 *
 * Method. A source (a condition, a pipe, a semaphore) has a pool if several threads take from it,
 * and none of them puts anything into it. Of a semaphore, they take side by side. So has a
 * condition whose takers live for what they take.
 * The steps after each take are then a job in the source's list, in recorded order. A thread's last
 * take may be its leaving, and then stays its own. Permits of threads that give them back are a
 * limit, and there are no jobs.
 *
 * A thread without a leaving, which was there until the last job was taken, goes on while there are
 * jobs. Another thread may have made its last one.
 *
 * One thread.
 */
#include "base/memory.h"
#include "script_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int compare_taken(const void *left, const void *right)
{
	const struct taken *a = left, *b = right;

	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	if (a->end_ns != b->end_ns)
		return a->end_ns < b->end_ns ? -1 : 1;
	return a->step < b->step ? -1 : a->step > b->step;
}

static bool is_last_of_thread(const struct compiler *compiler, size_t index)
{
	const struct taken *taken = &compiler->gathered.taken[index];

	for (size_t i = index + 1; i < compiler->gathered.taken_count &&
				   compiler->gathered.taken[i].source == taken->source;
	     i++)
		if (compiler->gathered.taken[i].thread == taken->thread)
			return false;
	return true;
}

struct semaphore_study {
	uint32_t taker;  /* the last one */
	uint32_t poster; /* the last one */
	bool has_several_takers;
	bool is_given_back; /* somebody takes and posts */
};

static void study_step(struct semaphore_study *study, const struct step *step, uint32_t actor)
{
	assert(step->type == STEP_PERMIT || step->type == STEP_POST);
	if (step->type == STEP_POST) {
		study->poster = actor;
	} else {
		study->taker = actor;
	}
	study->is_given_back = study->is_given_back || study->taker == study->poster;
}

static struct semaphore_study *semaphores_study(const struct script *script)
{
	struct semaphore_study *studies = memory_new(script->semaphore_count, sizeof(*studies));
	uint32_t actor = 0;

	for (size_t i = 0; i < script->semaphore_count; i++)
		studies[i] = (struct semaphore_study){ .taker = NO_INDEX, .poster = NO_INDEX - 1 };
	for (size_t i = 0; i < script->step_count; i++) {
		const struct step *step = &script->steps[i];

		if (step->type == STEP_PERMIT || step->type == STEP_POST)
			study_step(&studies[step->arg], step, actor);
		actor += step->type == STEP_END;
	}
	return studies;
}

static bool is_after(const struct recording *rec, uint32_t thread, uint32_t before)
{
	uint32_t op = rec->threads[thread].op, op_before = rec->threads[before].op;

	return op != NO_INDEX && op_before != NO_INDEX &&
	       rec->ops[op].start_ns >= rec->ops[op_before].end_ns;
}

/* Threads share nothing if each begins when the one before has ended, as those of OpenMP that have
 * the same place in their teams. The takes are in order of time. */
static void takers_study(struct semaphore_study *studies, const struct compiler *compiler)
{
	const struct script *script = compiler->script;
	size_t others = script->monitors.condition_count + script->flows.flow_count;

	for (size_t i = 1; i < compiler->gathered.taken_count; i++) {
		const struct taken *taken = &compiler->gathered.taken[i], *before = taken - 1;

		if (taken->source >= others && taken->source == before->source &&
		    taken->thread != before->thread &&
		    !is_after(compiler->rec, taken->thread, before->thread))
			studies[taken->source - others].has_several_takers = true;
	}
}

/* It is no work: a lock goes back, the rest of a message is read, or there is room for another one
 * in the queue. */
static bool is_aside(const struct script *script, const struct step *step,
		     const struct semaphore_study *studies)
{
	uint32_t type = step->type;

	if (type == STEP_RECEIVE)
		return script->flows.transfers[step->arg].is_rest;
	if (type == STEP_PERMIT || type == STEP_CLAIM)
		return studies[step->arg].is_given_back;
	return type != STEP_DELAY && type != STEP_TAKE && type != STEP_SEND;
}

/* It was there when the recording ended: it would have taken more. */
static bool goes_on(const struct recording *rec, uint32_t thread)
{
	uint32_t op = rec->threads[thread].op;

	return op != NO_INDEX && rec->extras[op].open;
}

/* The thread was told to end. */
static bool leads_to_end(const struct script *script, uint32_t step,
			 const struct semaphore_study *studies)
{
	while (script->steps[step].type != STEP_END &&
	       is_aside(script, &script->steps[step], studies))
		step++;
	return script->steps[step].type == STEP_END;
}

/* After the gate of a condition opened, or to end; of batches without a gate it is the last one. */
static bool is_leaving(const struct compiler *compiler, size_t index,
		       const struct semaphore_study *studies)
{
	const struct taken *taken = &compiler->gathered.taken[index];
	const struct monitors *monitors = &compiler->script->monitors;

	if (taken->source < monitors->condition_count) {
		uint64_t gate_ns = monitors->conditions[taken->source].gate_ns;
		bool has_gate = gate_ns != UINT64_MAX ||
				!script_is_batched(compiler->script, taken->source);

		if (has_gate && taken->end_ns <= gate_ns)
			return false;
	} else if (goes_on(compiler->rec, taken->thread) ||
		   !leads_to_end(compiler->script, taken->step, studies)) {
		return false;
	}
	return is_last_of_thread(compiler, index);
}

/* A semaphore that is used as a lock, and was tried. A thread that does not get a permit has no
 * need to wait, and may hold what the others need to give it back. */
static void claim_instead(struct script *script, const struct taken *taken,
			  const struct semaphore_study *studies)
{
	struct step *take = &script->steps[taken->step - 1];

	assert(taken->step > 0 && taken->step < script->step_count &&
	       script_source(script, take) == taken->source);
	if (take->type == STEP_PERMIT && taken->is_tried && studies[take->arg].is_given_back)
		take->type = STEP_CLAIM;
}

static bool is_pool(const struct script *script, uint32_t source,
		    const struct semaphore_study *studies)
{
	size_t conditions = script->monitors.condition_count, flows = script->flows.flow_count;

	if (source < conditions)
		return script->monitors.conditions[source].is_pool ||
		       script_is_batched(script, source);
	if (source < conditions + flows)
		return script->flows.flows[source - conditions].is_shared;
	const struct semaphore_study *study = &studies[source - conditions - flows];
	return study->has_several_takers && !study->is_given_back;
}

uint32_t script_take_step(const struct script *script, uint32_t actor)
{
	uint32_t first = script->actors[actor].first_step, found = NO_INDEX;

	for (uint32_t i = first; script->steps[i].type != STEP_END; i++) {
		const struct step *step = &script->steps[i];
		uint32_t source = script_source(script, step);

		/* An event loop goes through its stretches once. */
		if (step->type == STEP_VISIT)
			found = NO_INDEX;
		if (source == NO_INDEX || !script->jobs[source].count)
			continue;
		if (step->type == STEP_RECEIVE || step->type == STEP_PERMIT)
			found = i;
		else if (i > first && step[-1].type == STEP_ACQUIRE &&
			 step[-1].arg == script->jobs[source].lock)
			found = i - 1;
	}
	return found;
}

/* Threads that stayed until the last job was taken, and did not leave by a take of their own. */
static void stayers_find(struct compiler *compiler)
{
	struct script *script = compiler->script;
	uint64_t *last_ns = memory_new(script->source_count, sizeof(*last_ns));

	for (size_t i = 0; i < compiler->gathered.taken_count; i++)
		last_ns[compiler->gathered.taken[i].source] = compiler->gathered.taken[i].end_ns;
	for (uint32_t i = 0; i < script->actor_count; i++) {
		struct actor *actor = &script->actors[i];
		uint32_t at = actor->last_body == NO_INDEX ? script_take_step(script, i) : NO_INDEX;

		if (at == NO_INDEX)
			continue;
		uint32_t source = script_source(script, &script->steps[at]);
		source =
			source == NO_INDEX ? script_source(script, &script->steps[at + 1]) : source;
		uint32_t op = compiler->rec->threads[i].op;

		if (op == NO_INDEX || compiler->rec->ops[op].end_ns >= last_ns[source])
			actor->take_step = at;
	}
	free(last_ns);
}

void script_pools_find(struct compiler *compiler)
{
	struct script *script = compiler->script;
	struct semaphore_study *studies = semaphores_study(script);
	uint32_t *job_of_read = memory_new(script->flows.transfer_count, sizeof(*job_of_read));

	memset(job_of_read, 0xff, script->flows.transfer_count * sizeof(*job_of_read));
	if (compiler->gathered.taken_count)
		qsort(compiler->gathered.taken, compiler->gathered.taken_count,
		      sizeof(*compiler->gathered.taken), compare_taken);
	takers_study(studies, compiler);
	for (size_t i = 0; i < compiler->gathered.taken_count; i++) {
		const struct taken *taken = &compiler->gathered.taken[i];
		const struct step *take = &script->steps[taken->step - 1];
		struct job_list *jobs = &script->jobs[taken->source];

		claim_instead(script, taken, studies);
		if (!is_pool(script, taken->source, studies))
			continue;
		jobs->all_items += taken->items;
		if (is_leaving(compiler, i, studies)) {
			script->actors[taken->thread].last_body = taken->step;
			jobs->last_items = taken->items;
			continue;
		}
		if (script_is_batched(script, taken->source) && !taken->items)
			continue; /* it came to its timeout, and found nothing to do */
		if (take->type == STEP_RECEIVE)
			job_of_read[take->arg] = (uint32_t)jobs->count;
		jobs->steps = memory_grow(jobs->steps, &jobs->capacity, jobs->count + 1,
					  sizeof(*jobs->steps));
		jobs->steps[jobs->count++] = taken->step;
	}
	stayers_find(compiler);
	script_batches_find(compiler);
	script_messages_find(script, job_of_read);
	free(job_of_read);
	free(studies);
}

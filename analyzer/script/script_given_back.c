/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds locks that threads give back before they wait, as that of Python's interpreter.
 *
 * Such a lock is made of a condition: a thread takes its token, and puts it. A thread that tries a
 * semaphore and gets no permit gives the lock back, waits for the permit, and takes the lock again.
 * The recording shows that of the tries in vain. In a replay others may be in vain: then the thread
 * must not keep the lock that the owner of the permit needs.
 *
 * Method. Each thread takes and puts the token in turns. All waits for permits of these threads,
 * but for few, come while they do not have it.
 *
 * One thread.
 */
#include "base/assumptions.h"
#include "base/memory.h"
#include "script_parts.h"

#include <stdlib.h>

/* Of one condition. */
struct evidence {
	uint32_t takes;
	uint32_t misfits; /* puts of what the thread has not, takes beside another one */
	uint32_t waits;   /* for permits, after the thread gave it back */
	uint32_t waits_with;
};

/* The condition to which the step puts a token; NO_INDEX = it does not. */
static uint32_t put_by(const struct script *script, const struct step *step)
{
	if (step->type == STEP_PUT)
		return step->arg;
	if (step->type != STEP_SIGNAL)
		return NO_INDEX;
	const struct signal_role *role = &script->monitors.signals[step->arg];
	bool puts = role->condition != NO_INDEX && !role->is_gate &&
		    script->monitors.conditions[role->condition].model == PUT_BY_SIGNAL;
	return puts ? role->condition : NO_INDEX;
}

/* By step: a permit that the thread waited for. To be freed. */
static bool *awaited_permits(const struct compiler *compiler)
{
	bool *is_awaited = memory_new(compiler->script->step_count, sizeof(*is_awaited));

	for (size_t i = 0; i < compiler->gathered.taken_count; i++) {
		const struct taken *taken = &compiler->gathered.taken[i];

		is_awaited[taken->step - 1] = taken->has_waited;
	}
	return is_awaited;
}

static void evidence_find(const struct compiler *compiler, struct evidence *evidence)
{
	const struct script *script = compiler->script;
	bool *is_awaited = awaited_permits(compiler);
	uint32_t has = NO_INDEX, gave = NO_INDEX;

	for (size_t i = 0; i < script->step_count; i++) {
		const struct step *step = &script->steps[i];
		uint32_t put = put_by(script, step);

		if (step->type == STEP_END) {
			has = gave = NO_INDEX;
		} else if (step->type == STEP_TAKE) {
			evidence[step->arg].takes++;
			evidence[step->arg].misfits += has != NO_INDEX;
			has = step->arg;
		} else if (put != NO_INDEX) {
			evidence[put].misfits += has != put;
			has = has == put ? NO_INDEX : has;
			gave = put;
		} else if (step->type == STEP_PERMIT && is_awaited[i]) {
			if (has != NO_INDEX)
				evidence[has].waits_with++;
			else if (gave != NO_INDEX)
				evidence[gave].waits++;
		}
	}
	free(is_awaited);
}

static bool is_given_back(const struct condition *condition, const struct evidence *evidence)
{
	return condition->model != PUT_NONE && !condition->is_pool && condition->initial <= 1 &&
	       evidence->misfits <= assume.token_misfits * evidence->takes &&
	       evidence->waits >= assume.ended_waits &&
	       evidence->waits_with <= assume.token_misfits * evidence->waits;
}

void script_given_back_find(struct compiler *compiler)
{
	const struct script *script = compiler->script;
	struct monitors *monitors = &compiler->script->monitors;
	struct evidence *evidence = memory_new(monitors->condition_count, sizeof(*evidence));

	if (script->semaphore_count && monitors->condition_count)
		evidence_find(compiler, evidence);
	for (size_t i = 0; i < monitors->condition_count; i++)
		monitors->conditions[i].is_given_back =
			is_given_back(&monitors->conditions[i], &evidence[i]);
	free(evidence);
}

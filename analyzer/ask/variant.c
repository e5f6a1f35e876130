/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds variants of a script; variant.h has the contract.
 *
 * A lock is split by giving each of its sections one of several locks. A thread that is added to a
 * pool is a copy of one that was there, up to the first job that this one took. From then on it
 * takes jobs off the same list. It is started and joined where the other one is, and ends when no
 * jobs are left. Of a thread that is taken away only the jobs are left, for the rest of the pool.
 *
 * One thread.
 */
#include "variant.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "capacity.h"
#include "clientele.h"
#include "load.h"
#include "script/script_valid.h"
#include "stages.h"

static int refuse(char error[OPTIONS_ERROR_BYTES], const struct script *script,
		  const struct class_table *classes, uint32_t class, const char *why)
{
	snprintf(error, OPTIONS_ERROR_BYTES, "--what-if: \"%.60s\" %s",
		 script->recording->strings[classes->classes[class].name], why);
	return -EINVAL;
}

static const struct step *end_of(const struct script *script, uint32_t actor)
{
	const struct step *step = &script->steps[script->actors[actor].first_step];

	while (step->type != STEP_END)
		step++;
	return step;
}

/* --- locks --- */

static bool guards_condition(const struct script *script, uint32_t lock)
{
	for (size_t i = 0; i < script->monitors.condition_count; i++)
		if (script->jobs[i].lock == lock)
			return true;
	return false;
}

/* A part of a lock, evenly by chance: the finalizer of MurmurHash3. */
static uint32_t part_by_chance(uint32_t number, uint32_t deal, uint32_t parts)
{
	uint32_t hash = number * 2654435761u + deal * 0x9e3779b9u;

	hash = (hash ^ hash >> 16) * 0x85ebca6bu;
	hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
	return (hash ^ hash >> 16) % parts;
}

static bool is_of_lock(const struct step *step)
{
	return step->type == STEP_ACQUIRE || step->type == STEP_RELEASE ||
	       step->type == STEP_SHARE || step->type == STEP_UNSHARE || step->type == STEP_GRAB ||
	       step->type == STEP_TRY;
}

/* Sends an actor's sections of a lock to its parts: the lock itself, and those from `first` on. */
static void split_of_actor(struct script *script, uint32_t actor, uint32_t lock, uint32_t first,
			   uint32_t parts, unsigned deal)
{
	struct step *step = &script->steps[script->actors[actor].first_step];
	uint32_t part = 0, number = 0;

	for (; step->type != STEP_END; step++) {
		if (!is_of_lock(step) || step->arg != lock)
			continue;
		if (step->type != STEP_RELEASE && step->type != STEP_UNSHARE)
			part = deal + 1 == VARIANT_DEALS
				       ? (actor + number++) % parts
				       : part_by_chance((uint32_t)(step - script->steps), deal,
							parts);
		step->arg = part ? first + part - 1 : lock;
	}
}

/* Only locks that the old script has can be meant: the parts of another one have no class. */
static int split(struct script *script, const struct script *old, const struct class_table *classes,
		 const struct rebuild *rebuild, unsigned deal, char error[OPTIONS_ERROR_BYTES])
{
	uint32_t parts = (uint32_t)rebuild->times, lock_count = (uint32_t)old->lock_count;
	bool is_known = false;

	for (uint32_t lock = 0; lock < lock_count; lock++) {
		if (script->lock_class[lock] != rebuild->class)
			continue;
		is_known = true;
		if (guards_condition(script, lock))
			return refuse(error, script, classes, rebuild->class,
				      "goes with a condition variable, whose waiters need one "
				      "lock; ask for shorter holds instead: *0.5");
		uint32_t first = (uint32_t)script->lock_count;
		for (uint32_t actor = 0; actor < old->actor_count; actor++)
			split_of_actor(script, actor, lock, first, parts, deal);
		script->lock_count += parts - 1;
	}
	if (!is_known)
		return refuse(error, script, classes, rebuild->class,
			      "is not a lock that the replay knows; see the table of locks");
	return 0;
}

/* --- pools --- */

static uint32_t class_of_actor(const struct script *script, const struct class_table *classes,
			       uint32_t actor)
{
	uint32_t op = script->recording->threads[actor].op;

	return op == NO_INDEX ? NO_INDEX : classes->of_op[op];
}

/* The jobs that a step takes from, NULL = it takes none. */
static struct job_list *jobs_of(const struct script *script, const struct step *step)
{
	uint32_t source = script_source(script, step);

	return source == NO_INDEX ? NULL : &script->jobs[source];
}

static bool takes_jobs(const struct script *script, uint32_t actor)
{
	const struct step *end = end_of(script, actor);

	for (const struct step *step = &script->steps[script->actors[actor].first_step]; step < end;
	     step++) {
		const struct job_list *jobs = jobs_of(script, step);

		if (jobs && jobs->count)
			return true;
	}
	return false;
}

/* The source that a step waits for, also one of which the replay keeps what ended each wait. */
static uint32_t awaited_source(const struct script *script, const struct step *step)
{
	return step->type == STEP_AFTER ? script->monitors.signals[step->arg].condition
					: script_source(script, step);
}

/* Two or more threads of the class each take from something that nobody else takes from. */
static bool have_own_queues(const struct script *script, const struct class_table *classes,
			    uint32_t class)
{
	enum { SEVERAL = UINT32_MAX - 1 };
	uint32_t *taker = memory_new(script->source_count, sizeof(*taker));
	bool *has_own = memory_new(script->actor_count, sizeof(*has_own));
	uint32_t actor = 0, count = 0;

	memset(taker, 0xff, script->source_count * sizeof(*taker));
	for (size_t i = 0; i < script->step_count; i++) {
		uint32_t source = awaited_source(script, &script->steps[i]);

		if (source != NO_INDEX)
			taker[source] = taker[source] == NO_INDEX || taker[source] == actor
						? actor
						: SEVERAL;
		actor += script->steps[i].type == STEP_END;
	}
	for (size_t i = 0; i < script->source_count; i++) {
		if (taker[i] >= SEVERAL || has_own[taker[i]] ||
		    class_of_actor(script, classes, taker[i]) != class)
			continue;
		has_own[taker[i]] = true;
		count++;
	}
	free(has_own);
	free(taker);
	return count > 1;
}

/* How many threads of each actor's kind are to be there in its place: 0, 1 or more. */
static int copies_find(const struct script *script, const struct class_table *classes,
		       const struct question *question, uint32_t *copies,
		       char error[OPTIONS_ERROR_BYTES])
{
	for (size_t i = 0; i < script->actor_count; i++)
		copies[i] = 1;
	for (size_t p = 0; p < question->pool_count; p++) {
		const struct rebuild *pool = &question->pools[p];
		uint32_t members = 0, before = 0;

		for (uint32_t i = 0; i < script->actor_count; i++)
			members += class_of_actor(script, classes, i) == pool->class &&
				   takes_jobs(script, i);
		double wanted = fmax(round(pool->times * members), 1);
		if (!members && have_own_queues(script, classes, pool->class))
			return refuse(error, script, classes, pool->class,
				      "is not a pool: its threads wait for work at queues or "
				      "connections of their own, and who else could have had it "
				      "is not recorded");
		if (!members)
			return refuse(
				error, script, classes, pool->class,
				"is not a pool: its threads were not seen to wait for work that "
				"others put into one queue");
		for (uint32_t i = 0; i < script->actor_count; i++) {
			if (class_of_actor(script, classes, i) != pool->class ||
			    !takes_jobs(script, i))
				continue;
			/* Evenly: after each member so many as its part of all. */
			uint32_t after = (uint32_t)(wanted * (double)(before + 1) / members + 1e-9);
			copies[i] = after - (uint32_t)(wanted * (double)before / members + 1e-9);
			before++;
		}
	}
	return 0;
}

struct widening {
	const struct script *old;
	struct script *script;
	const uint32_t *copies;
	uint32_t *first_copy; /* by old actor: its first added one */
	uint32_t *new_step;
};

static bool starts_or_joins(const struct step *step)
{
	return step->type == STEP_SPAWN || step->type == STEP_JOIN;
}

/* The steps with each start and join once for every copy, and none for those taken away. */
static void steps_widen(struct widening *widening)
{
	const struct script *old = widening->old;
	struct script *script = widening->script;
	size_t added = 0;

	for (size_t i = 0; i < old->step_count; i++)
		if (starts_or_joins(&old->steps[i]))
			added += widening->copies[old->steps[i].arg];
	script->steps = memory_new(old->step_count + added, sizeof(*script->steps));
	script->step_count = 0;
	for (size_t i = 0; i < old->step_count; i++) {
		struct step step = old->steps[i];
		uint32_t actor = step.arg;

		widening->new_step[i] = (uint32_t)script->step_count;
		if (starts_or_joins(&step) && !widening->copies[actor])
			step = (struct step){ .arg = NO_INDEX, .type = STEP_FIXED };
		script->steps[script->step_count++] = step;
		for (uint32_t c = 1; starts_or_joins(&step) && c < widening->copies[actor]; c++) {
			step.arg = widening->first_copy[actor] + c - 1;
			script->steps[script->step_count++] = step;
		}
	}
}

static void actors_widen(struct widening *widening)
{
	const struct script *old = widening->old;
	struct script *script = widening->script;
	size_t count = 0;

	for (size_t i = 0; i < old->actor_count; i++)
		count += widening->copies[i] > 1 ? widening->copies[i] : 1;
	script->actors = memory_new(count, sizeof(*script->actors));
	script->actor_count = old->actor_count;
	for (uint32_t i = 0; i < old->actor_count; i++) {
		struct actor *actor = &script->actors[i];

		*actor = old->actors[i];
		if (!widening->copies[i]) {
			actor->is_spawned = true; /* by nobody */
			actor->counts = false;
		}
		widening->first_copy[i] = (uint32_t)script->actor_count;
		for (uint32_t c = 1; c < widening->copies[i]; c++)
			script->actors[script->actor_count++] = *actor;
	}
	assert(script->actor_count == count);
}

static struct job_list *jobs_moved(const struct job_list *jobs, size_t count,
				   const uint32_t *new_step)
{
	struct job_list *moved = memory_new(count, sizeof(*moved));

	for (size_t i = 0; i < count; i++) {
		moved[i] = jobs[i];
		moved[i].capacity = jobs[i].count;
		moved[i].steps = memory_new(jobs[i].count, sizeof(*moved[i].steps));
		for (size_t k = 0; k < jobs[i].count; k++)
			moved[i].steps[k] = new_step[jobs[i].steps[k]];
	}
	return moved;
}

static int widen(struct script *script, const struct script *old, const struct class_table *classes,
		 const struct question *question, char error[OPTIONS_ERROR_BYTES])
{
	uint32_t *copies = memory_new(old->actor_count, sizeof(*copies));
	int failed = copies_find(old, classes, question, copies, error);
	struct widening widening = {
		.old = old,
		.script = script,
		.copies = copies,
		.first_copy = memory_new(old->actor_count, sizeof(*widening.first_copy)),
		.new_step = memory_new(old->step_count, sizeof(*widening.new_step)),
	};

	if (!failed) {
		actors_widen(&widening);
		steps_widen(&widening);
		for (size_t i = 0; i < script->actor_count; i++) {
			struct actor *actor = &script->actors[i];

			actor->first_step = widening.new_step[actor->first_step];
			if (actor->last_body != NO_INDEX)
				actor->last_body = widening.new_step[actor->last_body];
		}
		script->jobs = jobs_moved(old->jobs, old->source_count, widening.new_step);
		script->has_spare_actors = true;
		for (uint32_t i = 0; i < script->actor_count; i++)
			script->actors[i].take_step = script_take_step(script, i);
	}
	free(widening.new_step);
	free(widening.first_copy);
	free(copies);
	return failed;
}

/* --- all of it --- */

static void steps_copy(struct script *script, const struct script *old)
{
	script->steps = memory_new(old->step_count, sizeof(*script->steps));
	memcpy(script->steps, old->steps, old->step_count * sizeof(*script->steps));
}

static void *copy_of(const void *array, size_t count, size_t element_bytes)
{
	void *copy = memory_new(count, element_bytes);

	return count ? memcpy(copy, array, count * element_bytes) : copy;
}

static void queues_copy(struct script *script)
{
	struct monitors *monitors = &script->monitors;
	struct flows *flows = &script->flows;

	monitors->conditions = copy_of(monitors->conditions, monitors->condition_count,
				       sizeof(*monitors->conditions));
	flows->flows = copy_of(flows->flows, flows->flow_count, sizeof(*flows->flows));
	script->permits =
		copy_of(script->permits, script->semaphore_count, sizeof(*script->permits));
}

/* Instead of the tables that the script has by now. */
static int clients_change(struct variant *variant, const struct question *question,
			  char error[OPTIONS_ERROR_BYTES])
{
	struct script *script = &variant->edited, before = *script;

	if (question->pool_count || question->split_count || question->queue_count) {
		snprintf(error, OPTIONS_ERROR_BYTES,
			 "--what-if: \"clients\": cannot be asked with lock:, threads: or queue: "
			 "in one question; ask two");
		return -EINVAL;
	}
	int failed = clientele_change(script, &before, question->clients_times, error);

	if (failed)
		return failed;
	if (variant->owns_steps)
		free(before.steps);
	if (variant->owns_starts)
		free(before.actors);
	variant->owns_steps = variant->owns_starts = false;
	variant->owns_clientele = true;
	return 0;
}

static int edit(struct variant *variant, const struct script *old,
		const struct class_table *classes, const struct question *question, unsigned deal,
		char error[OPTIONS_ERROR_BYTES])
{
	struct script *script = &variant->edited;
	int failed = 0;

	*script = *old;
	variant->script = script;
	if (question->pool_count) {
		struct script staged = *old;
		staged.jobs = stages_find(old, classes, question, &staged.job_count);
		failed = widen(script, &staged, classes, question, error);
		script->job_count = staged.job_count;
		stages_free(staged.jobs, old->source_count);
		variant->owns_steps = variant->owns_actors = !failed;
	} else if (question->split_count || question->load_times > 0) {
		steps_copy(script, old);
		variant->owns_steps = true;
	}
	if (!failed && question->load_times > 0) {
		if (!variant->owns_actors) {
			script->actors =
				copy_of(old->actors, old->actor_count, sizeof(*script->actors));
			variant->owns_starts = true;
		}
		failed = load_change(script, question->load_times, error);
	}
	if (!failed && question->clients_times > 0)
		failed = clients_change(variant, question, error);
	if (question->queue_count) {
		queues_copy(script);
		variant->owns_queues = true;
	}
	for (size_t i = 0; !failed && i < question->queue_count; i++)
		failed = capacity_change(script, old, classes, question->wait_name,
					 &question->queues[i], error);
	for (size_t i = 0; !failed && i < question->split_count; i++)
		failed = split(script, old, classes, &question->splits[i], deal, error);
	return failed;
}

int variant_build(struct variant *variant, const struct script *script,
		  const struct machine *machine, const struct class_table *classes,
		  const struct question *question, unsigned deal, char error[OPTIONS_ERROR_BYTES])
{
	int failed = 0;

	assert(deal < VARIANT_DEALS);
	*variant = (struct variant){ .script = script, .machine = *machine };
	if (question->cpus > 0)
		variant->machine = machine_with_cpus(machine, script, question->cpus);
	if (question->pool_count || question->split_count || question->queue_count ||
	    question->load_times > 0 || question->clients_times > 0)
		failed = edit(variant, script, classes, question, deal, error);
	if (failed)
		variant_free(variant);
	assert(failed || script_is_valid(variant->script));
	return failed;
}

void variant_free(struct variant *variant)
{
	struct script *script = &variant->edited;

	if (variant->owns_actors) {
		stages_free(script->jobs, script->source_count);
		free(script->actors);
	}
	if (variant->owns_clientele)
		clientele_free(script);
	if (variant->owns_starts)
		free(script->actors);
	if (variant->owns_queues) {
		free(script->monitors.conditions);
		free(script->flows.flows);
		free(script->permits);
	}
	if (variant->owns_steps)
		free(script->steps);
}

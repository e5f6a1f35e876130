/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds where a replay goes astray; astray.h has the contract.
 *
 * Method. Steps that concern other actors were compiled from a wait, a call or a signal, whose time
 * is recorded. In order of the replay's time each is compared with when an actor came to it, and
 * went on. So is the end of a thread with that of its actor. An early actor lets others go on
 * early, but no earlier than it is itself. An error that is larger than any before it did not come
 * from another actor: it came in there. Errors of calls from one place, or in the code of one
 * actor, are added up.
 */
#include "astray.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

enum {
	STEPS_MAX = 20000000, /* two times of each are kept */
	SOURCES_MAX = 1024
};

/* Of points of one time: the end of a thread lets others go on, and so does a step's begin. */
enum point_order { POINT_THREAD_END, POINT_BEGIN, POINT_WAIT_END };

/* A step's begin or end, in the replay, and its error. */
struct point {
	uint64_t at_ns;
	double off_ns;
	uint32_t step;
	enum point_order order;
};

static int compare_points(const void *left, const void *right)
{
	const struct point *a = left, *b = right;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	if (a->order != b->order)
		return a->order < b->order ? -1 : 1;
	return (a->step > b->step) - (a->step < b->step);
}

/* The step waits, and its wait is over when it is passed; else it lets others go on. */
static bool is_waiting(const struct step *step)
{
	return step->type == STEP_TRY ||
	       (step->type != STEP_SPAWN &&
		script_contract((enum step_type)step->type)->number == NUMBER_LATENCY);
}

/* When the actor came to the step, or gave others what they waited for. */
static uint64_t begin_of(const struct script *script, const struct step_origin *origin)
{
	const struct recording *recording = script->recording;
	const struct step *step = &script->steps[origin->step];
	bool is_end = script_contract((enum step_type)step->type)->operand != OPERAND_WRITE &&
		      !is_waiting(step);
	if (origin->sort == ORIGIN_LINK)
		return recording->links[origin->index].at_ns;
	if (origin->sort == ORIGIN_WAIT)
		return recording->waits[origin->index].start_ns;
	return is_end ? recording->ops[origin->index].end_ns
		      : recording->ops[origin->index].start_ns;
}

/* Of a hold, its begin is the end of its wait. */
static uint64_t end_of(const struct script *script, const struct step_origin *origin)
{
	const struct recording *recording = script->recording;
	enum step_operand operand =
		script_contract((enum step_type)script->steps[origin->step].type)->operand;
	if (origin->sort == ORIGIN_WAIT)
		return recording->waits[origin->index].end_ns;
	return operand == OPERAND_READ ? recording->ops[origin->index].end_ns
				       : recording->ops[origin->index].start_ns;
}

/* Of the actors' ends. */
static void points_of_ends(const struct script *script, const struct step_times *times,
			   struct point *points, size_t *count)
{
	for (uint32_t i = 0; i < script->actor_count; i++) {
		uint32_t mark = script->actors[i].first_step;
		while (script->steps[mark].type != STEP_MARK)
			mark++;
		double recorded_ns = (double)script->actors[i].finish_ns;
		if (times->passed_ns[mark] && !script->actors[i].ticks && !script->actors[i].rests)
			points[(*count)++] =
				(struct point){ times->passed_ns[mark],
						(double)times->passed_ns[mark] - recorded_ns, mark,
						POINT_THREAD_END };
	}
}

/* To be freed. */
static struct point *points_list(const struct script *script, const struct step_times *times,
				 size_t *count)
{
	struct point *points =
		memory_new(2 * script->origin_count + script->actor_count, sizeof(*points));
	*count = 0;
	points_of_ends(script, times, points, count);
	for (size_t i = 0; i < script->origin_count; i++) {
		const struct step_origin *origin = &script->origins[i];
		uint64_t arrived_ns = times->arrived_ns[origin->step];
		uint64_t passed_ns = times->passed_ns[origin->step];
		if (!arrived_ns || !passed_ns)
			continue;
		points[(*count)++] =
			(struct point){ arrived_ns,
					(double)arrived_ns - (double)begin_of(script, origin),
					origin->step, POINT_BEGIN };
		if (!is_waiting(&script->steps[origin->step]) || origin->sort == ORIGIN_LINK)
			continue;
		points[(*count)++] =
			(struct point){ passed_ns,
					(double)passed_ns - (double)end_of(script, origin),
					origin->step, POINT_WAIT_END };
	}
	if (*count)
		qsort(points, *count, sizeof(*points), compare_points);
	return points;
}

/* Errors of one call site, or of one actor's code. */
struct source {
	uint32_t key; /* of a wait: its stack; of code: the actor */
	struct astray astray;
};

struct sources {
	struct source *sources;
	size_t count, capacity;
};

/* The actor whose steps these are, in the script. */
static uint32_t actor_of(const struct script *script, uint32_t step)
{
	uint32_t from = 0, to = (uint32_t)script->actor_count;
	while (to - from > 1) {
		uint32_t middle = from + (to - from) / 2;
		if (script->actors[middle].first_step <= step)
			from = middle;
		else
			to = middle;
	}
	return from;
}

static uint32_t stack_of(const struct script *script, uint32_t step)
{
	const struct step_origin *origin = script_origin(script, step);
	assert(origin);
	return origin->sort == ORIGIN_WAIT ? script->recording->waits[origin->index].stack
					   : script->recording->extras[origin->index].stack;
}

static void sources_add(struct sources *sources, const struct script *script,
			const struct point *point, double ns)
{
	struct replay_place place = { actor_of(script, point->step), point->step };
	bool is_wait = point->order == POINT_WAIT_END;
	uint32_t key = is_wait ? stack_of(script, point->step) : place.actor;
	size_t i = 0;
	while (i < sources->count &&
	       (sources->sources[i].key != key || sources->sources[i].astray.is_wait != is_wait))
		i++;
	if (i == SOURCES_MAX)
		return;
	if (i == sources->count) {
		sources->sources = memory_grow(sources->sources, &sources->capacity, i + 1,
					       sizeof(*sources->sources));
		sources->sources[sources->count++] =
			(struct source){ .key = key, .astray = { place, is_wait, 0 } };
	}
	sources->sources[i].astray.ns += ns;
}

static bool sum_up(struct astray *astray, const struct script *script, const struct point *points,
		   size_t count, double error_ns)
{
	struct sources sources = { .count = 0 };
	double most_ns = 0, sign = error_ns > 0 ? 1 : -1;
	*astray = (struct astray){ .ns = 0 };
	for (size_t i = 0; i < count; i++) {
		double off_ns = sign * points[i].off_ns;
		if (off_ns <= most_ns || off_ns > 2 * fabs(error_ns))
			continue;
		sources_add(&sources, script, &points[i], sign * (off_ns - most_ns));
		most_ns = off_ns;
	}
	for (size_t i = 0; i < sources.count; i++)
		if (sign * sources.sources[i].astray.ns > sign * astray->ns)
			*astray = sources.sources[i].astray;
	free(sources.sources);
	return astray->ns != 0;
}

bool astray_find(struct astray *astray, const struct script *script,
		 const struct replayer *replayer, double error_ns)
{
	if (script->step_count > STEPS_MAX || !script->origin_count)
		return false;
	struct step_times times = {
		.arrived_ns = memory_new(script->step_count, sizeof(*times.arrived_ns)),
		.passed_ns = memory_new(script->step_count, sizeof(*times.passed_ns)),
	};
	const struct trial trial = { .as_recorded = true, .times = &times };
	replayer_try(replayer, &trial);
	size_t count;
	struct point *points = points_list(script, &times, &count);
	bool is_found = sum_up(astray, script, points, count, error_ns);
	free(points);
	free(times.arrived_ns);
	free(times.passed_ns);
	return is_found;
}

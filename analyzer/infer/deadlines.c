/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells schedules from sleeps; deadlines.h has the contract.
 *
 * Method. Of one thread's sleeps of a class, what was asked for varies from one to the next, and so
 * do the distances of their deadlines. A sleep asks for the same, and its deadlines come when the
 * work before allows. In a schedule the deadlines have the same distances, and what was asked for
 * is what the work left. The medians of both changes are compared: a schedule may miss a beat.
 *
 * Sleeps may also be of a few lengths, for jobs of as many sizes, and come in rounds. So each value
 * is held against the one that is next to it in size, too.
 */
#include "deadlines.h"

#include <stdlib.h>

#include "base/assumptions.h"
#include "base/memory.h"
#include "base/percentile.h"
#include "format.h"

struct sleeps {
	const struct recording *recording;
	const struct class_table *classes;
	uint32_t *ops; /* by class, then thread, then start */
	uint32_t count;
};

static int compare_sleeps(const void *left, const void *right, void *context)
{
	const struct sleeps *sleeps = context;
	const uint32_t *a = left, *b = right;
	const struct rec_op *ops = sleeps->recording->ops;
	uint32_t a_class = sleeps->classes->of_op[*a], b_class = sleeps->classes->of_op[*b];
	if (a_class != b_class)
		return a_class < b_class ? -1 : 1;
	if (ops[*a].thread != ops[*b].thread)
		return ops[*a].thread < ops[*b].thread ? -1 : 1;
	if (ops[*a].start_ns != ops[*b].start_ns)
		return ops[*a].start_ns < ops[*b].start_ns ? -1 : 1;
	return (*a > *b) - (*a < *b);
}

static void sleeps_find(struct sleeps *sleeps)
{
	const struct recording *recording = sleeps->recording;
	sleeps->ops = memory_new(recording->op_count, sizeof(*sleeps->ops));
	for (uint32_t i = 0; recording->extras && i < recording->op_count; i++)
		if (recording->ops[i].kind == KIND_SLEEP && !recording->extras[i].open &&
		    recording->ops[i].thread != NO_INDEX)
			sleeps->ops[sleeps->count++] = i;
	qsort_r(sleeps->ops, sleeps->count, sizeof(*sleeps->ops), compare_sleeps, sleeps);
}

static uint64_t asked_ns(const struct sleeps *sleeps, uint32_t i)
{
	return sleeps->recording->extras[sleeps->ops[i]].amount;
}

static uint64_t deadline_ns(const struct sleeps *sleeps, uint32_t i)
{
	return sleeps->recording->ops[sleeps->ops[i]].start_ns + asked_ns(sleeps, i);
}

/* Three in a row, of which none came too late for its deadline. */
static bool is_row(const struct sleeps *sleeps, uint32_t i, uint32_t first)
{
	return i >= first + 2 && asked_ns(sleeps, i) && asked_ns(sleeps, i - 1) &&
	       asked_ns(sleeps, i - 2);
}

static uint64_t difference(uint64_t left, uint64_t right)
{
	return left > right ? left - right : right - left;
}

static int compare_ns(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;
	return (*a > *b) - (*a < *b);
}

/* How close values usually are to each other; changes them. */
static double closeness_ns(uint64_t *values, size_t count)
{
	if (count < 2)
		return 0;
	qsort(values, count, sizeof(*values), compare_ns);
	for (size_t i = 0; i + 1 < count; i++)
		values[i] = values[i + 1] - values[i];
	return (double)percentile_select(values, count - 1, (count - 1) / 2);
}

/* The usual distance of the deadlines of one thread's sleeps; 0 = they are no schedule. */
static uint64_t schedule_ns(const struct sleeps *sleeps, uint32_t first, uint32_t end)
{
	bool is_absolute = sleeps->recording->extras[sleeps->ops[first]].absolute;
	uint64_t *lengths = memory_new(end - first, sizeof(*lengths));
	uint64_t *asked = memory_new(end - first, sizeof(*asked));
	uint64_t *changes = memory_new(end - first, sizeof(*changes));
	uint64_t *distances = memory_new(end - first, sizeof(*distances));
	uint64_t distance_ns = 0;
	size_t count = 0;
	for (uint32_t i = first; i < end; i++) {
		if (!is_row(sleeps, i, first))
			continue;
		uint64_t one_ns = deadline_ns(sleeps, i - 1) - deadline_ns(sleeps, i - 2);
		uint64_t next_ns = deadline_ns(sleeps, i) - deadline_ns(sleeps, i - 1);
		asked[count] = difference(asked_ns(sleeps, i), asked_ns(sleeps, i - 1));
		changes[count] = difference(next_ns, one_ns);
		lengths[count] = asked_ns(sleeps, i);
		distances[count++] = next_ns;
	}
	if (count) {
		double asked_ns = (double)percentile_select(asked, count, count / 2);
		double changed_ns = (double)percentile_select(changes, count, count / 2);
		if (changed_ns * assume.schedule <= asked_ns && (asked_ns > 0 || is_absolute))
			distance_ns = percentile_select(distances, count, count / 2);
		if (closeness_ns(distances, count) * assume.schedule > closeness_ns(lengths, count))
			distance_ns = 0;
	}
	free(lengths);
	free(asked);
	free(changes);
	free(distances);
	return distance_ns;
}

static void origin_add(struct deadlines *deadlines, size_t *capacity, uint32_t thread,
		       uint64_t at_ns)
{
	deadlines->origins = memory_grow(deadlines->origins, capacity, deadlines->origin_count + 1,
					 sizeof(*deadlines->origins));
	deadlines->origins[deadlines->origin_count++] = (struct deadline_origin){ thread, at_ns };
}

static void schedule_add(struct deadlines *deadlines, size_t *capacity, const struct sleeps *sleeps,
			 uint32_t first, uint32_t end, uint64_t distance_ns)
{
	const struct rec_op *ops = sleeps->recording->ops;
	uint64_t last_ns = 0;
	bool has_begun = false, was_late = false;
	for (uint32_t i = first; i < end; i++) {
		if (!asked_ns(sleeps, i)) {
			was_late = true; /* for its deadline, which is not known then */
			continue;
		}
		uint64_t at_ns = deadline_ns(sleeps, i);
		at_ns = at_ns > distance_ns ? at_ns - distance_ns : 0;
		if (!has_begun || (at_ns > last_ns && !was_late))
			origin_add(deadlines, capacity, ops[sleeps->ops[i]].thread, at_ns);
		has_begun = true;
		was_late = false;
		deadlines->is_scheduled[sleeps->ops[i]] = true;
		last_ns = ops[sleeps->ops[i]].end_ns;
	}
}

static int compare_origins(const void *left, const void *right)
{
	const struct deadline_origin *a = left, *b = right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

void deadlines_find(struct deadlines *deadlines, const struct recording *recording,
		    const struct class_table *classes)
{
	struct sleeps sleeps = { recording, classes, NULL, 0 };
	size_t capacity = 0;
	*deadlines =
		(struct deadlines){ .is_scheduled = memory_new(recording->op_count,
							       sizeof(*deadlines->is_scheduled)) };
	sleeps_find(&sleeps);
	for (uint32_t first = 0, end; first < sleeps.count; first = end) {
		const struct rec_op *op = &recording->ops[sleeps.ops[first]];
		uint32_t class = classes->of_op[sleeps.ops[first]];
		for (end = first; end < sleeps.count && classes->of_op[sleeps.ops[end]] == class &&
				  recording->ops[sleeps.ops[end]].thread == op->thread;)
			end++;
		uint64_t distance_ns = schedule_ns(&sleeps, first, end);
		if (distance_ns)
			schedule_add(deadlines, &capacity, &sleeps, first, end, distance_ns);
	}
	if (deadlines->origin_count)
		qsort(deadlines->origins, deadlines->origin_count, sizeof(*deadlines->origins),
		      compare_origins);
	free(sleeps.ops);
}

void deadlines_free(struct deadlines *deadlines)
{
	free(deadlines->is_scheduled);
	free(deadlines->origins);
	*deadlines = (struct deadlines){ 0 };
}

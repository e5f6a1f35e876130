/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds queues by name and changes their capacities; capacity.h has the contract.
 *
 * A queue is a source of a script: a condition variable, the bytes or messages between two ends, or
 * a semaphore. Room that was taken comes back. Items that were there at the start do not: they are
 * work, of which there would be no more if the capacity were another one.
 *
 * Bytes may be permits, as those in the pipe of a job server. Their number is the most that was
 * ever in the pipe at once.
 *
 * A wait at the recorded capacity shows it. Where nobody waited it is at least what was used, so
 * that more makes no difference; what less does is not known. One thread.
 */
#include "capacity.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assumptions.h"
#include "base/memory.h"

/* Of a source. */
struct evidence {
	uint64_t taken;
	uint64_t given; /* back */
	bool is_named;
	bool was_short; /* somebody waited for it */
};

static bool name_is(const char *name, const struct resize *resize)
{
	return strlen(name) == resize->name_bytes &&
	       memcmp(name, resize->name, resize->name_bytes) == 0;
}

/* A resource is called VARIABLE+OFFSET or FUNCTION() FILE:LINE: the first word stands for all. */
static bool resource_is(const struct recording *rec, uint32_t ident, const struct resize *resize)
{
	const char *name = rec->strings[ident];
	size_t bytes = resize->name_bytes;

	return strncmp(name, resize->name, bytes) == 0 && strchr("+ ", name[bytes]);
}

static uint32_t flow_source(const struct script *script, uint32_t flow)
{
	return (uint32_t)script->monitors.condition_count + flow;
}

static uint32_t semaphore_source(const struct script *script, uint32_t semaphore)
{
	return flow_source(script, (uint32_t)script->flows.flow_count) + semaphore;
}

/* --- what the recording shows --- */

static uint32_t name_of_wait(const struct recording *rec, const uint32_t *wait_name, size_t wait)
{
	return wait_name ? wait_name[wait] : rec->waits[wait].ident;
}

static void name_by_waits(struct evidence *evidence, const struct script *script,
			  const uint32_t *wait_name, const struct resize *resize)
{
	const struct recording *rec = script->recording;

	for (size_t i = 0; i < rec->wait_count; i++) {
		uint32_t condition = script->monitors.condition_of_wait[i];

		if (condition == NO_INDEX)
			continue;
		evidence[condition].was_short = true;
		if (resource_is(rec, name_of_wait(rec, wait_name, i), resize))
			evidence[condition].is_named = true;
	}
}

/* Its bytes are permits, which its readers write back. */
static bool is_of_permits(const struct script *script, uint32_t source)
{
	size_t conditions = script->monitors.condition_count;

	return source >= conditions && source < semaphore_source(script, 0) &&
	       script->flows.flows[source - conditions].is_given_back;
}

/* By its descriptor, or by the call that writes; of permits also by the one that reads. */
static void name_by_transfers(struct evidence *evidence, const struct script *script,
			      const struct class_table *classes, const struct resize *resize)
{
	const struct recording *rec = script->recording;

	for (size_t i = 0; i < script_recorded_ops(script); i++) {
		uint32_t number = script->flows.transfer_of[i];
		uint32_t class = classes->of_op[i];

		if (number == NO_INDEX)
			continue;
		const struct transfer *transfer = &script->flows.transfers[number];
		uint32_t source = flow_source(script, transfer->flow);
		struct evidence *flow = &evidence[source];

		if (!transfer->is_write && !is_of_permits(script, source))
			continue;
		flow->was_short = flow->was_short || transfer->has_waited;
		if (resource_is(rec, rec->ops[i].ident, resize) ||
		    (class != NO_INDEX &&
		     name_is(rec->strings[classes->classes[class].name], resize)))
			flow->is_named = true;
	}
}

static void count_signal(struct evidence *evidence, const struct script *script, uint32_t link)
{
	const struct signal_role *role = &script->monitors.signals[link];

	if (role->condition != NO_INDEX && !role->is_gate &&
	    script->monitors.conditions[role->condition].model == PUT_BY_SIGNAL)
		evidence[role->condition].given++;
}

static void count_steps(struct evidence *evidence, const struct script *script,
			const uint32_t *wait_name, const struct resize *resize)
{
	const struct recording *rec = script->recording;

	for (uint32_t i = 0; i < script->step_count; i++) {
		const struct step *step = &script->steps[i];
		bool posts = step->type == STEP_POST;
		uint32_t source =
			posts ? semaphore_source(script, step->arg) : script_source(script, step);

		if (step->type == STEP_SIGNAL)
			count_signal(evidence, script, step->arg);
		else if (step->type == STEP_PUT)
			evidence[step->arg].given++;
		if (source == NO_INDEX)
			continue;
		evidence[source].taken += !posts;
		evidence[source].given += posts;
		const struct step_origin *origin = script_origin(script, i);
		if (step->type != STEP_PERMIT && step->type != STEP_CLAIM)
			continue;
		if (!origin || origin->sort != ORIGIN_WAIT)
			continue;
		const struct rec_wait *wait = &rec->waits[origin->index];
		if (resource_is(rec, name_of_wait(rec, wait_name, origin->index), resize))
			evidence[source].is_named = true;
		if (wait->end_ns - wait->start_ns > assume.copy)
			evidence[source].was_short = true;
	}
}

/* --- changing it --- */

static int refuse(char error[OPTIONS_ERROR_BYTES], const struct resize *resize, const char *why)
{
	snprintf(error, OPTIONS_ERROR_BYTES, "--what-if: \"queue:%.*s\" %s",
		 (int)(resize->name_bytes < 60 ? resize->name_bytes : 60), resize->name, why);
	return -EINVAL;
}

/* Else all that was there is gone in the end: it was work, or is still used. */
static bool comes_back(const struct evidence *evidence, uint64_t initial)
{
	return evidence->given + initial > evidence->taken;
}

/* Something was in the queue when the recording began, so that its room was not all there. */
static bool began_filled(const struct script *script, const struct evidence *evidence,
			 uint32_t condition)
{
	const struct monitors *monitors = &script->monitors;

	for (uint32_t i = 0; i < monitors->condition_count; i++)
		if (i != condition && monitors->conditions[i].initial &&
		    monitors->conditions[i].mutex == monitors->conditions[condition].mutex &&
		    !comes_back(&evidence[i], monitors->conditions[i].initial))
			return true;
	return false;
}

/* NULL: it can be changed; else what the recording does not say. */
static const char *lacks(const struct script *script, const struct evidence *evidence,
			 uint32_t source, uint64_t capacity, double times)
{
	const struct monitors *monitors = &script->monitors;
	bool is_condition = source < monitors->condition_count;
	bool is_flow = !is_condition && source < semaphore_source(script, 0);

	if (is_condition && (monitors->conditions[source].model == PUT_NONE ||
			     monitors->conditions[source].model == PUT_BATCH))
		return "stands for something that the replay does not count";
	if (is_of_permits(script, source) && times < 1)
		return "has permits that the program puts there: fewer of them are not known";
	if (is_flow && times < 1 && !evidence[source].was_short)
		return "was never full: how much fits in is not known";
	if (is_flow)
		return NULL;
	if (!comes_back(&evidence[source], capacity))
		return "did not get back what was taken: whether that is room is not known";
	if (is_condition && began_filled(script, evidence, source))
		return "had something in it at the start: how much fits in is not known";
	if (times < 1 && !evidence[source].was_short)
		return "was never used up: how much there is of it is not known";
	return NULL;
}

/* Its tokens or permits are all put by somebody: the end of a queue that work is taken from. */
static bool holds_work(const struct script *script, uint32_t source, uint64_t capacity)
{
	size_t conditions = script->monitors.condition_count;

	if (source < conditions && script->monitors.conditions[source].model == PUT_NONE)
		return false;
	return !capacity && (source < conditions || source >= semaphore_source(script, 0));
}

static uint64_t resized(uint64_t capacity, double times)
{
	return (uint64_t)fmin(fmax(round((double)capacity * times), 1), UINT32_MAX);
}

/* The most bytes that were there at once, or those of a single permit. */
static uint64_t permit_bytes(const struct script *script, uint32_t flow, bool is_single)
{
	uint64_t there = script->flows.flows[flow].initial, most = there;

	for (size_t i = 0; i < script->flows.transfer_count; i++) {
		const struct transfer *transfer = &script->flows.transfers[i];

		if (transfer->flow != flow)
			continue;
		if (!transfer->is_write && is_single)
			return transfer->bytes;
		there = transfer->is_write ? there + transfer->bytes : there - transfer->bytes;
		most = there > most ? there : most;
	}
	return most;
}

static uint64_t capacity_of(const struct script *script, uint32_t source)
{
	size_t conditions = script->monitors.condition_count, flows = script->flows.flow_count;

	if (source < conditions)
		return script->monitors.conditions[source].initial;
	if (is_of_permits(script, source))
		return permit_bytes(script, source - (uint32_t)conditions, false) /
		       permit_bytes(script, source - (uint32_t)conditions, true);
	if (source < conditions + flows)
		return script->flows.flows[source - conditions].capacity;
	return script->permits[source - conditions - flows];
}

/* Beside those that the program puts there itself. */
static void permits_set(struct script *script, uint32_t flow, uint64_t more)
{
	script->flows.flows[flow].initial += more * permit_bytes(script, flow, true);
}

static void capacity_set(struct script *script, uint32_t source, uint64_t capacity)
{
	size_t conditions = script->monitors.condition_count, flows = script->flows.flow_count;

	if (source < conditions)
		script->monitors.conditions[source].initial = (uint32_t)capacity;
	else if (is_of_permits(script, source))
		permits_set(script, source - (uint32_t)conditions,
			    capacity - capacity_of(script, source));
	else if (source < conditions + flows)
		script->flows.flows[source - conditions].capacity = capacity;
	else
		script->permits[source - conditions - flows] = (uint32_t)capacity;
}

int capacity_change(struct script *edited, const struct script *script,
		    const struct class_table *classes, const uint32_t *wait_name,
		    const struct resize *resize, char error[OPTIONS_ERROR_BYTES])
{
	struct evidence *evidence = memory_new(script->source_count, sizeof(*evidence));
	bool is_found = false, is_changed = false;
	const char *missing = NULL;

	assert(edited != script && resize->times > 0);
	name_by_waits(evidence, script, wait_name, resize);
	name_by_transfers(evidence, script, classes, resize);
	count_steps(evidence, script, wait_name, resize);
	for (uint32_t i = 0; i < script->source_count; i++) {
		if (!evidence[i].is_named)
			continue;
		uint64_t capacity = capacity_of(script, i);
		is_found = true;
		if (holds_work(script, i, capacity))
			continue;
		missing = missing ? missing : lacks(script, evidence, i, capacity, resize->times);
		is_changed = true;
		if (capacity) /* no limit known stays none */
			capacity_set(edited, i, resized(capacity, resize->times));
	}
	free(evidence);
	if (!is_found)
		missing = "is no queue that the replay counts; give the resource of a cond or sem "
			  "wait, or the call that writes to a pipe";
	else if (!is_changed)
		missing = "shows no room: as far as is known, its waits are for what others put";
	return missing ? refuse(error, resize, missing) : 0;
}

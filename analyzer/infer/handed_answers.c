/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts answers that loops give for other threads; handed_answers.h has the contract.
 *
 * An answer is of the visit in which it is written.
 */
#include "handed_answers.h"

#include <stdlib.h>

#include "base/memory.h"

struct answers {
	const struct recording *rec;
	const struct loops *loops;
	const struct flows *flows;
	const uint32_t *job_of_visit;
	uint32_t *begun;  /* visits that begin with an op: not turns without work */
	size_t *first;    /* of these, by thread, and one more */
	uint32_t *end_op; /* by request, NO_INDEX = none */
};

static uint32_t flow_of(const struct flows *flows, uint32_t op)
{
	uint32_t transfer = flows->transfer_of[op];

	return transfer == NO_INDEX ? NO_INDEX : flows->transfers[transfer].flow;
}

static void visits_find(struct answers *answers)
{
	const struct loops *loops = answers->loops;
	size_t visit = 0, count = 0;

	for (uint32_t thread = 0; thread <= answers->rec->thread_count; thread++) {
		answers->first[thread] = count;
		for (; visit < loops->visit_count && loops->visits[visit].thread == thread; visit++)
			if (loops->visits[visit].op != NO_INDEX)
				answers->begun[count++] = (uint32_t)visit;
	}
}

static void ends_find(struct answers *answers, const struct requests *requests)
{
	for (size_t i = 0; i < requests->count; i++)
		answers->end_op[i] = NO_INDEX;
	for (size_t i = 0; i < requests->place_count; i++)
		if (requests->places[i].stamp % 2)
			answers->end_op[requests->places[i].stamp / 2] = requests->places[i].op;
}

/* The visit that an op is part of; NO_INDEX: it is of none. */
static uint32_t visit_of(const struct answers *answers, uint32_t op)
{
	const struct rec_op *ops = answers->rec->ops;
	const struct visit *visits = answers->loops->visits;
	size_t first = answers->first[ops[op].thread], low = first;
	size_t high = answers->first[ops[op].thread + 1];

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ops[visits[answers->begun[middle]].op].start_ns <= ops[op].start_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low > first ? answers->begun[low - 1] : NO_INDEX;
}

static bool is_handed(const struct answers *answers, const struct requests *requests, size_t index)
{
	const struct request *request = &requests->requests[index];
	bool is_seen_from_afar = request->source == REQUEST_ASKED && request->of != NO_INDEX;
	size_t served = is_seen_from_afar ? request->of : index;
	uint32_t end_op = answers->end_op[served];

	if (end_op == NO_INDEX || answers->rec->ops[end_op].thread == NO_INDEX)
		return false;
	uint32_t at = visit_of(answers, end_op);

	if (at == NO_INDEX || answers->job_of_visit[at] != NO_INDEX)
		return false;
	const struct visit *visit = &answers->loops->visits[at];
	return visit->sort == VISIT_ANSWER ||
	       (visit->flow != NO_INDEX && answers->loops->is_bell[visit->flow] &&
		visit->flow != flow_of(answers->flows, requests->requests[served].op));
}

size_t handed_answers_count(const struct recording *rec, const struct requests *requests,
			    const struct loops *loops, const uint32_t *job_of_visit,
			    const struct flows *flows)
{
	if (!loops->visit_count)
		return 0;
	struct answers answers = { .rec = rec,
				   .loops = loops,
				   .flows = flows,
				   .job_of_visit = job_of_visit,
				   .begun = memory_new(loops->visit_count, sizeof(*answers.begun)),
				   .first = memory_new(rec->thread_count + 1,
						       sizeof(*answers.first)),
				   .end_op = memory_new(requests->count, sizeof(*answers.end_op)) };
	size_t count = 0;

	visits_find(&answers);
	ends_find(&answers, requests);
	for (size_t i = 0; i < requests->count; i++)
		count += request_is_judged(requests, &requests->requests[i]) &&
			 is_handed(&answers, requests, i);
	free(answers.begun);
	free(answers.first);
	free(answers.end_op);
	return count;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which requests are parts of others, and by which of them hypotheses are judged; requests.h has
 * the contract.
 *
 * Of all classes of requests, hypotheses are judged by the surest one with the most time, but by
 * served and traced ones of all classes. A process that serves others asks on their behalf: its
 * questions are parts of requests. Parts are judged by only where there is nothing else.
 *
 * One thread.
 */
#include "requests.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "format.h"

static uint32_t process_of(const struct recording *rec, const struct request *request)
{
	return rec->threads[request->thread].process;
}

bool request_is_of_others(const struct requests *requests, const struct recording *rec,
			  const struct request *request)
{
	return request->source == REQUEST_SERVED &&
	       (request->of == NO_INDEX ||
		process_of(rec, &requests->requests[request->of]) != process_of(rec, request));
}

/* A process that accepts connections serves, even if it hands them to others. */
static void acceptors_find(const struct recording *rec, bool *serves)
{
	for (uint32_t i = 0; rec->extras && i < rec->op_count; i++)
		if (rec->extras[i].other_ident && rec->ops[i].thread != NO_INDEX &&
		    strncmp(rec->strings[rec->ops[i].name], "accept", 6) == 0)
			serves[rec->threads[rec->ops[i].thread].process] = true;
}

void requests_find_parts(struct requests *requests, const struct recording *rec)
{
	bool *serves = memory_new(rec->process_count, sizeof(*serves));

	acceptors_find(rec, serves);
	for (size_t i = 0; i < requests->count; i++) {
		const struct request *request = &requests->requests[i];

		if (request_is_of_others(requests, rec, request))
			serves[process_of(rec, request)] = true;
	}
	for (size_t i = 0; i < requests->count; i++) {
		struct request *request = &requests->requests[i];

		request->is_part =
			request->source == REQUEST_ASKED
				? serves[process_of(rec, request)]
				: request->source == REQUEST_SERVED && request->of != NO_INDEX;
	}
	free(serves);
}

/* The class of this source in which most time was spent. */
static void judged_of_source(struct requests *requests, const struct request *like,
			     uint32_t class_count)
{
	uint64_t *taken_ns = memory_new(class_count, sizeof(*taken_ns));
	uint32_t *counts = memory_new(class_count, sizeof(*counts));

	for (size_t i = 0; i < requests->count; i++) {
		const struct request *request = &requests->requests[i];

		if (request->source != like->source || request->is_part != like->is_part ||
		    request->is_left_out)
			continue;
		taken_ns[request->class] += request->taken_ns;
		counts[request->class]++;
	}
	for (uint32_t i = 0; i < class_count; i++) {
		if (counts[i] < REQUESTS_LEAST || (requests->judged_class != NO_INDEX &&
						   taken_ns[i] <= taken_ns[requests->judged_class]))
			continue;
		requests->judged_class = i;
		requests->judged_source = like->source;
		requests->judged_is_part = like->is_part;
	}
	free(taken_ns);
	free(counts);
}

/* The requests to judge by: of the surest source. */
void requests_judge(struct requests *requests, uint32_t class_count, const bool *is_wanted)
{
	for (size_t i = 0; i < requests->count; i++)
		requests->requests[i].is_left_out =
			is_wanted && !is_wanted[requests->requests[i].kind];
	requests->judged_class = NO_INDEX;
	for (int is_part = 0; is_part < 2; is_part++)
		for (int source = REQUEST_MARKED;
		     source <= REQUEST_LOCK && requests->judged_class == NO_INDEX; source++) {
			const struct request like = { .source = (enum request_source)source,
						      .is_part = is_part };
			judged_of_source(requests, &like, class_count);
		}
	requests->judged_count = 0;
	for (size_t i = 0; i < requests->count; i++)
		requests->judged_count += request_is_judged(requests, &requests->requests[i]);
}

bool request_is_judged(const struct requests *requests, const struct request *request)
{
	if (requests->judged_class == NO_INDEX || requests->judged_source != request->source ||
	    requests->judged_is_part != request->is_part || request->is_left_out)
		return false;
	/* a client asks of several servers; threads of a pool, and reads of several sorts, serve
	 * the same clients */
	return request->source == REQUEST_SERVED || request->source == REQUEST_TRACED ||
	       requests->judged_class == request->class;
}

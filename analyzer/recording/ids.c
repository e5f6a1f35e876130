/* SPDX-License-Identifier: Apache-2.0 */
/* Looks contexts up; ids.h has the contract. */
#include "ids.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

/* How many contexts come before this thread's first one after that time. */
static size_t count_until(const struct recording *recording, uint32_t thread, uint64_t at_ns)
{
	size_t low = 0, high = recording->context_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct rec_context *context = &recording->contexts[middle];

		if (context->thread < thread ||
		    (context->thread == thread && context->at_ns <= at_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct rec_context *ids_of_thread(const struct recording *recording, uint32_t thread,
					size_t *count)
{
	size_t first = thread > 0 ? count_until(recording, thread - 1, UINT64_MAX) : 0;

	assert(thread < recording->thread_count);
	*count = count_until(recording, thread, UINT64_MAX) - first;
	return *count > 0 ? recording->contexts + first : NULL;
}

struct rec_ids ids_at(const struct recording *recording, uint32_t thread, uint64_t at_ns)
{
	size_t next = count_until(recording, thread, at_ns);

	return next > 0 && recording->contexts[next - 1].thread == thread
		       ? recording->contexts[next - 1].ids
		       : (struct rec_ids){ 0 };
}

/* Each dump and each chunk says again what is in force. */
uint64_t ids_change_after(const struct recording *recording, uint32_t thread, uint64_t at_ns)
{
	struct rec_ids ids = ids_at(recording, thread, at_ns);

	for (size_t i = count_until(recording, thread, at_ns);
	     i < recording->context_count && recording->contexts[i].thread == thread; i++)
		if (!ids_are_same(&recording->contexts[i].ids, &ids))
			return recording->contexts[i].at_ns;
	return UINT64_MAX;
}

struct rec_ids ids_within(const struct recording *recording, uint32_t thread, uint64_t from_ns,
			  uint64_t to_ns)
{
	struct rec_ids ids = ids_at(recording, thread, from_ns);

	while (!ids_have_trace(&ids)) {
		uint64_t next_ns = ids_change_after(recording, thread, from_ns);

		if (next_ns > to_ns)
			return (struct rec_ids){ 0 };
		from_ns = next_ns;
		ids = ids_at(recording, thread, from_ns);
	}
	return ids;
}

void ids_trace_text(char text[IDS_TRACE_BYTES], const uint64_t trace[2])
{
	text[0] = '\0';
	if ((trace[0] | trace[1]) != 0)
		snprintf(text, IDS_TRACE_BYTES, "%016" PRIx64 "%016" PRIx64, trace[0], trace[1]);
}

void ids_span_text(char text[IDS_SPAN_BYTES], uint64_t span)
{
	text[0] = '\0';
	if (span != 0)
		snprintf(text, IDS_SPAN_BYTES, "%016" PRIx64, span);
}

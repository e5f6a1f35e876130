/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses traces by their length; idlabels.h has the contract. */
#include "idlabels.h"

#include <stdlib.h>

#include "base/memory.h"

static uint64_t length_of(const struct traces *traces, size_t index)
{
	const struct traced *trace = &traces->traces[index];
	const struct trace_stretch *stretches = traces->stretches + trace->first;
	uint64_t end_ns = 0;
	for (size_t i = 0; i < trace->count; i++)
		end_ns = stretches[i].to_ns > end_ns ? stretches[i].to_ns : end_ns;
	return end_ns - stretches[0].from_ns;
}

struct ranked {
	uint64_t length_ns;
	size_t trace;
};

static int compare_ranked(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;
	if (a->length_ns != b->length_ns)
		return a->length_ns > b->length_ns ? -1 : 1;
	return (a->trace > b->trace) - (a->trace < b->trace);
}

void id_labels_build(struct id_labels *labels, const struct recording *recording,
		     const struct traces *traces)
{
	size_t count = traces ? traces->count : 0, spans = 0;
	*labels = (struct id_labels){ .recording = recording, .traces = traces };
	struct ranked *ranked = memory_new(count, sizeof(*ranked));
	labels->has_labels = memory_new(count, sizeof(*labels->has_labels));
	for (size_t i = 0; i < count; i++)
		ranked[i] = (struct ranked){ length_of(traces, i), i };
	if (count > 1)
		qsort(ranked, count, sizeof(*ranked), compare_ranked);
	for (size_t i = 0; i < count; i++) {
		size_t more = traces->traces[ranked[i].trace].count;
		bool has_room = spans + more <= ID_LABELS_MAX;
		labels->has_labels[ranked[i].trace] = has_room;
		labels->left_out += !has_room;
		spans += has_room ? more : 0;
	}
	free(ranked);
}

void id_labels_free(struct id_labels *labels)
{
	free(labels->has_labels);
	*labels = (struct id_labels){ 0 };
}

static uint64_t root_of(const struct id_labels *labels, const struct traced *trace, uint32_t thread)
{
	const struct rec_thread *threads = labels->recording->threads;
	const struct trace_stretch *stretches = labels->traces->stretches + trace->first;
	size_t i = 0;
	while (i < trace->count && threads[stretches[i].thread].process != threads[thread].process)
		i++;
	return i < trace->count ? stretches[i].ids.span : 0;
}

bool id_labels_at(const struct id_labels *labels, uint32_t thread, uint64_t at_ns,
		  struct id_label *label)
{
	*label = (struct id_label){ 0 };
	if (!labels->traces || labels->traces->count == 0 || thread == NO_INDEX)
		return false;
	const struct rec_ids ids = ids_at(labels->recording, thread, at_ns);
	const struct traced *trace = traces_by_id(labels->traces, ids.trace);
	if (!trace || !labels->has_labels[trace - labels->traces->traces])
		return false;
	ids_trace_text(label->trace, ids.trace);
	ids_span_text(label->span, ids.span);
	ids_span_text(label->root, root_of(labels, trace, thread));
	return true;
}

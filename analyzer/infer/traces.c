/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds traces; traces.h has the contract.
 *
 * First the stretches of each thread, from its contexts. Then one walk through the thread's moments
 * gives each stretch its ops. Then stretches are sorted by trace. One thread.
 */
#include "traces.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "format.h"

struct finding {
	struct traces *traces;
	const struct recording *rec;
	const struct timeline *timeline;
	size_t stretch_room, trace_room;
};

/* --- Stretches --- */

static uint64_t end_of_thread(const struct recording *rec, uint32_t thread)
{
	uint32_t op = rec->threads[thread].op;

	return op == NO_INDEX ? rec->end_ns : rec->ops[op].end_ns;
}

static void stretch_add(struct finding *finding, const struct rec_context *context, uint64_t to_ns)
{
	struct traces *traces = finding->traces;

	if (!ids_have_trace(&context->ids) || to_ns < context->at_ns)
		return;
	traces->stretches = memory_grow(traces->stretches, &finding->stretch_room,
					traces->stretch_count + 1, sizeof(*traces->stretches));
	traces->stretches[traces->stretch_count++] = (struct trace_stretch){
		.from_ns = context->at_ns,
		.to_ns = to_ns,
		.before_ns = context->at_ns,
		.ids = context->ids,
		.thread = context->thread,
		.first_op = NO_INDEX,
		.last_op = NO_INDEX,
	};
}

static void stretches_of_thread(struct finding *finding, uint32_t thread)
{
	size_t count, begin = 0;
	const struct rec_context *contexts = ids_of_thread(finding->rec, thread, &count);

	for (size_t i = 1; i <= count; i++) {
		if (i < count && ids_are_same(&contexts[begin].ids, &contexts[i].ids))
			continue;
		stretch_add(finding, &contexts[begin],
			    i < count ? contexts[i].at_ns : end_of_thread(finding->rec, thread));
		begin = i;
	}
}

/* --- Their ops --- */

static void op_begins(struct trace_stretch *stretch, const struct recording *rec, uint32_t op,
		      uint64_t before_ns)
{
	if (stretch->first_op == NO_INDEX) {
		stretch->first_op = op;
		stretch->before_ns = before_ns;
	}
	if (rec->extras && rec->extras[op].open && rec->ops[op].kind != KIND_POLL)
		stretch->is_open = true;
}

static void op_ends(struct trace_stretch *stretch, const struct recording *rec, uint32_t op)
{
	if (rec->ops[op].start_ns >= stretch->from_ns && rec->ops[op].kind != KIND_POLL &&
	    !(rec->extras && rec->extras[op].open))
		stretch->last_op = op;
}

/* The stretches from `first` on are the thread's, in order of time. */
static void ops_of_thread(struct finding *finding, uint32_t thread, size_t first)
{
	const struct timeline *timeline = finding->timeline;
	struct trace_stretch *stretch = finding->traces->stretches + first;
	struct trace_stretch *end = finding->traces->stretches + finding->traces->stretch_count;
	uint64_t before_ns = 0;

	for (size_t i = timeline->first[thread]; i < timeline->first[thread + 1]; i++) {
		const struct moment *moment = &timeline->moments[i];
		enum moment_type type = moment_type(moment);
		bool is_end = type == MOMENT_OP_END || type == MOMENT_OP_POINT;

		/* an op that ends as others come into force ends within */
		while (stretch < end &&
		       (moment->at_ns > stretch->to_ns ||
			(moment->at_ns == stretch->to_ns && type != MOMENT_OP_END)))
			stretch++;
		if (stretch == end)
			return;
		if (moment->at_ns >= stretch->from_ns) {
			if (type == MOMENT_OP_BEGIN || type == MOMENT_OP_POINT)
				op_begins(stretch, finding->rec, moment->index, before_ns);
			if (is_end)
				op_ends(stretch, finding->rec, moment->index);
		}
		if (is_end || type == MOMENT_WAIT_END)
			before_ns = moment->at_ns;
	}
}

/* --- Traces --- */

static int compare_stretches(const void *left, const void *right)
{
	const struct trace_stretch *a = left, *b = right;

	for (int i = 0; i < 2; i++)
		if (a->ids.trace[i] != b->ids.trace[i])
			return a->ids.trace[i] < b->ids.trace[i] ? -1 : 1;
	if (a->from_ns != b->from_ns)
		return a->from_ns < b->from_ns ? -1 : 1;
	return (a->thread > b->thread) - (a->thread < b->thread);
}

static void group(struct finding *finding)
{
	struct traces *traces = finding->traces;

	for (size_t i = 0; i < traces->stretch_count; i++) {
		const uint64_t *id = traces->stretches[i].ids.trace;
		struct traced *last = traces->count ? &traces->traces[traces->count - 1] : NULL;

		if (!last || last->id[0] != id[0] || last->id[1] != id[1]) {
			traces->traces = memory_grow(traces->traces, &finding->trace_room,
						     traces->count + 1, sizeof(*traces->traces));
			last = &traces->traces[traces->count++];
			*last = (struct traced){ .id = { id[0], id[1] }, .first = i };
		}
		last->count++;
	}
}

void traces_build(struct traces *traces, const struct recording *recording,
		  const struct timeline *timeline)
{
	struct finding finding = { .traces = traces, .rec = recording, .timeline = timeline };

	assert(timeline->thread_count == recording->thread_count);
	*traces = (struct traces){ 0 };
	for (uint32_t t = 0; recording->context_count > 0 && t < recording->thread_count; t++) {
		size_t first = traces->stretch_count;

		stretches_of_thread(&finding, t);
		ops_of_thread(&finding, t, first);
	}
	if (traces->stretch_count > 0)
		qsort(traces->stretches, traces->stretch_count, sizeof(*traces->stretches),
		      compare_stretches);
	group(&finding);
}

void traces_free(struct traces *traces)
{
	free(traces->traces);
	free(traces->stretches);
	*traces = (struct traces){ 0 };
}

static int compare_ids(const void *key, const void *trace)
{
	const uint64_t *id = key, *other = ((const struct traced *)trace)->id;

	if (id[0] != other[0])
		return id[0] < other[0] ? -1 : 1;
	return (id[1] > other[1]) - (id[1] < other[1]);
}

const struct traced *traces_by_id(const struct traces *traces, const uint64_t id[2])
{
	return traces->count == 0 ? NULL
				  : bsearch(id, traces->traces, traces->count,
					    sizeof(*traces->traces), compare_ids);
}

bool traces_ends(const struct traces *traces, const struct recording *recording,
		 const struct traced *trace, struct trace_ends *ends)
{
	const struct rec_op *ops = recording->ops;
	const struct trace_stretch *begin = NULL, *end = NULL;
	bool is_open = false;

	for (size_t i = 0; i < trace->count; i++) {
		const struct trace_stretch *at = &traces->stretches[trace->first + i];

		is_open |= at->is_open;
		if (at->first_op != NO_INDEX &&
		    (!begin || ops[at->first_op].start_ns < ops[begin->first_op].start_ns))
			begin = at;
		if (at->last_op != NO_INDEX &&
		    (!end || ops[at->last_op].end_ns > ops[end->last_op].end_ns))
			end = at;
	}
	if (!begin || (!end && !is_open))
		return false;
	*ends = (struct trace_ends){ begin->first_op, is_open ? NO_INDEX : end->last_op,
				     begin->before_ns, begin->ids };
	return true;
}

/* --- By digits --- */

/* In lower case, without dashes and 0x; false: no such digits, or too many. */
static bool plain_digits(char plain[IDS_TRACE_BYTES], const char *digits)
{
	size_t length = 0;

	if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X'))
		digits += 2;
	for (; *digits; digits++) {
		if (*digits == '-')
			continue;
		if (!isxdigit((unsigned char)*digits) || length == IDS_TRACE_BYTES - 1)
			return false;
		plain[length++] = (char)tolower((unsigned char)*digits);
	}
	plain[length] = '\0';
	return length > 0;
}

bool traces_is_prefix(const char *digits)
{
	char plain[IDS_TRACE_BYTES];

	return plain_digits(plain, digits);
}

size_t traces_find(const struct traces *traces, const char *digits, size_t *first)
{
	char plain[IDS_TRACE_BYTES], text[IDS_TRACE_BYTES];
	size_t found = 0;

	*first = 0;
	if (!plain_digits(plain, digits))
		return 0;
	for (size_t i = 0; i < traces->count; i++) {
		ids_trace_text(text, traces->traces[i].id);
		if (strncmp(text, plain, strlen(plain)) == 0 && found++ == 0)
			*first = i;
	}
	return found;
}

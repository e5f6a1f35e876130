/* SPDX-License-Identifier: Apache-2.0 */
/* Values in requests, as words; requestvalues.h has the contract. */
#include "requestvalues.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analysis.h"
#include "base/emit.h"
#include "base/memory.h"
#include "facts.h"

enum { CALLS_SAID = 4 };

struct value_request request_values_span(const struct analysis *analysis, uint32_t index)
{
	const struct request *request = &analysis->script.requests.requests[index];
	const struct rec_op *op =
		request->op == NO_INDEX ? NULL : &analysis->recording->ops[request->op];
	struct value_request span = { .thread = request->thread,
				      .start_ns = request->start_ns,
				      .end_ns = request->end_ns,
				      .index = index };
	if (op && op->thread == span.thread && op->start_ns > span.start_ns)
		span.start_ns = op->start_ns;
	return span;
}

void request_values_build(struct value_lists *lists, const struct analysis *analysis)
{
	const struct requests *all = &analysis->script.requests;
	struct value_request *list = memory_new(all->count, sizeof(*list));
	for (uint32_t i = 0; i < all->count; i++) {
		list[i] = request_values_span(analysis, i);
		if (!request_is_judged(all, &all->requests[i]))
			list[i].thread = NO_INDEX;
	}
	value_lists_build(lists, analysis->recording, list, all->count);
	free(list);
}

static void put_value(FILE *file, const struct recording *rec, const struct rec_link *link,
		      bool is_json)
{
	if (link->is_text)
		emit_json_string(file, rec->strings[link->result]);
	else if (link->is_real && is_json && !isfinite(value_real(link->result)))
		fputs("null", file); /* JSON has no such numbers */
	else if (link->is_real)
		fprintf(file, is_json ? "%.17g" : "%.6g", value_real(link->result));
	else
		fprintf(file, "%" PRId64, (int64_t)link->result);
}

char *request_values_text(const struct value_lists *lists, const struct analysis *analysis,
			  size_t request)
{
	const struct recording *rec = analysis->recording;
	uint32_t call = NO_INDEX;
	size_t calls = 0, length;
	char *text = NULL;
	FILE *file = memory_stream(&text, &length);
	for (size_t i = lists->first[request]; i < lists->first[request + 1]; i++) {
		const struct rec_link *link = &rec->links[lists->links[i]];
		bool is_next = link->from != call;
		calls += is_next;
		call = link->from;
		if (calls > CALLS_SAID)
			continue;
		if (is_next)
			fprintf(file, "%s%s(", calls > 1 ? ") " : "",
				facts_class_name(analysis, analysis->classes.of_op[call]));
		fprintf(file, "%s%s=", is_next ? "" : ", ", rec->strings[link->ident]);
		put_value(file, rec, link, false);
	}
	if (calls)
		fputs(")", file);
	if (calls > CALLS_SAID)
		fprintf(file, " and %zu more calls", calls - CALLS_SAID);
	fclose(file);
	return text;
}

void request_values_json(const struct value_lists *lists, const struct analysis *analysis,
			 size_t request, FILE *file)
{
	const struct recording *rec = analysis->recording;
	fputs("[", file);
	for (size_t i = lists->first[request]; i < lists->first[request + 1]; i++) {
		const struct rec_link *link = &rec->links[lists->links[i]];
		const struct rec_op *op = &rec->ops[link->from];
		fputs(i > lists->first[request] ? ",{\"function\":" : "{\"function\":", file);
		emit_json_string(file,
				 facts_class_name(analysis, analysis->classes.of_op[link->from]));
		fprintf(file,
			",\"at_ns\":%" PRIu64 ",\"length_ns\":%" PRIu64 ",\"name\":", op->start_ns,
			op->end_ns - op->start_ns);
		emit_json_string(file, rec->strings[link->ident]);
		fputs(",\"value\":", file);
		put_value(file, rec, link, true);
		fputs("}", file);
	}
	fputs("]", file);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Writes requests as lines of JSON; requestlines.h has the contract. */
#include "requestlines.h"

#include <inttypes.h>

#include "base/emit.h"
#include "report/facts.h"
#include "report/requestvalues.h"

static void put_text(FILE *file, const char *key, const char *text)
{
	fprintf(file, "\"%s\":", key);
	emit_json_string(file, text);
	fputc(',', file);
}

static void put_parts(FILE *file, const struct analysis *analysis, size_t request)
{
	const struct request_paths *paths = &analysis->paths;
	const char **strings = analysis->recording->strings;
	fputs("\"parts\":[", file);
	for (size_t i = paths->first[request]; i < paths->first[request + 1]; i++) {
		struct path_part part = path_parts_at(&paths->parts, paths->part[i]);
		fputs(i > paths->first[request] ? ",{" : "{", file);
		put_text(file, "kind", path_kind_word(part.kind));
		put_text(file, "name", strings[part.name]);
		put_text(file, "by", strings[part.by]);
		fprintf(file, "\"ns\":%" PRIu64 "}", paths->ns[i]);
	}
	fputs("]", file);
}

static void put_ids(FILE *file, const struct rec_ids *ids)
{
	char trace[IDS_TRACE_BYTES], span[IDS_SPAN_BYTES];
	ids_trace_text(trace, ids->trace);
	ids_span_text(span, ids->span);
	if (trace[0])
		put_text(file, "trace_id", trace);
	if (span[0])
		put_text(file, "span_id", span);
}

static void put_values(FILE *file, const struct analysis *analysis,
		       const struct value_lists *values, size_t request)
{
	if (values->first[request] == values->first[request + 1])
		return;
	fputs(",\"values\":", file);
	request_values_json(values, analysis, request, file);
}

static void put_request(FILE *file, const struct analysis *analysis,
			const struct value_lists *values, size_t index)
{
	const struct recording *recording = analysis->recording;
	const struct request *request = &analysis->script.requests.requests[index];
	fputc('{', file);
	put_text(file, "class", facts_class_name(analysis, request->class));
	if (request->kind)
		put_text(file, "request", recording->strings[request->kind]);
	put_text(file, "source", facts_request_source(request->source));
	put_text(file, "connection", recording->strings[request->connection]);
	put_ids(file, &request->ids);
	fprintf(file, "\"ordinal\":%" PRIu32 ",", request->ordinal);
	if (request->thread != NO_INDEX) {
		const struct rec_thread *thread = &recording->threads[request->thread];
		fprintf(file, "\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",",
			recording->processes[thread->process].pid, thread->tid);
	}
	fprintf(file,
		"\"early_ns\":%" PRIu64 ",\"start_ns\":%" PRIu64 ",\"end_ns\":%" PRIu64
		",\"latency_ns\":%" PRIu64 ",\"unfinished\":%s,",
		request->early_ns, request->start_ns, request->end_ns, request->taken_ns,
		request->is_unfinished ? "true" : "false");
	put_parts(file, analysis, index);
	put_values(file, analysis, values, index);
	fputs("}\n", file);
}

void request_lines_write(FILE *file, const struct analysis *analysis)
{
	struct value_lists values;
	request_values_build(&values, analysis);
	for (size_t i = 0; analysis->has_paths && i < analysis->paths.count; i++)
		put_request(file, analysis, &values, i);
	value_lists_free(&values);
}

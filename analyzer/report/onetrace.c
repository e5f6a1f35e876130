/* SPDX-License-Identifier: Apache-2.0 */
/* Looks a trace up by the first digits of its id; onetrace.h has the contract. */
#include "onetrace.h"

#include <errno.h>

#include "base/tuples.h"
#include "facts.h"

static uint32_t request_of(const struct requests *requests, const struct traced *trace)
{
	for (uint32_t i = 0; i < requests->count; i++)
		if (requests->requests[i].source == REQUEST_TRACED &&
		    requests->requests[i].ids.trace[0] == trace->id[0] &&
		    requests->requests[i].ids.trace[1] == trace->id[1])
			return i;
	return NO_INDEX;
}

/* How many different ones of a sort there are among the stretches. */
static size_t count_different(const struct one_trace *one, size_t width,
			      void (*words_of)(const struct recording *,
					       const struct trace_stretch *, uint32_t *words),
			      const struct recording *recording)
{
	struct tuples known;
	uint32_t words[2];
	tuples_begin(&known, width);
	for (size_t i = 0; i < one->trace->count; i++) {
		words_of(recording, &one->stretches[i], words);
		tuples_add(&known, words);
	}
	size_t count = known.count;
	tuples_free(&known);
	return count;
}

static void process_of(const struct recording *recording, const struct trace_stretch *stretch,
		       uint32_t *words)
{
	words[0] = recording->threads[stretch->thread].process;
}

static void thread_of(const struct recording *recording, const struct trace_stretch *stretch,
		      uint32_t *words)
{
	(void)recording;
	words[0] = stretch->thread;
}

static void span_of(const struct recording *recording, const struct trace_stretch *stretch,
		    uint32_t *words)
{
	(void)recording;
	words[0] = (uint32_t)stretch->ids.span;
	words[1] = (uint32_t)(stretch->ids.span >> 32);
}

static void fill(struct one_trace *one, const struct analysis *analysis, size_t index)
{
	const struct requests *requests = &analysis->script.requests;
	*one = (struct one_trace){ .trace = &requests->traces.traces[index] };
	one->stretches = requests->traces.stretches + one->trace->first;
	one->request = request_of(requests, one->trace);
	one->process_count = count_different(one, 1, process_of, analysis->recording);
	one->thread_count = count_different(one, 1, thread_of, analysis->recording);
	one->span_count = count_different(one, 2, span_of, analysis->recording);
	for (size_t i = 0; i < one->trace->count; i++)
		if (one->stretches[i].to_ns > one->end_ns)
			one->end_ns = one->stretches[i].to_ns;
	one->start_ns = one->stretches[0].from_ns;
	if (one->request == NO_INDEX)
		return;
	one->start_ns = requests->requests[one->request].start_ns;
	one->end_ns = requests->requests[one->request].end_ns;
}

int one_trace_find(struct one_trace *one, const struct analysis *analysis,
		   char error[OPTIONS_ERROR_BYTES])
{
	const char *digits = analysis->options->trace;
	const struct traces *traces = &analysis->script.requests.traces;
	size_t first, count = traces_find(traces, digits, &first);
	char text[IDS_TRACE_BYTES];
	if (count == 1) {
		fill(one, analysis, first);
		return 0;
	}
	if (!traces_is_prefix(digits)) {
		snprintf(error, OPTIONS_ERROR_BYTES,
			 "--trace: \"%.60s\" is no id of a trace; give its first "
			 "hexadecimal digits, or all 32",
			 digits);
	} else if (count == 0) {
		snprintf(error, OPTIONS_ERROR_BYTES,
			 "--trace: no id of the %zu traces here begins with %.40s%s", traces->count,
			 digits,
			 traces->count ? "; --requests - lists them"
				       : ": the program publishes none (wcprof.h(3))");
	} else {
		ids_trace_text(text, traces->traces[first].id);
		snprintf(error, OPTIONS_ERROR_BYTES,
			 "--trace: %zu ids begin with %.40s, the first one is %s; give more digits",
			 count, digits, text);
	}
	return -EINVAL;
}

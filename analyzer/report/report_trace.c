/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report: what did the request of one trace do, in all processes? Printed where --trace names it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "activities.h"
#include "infer/clocks.h"
#include "onetrace.h"
#include "recording/programs.h"
#include "report.h"
#include "traceurl.h"

enum {
	BAR_COLUMNS_SHOWN = 24,
	BAR_SHOWN_BYTES = BAR_COLUMNS_SHOWN + 1,
	THREAD_BYTES = 80,
	SLICES_SHOWN = 12 /* of a stretch */
};

struct tracing {
	const struct analysis *analysis;
	struct emit *emit;
	struct one_trace one;
	struct activities *activities;
};

/* --- Words --- */

static const char *thread_text(const struct tracing *of, uint32_t thread, char text[THREAD_BYTES])
{
	const struct recording *recording = of->analysis->recording;
	const struct rec_thread *at = &recording->threads[thread];
	snprintf(text, THREAD_BYTES, "%s %u", recording->strings[at->name], at->tid);
	return text;
}

static const char *process_text(const struct tracing *of, uint32_t thread, char text[THREAD_BYTES])
{
	const struct recording *recording = of->analysis->recording;
	uint32_t process = recording->threads[thread].process;
	int used = snprintf(text, THREAD_BYTES, "%.40s %u", program_called(recording, process),
			    recording->processes[process].pid);
	if (recording->clock_count > 1)
		snprintf(text + used, THREAD_BYTES - (size_t)used, " on %.20s",
			 recording->strings[recording->processes[process].host]);
	return text;
}

/* Where in the request's time a stretch lies. */
static void draw(const struct tracing *of, uint64_t from_ns, uint64_t to_ns,
		 char bar[BAR_SHOWN_BYTES])
{
	double whole_ns = (double)(of->one.end_ns - of->one.start_ns);
	double column_ns = whole_ns > 0 ? whole_ns / BAR_COLUMNS_SHOWN : 1;
	size_t first = (size_t)((double)(from_ns - of->one.start_ns) / column_ns);
	size_t end = (size_t)((double)(to_ns - of->one.start_ns) / column_ns + 0.999);
	first = first < BAR_COLUMNS_SHOWN ? first : BAR_COLUMNS_SHOWN - 1;
	end = end > BAR_COLUMNS_SHOWN ? BAR_COLUMNS_SHOWN : end;
	memset(bar, '.', BAR_COLUMNS_SHOWN);
	memset(bar + first, '=', end > first ? end - first : 1);
	bar[BAR_COLUMNS_SHOWN] = '\0';
}

/* --- The stretches of the trace --- */

/* The part of a stretch in the request's time. False: there is none. */
static bool clip(const struct tracing *of, const struct trace_stretch *stretch, uint64_t *from_ns,
		 uint64_t *to_ns)
{
	const struct one_trace *one = &of->one;
	*from_ns = stretch->from_ns > one->start_ns ? stretch->from_ns : one->start_ns;
	*to_ns = stretch->to_ns < one->end_ns ? stretch->to_ns : one->end_ns;
	return *from_ns < *to_ns;
}

static bool is_cut(const struct tracing *of, size_t row)
{
	return of->emit->format == EMIT_TEXT && row >= of->analysis->options->top;
}

/* Times of another machine than the request's may be off by that. */
static double error_ns_of(const struct tracing *of, uint32_t thread)
{
	const struct recording *recording = of->analysis->recording;
	uint32_t first = of->one.request == NO_INDEX ? of->one.stretches[0].thread
						     : recording->ops[of->one.request].thread;
	if (first == NO_INDEX || recording->clock_count < 2)
		return 0;
	return clocks_error_ns(recording, recording->threads[first].process,
			       recording->threads[thread].process);
}

static void emit_stretch(const struct tracing *of, const struct trace_stretch *stretch,
			 uint64_t from_ns, uint64_t to_ns)
{
	char bar[BAR_SHOWN_BYTES], text[THREAD_BYTES], span[IDS_SPAN_BYTES];
	uint64_t sums_ns[SLICE_STATES] = { 0 }, left_out_ns;
	size_t count;
	struct activity *all = activities_of(of->activities, stretch->thread, from_ns, to_ns,
					     SIZE_MAX, &count, &left_out_ns);
	for (size_t i = 0; i < count; i++)
		sums_ns[all[i].state] += all[i].end_ns - all[i].start_ns;
	free(all);
	draw(of, from_ns, to_ns, bar);
	ids_span_text(span, stretch->ids.span);
	emit_row_begin(of->emit);
	emit_cell_ns(of->emit, (double)(from_ns - of->one.start_ns));
	emit_cell_ns(of->emit, error_ns_of(of, stretch->thread));
	emit_cell_ns(of->emit, (double)(to_ns - from_ns));
	emit_cell_text(of->emit, bar);
	emit_cell_text(of->emit, process_text(of, stretch->thread, text));
	emit_cell_text(of->emit, thread_text(of, stretch->thread, text));
	emit_cell_text(of->emit, span);
	emit_cell_ns(of->emit, (double)sums_ns[SLICE_RUNNING]);
	emit_cell_ns(of->emit, (double)sums_ns[SLICE_QUEUED]);
	emit_cell_ns(of->emit, (double)sums_ns[SLICE_BLOCKED]);
	emit_cell_ns(of->emit, (double)sums_ns[SLICE_UNEXPLAINED]);
	emit_row_end(of->emit);
}

static void emit_stretches(const struct tracing *of)
{
	const struct emit_column columns[] = {
		{ .key = "at_ns", .head = "at", .align = EMIT_RIGHT },
		{ .key = "error_ns",
		  .head = of->analysis->recording->clock_count > 1 ? "+-" : NULL,
		  .align = EMIT_RIGHT },
		{ .key = "length_ns", .head = "for", .align = EMIT_RIGHT },
		{ .head = "when", .yields = 1 },
		{ .key = "process", .head = "process", .is_flexible = true },
		{ .key = "thread", .head = "thread", .is_flexible = true },
		{ .key = "span_id", .head = "span" },
		{ .key = "running_ns", .head = "running", .align = EMIT_RIGHT },
		{ .key = "queued_ns", .head = "queued", .align = EMIT_RIGHT, .yields = 2 },
		{ .key = "blocked_ns", .head = "blocked", .align = EMIT_RIGHT },
		{ .key = "unexplained_ns", .head = NULL },
	};
	uint64_t from_ns, to_ns;
	size_t row = 0;
	emit_table_begin(of->emit, "trace_spans", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < of->one.trace->count; i++)
		if (clip(of, &of->one.stretches[i], &from_ns, &to_ns) && !is_cut(of, row++))
			emit_stretch(of, &of->one.stretches[i], from_ns, to_ns);
	emit_table_end(of->emit);
	if (row > 0 && is_cut(of, row - 1))
		emit_line(of->emit, "and %zu more (--top, --json)",
			  row - of->analysis->options->top);
}

/* --- What its time is made of --- */

static void emit_title(const struct tracing *of, const char *title)
{
	if (of->emit->format == EMIT_TEXT)
		emit_line(of->emit, "%s", title);
}

static void emit_parts(const struct tracing *of)
{
	static const struct emit_column columns[] = {
		{ .key = "kind", .head = "part" },
		{ .key = "name", .head = "of", .is_flexible = true },
		{ .key = "by", .head = "held by", .is_flexible = true },
		{ .key = "ns", .head = "time", .align = EMIT_RIGHT },
		{ .key = "percent", .head = "%", .align = EMIT_RIGHT },
	};
	const struct request_paths *paths = &of->analysis->paths;
	const char *const *strings = of->analysis->recording->strings;
	size_t first = 0, end = 0;
	if (of->analysis->has_paths && of->one.request != NO_INDEX) {
		first = paths->first[of->one.request];
		end = paths->first[of->one.request + 1];
	}
	emit_title(of, "Its time is made of:");
	emit_table_begin(of->emit, "trace_parts", EMIT_OBJECTS, columns, 5);
	for (size_t i = first; i < end && !is_cut(of, i - first); i++) {
		struct path_part part = path_parts_at(&paths->parts, paths->part[i]);
		emit_row_begin(of->emit);
		emit_cell_text(of->emit, path_kind_word(part.kind));
		emit_cell_text(of->emit, strings[part.name]);
		emit_cell_text(of->emit, strings[part.by]);
		emit_cell_ns(of->emit, (double)paths->ns[i]);
		emit_cell_percent(of->emit, 100 * (double)paths->ns[i] /
						    (double)(of->one.end_ns - of->one.start_ns));
		emit_row_end(of->emit);
	}
	emit_table_end(of->emit);
}

/* --- What its threads did --- */

static void emit_activities(const struct tracing *of, const struct trace_stretch *stretch,
			    uint64_t from_ns, uint64_t to_ns)
{
	bool is_text = of->emit->format == EMIT_TEXT;
	char thread[THREAD_BYTES], waker[THREAD_BYTES];
	uint64_t left_out_ns;
	size_t count;
	struct activity *all =
		activities_of(of->activities, stretch->thread, from_ns, to_ns,
			      is_text ? SLICES_SHOWN : SIZE_MAX, &count, &left_out_ns);
	for (size_t i = 0; i < count; i++) {
		emit_row_begin(of->emit);
		emit_cell_text(of->emit,
			       i && is_text ? "" : thread_text(of, stretch->thread, thread));
		emit_cell_ns(of->emit, (double)(all[i].start_ns - of->one.start_ns));
		emit_cell_ns(of->emit, (double)(all[i].end_ns - all[i].start_ns));
		emit_cell_text(of->emit, activities_word(all[i].state));
		emit_cell_text(of->emit, all[i].what);
		emit_cell_text(of->emit, all[i].waker == NO_INDEX
						 ? ""
						 : thread_text(of, all[i].waker, waker));
		emit_row_end(of->emit);
	}
	free(all);
}

static void emit_timelines(const struct tracing *of)
{
	static const struct emit_column columns[] = {
		{ .key = "thread", .head = "thread" },
		{ .key = "at_ns", .head = "at", .align = EMIT_RIGHT },
		{ .key = "length_ns", .head = "for", .align = EMIT_RIGHT },
		{ .key = "state", .head = "was" },
		{ .key = "what", .head = "in", .is_flexible = true },
		{ .key = "waker", .head = "let go by", .is_flexible = true },
	};
	uint64_t from_ns, to_ns;
	size_t row = 0;
	emit_title(of, "Its threads were:");
	emit_table_begin(of->emit, "trace_timelines", EMIT_OBJECTS, columns, 6);
	for (size_t i = 0; i < of->one.trace->count; i++)
		if (clip(of, &of->one.stretches[i], &from_ns, &to_ns) && !is_cut(of, row++))
			emit_activities(of, &of->one.stretches[i], from_ns, to_ns);
	emit_table_end(of->emit);
}

/* --- All of it --- */

static void emit_head(const struct tracing *of)
{
	const struct one_trace *one = &of->one;
	char id[IDS_TRACE_BYTES], span[IDS_SPAN_BYTES], took[EMIT_DURATION_BYTES];
	ids_trace_text(id, one->trace->id);
	ids_span_text(span, one->stretches[0].ids.span);
	char *url = trace_url(of->analysis->options->trace_url, id, span);
	emit_format_duration(took, (double)(one->end_ns - one->start_ns));
	emit_heading(of->emit, "What did this trace do?");
	emit_text(of->emit, "trace_id", NULL, id);
	emit_text(of->emit, "trace_url", NULL, url);
	emit_ns(of->emit, "trace_start_ns", NULL, (double)one->start_ns);
	emit_ns(of->emit, "trace_ns", NULL, (double)(one->end_ns - one->start_ns));
	emit_count(of->emit, "trace_processes", NULL, one->process_count);
	emit_count(of->emit, "trace_threads", NULL, one->thread_count);
	emit_count(of->emit, "trace_span_count", NULL, one->span_count);
	if (of->emit->format == EMIT_TEXT) {
		emit_line(of->emit, "%s: %s, by %zu thread%s of %zu process%s, in %zu span%s.%s%s",
			  id, took, one->thread_count, one->thread_count == 1 ? "" : "s",
			  one->process_count, one->process_count == 1 ? "" : "es", one->span_count,
			  one->span_count == 1 ? "" : "s", url[0] ? " " : "", url);
		if (one->request != NO_INDEX &&
		    of->analysis->script.requests.requests[one->request].is_unfinished)
			emit_line(of->emit, "It was not finished: it takes longer than was seen.");
	}
	free(url);
}

void report_trace(const struct analysis *analysis, struct emit *emit)
{
	static const struct traced none;
	const char *asked = analysis->options->trace;
	struct tracing of = { .analysis = analysis, .emit = emit };
	char error[OPTIONS_ERROR_BYTES];
	if (asked && asked[0] && one_trace_find(&of.one, analysis, error) == 0) {
		of.activities = activities_new(analysis);
		emit_head(&of);
	} else if (emit->format == EMIT_JSON) {
		of.one = (struct one_trace){ .trace = &none, .request = NO_INDEX };
	} else {
		return;
	}
	emit_stretches(&of);
	emit_parts(&of);
	emit_timelines(&of);
	if (of.activities)
		activities_free(of.activities);
}

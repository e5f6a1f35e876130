/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report: how long did requests take, and what would shorten them? A server's makespan says little.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kinds.h"
#include "report.h"
#include "requestfigures.h"
#include "requestvalues.h"
#include "several.h"
#include "shortening.h"

static int compare_requests(const void *left, const void *right)
{
	const struct request *a = left, *b = right;
	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	if (a->class != b->class)
		return a->class < b->class ? -1 : 1;
	return (int)a->is_part - (int)b->is_part;
}

static size_t count_shared(const struct request *requests, size_t count,
			   enum exchange_sharing sharing)
{
	size_t shared = 0;
	for (size_t i = 0; i < count; i++)
		shared += requests[i].sharing == sharing;
	return shared;
}

/* Of a batch, about how many are in it. */
static size_t count_within(const struct request *requests, size_t count)
{
	size_t within = 0;
	for (size_t i = 0; i < count; i++)
		within += requests[i].within ? requests[i].within : 1;
	return within;
}

/* Requests of one class and source, of clients or on behalf of others. */
static void emit_group(const struct analysis *analysis, struct emit *emit,
		       const struct request *requests, size_t count)
{
	double seconds = facts_recorded_ns(analysis) / 1e9;
	struct request_figures figures;
	request_figures_find(&figures, requests, count);
	emit_row_begin(emit);
	emit_cell_text(emit, facts_class_name(analysis, requests->class));
	emit_cell_text(emit, facts_class_kind(analysis, requests->class));
	bool is_inner = requests->source == REQUEST_ASKED && requests->is_part;
	emit_cell_text(emit, is_inner && emit->format == EMIT_TEXT
				     ? "asked for others"
				     : facts_request_source(requests->source));
	emit_cell_count(emit, count);
	emit_cell_ns(emit, figures.ns[REQUEST_P50]);
	emit_cell_ns(emit, figures.ns[REQUEST_P95]);
	emit_cell_ns(emit, figures.ns[REQUEST_P99]);
	emit_cell_ns(emit, (double)figures.longest_ns);
	emit_cell_count(emit, seconds > 0 ? (uint64_t)((double)count / seconds + 0.5) : 0);
	emit_cell_count(emit, figures.unfinished_count);
	emit_cell_flag(emit, request_is_judged(&analysis->script.requests, requests));
	emit_cell_count(emit, count_shared(requests, count, EXCHANGE_STREAMS));
	emit_cell_count(emit, count_shared(requests, count, EXCHANGE_HIDDEN));
	emit_cell_count(emit, count_shared(requests, count, EXCHANGE_PIPELINED));
	emit_cell_count(emit, count_shared(requests, count, EXCHANGE_BATCH));
	emit_cell_count(emit, count_within(requests, count));
	emit_row_end(emit);
}

static void emit_groups(const struct analysis *analysis, struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "class", .head = "first op", .is_flexible = true },
		{ .key = "kind", .head = "kind", .yields = 2 },
		{ .key = "source", .head = "found as", .yields = 3 },
		{ .key = "count", .head = "requests", .align = EMIT_RIGHT },
		{ .key = "p50_ns", .head = "p50", .align = EMIT_RIGHT },
		{ .key = "p95_ns", .head = "p95", .align = EMIT_RIGHT, .yields = 1 },
		{ .key = "p99_ns", .head = "p99", .align = EMIT_RIGHT },
		{ .key = "max_ns", .head = "max", .align = EMIT_RIGHT },
		{ .key = "per_second", .head = "per second", .align = EMIT_RIGHT },
		{ .key = "unfinished", .head = NULL },
		{ .key = "is_judged", .head = NULL },
		{ .key = "busy_periods", .head = NULL },
		{ .key = "encrypted", .head = NULL },
		{ .key = "pipelined", .head = NULL },
		{ .key = "batches", .head = NULL },
		{ .key = "within", .head = NULL },
	};
	const struct requests *all = &analysis->script.requests;
	struct request *sorted = memory_new(all->count, sizeof(*sorted));
	if (all->count) {
		memcpy(sorted, all->requests, all->count * sizeof(*sorted));
		qsort(sorted, all->count, sizeof(*sorted), compare_requests);
	}
	emit_table_begin(emit, "requests", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (size_t from = 0, to; from < all->count; from = to) {
		for (to = from; to < all->count && !compare_requests(&sorted[from], &sorted[to]);)
			to++;
		emit_group(analysis, emit, &sorted[from], to - from);
	}
	emit_table_end(emit);
	free(sorted);
}

/* The kinds with the most time; JSON has all. */
static void emit_kinds(const struct analysis *analysis, struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "request_kind", .head = "kind of request", .is_flexible = true },
		{ .key = "source", .head = "found as" },
		{ .key = "count", .head = "requests", .align = EMIT_RIGHT },
		{ .key = "total_ns", .head = "total", .align = EMIT_RIGHT },
		{ .key = "p50_ns", .head = "p50", .align = EMIT_RIGHT },
		{ .key = "p95_ns", .head = "p95", .align = EMIT_RIGHT },
		{ .key = "p99_ns", .head = "p99", .align = EMIT_RIGHT },
		{ .key = "per_second", .head = "per second", .align = EMIT_RIGHT },
		{ .key = "is_judged", .head = NULL },
	};
	double seconds = facts_recorded_ns(analysis) / 1e9;
	size_t count, most = analysis->options->top;
	struct kind_row *rows = kinds_list(&analysis->script.requests, &count);
	if (count > 0 || emit->format == EMIT_JSON) {
		emit_table_begin(emit, "request_kinds", EMIT_OBJECTS, columns,
				 sizeof(columns) / sizeof(columns[0]));
		for (size_t i = 0; i < count && (i < most || emit->format == EMIT_JSON); i++) {
			const struct kind_row *row = &rows[i];
			emit_row_begin(emit);
			emit_cell_text(emit, row->kind ? analysis->recording->strings[row->kind]
						       : "(not known)");
			emit_cell_text(emit, facts_request_source(row->source));
			emit_cell_count(emit, row->figures.count);
			emit_cell_ns(emit, (double)row->total_ns);
			emit_cell_ns(emit, row->figures.ns[REQUEST_P50]);
			emit_cell_ns(emit, row->figures.ns[REQUEST_P95]);
			emit_cell_ns(emit, row->figures.ns[REQUEST_P99]);
			emit_cell_count(
				emit,
				seconds > 0 ? (uint64_t)((double)row->figures.count / seconds + 0.5)
					    : 0);
			emit_cell_flag(emit, row->is_judged);
			emit_row_end(emit);
		}
		emit_table_end(emit);
	}
	if (count > most && emit->format == EMIT_TEXT)
		emit_line(emit, "and %zu more kinds (--top, --json)", count - most);
	free(rows);
}

/* Whether what counts as one request is one. */
static void emit_several(const struct analysis *analysis, struct emit *emit)
{
	const struct requests *requests = &analysis->script.requests;
	bool is_exchange = requests->judged_source == REQUEST_SERVED ||
			   requests->judged_source == REQUEST_ASKED;
	struct several several;
	char *text = NULL;
	size_t length;
	if (emit->format != EMIT_TEXT || requests->judged_class == NO_INDEX || !is_exchange)
		return;
	several_find(&several, analysis);
	FILE *file = memory_stream(&text, &length);
	several_say(&several, file);
	fclose(file);
	if (length)
		emit_line(emit, "%s", text + 1);
	else if (!several.is_known)
		emit_line(emit,
			  "What a client sends at once, pipelined or by HTTP/2, counts as one: "
			  "WCPROF_PEEK=64 tells more of plain protocols.");
	free(text);
}

/* Of clients with a timetable: a question that had to wait for the answer before was late. */
static void emit_intended(const struct analysis *analysis, struct emit *emit)
{
	const struct clients *clients = &analysis->script.clients;
	struct request_figures figures;
	char every[EMIT_DURATION_BYTES], times[3][EMIT_DURATION_BYTES];
	if (emit->format != EMIT_TEXT ||
	    !request_figures_intended(&figures, &analysis->script.requests, clients))
		return;
	emit_format_duration(every, (double)clients->table_ns);
	for (size_t i = 0; i < 3; i++)
		emit_format_duration(times[i], figures.ns[REQUEST_P50 + i]);
	emit_line(emit,
		  "From the intended arrival (each client's timetable has a question every %s, "
		  "which an answer may hold back): p50 %s, p95 %s, p99 %s.",
		  every, times[0], times[1], times[2]);
}

/* --- What probed functions got in the slowest ones --- */

enum { SLOWEST_SHOWN = 10 };

struct valued {
	uint32_t request;
	uint64_t taken_ns;
};

static int compare_valued(const void *left, const void *right)
{
	const struct valued *a = left, *b = right;
	if (a->taken_ns != b->taken_ns)
		return a->taken_ns < b->taken_ns ? 1 : -1;
	return (a->request > b->request) - (a->request < b->request);
}

static void emit_valued(const struct analysis *analysis, struct emit *emit,
			const struct value_lists *values, const struct valued *valued, size_t count)
{
	static const struct emit_column columns[] = {
		{ .key = "at_ns", .head = "slowest at", .align = EMIT_RIGHT },
		{ .key = "latency_ns", .head = "took", .align = EMIT_RIGHT },
		{ .key = "values", .head = "with", .is_flexible = true },
	};
	emit_table_begin(emit, "request_values", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < count && i < SLOWEST_SHOWN; i++) {
		const struct request *request =
			&analysis->script.requests.requests[valued[i].request];
		char *text = request_values_text(values, analysis, valued[i].request);
		emit_row_begin(emit);
		emit_cell_ns(emit, (double)request->start_ns);
		emit_cell_ns(emit, (double)request->taken_ns);
		emit_cell_text(emit, text);
		emit_row_end(emit);
		free(text);
	}
	emit_table_end(emit);
}

static void emit_values(const struct analysis *analysis, struct emit *emit)
{
	const struct requests *all = &analysis->script.requests;
	struct valued *valued = memory_new(all->count, sizeof(*valued));
	struct value_lists values;
	size_t count = 0;
	request_values_build(&values, analysis);
	for (uint32_t i = 0; i < all->count; i++)
		if (values.first[i] < values.first[i + 1])
			valued[count++] = (struct valued){ i, all->requests[i].taken_ns };
	if (count) {
		qsort(valued, count, sizeof(*valued), compare_valued);
		emit_valued(analysis, emit, &values, valued, count);
	}
	value_lists_free(&values);
	free(valued);
}

void report_requests(const struct analysis *analysis, struct emit *emit)
{
	const struct requests *requests = &analysis->script.requests;
	struct request_figures recorded;
	emit_text(emit, "request_answers", NULL,
		  analysis->checks.are_requests_withheld ? "withheld" : "given");
	emit_heading(emit, requests->judged_source == REQUEST_LOCK
				   ? "How long did threads wait for the lock waited for most?"
				   : "How long did requests take?");
	if (emit->format == EMIT_TEXT &&
	    (!requests->count || requests->judged_source == REQUEST_LOCK))
		emit_line(emit, "No requests: nobody asked over a connection, and none is marked.");
	if (emit->format == EMIT_JSON || requests->count)
		emit_groups(analysis, emit);
	emit_kinds(analysis, emit);
	emit_values(analysis, emit);
	emit_several(analysis, emit);
	emit_intended(analysis, emit);
	request_figures_judged(&recorded, requests);
	if (emit->format == EMIT_TEXT && recorded.unfinished_count)
		emit_line(
			emit,
			"%zu of the %zu requests were not finished; each counts as one that takes "
			"longer than was seen.",
			recorded.unfinished_count, recorded.count);
	shortening_emit(analysis, emit);
}

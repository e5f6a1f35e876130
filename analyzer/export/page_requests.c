/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page: how long requests took, and what some of them did.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "latency.h"
#include "page.h"
#include "report/facts.h"
#include "report/traceurl.h"
#include "waterfall.h"

enum {
	POINTS_MAX = 4000,   /* requests that are told one by one */
	SLOWEST_KEPT = 1000, /* of those, the slowest */
	WINDOWS_MAX = LATENCY_PICKS * (1 + WATERFALL_OTHERS)
};

/* All of one call. */
struct page_requests {
	const struct analysis *analysis;
	const struct walk *walk;
	struct emit *emit;
	struct latency latency;
	struct waterfall_window windows[WINDOWS_MAX];
	size_t window_count;
};

static uint64_t since(const struct page_requests *page, uint64_t at_ns)
{
	uint64_t start_ns = page->analysis->graph.start_ns;
	return at_ns > start_ns ? at_ns - start_ns : 0;
}

/* "rank99" is the index of that percentile; left out if it is not known. */
static void put_marks(const struct page_requests *page)
{
	const struct latency *latency = &page->latency;
	for (size_t i = 0; i < LATENCY_MARKS; i++) {
		char key[16];
		snprintf(key, sizeof(key), "rank%u", latency_percent(i));
		if (latency->marks[i] < latency->count)
			emit_count(page->emit, key, NULL, latency->marks[i]);
	}
}

/* The sorts of parts of a request, by key. */
static void put_keys(const struct page_requests *page)
{
	static const struct emit_column columns[] = { { .key = "kind" },
						      { .key = "name" },
						      { .key = "by" } };
	const struct latency *latency = &page->latency;
	const char **strings = page->analysis->recording->strings;
	struct emit *emit = page->emit;
	emit_table_begin(emit, "keys", EMIT_OBJECTS, columns, sizeof(columns) / sizeof(columns[0]));
	for (uint32_t k = 0; k <= latency->key_count && latency->count; k++) {
		emit_row_begin(emit);
		const struct path_part *part = &latency->keys[k < latency->key_count ? k : 0];
		bool is_rest = k == latency->key_count;
		emit_cell_text(emit, is_rest ? "" : path_kind_word(part->kind));
		emit_cell_text(emit, is_rest ? "all others" : strings[part->name]);
		emit_cell_text(emit, is_rest ? "" : strings[part->by]);
		emit_row_end(emit);
	}
	emit_table_end(emit);
}

/* All of them; of very many the slowest, and each so-manieth of the rest, which stands for those
 * before it. Of how many it stands for, some were not finished. */
static void put_points(const struct page_requests *page)
{
	static const struct emit_column columns[] = {
		{ .key = "rank" },   { .key = "start_ns" },   { .key = "taken_ns" },
		{ .key = "weight" }, { .key = "unfinished" },
	};
	const struct latency *latency = &page->latency;
	struct emit *emit = page->emit;
	size_t slowest = latency->count > POINTS_MAX ? latency->count - SLOWEST_KEPT : 0;
	size_t step = slowest ? slowest / (POINTS_MAX - SLOWEST_KEPT) + 1 : 1;
	emit_table_begin(emit, "points", EMIT_ARRAYS, columns, 5);
	for (size_t rank = 0, next; rank < latency->count; rank = next) {
		next = rank >= slowest ? rank + 1 : rank + step < slowest ? rank + step : slowest;
		const struct latency_request *request = &latency->requests[next - 1];
		size_t unfinished = 0;
		for (size_t i = rank; i < next; i++)
			unfinished += latency->requests[i].is_unfinished;
		emit_row_begin(emit);
		emit_cell_count(emit, next - 1);
		emit_cell_count(emit, since(page, request->start_ns));
		emit_cell_count(emit, request->taken_ns);
		emit_cell_count(emit, next - rank);
		emit_cell_count(emit, unfinished);
		emit_row_end(emit);
	}
	emit_table_end(emit);
}

/* "" for none; the link is that of --trace-url. */
static void put_ids(const struct page_requests *page, uint32_t request)
{
	const struct rec_ids *ids = &page->analysis->script.requests.requests[request].ids;
	char trace[IDS_TRACE_BYTES], span[IDS_SPAN_BYTES];
	ids_trace_text(trace, ids->trace);
	ids_span_text(span, ids->span);
	char *url = trace_url(page->analysis->options->trace_url, trace, span);
	emit_cell_text(page->emit, trace);
	emit_cell_text(page->emit, span);
	emit_cell_text(page->emit, url);
	free(url);
}

static void put_picks(const struct page_requests *page)
{
	static const struct emit_column columns[] = {
		{ .key = "rank" },   { .key = "start_ns" }, { .key = "taken_ns" }, { .key = "tid" },
		{ .key = "thread" }, { .key = "trace" },    { .key = "span" },     { .key = "url" },
	};
	const struct latency *latency = &page->latency;
	struct emit *emit = page->emit;
	emit_table_begin(emit, "picks", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < latency->pick_count; i++) {
		const struct latency_request *request = &latency->requests[latency->picks[i].rank];
		emit_row_begin(emit);
		emit_cell_count(emit, latency->picks[i].rank);
		emit_cell_count(emit, since(page, request->start_ns));
		emit_cell_count(emit, request->taken_ns);
		emit_cell_count(emit, page->analysis->recording->threads[request->thread].tid);
		emit_cell_text(emit, walk_thread_name(page->walk, request->thread));
		put_ids(page, request->index);
		emit_row_end(emit);
	}
	emit_table_end(emit);
}

/* By pick and key: the parts that are not nothing. */
static void put_parts(const struct page_requests *page)
{
	static const struct emit_column columns[] = { { .key = "pick" },
						      { .key = "key" },
						      { .key = "ns" } };
	const struct latency *latency = &page->latency;
	struct emit *emit = page->emit;
	emit_table_begin(emit, "parts", EMIT_ARRAYS, columns, 3);
	for (size_t i = 0; i < latency->pick_count; i++)
		for (uint32_t k = 0; k <= LATENCY_KEYS; k++) {
			if (!latency->picks[i].parts_ns[k])
				continue;
			emit_row_begin(emit);
			emit_cell_count(emit, i);
			emit_cell_count(emit, k < LATENCY_KEYS ? k : latency->key_count);
			emit_cell_count(emit, latency->picks[i].parts_ns[k]);
			emit_row_end(emit);
		}
	emit_table_end(emit);
}

static void put_lanes(const struct page_requests *page)
{
	static const struct emit_column columns[] = {
		{ .key = "pick" },   { .key = "tid" },      { .key = "pid" },
		{ .key = "thread" }, { .key = "left_out" }, { .key = "left_out_ns" },
	};
	const struct recording *recording = page->analysis->recording;
	struct emit *emit = page->emit;
	emit_table_begin(emit, "lanes", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < page->window_count; i++) {
		const struct waterfall_window *window = &page->windows[i];
		const struct rec_thread *thread = &recording->threads[window->thread];
		emit_row_begin(emit);
		emit_cell_count(emit, window->subject);
		emit_cell_count(emit, thread->tid);
		emit_cell_count(emit, recording->processes[thread->process].pid);
		emit_cell_text(emit, walk_thread_name(page->walk, window->thread));
		emit_cell_count(emit, window->left_out);
		emit_cell_count(emit, window->left_out_ns);
		emit_row_end(emit);
	}
	emit_table_end(emit);
}

/* "mutex table_lock". */
static void put_sort(const struct page_requests *page, const struct waterfall_sort *sort)
{
	struct emit *emit = page->emit;
	const struct recording *recording = page->analysis->recording;
	emit_cell_text(emit, walk_state_word(sort->state));
	emit_cell_text(emit,
		       sort->cause == NO_INDEX ? "" : thread_cause_word(recording, sort->cause));
	emit_cell_text(emit, recording->strings[sort->name]);
}

/* Sorts of slices, each once; returns the number of each slice's, window by window. */
static uint32_t *put_sorts(const struct page_requests *page)
{
	static const struct emit_column columns[] = { { .key = "state" },
						      { .key = "cause" },
						      { .key = "name" } };
	struct addresses known = { 0 };
	uint32_t *numbers;
	size_t slices = 0, at = 0;
	for (size_t i = 0; i < page->window_count; i++)
		slices += page->windows[i].slice_count;
	numbers = memory_new(slices, sizeof(*numbers));
	emit_table_begin(page->emit, "sorts", EMIT_ARRAYS, columns, 3);
	for (size_t i = 0; i < page->window_count; i++)
		for (size_t k = 0; k < page->windows[i].slice_count; k++) {
			const struct waterfall_sort *sort = &page->windows[i].slices[k].sort;
			size_t count = known.count;
			numbers[at] = addresses_add(&known, sort->cause * WALK_STATES + sort->state,
						    sort->name);
			if (numbers[at++] < count)
				continue;
			emit_row_begin(page->emit);
			put_sort(page, sort);
			emit_row_end(page->emit);
		}
	emit_table_end(page->emit);
	addresses_free(&known);
	return numbers;
}

/* Times are since the request began. */
static void put_slices(const struct page_requests *page)
{
	static const struct emit_column columns[] = {
		{ .key = "lane" }, { .key = "at_ns" },     { .key = "length_ns" },
		{ .key = "sort" }, { .key = "waker_tid" }, /* 0 = not known */
	};
	const struct rec_thread *threads = page->analysis->recording->threads;
	struct emit *emit = page->emit;
	uint32_t *numbers = put_sorts(page);
	size_t at = 0;
	emit_table_begin(emit, "slices", EMIT_ARRAYS, columns, 5);
	for (size_t i = 0; i < page->window_count; i++)
		for (size_t k = 0; k < page->windows[i].slice_count; k++) {
			const struct waterfall_slice *slice = &page->windows[i].slices[k];
			emit_row_begin(emit);
			emit_cell_count(emit, i);
			emit_cell_count(emit, slice->start_ns - page->windows[i].from_ns);
			emit_cell_count(emit, slice->end_ns - slice->start_ns);
			emit_cell_count(emit, numbers[at++]);
			emit_cell_count(emit,
					slice->waker == NO_INDEX ? 0 : threads[slice->waker].tid);
			emit_row_end(emit);
		}
	emit_table_end(emit);
	free(numbers);
}

/* A window of each pick on its own thread, and then those on the threads that ended its waits. */
static void look_into(struct page_requests *page, struct walk *walk)
{
	const struct latency *latency = &page->latency;
	for (size_t i = 0; i < latency->pick_count; i++) {
		const struct latency_request *request = &latency->requests[latency->picks[i].rank];
		page->windows[page->window_count++] =
			(struct waterfall_window){ .subject = (uint32_t)i,
						   .thread = request->thread,
						   .from_ns = request->start_ns,
						   .to_ns = request->start_ns + request->taken_ns };
	}
	waterfall_fill(page->windows, page->window_count, walk);
	for (size_t i = 0; i < latency->pick_count; i++)
		page->window_count +=
			waterfall_others(&page->windows[i], &page->windows[page->window_count]);
	waterfall_fill(page->windows + latency->pick_count,
		       page->window_count - latency->pick_count, walk);
}

void page_requests(const struct analysis *analysis, struct emit *emit)
{
	struct page_requests *page = memory_new(1, sizeof(*page));
	const struct requests *requests = &analysis->script.requests;
	struct walk walk;
	walk_begin(&walk, analysis);
	page->analysis = analysis;
	page->walk = &walk;
	page->emit = emit;
	if (analysis->has_script && requests->judged_class != NO_INDEX) {
		latency_build(&page->latency, requests,
			      analysis->has_paths ? &analysis->paths : NULL);
		look_into(page, &walk);
	}
	emit_text(emit, "class", NULL,
		  page->latency.count ? facts_class_name(analysis, requests->judged_class) : "");
	emit_count(emit, "is_lock", NULL,
		   page->latency.count && requests->judged_source == REQUEST_LOCK);
	emit_count(emit, "count", NULL, page->latency.count);
	emit_count(emit, "unfinished", NULL, page->latency.unfinished_count);
	put_marks(page);
	put_keys(page);
	put_points(page);
	put_picks(page);
	put_parts(page);
	put_lanes(page);
	put_slices(page);
	waterfall_free(page->windows, page->window_count);
	latency_free(&page->latency);
	walk_end(&walk);
	free(page);
}

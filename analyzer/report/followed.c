/* SPDX-License-Identifier: Apache-2.0 */
/* Follows the requests of an analysis; followed.h has the contract. */
#include "followed.h"

#include <stdlib.h>
#include <string.h>

#include "analysis.h"
#include "base/memory.h"

static bool is_given(const char *text)
{
	return text && text[0];
}

/* The first screen tells of requests, if there are any. */
static bool is_screen_of_requests(const struct analysis *analysis)
{
	const struct options *options = analysis->options;
	const struct requests *requests = &analysis->script.requests;
	return options->show && !options->show[0] && !is_given(options->export) &&
	       !is_given(options->folded) && requests->judged_class != NO_INDEX &&
	       requests->judged_source != REQUEST_LOCK;
}

bool followed_is_wanted(const struct analysis *analysis)
{
	const struct options *options = analysis->options;
	bool is_shown = is_given(options->show) &&
			(strstr(options->show, "paths") || strstr(options->show, "all") ||
			 strstr(options->show, "tail"));
	bool is_folded = is_given(options->folded) && strcmp(options->folded, "tail") == 0;
	return options->json || is_folded || is_given(options->html) || is_shown ||
	       is_given(options->requests) || is_screen_of_requests(analysis);
}

void followed_build(struct request_paths *paths, const struct analysis *analysis)
{
	const struct labels *labels = analysis->labels;
	const struct script *script = &analysis->script;
	struct timeline timeline;
	struct wakers wakers;
	timeline_build(&timeline, analysis->recording);
	wakers_build(&wakers, analysis->recording, &timeline, &script->monitors, &script->flows);
	request_paths_build(paths, &(const struct request_paths_of){
					   .recording = analysis->recording,
					   .timeline = &timeline,
					   .wakers = &wakers,
					   .requests = &script->requests,
					   .classes = &analysis->classes,
					   .frames = labels ? &labels->frames : NULL,
					   .waits = labels ? labels->waits : NULL,
					   .sites = labels ? labels->sites : NULL,
				   });
	wakers_free(&wakers);
	timeline_free(&timeline);
}

/* --- Means --- */

static int compare_taken(const void *a, const void *b, void *context)
{
	const struct request *requests = context;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	if (requests[left].taken_ns != requests[right].taken_ns)
		return requests[left].taken_ns < requests[right].taken_ns ? -1 : 1;
	return (left > right) - (left < right);
}

static int compare_rows(const void *a, const void *b)
{
	const struct followed_row *left = a, *right = b;
	if (left->p99_ns != right->p99_ns)
		return left->p99_ns > right->p99_ns ? -1 : 1;
	if (left->mean_ns != right->mean_ns)
		return left->mean_ns > right->mean_ns ? -1 : 1;
	return (left->part > right->part) - (left->part < right->part);
}

/* The ranks of the requests that a mean is of. */
struct cohort {
	size_t from;
	size_t to;
};

static double share(const struct cohort *cohort, size_t rank, uint64_t ns)
{
	return rank >= cohort->from && rank < cohort->to
		       ? (double)ns / (double)(cohort->to - cohort->from)
		       : 0;
}

static void add_up(struct followed_table *table, const struct request_paths *paths,
		   const uint32_t *ranked, struct followed_row *sums)
{
	size_t count = table->requests;
	const struct cohort all = { 0, count };
	const struct cohort middle = { count * 2 / 5, count * 2 / 5 + (count + 4) / 5 };
	const struct cohort slowest = { count * 99 / 100, count };
	for (size_t rank = 0; rank < count; rank++)
		for (size_t i = paths->first[ranked[rank]]; i < paths->first[ranked[rank] + 1];
		     i++) {
			struct followed_row *row = &sums[paths->part[i]];
			row->mean_ns += share(&all, rank, paths->ns[i]);
			row->p50_ns += share(&middle, rank, paths->ns[i]);
			row->p99_ns += share(&slowest, rank, paths->ns[i]);
		}
}

void followed_table_build(struct followed_table *table, const struct request_paths *paths,
			  const struct requests *requests)
{
	size_t parts = paths->parts.tuples.count;
	uint32_t *ranked = memory_new(paths->count, sizeof(*ranked));
	*table = (struct followed_table){ .rows = memory_new(parts, sizeof(*table->rows)) };
	for (uint32_t i = 0; i < paths->count; i++)
		if (request_is_judged(requests, &requests->requests[i]))
			ranked[table->requests++] = i;
	if (table->requests > 1)
		qsort_r(ranked, table->requests, sizeof(*ranked), compare_taken,
			requests->requests);
	for (uint32_t i = 0; i < parts; i++)
		table->rows[i].part = i;
	add_up(table, paths, ranked, table->rows);
	for (size_t i = 0; i < parts; i++)
		if (table->rows[i].mean_ns > 0)
			table->rows[table->count++] = table->rows[i];
	if (table->count > 1)
		qsort(table->rows, table->count, sizeof(*table->rows), compare_rows);
	free(ranked);
}

void followed_table_free(struct followed_table *table)
{
	free(table->rows);
	*table = (struct followed_table){ 0 };
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of requests. See kinds.h.
 *
 * The requests are sorted by source and kind, so that those of a row follow each other.
 */
#include "kinds.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* --- How long they took --- */

static int compare_requests(const void *left, const void *right)
{
	const struct request *a = left, *b = right;
	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	return (a->kind > b->kind) - (a->kind < b->kind);
}

static int compare_rows(const void *left, const void *right)
{
	const struct kind_row *a = left, *b = right;
	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	if (a->total_ns != b->total_ns)
		return a->total_ns > b->total_ns ? -1 : 1;
	return (a->kind > b->kind) - (a->kind < b->kind);
}

/* Requests of one row. */
static struct kind_row row_of(const struct requests *all, const struct request *requests,
			      size_t count)
{
	struct kind_row row = { .kind = requests->kind, .source = requests->source };
	request_figures_find(&row.figures, requests, count);
	for (size_t i = 0; i < count; i++) {
		row.total_ns += requests[i].taken_ns;
		row.is_judged |= request_is_judged(all, &requests[i]);
	}
	return row;
}

struct kind_row *kinds_list(const struct requests *all, size_t *count)
{
	bool is_known[REQUEST_LOCK + 1] = { false };
	size_t kept = 0, room = 0;
	*count = 0;
	for (size_t i = 0; i < all->count; i++)
		is_known[all->requests[i].source] |= all->requests[i].kind != 0;
	struct request *sorted = memory_new(all->count, sizeof(*sorted));
	for (size_t i = 0; i < all->count; i++)
		if (is_known[all->requests[i].source])
			sorted[kept++] = all->requests[i];
	if (kept > 0)
		qsort(sorted, kept, sizeof(*sorted), compare_requests);
	struct kind_row *rows = NULL;
	for (size_t from = 0, to; from < kept; from = to) {
		for (to = from; to < kept && sorted[to].source == sorted[from].source &&
				sorted[to].kind == sorted[from].kind;)
			to++;
		rows = memory_grow(rows, &room, *count + 1, sizeof(*rows));
		rows[(*count)++] = row_of(all, &sorted[from], to - from);
	}
	if (*count > 0)
		qsort(rows, *count, sizeof(*rows), compare_rows);
	free(sorted);
	return rows;
}

/* --- Which ones to judge by --- */

static bool match(const struct analysis *analysis, const regex_t *regex, bool *is_wanted)
{
	const struct requests *requests = &analysis->script.requests;
	bool *is_seen = memory_new(analysis->recording->string_count, sizeof(*is_seen));
	bool is_any = false;
	for (size_t i = 0; i < requests->count; i++) {
		uint32_t kind = requests->requests[i].kind;
		if (kind == 0 || is_seen[kind])
			continue;
		is_seen[kind] = true;
		is_wanted[kind] =
			regexec(regex, analysis->recording->strings[kind], 0, NULL, 0) == 0;
		is_any |= is_wanted[kind];
	}
	free(is_seen);
	return is_any;
}

int kinds_choose(struct analysis *analysis, char error[OPTIONS_ERROR_BYTES])
{
	const char *pattern = analysis->options->kind_regex;
	regex_t regex;
	if (!pattern || !pattern[0])
		return 0;
	int failed = regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB);
	if (failed) {
		char reason[100];
		regerror(failed, &regex, reason, sizeof(reason));
		snprintf(error, OPTIONS_ERROR_BYTES,
			 "--kind: \"%.60s\" is no regular expression (%s); correct it", pattern,
			 reason);
		return -EINVAL;
	}
	bool *is_wanted = memory_new(analysis->recording->string_count, sizeof(*is_wanted));
	bool is_any = analysis->has_script && match(analysis, &regex, is_wanted);
	if (is_any)
		requests_judge(&analysis->script.requests, analysis->classes.count, is_wanted);
	else
		snprintf(
			error, OPTIONS_ERROR_BYTES,
			"--kind: no request is of a kind like \"%.60s\"; --show requests lists the "
			"kinds, which WCPROF_PEEK records",
			pattern);
	free(is_wanted);
	regfree(&regex);
	return is_any ? 0 : -EINVAL;
}

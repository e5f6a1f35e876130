/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of slow requests, with those that have not been answered yet; top_view.h has the
 * contract.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "top_view.h"

/* The thread that has the number; NULL: nobody saw it. */
static const struct top_open_thread *open_of(const struct top_state *state, uint32_t number)
{
	for (size_t i = 0; i < state->open->count; i++)
		if (top_reader_thread(state->reader, state->open->threads[i].tid) == number)
			return &state->open->threads[i];
	return NULL;
}

/* The call that goes on, if the thread still serves the request. */
static void add_open(const struct top_state *state, struct top_request *request)
{
	const struct top_entry *entry = top_thread_entry(state, request->thread);
	const struct top_open_thread *open = open_of(state, request->thread);
	uint64_t begin_ns = request->end_ns - request->taken_ns;

	if (!entry || entry->ident != request->ident || !open || open->part == TOP_PARTS ||
	    open->since_ns >= request->end_ns)
		return;
	begin_ns = open->since_ns > begin_ns ? open->since_ns : begin_ns;
	request->parts_ns[open->part] += request->end_ns - begin_ns;
}

static struct top_request *running_of(const struct top_state *state, size_t *count)
{
	const struct top_requests *requests = &state->sums->requests;
	struct top_request *list;

	if (requests->source == TOP_MARKED)
		return top_marks_running(&state->sums->marks, state->now_ns, count);
	list = top_requests_running(requests, state->now_ns, count);
	for (size_t i = 0; i < *count; i++)
		add_open(state, &list[i]);
	return list;
}

static bool is_slow(const struct top_state *state, const struct top_request *request)
{
	uint64_t ns = top_requests_threshold_ns(&state->sums->requests, request->kind);

	return ns && request->taken_ns > ns;
}

struct top_request *top_slow_of(const struct top_state *state, size_t *count)
{
	size_t ended, running;
	struct top_request *list = top_requests_list(
		&state->sums->requests, top_view_since_ns(state->sums, state->view, state->now_ns),
		&ended);
	struct top_request *more = running_of(state, &running);
	struct top_request *both = malloc((ended + running + 1) * sizeof(*both));

	*count = both ? ended + running : 0;
	for (size_t i = 0; both && i < running; i++) {
		both[i] = more[i];
		both[i].is_slow = is_slow(state, &both[i]);
	}
	if (both && ended)
		memcpy(both + running, list, ended * sizeof(*both));
	if (*count)
		qsort(both, *count, sizeof(*both), top_requests_compare);
	free(list);
	free(more);
	return both;
}

/* Sleeps have a column of their own in wide lines. */
static void request_line(const struct top_state *state, const struct top_request *request,
			 const char *kind, const char *name, struct top_lines *lines)
{
	bool is_wide = state->columns >= TOP_COLUMNS_WIDE;
	char ago[16], sleep[16] = "", a[16], b[16], c[16], d[16], e[16];
	const uint64_t *parts = request->parts_ns;
	double rest = (double)request->taken_ns;
	double other = (double)(parts[TOP_POLL] + parts[TOP_OTHER]);

	for (size_t part = 0; part < TOP_PARTS; part++)
		rest -= (double)parts[part];
	snprintf(ago, sizeof(ago), "%.1fs", (double)(state->now_ns - request->end_ns) / 1e9);
	if (is_wide)
		snprintf(sleep, sizeof(sleep), " %9s", top_time_text((double)parts[TOP_SLEEP], a));
	else
		other += (double)parts[TOP_SLEEP];
	top_line_add(lines, TOP_PLAIN, "%9s %6s %9s %9s %9s%s %9s %s%s%s",
		     top_time_text((double)request->taken_ns, a),
		     request->is_running ? "runs" : ago, top_time_text(rest, b),
		     top_time_text((double)parts[TOP_IO], c),
		     top_time_text((double)parts[TOP_LOCK], d), sleep, top_time_text(other, e),
		     kind, kind[0] ? " " : "", name);
}

void top_table_requests(const struct top_state *state, size_t most, struct top_lines *lines)
{
	size_t count, shown = 0;
	struct top_request *list = top_slow_of(state, &count);

	top_line_add(lines, TOP_HEADING, "%9s %6s %9s %9s %9s%s %9s %s", "TOOK", "AGO", "CPU+QUEUE",
		     "IO", "LOCKS", state->columns >= TOP_COLUMNS_WIDE ? "     SLEEP" : "", "OTHER",
		     state->sums->requests.source == TOP_MARKED ? "OP, IDENT" : "KIND, CONNECTION");
	for (size_t i = 0; i < count && shown < most; i++) {
		char name[TOP_LABEL_BYTES], kind[64] = "";

		top_labels_string(state->labels, list[i].ident, name, sizeof(name));
		if (list[i].kind)
			top_labels_string(state->labels, list[i].kind, kind, sizeof(kind));
		if (!top_is_wanted(state, name) && !top_is_wanted(state, kind))
			continue;
		shown++;
		request_line(state, &list[i], kind, name, lines);
	}
	if (!count)
		top_line_add(lines, TOP_PLAIN,
			     "no requests seen: ops that the program marks, or a question on an "
			     "accepted connection");
	free(list);
}

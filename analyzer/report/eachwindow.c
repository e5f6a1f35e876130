/* SPDX-License-Identifier: Apache-2.0 */
/* Goes through windows, dump by dump; eachwindow.h has the contract. */
#include "eachwindow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis.h"
#include "opened.h"
#include "read/read.h"
#include "recording/parts.h"
#include "recording/windows.h"

struct visitor {
	void (*visit)(void *context, const struct analysis *analysis);
	void *context;
	char *error;
};

/* Of one window alone, or cut out by the options. */
static int analyze_window(const struct visitor *visitor, const struct options *options,
			  struct recording *recording)
{
	struct labels labels;
	struct analysis analysis;
	char why[OPTIONS_ERROR_BYTES] = "";
	if (opened_select(recording, options, false, why) == 0 &&
	    opened_name(&labels, recording, options, why) == 0) {
		if (analysis_build(&analysis, recording, options, &labels, why) == 0) {
			visitor->visit(visitor->context, &analysis);
			analysis_free(&analysis);
		}
		labels_free(&labels);
	}
	if (why[0])
		snprintf(visitor->error, EACH_WINDOW_ERROR_BYTES, "%.300s: %s", options->paths[0],
			 why);
	return why[0] ? -EINVAL : 0;
}

/* Those from `from` to before `to`, which are of the same dumps. */
static int analyze_windows(const struct visitor *visitor, const struct options *options,
			   const struct window_list *list, size_t from, size_t to,
			   struct recording *recording)
{
	size_t count;
	struct window *windows = windows_find(recording, &count);
	struct parts *parts = to - from > 1 ? parts_begin(recording) : NULL;
	int failed = 0;
	for (size_t i = from; i < to && !failed; i++) {
		struct options chosen = window_list_choose(list, options, i);
		if (list->count > 1)
			chosen.progress = NULL;
		if (list->count > 1 && options->progress)
			options->progress("windows", i, list->count);
		if (parts && chosen.window <= count)
			parts_go_to(parts, &windows[chosen.window - 1]);
		failed = analyze_window(visitor, &chosen, recording);
	}
	if (parts)
		parts_end(parts);
	free(windows);
	return failed;
}

static size_t end_of_dumps(const struct window_list *list, size_t from)
{
	size_t to = from + 1;
	while (to < list->count && list->windows[to].first_path == list->windows[from].first_path)
		to++;
	return to;
}

static int say_unreadable(const struct read_error *read_error, char error[EACH_WINDOW_ERROR_BYTES])
{
	char line[32] = "";
	if (read_error->line)
		snprintf(line, sizeof(line), ":%llu", (unsigned long long)read_error->line);
	snprintf(error, EACH_WINDOW_ERROR_BYTES, "%.300s%s: %s",
		 read_error->file ? read_error->file : "", line, read_error->text);
	return -EINVAL;
}

static int read_dumps(struct recording *recording, const struct options *options,
		      char error[EACH_WINDOW_ERROR_BYTES])
{
	struct read_error read_error = { 0 };
	int failed =
		recording_read(recording, options->paths, options->path_count, &read_error, NULL);
	return failed ? say_unreadable(&read_error, error) : 0;
}

int each_window(const struct window_list *list, const struct options *options,
		struct recording *recording,
		void (*visit)(void *context, const struct analysis *analysis), void *context,
		char error[EACH_WINDOW_ERROR_BYTES])
{
	const struct visitor visitor = { visit, context, error };
	int failed = 0;
	for (size_t from = 0, to; from < list->count && !failed; from = to) {
		const struct options chosen = window_list_choose(list, options, from);
		to = end_of_dumps(list, from);
		if (recording->dump_count == 0)
			failed = read_dumps(recording, &chosen, error);
		if (!failed)
			failed = analyze_windows(&visitor, options, list, from, to, recording);
		recording_free(recording);
	}
	return failed ? -EINVAL : 0;
}

static int visit_chosen(const struct visitor *visitor, const struct window_list *list,
			const struct options *options, struct recording *recording)
{
	size_t number = options->window;
	if (number > list->count) {
		snprintf(visitor->error, EACH_WINDOW_ERROR_BYTES, "--window %zu: there %s %zu",
			 number, list->count == 1 ? "is only" : "are only", list->count);
		return -EINVAL;
	}
	const struct window_list one = { list->paths, list->windows + number - 1, 1 };
	return each_window(number ? &one : list, options, recording, visitor->visit,
			   visitor->context, visitor->error);
}

int each_window_of_dumps(const struct options *options,
			 void (*visit)(void *context, const struct analysis *analysis),
			 void *context, char error[EACH_WINDOW_ERROR_BYTES])
{
	const struct visitor visitor = { visit, context, error };
	struct recording recording = { 0 };
	struct read_error read_error = { 0 };
	struct window_list list;
	int failed = window_list_of_dumps(&list, options, &read_error);
	if (failed)
		say_unreadable(&read_error, error);
	else if (list.count == 1 && (failed = read_dumps(&recording, options, error)) == 0) {
		window_list_free(&list);
		window_list_of_recording(&list, options, &recording);
	}
	if (!failed)
		failed = visit_chosen(&visitor, &list, options, &recording);
	window_list_free(&list);
	recording_free(&recording);
	return failed ? -EINVAL : 0;
}

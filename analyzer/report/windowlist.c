/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists windows; windowlist.h has the contract.
 *
 * A dump that goes on where the one before ends is of the same window: both are read together.
 */
#include "windowlist.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "recording/windows.h"

struct dumped {
	char *path;
	struct read_head head;
};

static int compare_dumped(const void *left, const void *right)
{
	const struct dumped *a = left, *b = right;
	return (a->head.from_ns > b->head.from_ns) - (a->head.from_ns < b->head.from_ns);
}

static bool is_same_process(const struct read_head *a, const struct read_head *b)
{
	return a->pid == b->pid && a->start_unix_ns == b->start_unix_ns &&
	       a->epoch_unix_ns == b->epoch_unix_ns;
}

/* Of the dumps before which recording was on; they come first. */
static size_t leave_out_off(struct dumped *dumped, size_t count)
{
	size_t kept = 0;
	for (size_t i = 0; i < count; i++)
		if (!dumped[i].head.was_off)
			dumped[kept++] = dumped[i];
	return kept;
}

/* All of one process, one time after the other. */
static bool are_windows(const struct dumped *dumped, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (dumped[i].head.window_count == 0 ||
		    !is_same_process(&dumped[i].head, &dumped[0].head) ||
		    (i > 0 && dumped[i].head.from_ns < dumped[i - 1].head.to_ns))
			return false;
	return count > 1;
}

static void add(struct window_list *list, size_t first_path, size_t path_count, size_t number)
{
	list->windows[list->count++] = (struct listed_window){ first_path, path_count, number };
}

static void list_windows(struct window_list *list, const struct dumped *dumped, size_t count)
{
	size_t most = 0;
	for (size_t i = 0; i < count; i++)
		most += dumped[i].head.window_count;
	list->windows = memory_new(most, sizeof(*list->windows));
	for (size_t from = 0, to; from < count; from = to) {
		size_t windows = dumped[from].head.window_count;
		for (to = from + 1;
		     to < count && dumped[to].head.from_ns == dumped[to - 1].head.to_ns; to++)
			windows += dumped[to].head.window_count - 1;
		for (size_t i = 0; i < windows; i++)
			add(list, from, to - from, i + 1);
	}
}

static void list_one(struct window_list *list, const struct options *options)
{
	list->windows = memory_new(1, sizeof(*list->windows));
	add(list, 0, options->path_count, 0);
}

int window_list_of_dumps(struct window_list *list, const struct options *options,
			 struct read_error *error)
{
	size_t count = options->path_count;
	struct dumped *dumped = memory_new(count, sizeof(*dumped));
	int failed = 0;
	*list = (struct window_list){ .paths = memory_new(count, sizeof(*list->paths)) };
	/* standard input comes once */
	for (size_t i = 0; i < count && !failed; i++) {
		dumped[i].path = options->paths[i];
		if (count > 1 && strcmp(dumped[i].path, "-") != 0)
			failed = read_head(&dumped[i].head, dumped[i].path, error);
	}
	size_t on_count = leave_out_off(dumped, count);
	qsort(dumped, on_count, sizeof(*dumped), compare_dumped);
	bool are = !failed && are_windows(dumped, on_count);
	for (size_t i = 0; i < count; i++)
		list->paths[i] = are && i < on_count ? dumped[i].path : options->paths[i];
	if (are)
		list_windows(list, dumped, on_count);
	else
		list_one(list, options);
	free(dumped);
	return failed;
}

void window_list_of_recording(struct window_list *list, const struct options *options,
			      const struct recording *recording)
{
	size_t count;
	struct window *windows = windows_find(recording, &count);
	*list = (struct window_list){
		.paths = memory_new(options->path_count, sizeof(*list->paths)),
		.windows = memory_new(count, sizeof(*list->windows)),
	};
	for (size_t i = 0; i < options->path_count; i++)
		list->paths[i] = options->paths[i];
	for (size_t i = 0; i < count; i++)
		add(list, 0, options->path_count, i + 1);
	free(windows);
}

void window_list_free(struct window_list *list)
{
	free(list->paths);
	free(list->windows);
	*list = (struct window_list){ 0 };
}

struct options window_list_choose(const struct window_list *list, const struct options *options,
				  size_t index)
{
	const struct listed_window *window = &list->windows[index];
	struct options chosen = *options;
	chosen.paths = list->paths + window->first_path;
	chosen.path_count = window->path_count;
	chosen.window = window->number;
	return chosen;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what pauses leave of the time from the first begin to the last end. One thread.
 */
#include "windows.h"

#include <stdlib.h>

#include "base/memory.h"

static int compare_windows(const void *left, const void *right)
{
	const struct window *a = left, *b = right;
	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

/* Its start is where the recording begins, or the process that made it was recorded then. */
static bool is_from_its_start(const struct recording *recording, const struct rec_window *first)
{
	const struct rec_process *process = &recording->processes[first->process];
	int64_t start_ns = (int64_t)(process->start_unix_ns - recording->epoch_unix_ns);
	if (!process->start_unix_ns || (int64_t)first->from_ns - start_ns < REC_START_ERROR_NS)
		return true;
	for (size_t i = 0; i < recording->window_count; i++) {
		const struct rec_window *window = &recording->windows[i];
		const struct rec_process *maker = &recording->processes[window->process];
		bool is_maker = maker->pid == process->ppid || maker->pid == process->pid;
		if (is_maker && window->process != first->process &&
		    (int64_t)window->from_ns <= start_ns + REC_START_ERROR_NS &&
		    (int64_t)window->to_ns >= start_ns - REC_START_ERROR_NS)
			return true;
	}
	return false;
}

/* From the first begin to the last end, as far as no process was there unrecorded. One may have
 * been turned on later than others, or off earlier. Without such a time they were recorded one
 * after the other. Of a process without windows nothing is known. */
static struct window whole(const struct recording *recording)
{
	const struct rec_window *windows = recording->windows;
	struct window all = { UINT64_MAX, 0 }, common = { 0, UINT64_MAX };
	size_t processes = 0;
	for (size_t i = 0; i < recording->window_count; i++) {
		bool is_first = i == 0 || windows[i].process != windows[i - 1].process;
		bool is_last = i + 1 == recording->window_count ||
			       windows[i].process != windows[i + 1].process;
		processes += is_first;
		all.from_ns = windows[i].from_ns < all.from_ns ? windows[i].from_ns : all.from_ns;
		all.to_ns = windows[i].to_ns > all.to_ns ? windows[i].to_ns : all.to_ns;
		if (is_first && windows[i].from_ns > common.from_ns &&
		    !is_from_its_start(recording, &windows[i]))
			common.from_ns = windows[i].from_ns;
		if (is_last && windows[i].to_ns < common.to_ns && windows[i].was_turned_off)
			common.to_ns = windows[i].to_ns;
	}
	if (processes < recording->process_count || processes == 0)
		return (struct window){ 0, UINT64_MAX };
	common.from_ns = common.from_ns > all.from_ns ? common.from_ns : all.from_ns;
	common.to_ns = common.to_ns < all.to_ns ? common.to_ns : all.to_ns;
	return common.from_ns < common.to_ns ? common : all;
}

struct window *windows_find(const struct recording *recording, size_t *count)
{
	const struct rec_window *windows = recording->windows;
	struct window *pauses = memory_new(recording->window_count + 1, sizeof(*pauses));
	struct window *found = memory_new(recording->window_count + 1, sizeof(*found));
	struct window rest = whole(recording);
	size_t pause_count = 0;
	for (size_t i = 1; i < recording->window_count; i++)
		if (windows[i].process == windows[i - 1].process)
			pauses[pause_count++] =
				(struct window){ windows[i - 1].to_ns, windows[i].from_ns };
	if (pause_count)
		qsort(pauses, pause_count, sizeof(*pauses), compare_windows);
	*count = 0;
	for (size_t i = 0; i < pause_count; i++) {
		if (pauses[i].from_ns > rest.from_ns)
			found[(*count)++] = (struct window){ rest.from_ns, pauses[i].from_ns };
		if (pauses[i].to_ns > rest.from_ns)
			rest.from_ns = pauses[i].to_ns;
	}
	if (rest.from_ns < rest.to_ns || *count == 0)
		found[(*count)++] = rest;
	free(pauses);
	return found;
}

bool window_of_process(const struct recording *recording, uint32_t process,
		       const struct window *window, struct window *of)
{
	const struct rec_window *windows = recording->windows;
	size_t low = 0, high = recording->window_count;
	/* the first one of the process that ends after the window's begin */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (windows[middle].process < process || (windows[middle].process == process &&
							  windows[middle].to_ns <= window->from_ns))
			low = middle + 1;
		else
			high = middle;
	}
	*of = *window;
	if (low == recording->window_count || windows[low].process != process)
		/* one whose windows are not known was recorded all the time */
		return low == 0 || windows[low - 1].process != process;
	if (windows[low].from_ns > of->from_ns)
		of->from_ns = windows[low].from_ns;
	if (windows[low].to_ns < of->to_ns)
		of->to_ns = windows[low].to_ns;
	return of->from_ns < of->to_ns;
}

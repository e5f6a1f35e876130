/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slices of windows; waterfall.h has the contract.
 */
#include "waterfall.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/percentile.h"

static struct waterfall_sort sort_of(const struct walk *walk, const struct walk_slice *slice)
{
	struct waterfall_sort sort = { slice->state, slice->cause, slice->name };
	if (slice->state == WALK_QUEUED || slice->state == WALK_UNEXPLAINED)
		return (struct waterfall_sort){ slice->state, NO_INDEX, 0 };
	if (slice->wait == NO_INDEX && slice->class != NO_INDEX && walk->classes)
		sort.name = walk->classes->classes[slice->class].name;
	return sort;
}

static void add_slice(struct waterfall_window *window, size_t *room, const struct walk *walk,
		      const struct walk_slice *slice)
{
	struct walk_waker waker;
	bool has_waker = slice->end_ns <= window->to_ns && walk_waker(walk, slice, &waker);
	window->slices =
		memory_grow(window->slices, room, window->slice_count + 1, sizeof(*window->slices));
	window->slices[window->slice_count++] = (struct waterfall_slice){
		.start_ns = slice->start_ns > window->from_ns ? slice->start_ns : window->from_ns,
		.end_ns = slice->end_ns < window->to_ns ? slice->end_ns : window->to_ns,
		.sort = sort_of(walk, slice),
		.waker = has_waker ? waker.thread : NO_INDEX,
	};
}

static uint64_t length_ns(const struct waterfall_slice *slice)
{
	return slice->end_ns - slice->start_ns;
}

/* Keeps the longest ones. */
static void thin_out(struct waterfall_window *window)
{
	size_t count = window->slice_count, kept = 0;
	if (count <= WATERFALL_SLICES)
		return;
	uint64_t *lengths_ns = memory_new(count, sizeof(*lengths_ns));
	for (size_t i = 0; i < count; i++)
		lengths_ns[i] = length_ns(&window->slices[i]);
	uint64_t least_ns = percentile_select(lengths_ns, count, count - WATERFALL_SLICES);
	for (size_t i = 0; i < count; i++) {
		if (length_ns(&window->slices[i]) >= least_ns && kept < WATERFALL_SLICES) {
			window->slices[kept++] = window->slices[i];
		} else {
			window->left_out++;
			window->left_out_ns += length_ns(&window->slices[i]);
		}
	}
	window->slice_count = kept;
	free(lengths_ns);
}

void waterfall_fill(struct waterfall_window *windows, size_t count, struct walk *walk)
{
	size_t *rooms = memory_new(count, sizeof(*rooms));
	bool *has_window = memory_new(walk_thread_count(walk), sizeof(*has_window));
	struct walk_slice slice;
	for (size_t i = 0; i < count; i++) {
		assert(windows[i].thread < walk_thread_count(walk));
		has_window[windows[i].thread] = true;
	}
	for (uint32_t t = 0; t < walk_thread_count(walk); t++) {
		if (!has_window[t])
			continue;
		for (walk_thread(walk, t); walk_next(walk, &slice);)
			for (size_t i = 0; i < count; i++)
				if (windows[i].thread == t && slice.end_ns > windows[i].from_ns &&
				    slice.start_ns < windows[i].to_ns)
					add_slice(&windows[i], &rooms[i], walk, &slice);
	}
	for (size_t i = 0; i < count; i++)
		thin_out(&windows[i]);
	free(has_window);
	free(rooms);
}

void waterfall_free(struct waterfall_window *windows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(windows[i].slices);
}

size_t waterfall_others(const struct waterfall_window *window, struct waterfall_window *others)
{
	uint64_t best_ns[WATERFALL_OTHERS] = { 0 };
	size_t count = 0;
	for (size_t i = 0; i < window->slice_count; i++) {
		uint32_t thread = window->slices[i].waker;
		uint64_t ns = 0;
		bool is_first = thread != NO_INDEX;
		for (size_t k = 0; is_first && k < window->slice_count; k++) {
			if (window->slices[k].waker != thread)
				continue;
			is_first = k >= i;
			ns += length_ns(&window->slices[k]);
		}
		if (!is_first || (count == WATERFALL_OTHERS && ns <= best_ns[count - 1]))
			continue;
		size_t at = count < WATERFALL_OTHERS ? count++ : count - 1;
		for (; at > 0 && ns > best_ns[at - 1]; at--) {
			best_ns[at] = best_ns[at - 1];
			others[at] = others[at - 1];
		}
		best_ns[at] = ns;
		others[at] = (struct waterfall_window){ .subject = window->subject,
							.thread = thread,
							.from_ns = window->from_ns,
							.to_ns = window->to_ns };
	}
	return count;
}

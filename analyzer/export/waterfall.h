/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows of time on threads, with the slices in them: what a request did, and those that it waited
 * for.
 *
 * One thread.
 */
#ifndef WCPROF_WATERFALL_H
#define WCPROF_WATERFALL_H

#include "walk.h"

enum { WATERFALL_SLICES = 150 /* of a window */, WATERFALL_OTHERS = 3 };

/* A sort of time. */
struct waterfall_sort {
	enum walk_state state;
	uint32_t cause; /* as in a slice */
	uint32_t name;  /* string id: the class of a call or thread, the thing waited for */
};

struct waterfall_slice {
	uint64_t start_ns; /* clipped to the window */
	uint64_t end_ns;
	struct waterfall_sort sort;
	uint32_t waker; /* thread that ended it; NO_INDEX = not known, or none */
};

struct waterfall_window {
	uint32_t subject; /* as given */
	uint32_t thread;
	uint64_t from_ns;
	uint64_t to_ns;
	/* The longest ones, in order of time. */
	struct waterfall_slice *slices;
	size_t slice_count;
	size_t left_out; /* shorter ones */
	uint64_t left_out_ns;
};

/* The windows' slices, by one walk through each thread that has a window. */
void waterfall_fill(struct waterfall_window *windows, size_t count, struct walk *walk);
void waterfall_free(struct waterfall_window *windows, size_t count);

/* Windows of the same time on the threads that ended the window's waits, the longest ones first; at
 * most WATERFALL_OTHERS. How many. They have no slices yet. */
size_t waterfall_others(const struct waterfall_window *window, struct waterfall_window *others);

#endif

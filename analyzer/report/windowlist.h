/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The windows of a recording that was turned off and on again: in one dump, or in several of one
 * process.
 *
 * One thread.
 */
#ifndef WCPROF_WINDOWLIST_H
#define WCPROF_WINDOWLIST_H

#include "base/options.h"
#include "read/read.h"

struct listed_window {
	size_t first_path; /* index into paths */
	size_t path_count;
	size_t number; /* among the windows of these dumps, from 1 */
};

struct window_list {
	char **paths; /* the dumps in order of time */
	struct listed_window *windows;
	size_t count;
};

/* By the headers of several dumps of one process. Dumps of others too, and dumps that do not say
 * it, are one window. 0, or -errno with `error` filled; to be freed in either case. */
int window_list_of_dumps(struct window_list *list, const struct options *options,
			 struct read_error *error);
/* By pauses in a recording of all the dumps. */
void window_list_of_recording(struct window_list *list, const struct options *options,
			      const struct recording *recording);
void window_list_free(struct window_list *list);

/* Options for one of them alone. */
struct options window_list_choose(const struct window_list *list, const struct options *options,
				  size_t index);

#endif

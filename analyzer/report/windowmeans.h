/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several windows of a process: each is analyzed, and answers are means over them.
 *
 * A saving is in percent of its window's length. A class that was not tried in a window, as it took
 * too little time there, saves nothing in it. Windows whose answers are withheld are left out.
 *
 * One thread.
 */
#ifndef WCPROF_WINDOWMEANS_H
#define WCPROF_WINDOWMEANS_H

#include "base/emit.h"
#include "base/options.h"
#include "eachwindow.h"

struct mean_class {
	char *name;
	char *kind;
	double *saved_percent; /* by window, then by factor; room for all windows */
	size_t window_count;   /* in which it was tried */
};

struct window_means {
	const struct options *options;
	struct mean_class *classes; /* as they came up */
	size_t class_count;
	size_t class_room;
	size_t window_count;
	size_t given_count; /* windows with answers come first in all arrays */
	double *drift_percent;
	double length_ns; /* of all */
	char *cause;      /* why answers of the first one are withheld, NULL = of none are */
};

/* The recording has the dumps of the list, or none: these are read then. It is freed. 0, or -EINVAL
 * with a line in `error`; to be freed if it is 0. */
int window_means_build(struct window_means *means, const struct options *options,
		       const struct window_list *list, struct recording *recording,
		       char error[EACH_WINDOW_ERROR_BYTES]);
void window_means_print(const struct window_means *means, struct emit *emit);
void window_means_free(struct window_means *means);

#endif

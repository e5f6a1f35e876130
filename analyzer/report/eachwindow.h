/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Analyzes the windows of a list one after the other.
 *
 * Each dump is read once. Only the dumps of one window are in memory at a time, or one dump of
 * several windows. One thread.
 */
#ifndef WCPROF_EACHWINDOW_H
#define WCPROF_EACHWINDOW_H

#include "windowlist.h"

struct analysis;

enum { EACH_WINDOW_ERROR_BYTES = 1024 };

/* The recording has the dumps of the list, or none: these are read then. It is freed. Each window
 * is visited, until there is an error. 0, or -EINVAL with a line in `error`. */
int each_window(const struct window_list *list, const struct options *options,
		struct recording *recording,
		void (*visit)(void *context, const struct analysis *analysis), void *context,
		char error[EACH_WINDOW_ERROR_BYTES]);

/* The same of the dumps that the options name: of all their windows, or of the one that is chosen.
 */
int each_window_of_dumps(const struct options *options,
			 void (*visit)(void *context, const struct analysis *analysis),
			 void *context, char error[EACH_WINDOW_ERROR_BYTES]);

#endif

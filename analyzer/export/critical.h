/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The critical path as recorded: what the end of the run waited for, from its begin to its end.
 *
 * From the end of the thread that ended last it goes back in time. Where another thread ended a
 * wait, it goes on with that one, at the moment at which it did. Where a thread begins, it goes on
 * with the one that started it. No replay: it is the recording's word alone.
 */
#ifndef WCPROF_CRITICAL_H
#define WCPROF_CRITICAL_H

#include "walk.h"

struct critical {
	/* In order of time, without overlap; their first and last ones are cut where the path comes
	 * and goes. A gap: the thread that it came from had not begun. */
	struct walk_slice *slices;
	size_t count;
};

void critical_build(struct critical *, struct walk *);
void critical_free(struct critical *);

#endif

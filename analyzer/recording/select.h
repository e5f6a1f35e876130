/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a part of a recording: one window, --client, --thread, --from and --to.
 *
 * The rest is a recording like any other. An op stays when it is of the client (or below an op that
 * is), on a thread whose name matches, and within the time. That is the window, as far as its
 * process was recorded in it. It is cut at both ends of the time, and marked if it began before.
 * Its parent is then the nearest ancestor that stays. A wait or link stays when its op does, and it
 * is within the time.
 */
#ifndef WCPROF_SELECT_H
#define WCPROF_SELECT_H

#include "recording.h"
#include "windows.h"

struct selection {
	const char *client;      /* "" = all */
	const char *thread_glob; /* "" = all; matches thread names */
	uint64_t from_ns;        /* since the first op's start in the window */
	uint64_t to_ns;          /* UINT64_MAX = until the end */
	struct window window;
};

/* In place. 0, or -ENOENT when no op is left. */
int selection_apply(const struct selection *selection, struct recording *recording);

#endif

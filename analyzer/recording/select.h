/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a part of a recording: --client, --thread, --from and --to.
 *
 * The rest is a recording like any other. An op stays when it is of the client (or below an op that
 * is), on a thread whose name matches, and within the time. It is cut at both ends of the time. Its
 * parent is then the nearest ancestor that stays. A wait or link stays when its op does.
 */
#ifndef WCPROF_SELECT_H
#define WCPROF_SELECT_H

#include "recording.h"

struct selection {
	const char *client;      /* "" = all */
	const char *thread_glob; /* "" = all; matches thread names */
	uint64_t from_ns;        /* since the first op's start */
	uint64_t to_ns;          /* UINT64_MAX = until the end */
};

bool selection_is_all(const struct selection *selection);

/* In place. 0, or -ENOENT when no op is left; the recording is then as it was. */
int selection_apply(const struct selection *selection, struct recording *recording);

#endif

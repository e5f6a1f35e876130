/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time of threads as requests see it that are queued behind it. It is told by the request that the
 * thread was at, and by the function or call that it was in.
 *
 * A lane a thread; that of a thread that was at no request is empty. Built once, read-only
 * afterwards.
 */
#ifndef WCPROF_GAPS_H
#define WCPROF_GAPS_H

#include "owners.h"

/* `times` is that of timeparts.h. Keys are numbers of queued parts. Where the thread was idle or
 * waited for a CPU, they are those of its own time. */
void gaps_build(struct lanes *gaps, struct path_parts *parts, const struct request_paths_of *of,
		const struct owners *owners, const struct lanes *times);

#endif

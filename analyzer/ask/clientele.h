/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same requests by more clients, or by fewer: those of closed ones that are not recorded.
 *
 * A client's questions are dealt out in equal runs to as many as there are to be, each with a
 * connection of its own. So is all that threads do for it alone, also on connections that these
 * have alone: a thread of its own serves each. Event loops, and threads that take each question as
 * a job, serve all. Where neither is so, nobody knows how a client more would be served.
 */
#ifndef WCPROF_CLIENTELE_H
#define WCPROF_CLIENTELE_H

#include "base/options.h"
#include "script/script.h"

/*
 * `times` is a whole number, or one divided by one. `script` is a copy of `old`, and
 * gets tables of its own, which clientele_free() frees. 0, or -EINVAL with a line in `error`, and
 * nothing to be freed.
 */
int clientele_change(struct script *script, const struct script *old, double times,
		     char error[OPTIONS_ERROR_BYTES]);
void clientele_free(struct script *script);

#endif

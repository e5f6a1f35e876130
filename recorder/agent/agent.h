/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof agent: the loop that finds, records, stores, analyzes and uploads, until a signal ends it.
 */
#ifndef WCPROF_AGENT_H
#define WCPROF_AGENT_H

#include <stdint.h>

#include "config.h"

/* Runs with that configuration, which is taken over, and which a SIGHUP has read again from the
 * file. The exit status. */
int agent_run(struct config *config, const char *path);

/* Two moments of the machine's clock, the later one being now. They are as far apart as the
 * monotonic clock says: the machine's may have been set in between. */
void agent_window(uint64_t wall_ns, uint64_t taken_ns, uint64_t now_ns, uint64_t *begin_ns,
		  uint64_t *end_ns);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches a process until the user or the process ends that.
 *
 * Recording is turned on if it was off. It is as it was before when this ends, by whatever signal
 * that can be caught.
 */
#ifndef WCPROF_TOP_H
#define WCPROF_TOP_H

#include <stdint.h>

#include "cmd.h"

struct top_rhythm {
	uint64_t interval_ns;
	unsigned long looks; /* number of them, as text; 0 = no bound */
};

/* `settings`: what is to be recorded, KEY=VALUE, ended by NULL. The status of the command: CMD_DONE
 * also where the process has ended. */
int top_run(struct cmd_options *, const struct target *, char *const *settings, struct top_rhythm);

#endif

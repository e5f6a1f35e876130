/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children that the program waited for while nobody saw it.
 */
#ifndef WCPROF_REAPED_H
#define WCPROF_REAPED_H

#include "recorder.h"

/* Ends the ops of those of this process, which would go on for ever else: of that one, or of all
 * (0). By a thread that may write. The last one's op; 0 = there is none. */
uint64_t reaped_write(struct self *, uint32_t pid, uint64_t end_ticks) HIDDEN;

#endif

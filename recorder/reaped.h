/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children that the program waited for while nobody recorded it.
 */
#ifndef WCPROF_REAPED_H
#define WCPROF_REAPED_H

#include "recorder.h"

/* Ends the ops of those of this process, which would go on for ever else. By a thread that may
 * write, right before recording is turned on again. */
void reaped_write(struct self *) HIDDEN;

#endif

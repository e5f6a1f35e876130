/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dump that a process writes at its end, where WCPROF_OUTPUT says so.
 */
#ifndef WCPROF_LASTDUMP_H
#define WCPROF_LASTDUMP_H

#include "arena.h"

/* Writes it, if there is anything to write. Whether nothing is left in the arena that anybody could
 * want. */
bool lastdump_write(struct arena *) HIDDEN;

#endif

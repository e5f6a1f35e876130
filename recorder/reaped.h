/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children that the program waited for while nobody recorded it.
 */
#ifndef WCPROF_REAPED_H
#define WCPROF_REAPED_H

#include "arena.h"

/* Forgets those of this process, before recording is turned on again: else their ops would never
 * end. They have no record; the dump after they were started has them as open. */
void reaped_forget(struct arena *) HIDDEN;

#endif

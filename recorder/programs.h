/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that this process starts, as far as they will not be recorded: what their file and their
 * environment say before they run.
 *
 * Any thread, async-signal-safe. Nothing is claimed of what cannot be read.
 */
#ifndef WCPROF_PROGRAMS_H
#define WCPROF_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>

#include "format.h"
#include "recorder.h"

/* Before any other, once: whether programs are recorded because LD_PRELOAD says so, and not some
 * file of the loader's. */
void programs_start(const char *preload) HIDDEN;

/* Why a program in this file, of which the first `bytes` are at `from`, is not recorded:
 * COUNTER_unseen_*, or COUNTER_COUNT. Scripts: COUNTER_COUNT. */
enum counter programs_file_hazard(const void *from, size_t bytes, const char *name) HIDDEN;

/* Whether this environment leaves us out. It may be no memory at all. */
bool programs_environment_hazard(char *const envp[]) HIDDEN;

/* Why this program is not recorded, by its file or its environment; else COUNTER_COUNT. */
enum counter programs_hazard(const struct program_start *) HIDDEN;

/* Whether exec may succeed, as far as the file tells. False: surely not. */
bool programs_may_start(const struct program_start *) HIDDEN;

#endif

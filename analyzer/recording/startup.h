/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU time of threads before their first sample: of loading a program, above all. It belongs to no
 * op, and to the run all the same.
 */
#ifndef WCPROF_STARTUP_H
#define WCPROF_STARTUP_H

#include "recording/recording.h"

/* By thread, since it was made, or since the exec that made another program of it. 0 where it is
 * older than the recording. To be freed. */
uint64_t *startup_find(const struct recording *);

/* By thread: for how long it had waited for CPUs before that exec, as far as is known. To be freed.
 */
uint64_t *startup_queued_before(const struct recording *);

/* By thread: the part of that CPU time, which startup_find() has found, that recording itself took
 * to begin, as far as is known. Of the first thread of an image, with images before that went on by
 * exec at once. To be freed. */
uint64_t *startup_of_recorder(const struct recording *, const uint64_t *startup_ns);

#endif

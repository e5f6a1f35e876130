/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clocks of several machines become one, as far as bytes went between them.
 *
 * Times of all machines are put on the time axis of the first one. The recording's `clocks` and
 * `clock_pairs` tell then how far they were moved, and how exactly that is known.
 */
#ifndef WCPROF_CLOCKS_H
#define WCPROF_CLOCKS_H

#include "recording/recording.h"

/* After hosts_find(), and before anything is told from times. Times are moved once. */
void clocks_align(struct recording *);

/* By how much a time from one process to another may be wrong; 0 on one machine, infinite: not
 * known. */
double clocks_error_ns(const struct recording *, uint32_t process, uint32_t other);

#endif

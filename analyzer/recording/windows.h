/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The times in which all that goes on is recorded.
 *
 * Recording may be turned off and on again. A pause of one process is a pause of the recording:
 * others may wait for it then. So is the time before a process was turned on, and after it was
 * turned off, if it was there.
 */
#ifndef WCPROF_WINDOWS_H
#define WCPROF_WINDOWS_H

#include "recording.h"

struct window {
	uint64_t from_ns; /* in the recording's time */
	uint64_t to_ns;   /* UINT64_MAX = until the end */
};

/* In order and apart, at least one: to be freed. Their number in *count. */
struct window *windows_find(const struct recording *recording, size_t *count);

/* The part of the window in which a process was recorded; false: there is none. */
bool window_of_process(const struct recording *recording, uint32_t process,
		       const struct window *window, struct window *of);

#endif

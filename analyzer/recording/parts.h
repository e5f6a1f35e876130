/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording of many windows, one window after the other, in time that is linear in all of them.
 *
 * Threads and calls that last for several windows are copied for each. One thread.
 */
#ifndef WCPROF_PARTS_H
#define WCPROF_PARTS_H

#include "windows.h"

struct parts;

/* Takes the events out of the recording, which has none then. To be ended. */
struct parts *parts_begin(struct recording *recording);

/* The recording has all that reaches into the window, as selection_apply() needs it; what it had
 * before is freed. Windows come in order of time. */
void parts_go_to(struct parts *parts, const struct window *window);

/* The recording keeps what it has, and is to be freed as any other. */
void parts_end(struct parts *parts);

#endif

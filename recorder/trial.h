/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trial of a client: rules, windows and the recording, which all end with its connection.
 *
 * The control thread's, but for trial_forget().
 */
#ifndef WCPROF_TRIAL_H
#define WCPROF_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder.h"

struct client;

/* At most one trial at a time, for no longer than that. 0; -EBUSY: there is one; -EALREADY:
 * recording is on, or ops take longer already. */
int trial_begin(const struct client *, uint64_t most_ms) HIDDEN;
/* In a forked child until trial_forget(), too: there was one when it came to be. */
bool trial_is_on(void) HIDDEN;
bool trial_is_of(const struct client *) HIDDEN;
/* The time that is left of it. */
uint64_t trial_left_ns(void) HIDDEN;
/* A connection ends. */
void trial_closes(const struct client *) HIDDEN;
/* Ends it when its time is over; true: there is one, or something of it. */
bool trial_tick(uint64_t now_ns) HIDDEN;
/* Recording is about to be turned on: what is left of an earlier trial is not to spoil that. */
void trial_recording_begins(void) HIDDEN;
/* In a forked child: it is the parent's. */
void trial_forget(void) HIDDEN;
/* Then, before clients are served: the settings are those from before it. */
void trial_settle(void) HIDDEN;

#endif

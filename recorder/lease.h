/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lease of recording: a setting, lease_s, that is to be set again before it ends.
 *
 * A program that has others record for it, as wcprof agent does, may die. Nobody would turn off
 * what it turned on. So recording with a lease ends by itself, and the settings are again those
 * from before the lease.
 *
 * All functions are the control thread's. A forked child goes on with its parent's lease.
 */
#ifndef WCPROF_LEASE_H
#define WCPROF_LEASE_H

#include <stdint.h>

#include "recorder.h"
#include "text.h"

/* Settings are about to be changed: without a lease, they are those that the next one's end brings
 * back. */
void lease_note_settings(void) HIDDEN;
/* From now on it lasts so many seconds; 0 = there is none, and recording stays as it is. */
void lease_set(uint64_t seconds, uint64_t now_ns) HIDDEN;
/* Recording is turned off: nothing is left to lease. The settings are as before the lease. */
void lease_give_up(void) HIDDEN;
/* Ends it when its time is over. In how many ms that is; -1 = there is none. */
int lease_tick(uint64_t now_ns) HIDDEN;
/* The thread is about to end, or could not be made: nobody would turn recording off. */
void lease_leave(void) HIDDEN;

/* ,"lease_left_ms": of STATUS; nothing without a lease. */
void lease_put_status(struct text *, uint64_t now_ns) HIDDEN;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which two sockets of the unix kind are one connection, where the recorder could not say. One that
 * is over at once has no peer any more when the kernel is asked.
 *
 * Called once, when all times are of one clock, and before anything is selected or analyzed. One
 * thread.
 */
#ifndef WCPROF_PEERS_H
#define WCPROF_PEERS_H

#include "recording/recording.h"

/* Adds to the recording's peers. */
void peers_find(struct recording *);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives each op and each wait its name in the reports, decided from stacks and addresses.
 *
 * io, poll, sleep, dns   "caller/call": the innermost function of the program itself, and the call;
 *                        in an interpreter, where no frame is the program's, the thread's name
 * hold, waits for locks  the lock: its symbol, else where it was initialised or first used
 * thread, waits to join  the start routine
 * all others             as recorded; so is everything in a dump without threads and stacks
 */
#ifndef WCPROF_CLASSIFY_H
#define WCPROF_CLASSIFY_H

#include <stdint.h>

#include "callers.h"
#include "recording/recording.h"

/*
 * Fills in a string id per op and per wait, adding strings to the recording. Ids of classes are
 * comparable: equal names are equal ids. One thread.
 */
void classify(struct recording *recording, struct symbols *symbols, struct callers *callers,
	      uint32_t *op_name, uint32_t *wait_name);

/*
 * Fills in a string id per stack, "function file.c:12" of its caller, for the stacks of holds and
 * waits; 0 for all others.
 */
void classify_sites(struct recording *recording, struct callers *callers, uint32_t *stack_site);

#endif

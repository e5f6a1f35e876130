/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the addresses that datagrams are sent to: strings of the arena, by address.
 *
 * A datagram's receiver is known by its own address, its sender only by the one in the call. Most
 * senders have few of them: a small table has the strings, and one that is not there is made.
 *
 * Any thread, no lock. Ids belong to an arena: all is forgotten when recording is turned on.
 */
#ifndef WCPROF_DESTINATIONS_H
#define WCPROF_DESTINATIONS_H

#include "self.h"

/* The address as the receiver's description has it. 0: none that is known, or no room for it. The
 * memory must be there: the kernel has read it. */
uint32_t destinations_name(const void *address, size_t bytes) HIDDEN;
/* While nothing is recorded. */
void destinations_forget(void) HIDDEN;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the addresses that datagrams go to or come from: strings of the arena, by address.
 *
 * A socket is known by its own address, one at the other end of a datagram only by that in the
 * call. Most sockets have few of them: a small table has the strings, and one that is not there is
 * made.
 *
 * Any thread, no lock. Ids belong to an arena: all is forgotten when recording is turned on.
 */
#ifndef WCPROF_DESTINATIONS_H
#define WCPROF_DESTINATIONS_H

#include "self.h"

/* The address as the description of its socket has it. 0: none that is known, or no room for it.
 * The memory must be there: the kernel has read or written it. */
uint32_t destinations_name(const void *address, size_t bytes) HIDDEN;
/* While nothing is recorded. */
void destinations_forget(void) HIDDEN;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which machine each process was on, and where a description of a descriptor was made.
 *
 * Descriptions name pipes, sockets and files by numbers and paths of one machine, and loopback
 * addresses by those of one network name space. Where a recording has several of these, the same
 * text is another thing in each: a string of its own. `scopes` says where it is meant.
 */
#ifndef WCPROF_HOSTS_H
#define WCPROF_HOSTS_H

#include "recording.h"

/* Before anything is told from idents. A second call does nothing. */
void hosts_find(struct recording *recording);

/* Of a string that describes a descriptor; 0: all were made at one place, or it is none. */
static inline uint32_t hosts_scope_of(const struct recording *recording, uint32_t string)
{
	return string < recording->scope_count ? recording->scopes[string] : 0;
}

/* That of descriptions which count on all of the process's machine. */
static inline uint32_t hosts_scope_of_process(const struct recording *recording, uint32_t process)
{
	return recording->scope_count ? recording->processes[process].clock + 1 : 0;
}

/* Whether what these two call by one number of the kernel's is the same. */
static inline bool hosts_are_one(const struct recording *recording, uint32_t process,
				 uint32_t other)
{
	return recording->processes[process].clock == recording->processes[other].clock;
}

#endif

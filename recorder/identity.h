/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which process this is: what the arena's header says of it.
 */
#ifndef WCPROF_IDENTITY_H
#define WCPROF_IDENTITY_H

#include "arena.h"

/* When this process started, in clock ticks after boot; 0 when /proc does not tell. */
uint64_t identity_start_ticks(void) HIDDEN;
/* In which its pid counts: the inode of the name space; 0 when /proc does not tell. */
uint64_t identity_pid_namespace(void) HIDDEN;
/* That of the monotonic clock in a text like /proc/self/timens_offsets; 0 if it is not there. */
int64_t identity_mono_offset_ns(const char *offsets) HIDDEN;
/* How many numbers are in a list of the kernel's, as "0-3,8". */
uint32_t identity_list_count(const char *list) HIDDEN;
/* Fills in the header's identity and the strings that everybody uses; the arena is new. */
void identity_fill(struct arena *, const char *call_names, uint32_t call_count) HIDDEN;

#endif

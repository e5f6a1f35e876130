/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory the arena may take, so that the program has what it needs.
 *
 * The arena takes at most an eighth of what its memory cgroups, and the machine, have left. Of the
 * file system of shared memory it takes a quarter. An eighth of each limit is left alone. It maps
 * at most a sixteenth of the addresses that are left (ulimit -v). Processes of one cgroup
 * share this: each looks at what is left now, and takes only some of it before it looks again.
 *
 * Looking opens files. The control thread does it, on its tick. While none ticks, a thread that
 * needs memory does, seldom. Any thread may call any function; comments name those that are for
 * one.
 */
#ifndef WCPROF_ROOM_H
#define WCPROF_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "cgroups.h"
#include "recorder.h"

enum room_rule { ROOM_FREE, ROOM_CGROUP, ROOM_MACHINE, ROOM_FILES, ROOM_ADDRESSES, ROOM_RULES };

/* One bound as it is now. */
struct room_bound {
	enum room_rule rule;
	uint64_t limit_bytes;
	uint64_t left_bytes;
	uint64_t spare_bytes; /* of that, for all recordings together */
	uint64_t share_bytes; /* how large an arena may become that has own_bytes already */
};

/* Calls `take` for each bound on memory that is known; of the cgroups that were found. */
typedef void room_taker(void *context, const struct room_bound *);
void room_each(struct cgroups *, uint64_t own_bytes, room_taker *, void *context) HIDDEN;
/* The bound on the addresses that an arena may take; its rule is ROOM_FREE if there is none. */
struct room_bound room_for_addresses(struct lines *, bool is_private) HIDDEN;
/* "memory cgroup", and so on. */
const char *room_name(enum room_rule) HIDDEN;

/* How many of the wanted events have room in an arena of such a share; 0: it is not made. */
uint64_t room_events(const struct room_bound *, uint64_t wanted_events) HIDDEN;
/* Why there is no arena: a few words for messages. */
const char *room_reason(void) HIDDEN;
/* In the process that records: before an arena is made; false: there is no room for one. */
bool room_begin(void) HIDDEN;
/* How many of those bytes of addresses it may take. */
uint64_t room_addresses(uint64_t wanted_bytes, bool is_private) HIDDEN;
/* Before memory is populated: false: not now. `own_bytes` says what the arena has. */
bool room_take(uint64_t bytes, uint64_t own_bytes) HIDDEN;
/* So much was given back to the system. */
void room_give(uint64_t bytes) HIDDEN;
/* The control thread's, on each tick while recording is on. */
void room_tend(uint64_t own_bytes) HIDDEN;
/* In a forked child. */
void room_forget(void) HIDDEN;

/* The tightest bound, and how much more it allows, as of the last look. */
struct room_state {
	enum room_rule rule;
	uint64_t more_bytes;
};
struct room_state room_state(void) HIDDEN;
/* The smallest limit of all, likewise. */
uint64_t room_limit(void) HIDDEN;
/* Which one is why there is no memory now; ROOM_FREE: none. `is_whole`: all that was mapped is in
 * use. */
enum room_rule room_refuses(bool is_whole) HIDDEN;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by monitors.c (mutexes, conditions, sections), monitors_sites.c, monitors_wakes.c,
 * monitors_split.c and meetings.c. Private to them.
 */
#ifndef WCPROF_MONITORS_PARTS_H
#define WCPROF_MONITORS_PARTS_H

#include "monitors.h"

static inline uint32_t monitors_process(const struct recording *rec, uint32_t thread)
{
	return rec->threads[thread].process;
}

/* monitors_sites.c: sets a section's site, by frames of its lock call and by its function. A stack
 * of 0 gives no site. */
void monitors_site_set(const struct recording *, uint32_t stack, uint32_t thread,
		       uint64_t site[SITE_KINDS]);

/* Any place in the function that made the call, as far as that shows. The callers are the same, and
 * the threads begin with the same routine. 0: it has no callers. */
uint64_t monitors_function_site(const struct recording *, uint32_t stack, uint32_t thread);

/* Whether two stacks are calls of one function, as far as that shows: all but the innermost frames
 * agree. Where one has no callers, the calls must be close to each other. */
bool monitors_is_same_function(const struct recording *, uint32_t a, uint32_t b);

/* The first sections of a mutex began before its holds were recorded: their sites are those of
 * other sections. */
void monitors_complete_sites(struct monitors *, const struct recording *);

/* monitors_wakes.c: fills in which link ended each wait. */
void monitors_tie_waits(struct monitors *, const struct recording *);

/* monitors_split.c: one condition may stand for several things. Each becomes a condition. False:
 * none does. Else tokens are to be found again. */
bool monitors_split(struct monitors *, const struct recording *);

/* A recording that does not say so shows it when more than one waited. */
bool monitors_wakes_all(const struct rec_link *);

#endif

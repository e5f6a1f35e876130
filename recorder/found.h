/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of calls that threads were inside of when recording began (census.h).
 *
 * Whoever has taken the thread's entry of the census writes them: the thread, or the control thread
 * with a `self` of its own. Nobody else may have the entry meanwhile. A thread's slot shows its
 * call to dumps, from found_show() on until the record is written or found_hide() is called.
 */
#ifndef WCPROF_FOUND_H
#define WCPROF_FOUND_H

#include "inside.h"
#include "record.h"

struct watch;

/* When the call ended: before the CPU time that its thread has used since, or when its opening did.
 * `cpu_ns`: of now, or as that opening ended if the thread has no slot. In ticks, not before the
 * record's start. */
uint64_t found_end(const struct inside *, const struct slot *, uint64_t cpu_ns) HIDDEN;
/* Puts in what the slot says: ids and parent. */
void found_complete(struct inside *, const struct slot *) HIDDEN;
/* Both do nothing for a thread that had no slot. */
void found_show(struct inside *) HIDDEN;
void found_hide(const struct inside *) HIDDEN;

/* The watch of the lock that it waits for; NULL: there is none (counted, if it is for a lock). */
struct watch *found_watch(struct self *, const struct inside *) HIDDEN;
/* It is among the lock's waiters no more. */
void found_stop_counting(const struct inside *) HIDDEN;

void found_write_op(struct self *, const struct inside *, uint64_t end_ticks, enum outcome) HIDDEN;
/* Of a wait whose end nobody sees. */
void found_cut_wait(struct self *, const struct inside *, uint64_t end_ticks) HIDDEN;
/* A wait for the end of a thread or a child. */
void found_write_life(struct self *, const struct inside *, uint64_t end_ticks, bool is_on) HIDDEN;
/* The wait, and where the thread `has` a lock of one owner now its hold. */
void found_write_wait(struct self *, const struct inside *, uint64_t end_ticks, struct watch *,
		      bool has) HIDDEN;

#endif

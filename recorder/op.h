/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops and waits that are open on a thread, as the rest of the recorder sees them; record.h has
 * the hooks' view.
 */
#ifndef WCPROF_OP_H
#define WCPROF_OP_H

#include "record.h"
#include "self.h"

/* Input/output of files shorter than so many ticks is not recorded. Written by settings.c. */
extern uint64_t op_min_io_ticks HIDDEN;
/* OP_BRIEF_NS. Known once recording was turned on. */
extern uint64_t op_brief_ticks HIDDEN;
/* Before recording is turned on; waits until the clock is known, but not twice. */
void op_know_brief(void) HIDDEN;

/* The first entry of a thread that has just registered. */
void op_begin_thread(struct self *, uint64_t op, uint64_t parent, uint32_t tid,
		     const void *routine) HIDDEN;
/* The thread has been there since then, though it is seen only now. */
void op_backdate_thread(struct self *, uint64_t since_ticks) HIDDEN;
/* A hold of the watch with this index has begun in an op; 0 when it cannot be recorded. */
uint64_t op_begin_hold(struct self *, const struct watch *, uint32_t watch_index, uint64_t parent,
		       uint32_t stack, const void *frame, uint64_t start_ticks) HIDDEN;
/* It is its watch's no more: until its record is written it is open here. False: there is no room
 * for that. */
bool op_release_hold(struct self *, const struct record *hold) HIDDEN;
/* Writes its record, unless it was open here and has been cut off since then. */
void op_end_hold(struct self *, const struct record *hold, bool was_open) HIDDEN;
/* Values of a probed function's call that its op has itself, see struct record. */
struct op_values {
	uint64_t first;
	uint32_t second;
	uint32_t first_name, second_name; /* 0: there is none */
	uint8_t types;                    /* as flags have them */
};
/* Ends the op of a probe, by whoever has looked at the clock. */
void op_end_probed(struct self *, uint64_t op, enum outcome, const struct op_values *,
		   uint64_t end_ticks) HIDDEN;
/* The same that takes no time: its record is written at once, and its id returned. */
uint64_t op_moment(struct self *, uint32_t name, uint32_t stack, const void *frame,
		   const struct op_values *, uint64_t at_ticks) HIDDEN;
/* Takes an open entry away without a record; false when this thread has no such entry. */
bool op_drop(struct self *, uint64_t handle) HIDDEN;
/* This thread is in the op, which is among the handles with this index, until it ends or is
 * detached. */
void op_attach(struct self *, uint64_t op, uint32_t index, uint8_t flags) HIDDEN;
bool op_detach(struct self *, uint64_t op) HIDDEN;
/* Writes all that is open but the thread's own op, as ended at that moment. */
void op_end_nested(struct self *, uint64_t end_ticks, enum outcome) HIDDEN;
/* The same, and then the thread's op, whose name is `ident`. */
void op_end_all(struct self *, uint64_t end_ticks, enum outcome, uint32_t ident) HIDDEN;
/* Of the thread itself: its share of a contended CPU (weight.h). */
void op_set_weight(struct self *, uint32_t weight) HIDDEN;
/* Ends all of that opening, with it or else now. Not so the thread's own op, nor those that the
 * program itself may still end. */
void op_end_forgotten(struct self *, uint32_t opening) HIDDEN;
/* Whether the thread works for an op that is recorded even while recording is off. */
bool op_is_in_flow(const struct self *) HIDDEN;

#endif

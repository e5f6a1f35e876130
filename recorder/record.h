/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops, waits and links, as the hooks record them.
 *
 * All of it is the calling thread's, between self_enter() and self_leave(); recorder.h has the
 * shape of a hook, and what may be called where.
 */
#ifndef WCPROF_RECORD_H
#define WCPROF_RECORD_H

#include "recorder.h"

struct iovec;
struct watch;

/* The op in which this thread is at the moment (innermost open op). */
uint64_t op_current(const struct self *) HIDDEN;

/* Opens an op as child of the current one. Returns its id, 0 if it cannot be recorded. name:
 * call name id (hook row + 1) or an interned string; fd -1 = none. `frame` is
 * __builtin_frame_address(0) of the hook: open entries below it were abandoned, and are closed as
 * canceled. */
uint64_t op_begin(struct self *, enum kind, uint32_t name, uint64_t value, int fd, uint32_t stack,
		  const void *frame) HIDDEN;
/* Ends it now: writes the record. value replaces the op's value (bytes of io: negative = -errno
 * -> outcome error). */
void op_end(struct self *, uint64_t op, enum outcome, uint64_t value) HIDDEN;
/* The same, but without a record (counted) when it lasted less than OP_BRIEF_NS. For calls that do
 * so most of the time, and have not blocked then. */
enum { OP_BRIEF_NS = 2000 };
void op_end_brief(struct self *, uint64_t op, enum outcome, uint64_t value) HIDDEN;
/* A hook's whole part before and after a call that is an op: enters, captures the stack, opens or
 * ends, and leaves. Each of them is one function, in which nearly all time is the clock's. */
uint64_t op_begin_call(enum kind, uint32_t name, int fd, const void *pc, const void *frame) HIDDEN;
void op_end_call(uint64_t op, enum outcome, uint64_t value, bool is_brief) HIDDEN;
/*
 * While a trial has ops take longer (slow.h): just before the op or hold of this thread ends. Never
 * between self_enter() and self_leave(). `is_brief`: as in op_end_brief().
 */
void slow_end(uint64_t op, bool is_brief) HIDDEN;
static inline bool ops_may_take_longer(void)
{
	return UNLIKELY(__atomic_load_n(&recorder_gate.slowed, __ATOMIC_RELAXED) != 0);
}
static inline void op_takes_longer(uint64_t op, bool is_brief)
{
	if (ops_may_take_longer())
		slow_end(op, is_brief);
}
/* The same for a wait's end: since then its thread was on its way here. */
void slow_wake(uint64_t wait, uint64_t woken_ticks) HIDDEN;
static inline void wait_takes_longer(uint64_t wait, uint64_t woken_ticks)
{
	if (ops_may_take_longer())
		slow_wake(wait, woken_ticks);
}
/* The same with what became known during the call. */
void op_set_ident(struct self *, uint64_t op, uint32_t ident) HIDDEN;
void op_set_count(struct self *, uint64_t op, uint32_t count) HIDDEN;
void op_set_flags(struct self *, uint64_t op, uint8_t flags) HIDDEN;
void op_set_descriptor(struct self *, uint64_t op, int fd) HIDDEN;
/* It has several descriptors, and this is the first that was ready. */
void op_set_ready(struct self *, uint64_t op, int fd) HIDDEN;
/* The descriptor at the other end of an io op that has two. */
void op_set_other(struct self *, uint64_t op, int fd) HIDDEN;
/* The address that an io op sent to, which the kernel has read. */
void op_set_peer(struct self *, uint64_t op, const void *address, size_t bytes) HIDDEN;
/* The same that one got bytes from. The program may have had less room: the kernel has written the
 * first byte. */
void op_set_sender(struct self *, uint64_t op, const void *address, size_t bytes) HIDDEN;
/*
 * The op has read `amount` bytes, not 0, into these parts. If a client sent them, recorder_peek of
 * them at most are looked at (peek.h). 0: none are, and nothing is to be called.
 */
extern uint32_t recorder_peek HIDDEN;
void op_set_request(struct self *, uint64_t op, const struct iovec *parts, size_t count,
		    uint64_t amount) HIDDEN;
/* The lock on these bytes of a file that an io op took or gave back; 0 bytes: to the file's end.
 * `what` is "KIND read", "KIND write" or "KIND none", see filelocks.h. */
void op_set_file_lock(struct self *, uint64_t op, int fd, const char *what, uint64_t from,
		      uint64_t bytes) HIDDEN;

/* Opens a wait of the current op. Returns a handle, 0 if it cannot be recorded. */
uint64_t wait_begin(struct self *, enum reason, uint32_t name, const void *address, uint32_t ident,
		    uint32_t stack, const void *frame) HIDDEN;
/*
 * A wait ends whose begin was not recorded: since when it lasts, as far as the recording goes. That
 * is when recording was turned on, if nothing of the thread was recorded since. 0 = it began later,
 * and was left out. Before self_enter().
 */
uint64_t wait_inside_since(void) HIDDEN;
/* wait_begin() of such a wait. */
uint64_t wait_begin_inside(struct self *, uint64_t since_ticks, enum reason, uint32_t name,
			   const void *address, uint32_t ident, uint32_t stack,
			   const void *frame) HIDDEN;
/* The thread that had the object to itself when the wait began: the kernel's number, perhaps of
 * another process's; 0 = not known. */
void wait_held_by(struct self *, uint64_t wait, uint32_t tid) HIDDEN;
/* Of a wait whose object is known only now. */
void wait_set_address(struct self *, uint64_t wait, uint64_t address) HIDDEN;
void wait_end(struct self *, uint64_t wait, uint64_t target_op, uint8_t flags) HIDDEN;
/* It ended by its timeout, which was due then: on CLOCK_MONOTONIC, or on CLOCK_REALTIME. */
void wait_end_late(struct self *, uint64_t wait, const struct timespec *until) HIDDEN;
/* The same, but without a record when it lasted less than OP_BRIEF_NS: nobody was waited for. */
void wait_end_brief(struct self *, uint64_t wait, uint64_t target_op, uint8_t flags) HIDDEN;
/* Nothing had to be waited for: a wait of no length, whose stack does not matter. */
void wait_met(struct self *, enum reason, uint32_t name, const void *address, uint32_t ident,
	      uint64_t target_op) HIDDEN;
/* It turned out that there was nothing to wait for: no record. */
void wait_drop(struct self *, uint64_t wait) HIDDEN;

/* A permit that was put into a semaphore of the kernel's at that time: only now is it known. */
void post_record(struct self *, uint64_t address, uint32_t ident, uint64_t ticks) HIDDEN;

/* A wake or post by the current op, from that stack; `flags`: RECORD_ALL. */
void wake_record(struct self *, enum link_kind, const struct watch *, uint32_t count, uint8_t flags,
		 uint32_t stack) HIDDEN;
/* The same before it is given, and the watch says from now on who woke last. */
void wake_announce(struct self *, enum link_kind, struct watch *, uint32_t count, uint8_t flags,
		   uint32_t stack) HIDDEN;
void link_record(struct self *, enum link_kind, uint64_t to_op, const void *address, uint32_t ident,
		 uint32_t count) HIDDEN;

/* A lock or the like was initialised here. */
void init_record(struct self *, const void *address, uint32_t stack) HIDDEN;

/* The id of an op that is not in a thread's hands: a child's, whose watch has it. */
uint64_t op_reserve(struct self *) HIDDEN;

uint64_t clock_ticks(void) HIDDEN;

/* When this thread recorded something last; for guesses that must not cost a look at the clock. */
extern __thread uint64_t recorder_last_ticks HIDDEN __attribute__((tls_model("initial-exec")));

#endif

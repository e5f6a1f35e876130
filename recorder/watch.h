/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watched addresses: locks, condition variables, semaphores, threads, children; and who holds them.
 *
 * Entries lie in the arena, and are found without a lock. Any thread may call anything; struct
 * watch says who writes what.
 */
#ifndef WCPROF_WATCH_H
#define WCPROF_WATCH_H

#include "recorder.h"

struct arena;

/* Locks whose holds are recorded. Read by lock hooks, relaxed; written by settings.c. */
enum holds_mode {
	HOLDS_CONTENDED, /* from the first wait for the lock on, and the hold waited for */
	HOLDS_ALL,       /* from when it was locked first */
	HOLDS_NONE
};

extern uint32_t recorder_holds HIDDEN;

enum watch_type {
	WATCH_FREE = 0,
	WATCH_MUTEX,
	WATCH_RWLOCK,
	WATCH_COND,
	WATCH_SEM,
	WATCH_BARRIER,
	WATCH_ONCE,
	WATCH_FUTEX,
	WATCH_THREAD,
	WATCH_CHILD,
	WATCH_CLAIMED /* by a thread that is about to make an entry of it */
};

enum watch_sharing {
	SHARING_NONE = 0, /* as far as anybody said */
	SHARING_WANTED,   /* the lock may be another process's too: to be looked up where it lies */
	SHARING_KNOWN     /* that was done */
};

/*
 * An address on which somebody waited, or whose holds are recorded. A fixed hashed table in the
 * arena; entries are never removed while recording, only taken over (watch_forget).
 *
 * Only the lock's holder writes `holder_*` and `hold_count`. Another thread may take the hold out
 * of its watch, by compare and swap, and writes its record then. Any thread writes `waiters`,
 * atomically. A thread that releases, signals or posts writes `last_*`, just before it does so.
 */
struct watch {
	uint64_t address;       /* key */
	uint64_t holder_op;     /* op `hold` of the present holder; thread, child: its op */
	uint64_t holder_parent; /* its parent op */
	uint64_t holder_start;  /* ticks; or when a hold ended that nobody released */
	uint64_t last_op;       /* op that released, signalled or posted last */
	uint64_t last_ticks;    /* when */
	uint64_t hot_ticks;     /* since when it is watched; written once */
	uint32_t holder_stack;
	uint32_t holder_opening; /* in which its hold began (opening.h); thread: its number was its
				    * own in that one */
	uint32_t hold_count;     /* number of holds so far */
	uint32_t ident;          /* string id of its name, such as "mutex server+0x40c0" */
	uint32_t waiters;        /* threads inside a wait on it now */
	uint32_t initial;        /* semaphore: value when first seen; barrier: parties */
	uint8_t type;            /* enum watch_type */
	uint8_t sharing;         /* enum watch_sharing */
	uint8_t holder_flags;    /* RECORD_* of the present hold */
	uint8_t unused;
	uint32_t holder_relock; /* length of the wait for it that ended a condition's wait, in
				 * RELOCK_TICKS */
};

/* The hot path: an address that nobody ever waited on gives NULL after one or two loads. */
struct watch *watch_find(const void *address) HIDDEN;

/* The op of a thread that the program has started; 0: none is known. libc may have given the number
 * to another thread while recording was off. Then only a thread that lives yet is surely meant, or
 * one that has ended since. */
uint64_t watch_thread_op(const void *thread) HIDDEN;
/* Makes the entry if needed; NULL = table full (counted). Its name is "TYPE module+offset" or "TYPE
 * 0xADDRESS"; threads and children have none, and only one thread may ask for theirs. */
struct watch *watch_get(struct self *, const void *address, enum watch_type) HIDDEN;
/* Joins of this thread, which libc knows by that number, find its op. Nothing if it is told of. */
void watch_publish_thread(struct self *, const void *thread) HIDDEN;
/* The same of one that the calling thread has made, and that can be joined; that one says so before
 * it begins. */
void watch_tell_of_thread(struct self *, const void *thread, uint64_t op) HIDDEN;
void watch_thread_is_told(void) HIDDEN;
/* The calling thread, of that number, ends: a join in this opening still finds its op. */
void watch_thread_ends(const void *thread) HIDDEN;
/* The thread with that op was joined: libc gives its number to another one. */
void watch_forget_thread(const void *thread, uint64_t op) HIDDEN;
/* The object was destroyed or initialised anew: what comes is another object. */
void watch_forget(const void *address) HIDDEN;
/* The lock may be another process's too: where it lies is looked up soon, on the control thread. */
void watch_share(struct watch *) HIDDEN;
/* Before the waiter looks at the lock once more, and sleeps. */
void watch_wait_begins(struct watch *) HIDDEN;
void watch_wait_ends(struct watch *) HIDDEN;
/* Whether a wake may find somebody: here, or unseen in another process. */
static inline bool watch_is_waited_on(const struct watch *watch)
{
	return __atomic_load_n(&watch->waiters, __ATOMIC_RELAXED) > 0 ||
	       __atomic_load_n(&watch->sharing, __ATOMIC_RELAXED) != SHARING_NONE;
}

/* The child of this watch has ended: writes its op and forgets the watch. The op; 0 if another
 * thread does that, or there is none. */
uint64_t watch_end_child(struct self *, struct watch *, enum outcome, uint64_t value,
			 uint64_t end_ticks) HIDDEN;
/* The op of a child that goes on. */
uint64_t watch_child_op(const struct watch *) HIDDEN;

/* --- Holds (hold.c) -------------------------------------------------------------------------- */

/* The new holder, while it holds the lock: opens an op `hold`. */
void hold_begin(struct self *, struct watch *, uint32_t stack, const void *frame) HIDDEN;

/* The same for one who has had it since that moment. */
void hold_begin_since(struct self *, struct watch *, uint32_t stack, uint64_t since_ticks) HIDDEN;

/* The new holder came back from a condition's wait; between the signal and that, the mutex was
 * other threads' for so long: see format.h. */
void hold_relocked(struct watch *, uint64_t relock_ticks) HIDDEN;

/* The new holder has it from one who died. */
void hold_inherited(struct self *, struct watch *) HIDDEN;

/* Whether another thread holds it, as far as is known. */
bool hold_is_anothers(const struct self *, const struct watch *) HIDDEN;
/* The hold that goes on in the present opening; 0 = none that is known of. */
uint64_t hold_known(const struct self *, const struct watch *) HIDDEN;

/* The new holder only tried: it would have gone on without the lock. */
void hold_tried(struct watch *) HIDDEN;

/* While ops_may_take_longer(), as op_takes_longer(); NULL: it is not watched. */
void hold_takes_longer(const struct watch *) HIDDEN;

/*
 * The holder's first release of a lock that became hot while it was held, just before
 * hold_release(): its hold began without a record. It was the nth lock that the thread took after
 * its last record, of `last_ticks`. The hold began between that and the first wait; where, is
 * estimated.
 */
void hold_begin_late(struct self *, struct watch *, uint64_t last_ticks, uint32_t nth) HIDDEN;

/* Just before the real unlock, by the thread that unlocks: stamps the end and says in the watch who
 * let go. After the real unlock, hold_record() writes the hold; and the link `wake`, if there were
 * waiters. */
struct hold_release {
	struct record hold; /* type RECORD_NONE: nothing was held that we know of */
	const void *pc;     /* where it was locked, if that has to make do for a stack; else NULL */
	uint32_t waiters;
	bool is_open; /* among the thread's entries, until its record is written */
};
void hold_release(struct self *, struct watch *, struct hold_release *) HIDDEN;
void hold_record(struct self *, struct watch *, const struct hold_release *) HIDDEN;

/* --- For the rest of the recorder ------------------------------------------------------------ */

/* The hold of a lock, 0 = none that is known of; also in a watch that was forgotten meanwhile. */
uint64_t watch_holder(const struct watch *) HIDDEN;

/* Whether the hold `op` of the watch with this index goes on. */
bool watch_is_holder(int32_t index, uint64_t op) HIDDEN;
/* To write the record of that hold is up to the caller from now on; false: to somebody else. */
bool watch_take_hold(struct watch *, uint64_t op) HIDDEN;
/* The same by index, -1 = a hold without a watch, for one that nobody releases; and when that is
 * done. */
bool watch_take_hold_at(int32_t index, uint64_t op, uint64_t start_ticks,
			uint64_t end_ticks) HIDDEN;
void watch_drop_holder(int32_t index, uint64_t op) HIDDEN;
/* Writes the record of a hold whose thread has not seen it end: cut off with its opening, or else
 * just now. */
void watch_end_hold(struct self *, struct watch *, uint64_t now_ticks) HIDDEN;

/* The same as watch_find() in any arena, also another process's. */
const struct watch *watch_find_in(const struct arena *, uint64_t address) HIDDEN;

/* For the drainer: the hold of the watch with this index, even if it was forgotten; HANDLE_ENDING
 * while its record is being written. 0 = none, or no such watch. */
uint64_t watch_hold_at(const struct arena *, int32_t index) HIDDEN;
/* The watch with this index; NULL: it is not in use. Indices that may be are found one after the
 * other, from 0 and from each + 1; WATCHES_MAX: there are no more. */
struct watch *watch_at(const struct arena *, uint32_t index) HIDDEN;
uint32_t watch_next(const struct arena *, uint32_t index) HIDDEN;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder as the hooks see it: the only header of this folder that preload/ may include.
 *
 * Everything here may be called on any thread of a stranger's process, in a signal handler that
 * interrupted a hook or the recorder itself, and in a forked child. Nothing here allocates from the
 * program's heap, takes a lock of libc's, blocks, changes errno or fails visibly: what cannot be
 * recorded is counted.
 *
 * Shape of a hook:
 *
 *	if (recorder_is_off())
 *		return real.read(fd, buf, count);       -- a load, a branch, a tail call
 *	struct self *self = self_enter();               -- NULL: inside already, retired, ...
 *	uint64_t op = self ? op_begin(self, ...) : 0;
 *	self_leave(self);                               -- never held across the real call
 *	result = real.read(fd, buf, count);
 *	self = op ? self_enter() : NULL;                -- may be another thread's now (fibers)
 *	if (self) op_end(self, op, ...);
 *	self_leave(self);
 */
#ifndef WCPROF_RECORDER_H
#define WCPROF_RECORDER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "format.h"

#define RECORDER_VERSION "0.1.0"

#define HIDDEN      __attribute__((visibility("hidden")))
#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/*
 * Whether hooks record. Alone on a page that the kernel wipes in a forked child, so that any kind
 * of fork leaves GATE_UNSET there and a child can never write into its parent's arena. Written by
 * the control thread, the constructor and recorder_wake_up(); read by every hook, relaxed: a hook
 * that misses a change for a moment records one event more or fewer.
 */
enum gate_mode { GATE_UNSET = 0, GATE_OFF = 1, GATE_ON = 2 };

struct gate {
	_Alignas(4096) uint32_t mode; /* enum gate_mode; only through __atomic operations */
	uint32_t settled;             /* 0: recorder_wake_up(true) has something to do */
	uint32_t present; /* 1 once started; 0 again only in a child whose memory is its own */
	char rest_of_page[4096 - 3 * sizeof(uint32_t)];
};

extern struct gate recorder_gate HIDDEN;

static inline bool recorder_is_off(void)
{
	return LIKELY(__atomic_load_n(&recorder_gate.mode, __ATOMIC_RELAXED) == GATE_OFF);
}

/* For hooks that may create a thread, when they do not record or before they do: whether to call
 * recorder_wake_up(true). Never in the way of a process that is off. */
static inline bool recorder_is_unsettled(void)
{
	return UNLIKELY(__atomic_load_n(&recorder_gate.settled, __ATOMIC_RELAXED) == 0);
}

/* Locks whose holds are recorded. Read by lock hooks, relaxed; written by settings.c. */
enum holds_mode {
	HOLDS_CONTENDED, /* from the first wait for the lock on, and the hold waited for */
	HOLDS_ALL,       /* from when it was locked first */
	HOLDS_NONE
};

extern uint32_t recorder_holds HIDDEN;

/* The listening port that a thread must serve to be recorded; 0 = it need not. Then blocking calls
 * say what they are about to use, before self_enter(). */
extern uint32_t recorder_port HIDDEN;
void recorder_sees_descriptor(int fd) HIDDEN;

/* --- Life of the process (preload/lifecycle.c) ----------------------------------------------- */

/* What the recorder needs of the process it lives in; all function pointers are libc's own. */
struct recorder_host {
	const char *const
		*call_names; /* names[i] is the string id i + 1 in every arena, for ever */
	uint32_t call_count;
	int (*thread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
};

/* From the constructor, once, single-threaded: options, clock, gate; enables if WCPROF_ENABLE
 * says so. */
void recorder_start(const struct recorder_host *) HIDDEN;

/*
 * Brings up what is missing in this process (after a fork, or the control thread of a process that
 * has none yet). `may_create_thread` only from hooks in which the program's allocator cannot be
 * locked (blocking input/output, readiness, sleeps), never from lock hooks. Cheap when there is
 * nothing to do.
 */
void recorder_wake_up(bool may_create_thread) HIDDEN;

/* Around fork(): prepare in the parent before, then one of the others. Async-signal-safe. */
void recorder_fork_prepare(void) HIDDEN;
void recorder_fork_parent(void) HIDDEN;
void recorder_fork_child(void) HIDDEN;

/*
 * Around a call whose result depends on the control thread: one that libc makes in every thread,
 * or that the kernel refuses a process of two. The thread ends before it, where it would be in the
 * way; a new one, with the rights that the caller has by then, starts after it. May change errno.
 */
enum recorder_aside { ASIDE_IF_RIGHTS_DIFFER, ASIDE_ALWAYS };
bool recorder_steps_aside(enum recorder_aside) HIDDEN;
void recorder_steps_back(bool was_there) HIDDEN;

/*
 * Around a call that filters this thread's system calls: from then on, one of ours may be its last.
 * What is recorded is handed over, recording ends, and so does the control thread, which would keep
 * a process alive whose own thread a filter kills. recorder_is_free(): the call has failed.
 */
struct recorder_confinement {
	bool was_free;   /* false: nothing was done */
	bool is_counted; /* it was recorded */
	bool was_there;  /* the control thread */
};
struct recorder_confinement recorder_is_confined(void) HIDDEN;
void recorder_is_free(const struct recorder_confinement *before) HIDDEN;

/* Around clone(), in the parent: the child ends when its one thread does, so it is given no control
 * thread. */
void recorder_clone_begins(void) HIDDEN;
void recorder_clone_ends(void) HIDDEN;

/* The process image is about to end (exit, _exit, quick_exit, abort, exec): dumps if
 * WCPROF_OUTPUT is set. Returns also if nothing could be written. Safe to call twice and from
 * several threads. */
enum recorder_end { END_EXIT, END_EXEC };
void recorder_image_ends(enum recorder_end) HIDDEN;

/* A program that is about to be started, by this process or in its place. */
struct program_start {
	const char *path; /* NULL: the open file fd */
	int fd;           /* of the directory from which path goes, or AT_FDCWD */
	bool is_searched; /* in PATH, when it has no slash */
	char *const *envp;
};

/* While recording: counts why it will not be recorded, if so. Any hook; does nothing in a vfork
 * child. */
void recorder_program_starts(const struct program_start *) HIDDEN;

/* A library is about to be loaded whose calls go past the hooks (RTLD_DEEPBIND): counted. */
void recorder_binds_deep(void) HIDDEN;

/* True in a vfork child (memory shared with its parent): such a child must not record. One
 * getpid(). */
bool recorder_in_vfork_child(void) HIDDEN;

/* --- This thread ----------------------------------------------------------------------------- */

struct self;
struct watch;

/* Registers the thread at its first call. NULL: already inside the recorder on this thread, the
 * thread is retired, recording is off, or no slot is free (counted). Errno is saved until
 * self_leave(). */
struct self *self_enter(void) HIDDEN;
void self_leave(struct self *) HIDDEN; /* NULL is fine */

/* A new thread: the creator announces it (allocates its op id; records the link `spawn`), the child
 * begins as its first act, and ends as its last. `announced` 0 = not announced. */
uint64_t thread_announce(struct self *, const void *start_routine) HIDDEN;
void thread_begin(uint64_t announced, uint64_t parent_op, const void *start_routine,
		  const void *stack_top) HIDDEN;
void thread_end(void) HIDDEN;

/* --- Ops, waits, links ----------------------------------------------------------------------- */

/* The number by which the recording knows this thread. */
uint32_t thread_index(const struct self *) HIDDEN;

/* The op in which this thread is at the moment (innermost open op). */
uint64_t op_current(const struct self *) HIDDEN;

/* Opens an op as child of the current one. Returns its id, 0 if it cannot be recorded. name:
 * call name id (hook row + 1) or an interned string; fd -1 = none. `frame` is
 * __builtin_frame_address(0) of the hook: open entries below it were abandoned and are closed as
 * canceled. */
uint64_t op_begin(struct self *, enum kind, uint32_t name, uint64_t value, int fd, uint32_t stack,
		  const void *frame) HIDDEN;
/* Ends it now: writes the record. value replaces the op's value (bytes of io: negative = -errno
 * -> outcome error). */
void op_end(struct self *, uint64_t op, enum outcome, uint64_t value) HIDDEN;
/* The same, but without a record when it lasted less than OP_BRIEF_NS: of calls that do so most of
 * the time, and have not blocked then (counted). */
enum { OP_BRIEF_NS = 2000 };
void op_end_brief(struct self *, uint64_t op, enum outcome, uint64_t value) HIDDEN;
/* A hook's whole part before and after a call that is an op: enters, captures the stack, opens or
 * ends, and leaves. Each of them is one function, in which nearly all time is the clock's. */
uint64_t op_begin_call(enum kind, uint32_t name, int fd, const void *pc, const void *frame) HIDDEN;
void op_end_call(uint64_t op, enum outcome, uint64_t value, bool is_brief) HIDDEN;
/* The same with what became known during the call. */
void op_set_ident(struct self *, uint64_t op, uint32_t ident) HIDDEN;
void op_set_count(struct self *, uint64_t op, uint32_t count) HIDDEN;
void op_set_flags(struct self *, uint64_t op, uint8_t flags) HIDDEN;
void op_set_descriptor(struct self *, uint64_t op, int fd) HIDDEN;
/* It has several descriptors, and this is the first that was ready. */
void op_set_ready(struct self *, uint64_t op, int fd) HIDDEN;
/* The descriptor at the other end of an io op that has two. */
void op_set_other(struct self *, uint64_t op, int fd) HIDDEN;

/* Opens a wait of the current op. Returns a handle, 0 if it cannot be recorded. */
uint64_t wait_begin(struct self *, enum reason, uint32_t name, const void *address, uint32_t ident,
		    uint32_t stack, const void *frame) HIDDEN;
/* Who had what it waits for to himself when it began: the kernel's number of a thread, perhaps of
 * another process; 0 = not known. */
void wait_held_by(struct self *, uint64_t wait, uint32_t tid) HIDDEN;
void wait_end(struct self *, uint64_t wait, uint64_t target_op, uint8_t flags) HIDDEN;
/* The same, but without a record when it lasted less than OP_BRIEF_NS: nobody was waited for. */
void wait_end_brief(struct self *, uint64_t wait, uint64_t target_op, uint8_t flags) HIDDEN;
/* What it would have waited for was there: a wait of no length, and from where does not matter. */
void wait_met(struct self *, enum reason, uint32_t name, const void *address, uint32_t ident,
	      uint64_t target_op) HIDDEN;
/* It turned out that there was nothing to wait for: no record. */
void wait_drop(struct self *, uint64_t wait) HIDDEN;

/* A wake or post: by whom is the current op, from where the stack; `flags`: RECORD_ALL. */
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

/* --- Descriptors ----------------------------------------------------------------------------- */

/*
 * Ops with a descriptor say what it is: it is described when it is first used, and no more until it
 * may have become another one. That must be said here: before a call that closes it, after one that
 * made it or put it in another's place. None needs a `self`; they do nothing to what is not in use.
 */
void descriptor_forget(int fd) HIDDEN;
void descriptor_forget_range(uint32_t first, uint32_t last) HIDDEN;

/* Forgets, and notes what only now is known: it was opened by that path; it came from accept(); it
 * was connected to that address, if only as a beginning; the two are a socketpair(). */
void descriptor_opened(struct self *, int fd, const char *path) HIDDEN;
void descriptor_accepted(struct self *, int fd) HIDDEN;
void descriptor_connected(struct self *, int fd, const void *peer, size_t bytes) HIDDEN;
void descriptor_paired(int fd, int other) HIDDEN;
/* It is a new eventfd; it is the same thing as that one. */
void descriptor_counted(int fd) HIDDEN;
void descriptor_copied(int fd, int from) HIDDEN;

/* --- Strings and stacks ---------------------------------------------------------------------- */

/* Id of a string in the arena; 0 when it is empty or the arena's strings are full (counted). */
uint32_t string_intern(const char *, size_t length) HIDDEN;

/* The call stack of a hook's caller: pc = __builtin_return_address(0), frame =
 * __builtin_frame_address(0) in the exported function. 0 when stacks are off. Interned: equal
 * stacks have equal ids. */
uint32_t stack_capture(struct self *, const void *pc, const void *frame) HIDDEN;

/* Around what loads and unloads code, so that it is known which module had an address when: a
 * dlopen() begins; a dlclose() begins (and the process ends: what was loaded is noted); it is done.
 * Whether recording is on or off. */
void modules_loading(void) HIDDEN;
void modules_note(void) HIDDEN;
void modules_unloaded(void) HIDDEN;

/* Code was unloaded: what was learnt of addresses may be wrong. Before and after every
 * dlclose(), whether recording is on or off. */
void stack_forget_all(void) HIDDEN;

/* --- Watched addresses: locks, condition variables, semaphores, threads, children ------------ */

/*
 * What is known of an address on which somebody waited or whose holds are recorded. A fixed hashed
 * table in the arena; entries are never removed while recording, only taken over (watch_forget).
 * `holder_*` and `hold_count` are written by the lock's holder only; `waiters` by anybody,
 * atomically; `last_*` by whoever releases, signals or posts, just before doing so.
 */
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
	WATCH_CLAIMED /* by who is about to make an entry of it */
};

enum watch_sharing {
	SHARING_NONE = 0, /* as far as anybody said */
	SHARING_WANTED,   /* other processes may use it: to be looked up where it lies */
	SHARING_KNOWN     /* that was done */
};

struct watch {
	uint64_t address;       /* key */
	uint64_t holder_op;     /* op `hold` of the present holder; thread, child: its op */
	uint64_t holder_parent; /* its parent op */
	uint64_t holder_start;  /* ticks */
	uint64_t last_op;       /* op that released, signalled or posted last */
	uint64_t last_ticks;    /* when */
	uint64_t hot_ticks;     /* since when it is watched; written by who made the entry */
	uint32_t holder_stack;
	uint32_t holder_thread; /* thread index */
	uint32_t hold_count;    /* number of holds so far */
	uint32_t ident;         /* string id of its name, such as "mutex server+0x40c0" */
	uint32_t waiters;       /* threads inside a wait on it now */
	uint32_t initial;       /* semaphore: value when first seen; barrier: parties */
	uint8_t type;           /* enum watch_type */
	uint8_t sharing;        /* enum watch_sharing */
	uint8_t holder_flags;   /* RECORD_* of the present hold */
	uint8_t unused;
	uint32_t holder_relock; /* how long it was waited for at the end of a condition's wait, in
				 * RELOCK_TICKS */
};

/* The hot path: an address that nobody ever waited on gives NULL after one or two loads. */
struct watch *watch_find(const void *address) HIDDEN;
/* Makes the entry if needed (and its name, "TYPE module+offset" or "TYPE 0xADDRESS"; threads and
 * children have none, and only one thread may ask for theirs); NULL = table full (counted). */
struct watch *watch_get(struct self *, const void *address, enum watch_type) HIDDEN;
/* Joins of this thread, which libc knows by that number, find its op. */
void thread_publish(struct self *, const void *thread) HIDDEN;
/* The object was destroyed or initialised anew: what comes is another object. */
void watch_forget(const void *address) HIDDEN;
/* Other processes may use it: where it lies is looked up soon, on a thread that is not the
 * program's. */
void watch_share(struct watch *) HIDDEN;
void watch_wait_begins(
	struct watch *) HIDDEN; /* before looking at the lock once more and sleeping */
void watch_wait_ends(struct watch *) HIDDEN;
/* Whether a wake may find somebody: here, or unseen in another process. */
static inline bool watch_is_waited_on(const struct watch *watch)
{
	return __atomic_load_n(&watch->waiters, __ATOMIC_RELAXED) > 0 ||
	       __atomic_load_n(&watch->sharing, __ATOMIC_RELAXED) != SHARING_NONE;
}

/* The child of this watch has ended: writes its op and forgets the watch. The op; 0 if another
 * thread does that, or there is none. */
uint64_t watch_end_child(struct self *, struct watch *, enum outcome, uint64_t value) HIDDEN;
/* The op of a child that goes on. */
uint64_t watch_child_op(const struct watch *) HIDDEN;

/* The new holder, while it holds the lock: opens an op `hold`. */
void hold_begin(struct self *, struct watch *, uint32_t stack, const void *frame) HIDDEN;

/* The new holder came back from a condition's wait, and for so long others had the mutex after the
 * signal: see format.h. */
void hold_relocked(struct watch *, uint64_t relock_ticks) HIDDEN;

/* The new holder has it from one who died. */
void hold_inherited(struct self *, struct watch *) HIDDEN;

/* The new holder would have gone on without the lock, had somebody else had it. */
void hold_tried(struct watch *) HIDDEN;

/*
 * The holder's first release of a lock that became hot while it was held, just before
 * hold_release(): its hold began without a record. It was the nth lock that the thread took after
 * its last record, which was written at `last_ticks`; where between then and the first wait it
 * began is estimated.
 */
void hold_begin_late(struct self *, struct watch *, uint64_t last_ticks, uint32_t nth) HIDDEN;

/* Just before the real unlock, by whoever unlocks: stamps the end and says in the watch who let
 * go. After the real unlock, hold_record() writes the hold and, when there were waiters, the
 * link `wake`. */
struct hold_release {
	struct record hold; /* type RECORD_NONE: nothing was held that we know of */
	const void *pc;     /* where it was locked, if that has to make do for a stack; else NULL */
	uint32_t waiters;
};
void hold_release(struct self *, struct watch *, struct hold_release *) HIDDEN;
void hold_record(struct self *, struct watch *, const struct hold_release *) HIDDEN;

#endif

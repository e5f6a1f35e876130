/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder as the hooks see it: the process, the thread, its descriptors, strings and stacks.
 * record.h has what is recorded, watch.h the locks. preload/ may include these three.
 *
 * Everything here may be called on any thread of a stranger's process, and in a forked child. That
 * includes signal handlers that interrupted a hook or the recorder itself. Nothing here allocates
 * from the program's heap, takes a lock of libc's, blocks, changes errno or fails visibly. An event
 * that cannot be recorded is counted.
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

#define HIDDEN      __attribute__((visibility("hidden")))
#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/*
 * Whether hooks record. Alone on a page that the kernel wipes in a forked child. So any kind of
 * fork leaves GATE_UNSET there, and a child can never write into its parent's arena. Written by
 * switch.c and process.c. Read by every hook, relaxed: a hook that misses a change for a moment
 * records one event more or fewer.
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

/* The listening port that a thread must serve to be recorded; 0 = it need not. Then blocking calls
 * say what they are about to use, before self_enter(). */
extern uint32_t recorder_port HIDDEN;
void recorder_note_descriptor(int fd) HIDDEN;

/* --- Life of the process (preload/lifecycle.c) ----------------------------------------------- */

/* The process as far as the recorder needs it; all function pointers are libc's own. */
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
 * Around a call whose result depends on the control thread. Either libc makes it in every thread,
 * or the kernel refuses it to a process of two. The thread ends before, where it would be in the
 * way. After the call a new one starts, with the rights that the caller has by then. May change
 * errno.
 */
enum recorder_aside { ASIDE_IF_RIGHTS_DIFFER, ASIDE_ALWAYS };
bool recorder_steps_aside(enum recorder_aside) HIDDEN;
void recorder_steps_back(bool was_there) HIDDEN;

/*
 * Around a call that filters this thread's system calls: from then on, one of ours may be its last.
 * The recording is handed over and ends, and so does the control thread: it would keep a process
 * alive whose own thread a filter kills. recorder_unconfine(): the call has failed.
 */
struct recorder_confinement {
	bool was_free;   /* false: nothing was done */
	bool is_counted; /* it was recorded */
	bool was_there;  /* the control thread */
};
struct recorder_confinement recorder_confine(void) HIDDEN;
void recorder_unconfine(const struct recorder_confinement *before) HIDDEN;

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

/* Registers the thread at its first call. NULL: already inside the recorder on this thread, the
 * thread is retired, recording is off, or no slot is free (counted). Errno is saved until
 * self_leave(). */
struct self *self_enter(void) HIDDEN;
void self_leave(struct self *) HIDDEN; /* NULL is fine */

/* A new thread: the creator announces it (allocates its op id; records the link `spawn`). The child
 * begins as its first act, and ends as its last. `announced` 0 = not announced. */
uint64_t thread_announce(struct self *, const void *start_routine) HIDDEN;
void thread_begin(uint64_t announced, uint64_t parent_op, const void *start_routine,
		  const void *stack_top) HIDDEN;
void thread_end(void) HIDDEN;

/* The number by which the recording knows this thread. */
uint32_t thread_index(const struct self *) HIDDEN;

/* --- Descriptors ----------------------------------------------------------------------------- */

/*
 * Ops with a descriptor say what it is: it is described when it is first used, and again when it
 * may have become another one. That must be said here: before a call that closes it, after one that
 * made it or put it in another's place. These do nothing to a descriptor that is not in use.
 */
void descriptor_forget(int fd) HIDDEN;
void descriptor_forget_range(uint32_t first, uint32_t last) HIDDEN;

/* Forgets, and notes what only now is known. It was opened by that path; it came from accept(). It
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

/* Around calls that load and unload code, recording or not: so it is known which module had an
 * address when. */
void modules_loading(void) HIDDEN;  /* a dlopen() begins */
void modules_note(void) HIDDEN;     /* a dlclose() begins, or the process ends */
void modules_unloaded(void) HIDDEN; /* the dlclose() is done */

/* Code was unloaded: what was learnt of addresses may be wrong. Before and after every
 * dlclose(), whether recording is on or off. */
void stack_forget_all(void) HIDDEN;

#endif

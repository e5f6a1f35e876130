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
#include <time.h>

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
	uint32_t slowed;  /* 1: a trial counts ops, and has some take longer (slow.h) */
	char rest_of_page[4096 - 4 * sizeof(uint32_t)];
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

/*
 * The kernel's clock_gettime(), from the code that it maps into each process. The preload finds it
 * before recorder_start(); NULL: system calls. libc's name may lead to another preloaded library,
 * which takes locks there, and tells the time that it likes.
 */
extern int (*recorder_kernel_clock)(clockid_t, struct timespec *) HIDDEN;
uint64_t recorder_clock_ns(clockid_t) HIDDEN;

/* --- Life of the process (preload/lifecycle.c) ----------------------------------------------- */

/* Words of loaded objects through which these call libc. */
struct recorder_slots {
	uint32_t changed; /* lead elsewhere now */
	uint32_t left;    /* should, and do not */
	uint32_t copies;  /* lead past us: the program copied what a word held */
};

/* The process as far as the recorder needs it; all function pointers are libc's own. */
struct recorder_host {
	/* One after the other, each with its end. Their string ids are 1, 2, ... in every arena. */
	const char *call_names;
	uint32_t call_count;
	const void *const *functions; /* functions[i] is libc's own of that name, or NULL */
	uint32_t function_count;      /* at most call_count */
	bool is_go; /* the program is written in Go, whose runtime goes past libc */
	/* Of a library that was loaded into a running process. They have its calls lead here, or to
	 * libc again; and look for objects that were loaded since then. NULL: it was there from the
	 * start. The control thread's. */
	bool (*point_calls)(bool here, struct recorder_slots *slots);
	void (*look_for_objects)(void);
	int (*thread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
};

/*
 * The constructor's first question. True: a filter of system calls was there before the program,
 * and may end it for a call of ours. Then nothing else is called, and no hook does anything.
 */
bool recorder_is_shut_out(void) HIDDEN;

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

/* From here on no thread of ours closes copies of the program's descriptors, in this process. Also
 * while recording is off. */
void recorder_closes_nothing(void) HIDDEN;

/*
 * Around a call that changes what the process or its thread may do or see. The control thread would
 * keep that. Or it is in the way: libc makes the call in every thread, or the kernel refuses it to
 * a process of two. So it ends before the call. A new one starts when such calls have ceased and a
 * hook comes by, with the rights that this thread has by then. May change errno.
 */
enum recorder_aside { ASIDE_IF_RIGHTS_DIFFER, ASIDE_ALWAYS, ASIDE_BRIEFLY };
bool recorder_steps_aside(enum recorder_aside) HIDDEN;
void recorder_steps_back(bool has_stepped) HIDDEN;

/*
 * A call has failed for want of tasks (RLIMIT_NPROC, pids.max), or is done again. True: the control
 * thread has left its place, and the call may be done again, after which this is asked once more.
 * The thread does not come back to a process that has taken its place.
 */
bool recorder_gives_way(bool *is_again, bool has_failed) HIDDEN;

/*
 * Around a call that filters this thread's system calls: from then on, one of ours may be its last.
 * The recording is handed over and ends, and so does the control thread: it would keep a process
 * alive whose own thread a filter kills. recorder_unconfine(): the call has failed.
 */
struct recorder_confinement {
	bool was_free;   /* false: nothing was done, or in a vfork child */
	bool was_vfork;  /* a vfork child: it records no more, its parent will */
	bool is_counted; /* it was recorded */
	bool is_settled; /* the control thread was not waited for */
};
struct recorder_confinement recorder_confine(void) HIDDEN;
void recorder_unconfine(const struct recorder_confinement *before) HIDDEN;

/* Around vfork() or a clone() like it, on the parent's thread, on which the child runs meanwhile.
 * False: no call of ours may be made, also not this one's other half. */
bool recorder_vfork_begins(void) HIDDEN;
void recorder_vfork_ends(void) HIDDEN;

/* Around clone(), in the parent: the child ends when its one thread does, so it is given no control
 * thread. */
void recorder_clone_begins(void) HIDDEN;
void recorder_clone_ends(void) HIDDEN;

/* mlockall(), by the function given: locks the program's memory, and nothing of ours. Changes
 * errno also if it succeeds. */
int recorder_lock_all(int flags, int (*lock_all)(int)) HIDDEN;

/* The process image is about to end (exit, _exit, quick_exit, abort, exec): dumps if
 * WCPROF_OUTPUT is set. Returns also if nothing could be written. Safe to call twice and from
 * several threads. END_PERHAPS: a handler may save it, so everything stays as it is. */
enum recorder_end { END_EXIT, END_EXEC, END_PERHAPS };
void recorder_image_ends(enum recorder_end) HIDDEN;

/* A program that is about to be started, by this process or in its place. */
struct program_start {
	const char *path; /* NULL: the open file fd */
	int fd;           /* of the directory from which path goes, or AT_FDCWD */
	bool is_searched; /* in PATH, when it has no slash */
	char *const *envp;
	bool may_be_empty; /* an empty path stands for fd itself */
};

/* While recording: counts why it will not be recorded, if so. Any hook; does nothing in a vfork
 * child. */
void recorder_program_starts(const struct program_start *) HIDDEN;

/* A library is about to be loaded whose calls go past the hooks (RTLD_DEEPBIND): counted. */
void recorder_binds_deep(void) HIDDEN;

/* Before an exec: both of these. The image does not end where the file is none that can be run: a
 * search for a program tries many, and goes on. */
void recorder_image_is_replaced(const struct program_start *) HIDDEN;

/* True in a vfork child (memory shared with its parent): such a child must not record. One
 * getpid(). */
bool recorder_in_vfork_child(void) HIDDEN;

/* The library was loaded into a running process, now or before: has a control thread, which may
 * have been sent away. Any thread in which one may be made. */
void recorder_attach(void) HIDDEN;

/* --- Memory of the process (writable.c) ------------------------------------------------------- */

struct recorder_range {
	uint64_t start;
	uint64_t end;
};

struct recorder_writable {
	struct recorder_range *ranges; /* in order; none touches the next */
	uint32_t count;
	uint32_t places;
};

/* All that may be written to at this moment. False: nobody knows. Else _forget() is due. */
bool recorder_writable_read(struct recorder_writable *) HIDDEN;
bool recorder_writable_has(const struct recorder_writable *, uint64_t from, uint64_t bytes) HIDDEN;
void recorder_writable_forget(struct recorder_writable *) HIDDEN;

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

/* The calling thread has asked for the time, and its call returns to `pc`. Any time; not between
 * self_enter() and self_leave(). */
void clock_read_note(const void *pc) HIDDEN;

/* The number by which the recording knows this thread. */
uint32_t thread_index(const struct self *) HIDDEN;

/* --- The signal of samples (claim.c) ---------------------------------------------------------- */

enum { RECORDER_SIGNAL = 16 }; /* SIGSTKFLT */

/* Its disposition as it would be without us, as the kernel has it. */
struct signal_as_if {
	const void *handler;
	uint64_t flags;
	uint64_t mask;
};

/* Whether what follows may be called: this process is the recorder's, not a vfork child, and no
 * filter of system calls may end it. */
bool recorder_minds_signals(void) HIDDEN;
/* Before the program changes the disposition, by what call ever: from here on it is its own. */
void signal_is_taken(void) HIDDEN;
/* The program sets the default: true = done, that is as good as before. */
bool signal_stays(const struct signal_as_if *now, struct signal_as_if *before) HIDDEN;
/* Whether a handler that the kernel told is ours, also in a vfork child; then what to tell.
 * `is_minded`: recorder_minds_signals(). */
bool signal_as_if(const void *handler, bool is_minded, struct signal_as_if *) HIDDEN;
/* Whether threads get it: those that block it say so, before and after; one load. */
bool signal_is_in_use(void) HIDDEN;
/* The calling thread has begun: it is sampled from here on. */
void signal_thread_begins(void) HIDDEN;
/* Whether the caller has said that it blocks it. */
bool signal_is_paused(void) HIDDEN;
void signal_is_blocked_soon(void) HIDDEN;
void signal_is_unblocked(void) HIDDEN;
/* Around a change of the thread's alternate stack. */
void signal_stack_changes(void) HIDDEN;
void signal_stack_has_changed(void) HIDDEN;

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

/* --- Trace ids ------------------------------------------------------------------------------- */

/* Where in each thread's storage a tracer's pointer to its record lies (context.h). */
struct context_place {
	uint64_t module; /* number of the block of storage; 0 = `offset` is from the thread's own
			  * block, on every thread */
	uint64_t offset; /* in it */
	uint64_t block_generation; /* a thread that knows of no such generation of objects has no
				    * block of that object's */
};

/* From now on it lies there; NULL: nowhere. One thread at a time. */
void context_publish(const struct context_place *) HIDDEN;

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
void modules_note(void) HIDDEN;     /* a dlclose() begins */
void modules_unloaded(void) HIDDEN; /* the dlclose() is done */

/* Code was unloaded: what was learnt of addresses may be wrong. Before and after every
 * dlclose(), whether recording is on or off. */
void stack_forget_all(void) HIDDEN;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by every file of this folder: libc's own functions, the hooks' prototypes, the names' ids.
 *
 * Everything here comes out of hooks.def. A hook_*.c holds bodies only. It calls `real.SYMBOL`,
 * never the symbol itself: that would be ourselves. It calls the recorder between hook_enter() and
 * self_leave(), never across the real call. A body begins with CALLER, in the function that the
 * exported wrapper jumps to, so that the caller's frame is the program's.
 *
 * `real` is written once, by hooks_resolve(), before any hook is called or by the first one.
 */
#ifndef WCPROF_HOOKS_H
#define WCPROF_HOOKS_H

#include <aio.h>
#include <aliases.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <grp.h>
#include <gshadow.h>
#include <mqueue.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <resolv.h>
#include <semaphore.h>
#include <setjmp.h>
#include <shadow.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <threads.h>
#include <time.h>
#include <wchar.h>

#include "record.h"
#include "recorder.h"

/* Macros of libc's, in the way of the names. */
#undef p_type
#undef sigpause
#undef fread_unlocked
#undef fwrite_unlocked
#undef res_query
#undef res_search
#undef res_querydomain
#undef res_send
#undef res_nquery
#undef res_nsearch
#undef res_nquerydomain
#undef res_nsend

typedef int scandir_filter(const struct dirent *);
typedef int scandir_order(const struct dirent **, const struct dirent **);
typedef int walk_told(const char *path, const void *seen, int type);
typedef int walk_told_place(const char *path, const void *seen, int type, void *place);

/* libc's functions: the next definition after ours, in the version that the row asks for. */
struct real {
#define HOOK(type, symbol, parameters, arguments)                         type(*symbol) parameters;
#define HOOK_OWN(type, symbol, parameters)                                type(*symbol) parameters;
#define HOOK_AT(type, id, symbol, version, parameters, arguments)         type(*id) parameters;
#define TIMED(kind, type, symbol, call, parameters, arguments, fd, value) type(*symbol) parameters;
#include "hooks.def"
};

extern struct real real HIDDEN;

/* String ids of the calls' names: row + 1. */
enum call {
	CALL_NONE,
#define HOOK(type, symbol, parameters, arguments)                         CALL_##symbol,
#define HOOK_OWN(type, symbol, parameters)                                CALL_##symbol,
#define HOOK_AT(type, id, symbol, version, parameters, arguments)         CALL_##id,
#define TIMED(kind, type, symbol, call, parameters, arguments, fd, value) CALL_##symbol,
#include "hooks.def"
	CALL_HOOKS_END,
	CALL_HOOKS_LAST = CALL_HOOKS_END - 1,
#define RAW(kind, number, call, fd) CALL_raw_##number,
#include "hooks.def"
	CALL_END
};

enum { HOOK_COUNT = CALL_HOOKS_END - 1, CALL_COUNT = CALL_END - 1 };

_Static_assert(sizeof(struct real) == HOOK_COUNT * sizeof(void *), "one pointer per row");

/* The wrapper by a name that no other object can take: opened late, the plain one is libc's. */
#define OWN_NAME(id, label)                                                                   \
	__asm__(".globl wcprof_own_" #id "; .hidden wcprof_own_" #id "; .set wcprof_own_" #id \
		", " label);

/* For the assembler files: members of `real`, and the bodies that they call. */
extern void *hooks_real_syscall HIDDEN;
extern void *hooks_real_vfork HIDDEN;
extern void *hooks_real_dlopen HIDDEN;
extern void *hooks_real_dlmopen HIDDEN;
/* How many threads libc counts; NULL: it does not say. */
extern unsigned int *hooks_libc_threads HIDDEN;
void hook_loading(const char *file, int flags) HIDDEN;
long hook_futex(long a, long b, long c, long d, long e, long f) HIDDEN;
long hook_raw_kill(long a, long b, long c, long d, long e, long f) HIDDEN;
long hook_raw_tkill(long a, long b, long c, long d, long e, long f) HIDDEN;
long hook_raw_tgkill(long a, long b, long c, long d, long e, long f) HIDDEN;
typedef long raw_call(long a, long b, long c, long d, long e, long f);
enum { RAW_NUMBERS = 512 };
extern raw_call *const hooks_raw[RAW_NUMBERS] HIDDEN; /* by number; NULL: not of interest */
long hook_raw_descriptors(long number, long a, long b, long c) HIDDEN;
extern const unsigned char hooks_rights[RAW_NUMBERS] HIDDEN; /* 1 = for a hook, also while off */
long hook_raw_rights(long number, long a, long b, long c, long d, long e) HIDDEN;
long hook_raw_sigaction(long call, long number, long to, long from, long bytes) HIDDEN;
long hook_raw_sigprocmask(long call, long how, long set, long before, long bytes) HIDDEN;
long hook_raw_sigaltstack(long call, long to, long from) HIDDEN;

struct vfork_return {
	int64_t pid;
	const void *pc; /* where the program goes on */
};

bool hook_vfork_begin(const void *pc, const void *frame) HIDDEN;
struct vfork_return hook_vfork_end(int pid) HIDDEN;

/* The bodies. */
#define VARIADIC_OWN(type, symbol, call, parameters)           type hook_##symbol parameters HIDDEN;
#define HOOK(type, symbol, parameters, arguments)              type hook_##symbol parameters HIDDEN;
#define HOOK_AT(type, id, symbol, node, parameters, arguments) type hook_##id parameters HIDDEN;
#define TIMED(kind, type, symbol, call, parameters, arguments, fd, value) \
	type hook_##symbol parameters HIDDEN;
#include "hooks.def"

/* Finds all rows in the objects loaded after ours. No lock, no allocation. */
void hooks_resolve(void) HIDDEN;
extern const int32_t hooks_wrappers[] HIDDEN; /* by row: how far each is from this */
/* Whether the library was opened after libc: the loader has bound no call to it. */
bool hooks_are_late(void) HIDDEN;
/* NULL: this libc has no such function. */
void *hooks_real_of(unsigned row) HIDDEN;
/* Its wrapper (wrappers.S). */
void *hooks_wrapper_of(unsigned row) HIDDEN;
/* Where a call by that name goes that the loader has not bound yet; NULL: to none of the rows. */
void *hooks_find(const char *symbol, const char *version) HIDDEN;
extern const char hooks_call_names[] HIDDEN; /* CALL_COUNT, each with its end */

/* Exported, for the command that loads the library into a running process. A thread of that process
 * is made to call it, when the control thread was sent away. */
void wcprof_attach(void);

/* Where a tracer publishes what threads work for. Looks for it where objects were loaded since the
 * last time; around each dlclose(). */
void publishers_find(void) HIDDEN;
void publishers_closing(void) HIDDEN;
void publishers_closed(void) HIDDEN;

/* For calls that must work before the constructor but never set up the recorder. */
void hooks_resolve_once(void) HIDDEN;

/* The gate is unset: a call before our constructor, or the first one in a forked child. */
void hooks_set_up(bool may_create_thread) HIDDEN;

/*
 * The recorder is not set up in this process: a call from before the constructor, or in a forked
 * child. The child's first hook that may start the control thread waits for it.
 */
static inline __attribute__((always_inline)) bool hooks_need_set_up(bool may_create_thread)
{
	return UNLIKELY(__atomic_load_n(&recorder_gate.mode, __ATOMIC_RELAXED) == GATE_UNSET) ||
	       (may_create_thread && UNLIKELY(recorder_is_unsettled()));
}

/* Where the program called: return address and frame of the hook's body. */
struct caller {
	const void *pc;
	const void *frame;
};

#define CALLER ((struct caller){ __builtin_return_address(0), __builtin_frame_address(0) })

/* This folder's state of a thread. */
enum { READ_HOLDS_MAX = 8, LOCKS_HELD_MAX = 8 };

/* A lock that this thread took without a record; see locks.h. */
struct lock_held {
	const void *lock; /* NULL = none */
	const void *pc;
	uint64_t last_ticks; /* when the thread had recorded something last */
	uint32_t nth;        /* of the locks taken since then */
};

struct hooks_thread {
	const void *last_mutex; /* locked last by this thread; never dereferenced, it may be gone */
	struct {
		const void *lock;
		uint64_t op;
	} read_holds[READ_HOLDS_MAX];
	struct lock_held held[LOCKS_HELD_MAX]; /* in turn: the oldest gives way */
	uint32_t held_count;                   /* of all, but for what was taken off the end */
	uint32_t held_nth;
	uint64_t held_ticks;
	struct walk *walk; /* of hook_walk.c's; dangles once it was left by longjmp */
	const void *tried; /* lock that it tried in vain last, NULL = none; likewise */
	uint32_t tries;    /* of it, one after the other */
	bool is_armed;     /* its end will be noticed */
	/* Of OpenMP (teams.h). */
	struct team *team;  /* in which it works now */
	uint64_t dock_wait; /* for its next team; 0 = none */
	uint32_t docked;    /* threads that wait for the next team that it makes */
};

extern __thread struct hooks_thread hooks_thread HIDDEN;

/* Makes sure that the recorder hears of this thread's end, and that joins find it. */
void hooks_arm_thread(struct self *) HIDDEN;

static inline struct self *hook_enter(void)
{
	struct self *self = self_enter();
	if (UNLIKELY(self && !hooks_thread.is_armed))
		hooks_arm_thread(self);
	return self;
}

/* For the end of an op, which may take longer for a trial; 0 = it was not recorded. */
static inline struct self *hook_enter_end(uint64_t op, bool is_brief)
{
	if (op == 0)
		return NULL;
	op_takes_longer(op, is_brief);
	return hook_enter();
}

/* After a call that makes a thread or a process, with its error or 0: whether it is tried once
 * more. `is_again` is false before the first. */
static inline bool hooks_try_again(bool *is_again, int error)
{
	return UNLIKELY(*is_again || error == EAGAIN) && recorder_gives_way(is_again, error != 0);
}

/*
 * A stream, or all, will be closed, and the buffer is written. Of all streams, only those of
 * standard output and error are known.
 */
void hooks_stream_ends(const FILE *stream, struct caller caller) HIDDEN;
void hooks_streams_end(struct caller caller) HIDDEN;

static inline uint32_t caller_stack(struct self *self, struct caller caller)
{
	return stack_capture(self, caller.pc, caller.frame);
}

/* Words with numbers. */
struct hooks_name {
	char bytes[64];
	size_t used;
};

static inline void hooks_name_put(struct hooks_name *name, const char *word, uint64_t number)
{
	char digits[20];
	size_t count = 0;
	do
		digits[count++] = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	while (*word && name->used < sizeof(name->bytes))
		name->bytes[name->used++] = *word++;
	while (count > 0 && name->used < sizeof(name->bytes))
		name->bytes[name->used++] = digits[--count];
}

/* Bytes of the messages that sendmmsg or recvmmsg moved, and how many these were. */
static inline int64_t hooks_messages(const struct mmsghdr *messages, int count)
{
	int64_t bytes = count > 1 ? count * (int64_t)RECORD_MESSAGE : 0;
	for (int i = 0; i < count; i++)
		bytes += messages[i].msg_len;
	return bytes;
}

/* Bytes that were only looked at are still to be read; an error's bytes were never received. */
static inline int64_t hooks_taken(int64_t bytes, int flags)
{
	return flags & (MSG_PEEK | MSG_ERRQUEUE) ? 0 : bytes;
}

/* The same of a queue of System V, where to look is MSG_COPY. */
static inline int64_t hooks_received(int64_t bytes, int flags)
{
	return flags & 040000 ? 0 : bytes;
}

/* These must not be called in the program's threads: they allocate, lock or print. */
#pragma GCC poison malloc calloc realloc free snprintf vsnprintf asprintf dlsym dlvsym

#endif

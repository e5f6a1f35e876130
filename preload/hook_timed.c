/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that are an op and nothing more: input, output, readiness, signals, names. All bodies come
 * from the TIMED rows of hooks.def; what some of them mean for a descriptor stands before them.
 *
 * Nothing is held across the real call. A thread that is cancelled in it, or leaves it by longjmp,
 * has an op open. The recorder closes that op as canceled when it sees that its frame is gone or
 * the thread ends. Invariant: the result and errno are the real call's.
 */
#include <errno.h>
#include <sys/syscall.h>

#include "filelocks.h"

/* A thread that the recorder has not seen yet. */
static __attribute__((noinline, cold)) void timed_arm(void)
{
	self_leave(hook_enter());
}

static uint64_t timed_begin(enum kind kind, enum call call, int fd, struct caller caller)
{
	if (UNLIKELY(__atomic_load_n(&recorder_port, __ATOMIC_RELAXED) != 0))
		recorder_note_descriptor(fd);
	if (UNLIKELY(!hooks_thread.is_armed))
		timed_arm();
	return op_begin_call(kind, call, fd, caller.pc, caller.frame);
}

static inline void timed_end_as(uint64_t op, bool has_failed, int64_t value, bool is_brief)
{
	if (op == 0)
		return;
	if (UNLIKELY(!hooks_thread.is_armed))
		timed_arm();
	op_takes_longer(op, is_brief);
	op_end_call(op, has_failed ? OUTCOME_ERROR : OUTCOME_OK, (uint64_t)value, is_brief);
}

/* `value` is what the call moved, when it did not fail. */
static void timed_end(uint64_t op, bool has_failed, int64_t value)
{
	timed_end_as(op, has_failed, UNLIKELY(has_failed) ? -(int64_t)errno : value, false);
}

/* The op's descriptor was known only after the call. */
static void timed_describe(uint64_t op, int fd)
{
	struct self *self = op ? hook_enter() : NULL;
	if (!self)
		return;
	op_set_descriptor(self, op, fd);
	self_leave(self);
}

/* The call moves bytes between its descriptor and this one. */
static void timed_other(uint64_t op, int fd)
{
	struct self *self = op ? hook_enter() : NULL;
	if (!self)
		return;
	op_set_other(self, op, fd);
	self_leave(self);
}

/* The kernel has read the path by now: it is there. */
static void timed_opened(uint64_t op, int fd, const char *path)
{
	if (fd < 0)
		return;
	descriptor_forget(fd);
	struct self *self = op ? hook_enter() : NULL;
	if (!self)
		return;
	descriptor_opened(self, fd, path);
	op_set_descriptor(self, op, fd);
	self_leave(self);
}

static void timed_accepted(uint64_t op, int fd)
{
	if (fd < 0)
		return;
	descriptor_forget(fd);
	struct self *self = hook_enter();
	if (!self)
		return;
	descriptor_accepted(self, fd);
	if (op)
		op_set_other(self, op, fd);
	self_leave(self);
}

/* Also when it has only begun to connect. */
static void timed_connected(uint64_t op, int fd, int result, const struct sockaddr *to,
			    socklen_t size)
{
	if (result != 0 && errno != EINPROGRESS && errno != EINTR)
		return;
	descriptor_forget(fd);
	struct self *self = hook_enter();
	if (!self)
		return;
	descriptor_connected(self, fd, to, size);
	op_set_descriptor(self, op, fd);
	self_leave(self);
}

/* A datagram has gone to this address, unless the socket has a peer. */
static void timed_sent(uint64_t op, int64_t result, const void *to, socklen_t size)
{
	if (result < 0 || !to)
		return;
	struct self *self = op ? hook_enter() : NULL;
	if (!self)
		return;
	op_set_peer(self, op, to, size);
	self_leave(self);
}

static void timed_sent_message(uint64_t op, int64_t result, const struct msghdr *message)
{
	if (result >= 0)
		timed_sent(op, result, message->msg_name, message->msg_namelen);
}

/* Of messages to several addresses none is said. */
static void timed_sent_messages(uint64_t op, int count, const struct mmsghdr *messages)
{
	for (int i = 1; i < count; i++) {
		const struct msghdr *first = &messages[0].msg_hdr, *other = &messages[i].msg_hdr;
		if (!first->msg_name || !other->msg_name ||
		    first->msg_namelen != other->msg_namelen ||
		    __builtin_memcmp(first->msg_name, other->msg_name, first->msg_namelen) != 0)
			return;
	}
	if (count > 0)
		timed_sent_message(op, count, &messages[0].msg_hdr);
}

/* A datagram came from this address, of which the kernel has written the first byte. */
static void timed_came(uint64_t op, int64_t result, const void *from, socklen_t size)
{
	if (result < 0 || !from || size == 0)
		return;
	struct self *self = op ? hook_enter() : NULL;
	if (!self)
		return;
	op_set_sender(self, op, from, size);
	self_leave(self);
}

/* Of messages from several addresses none is said. */
static void timed_came_messages(uint64_t op, int count, const struct mmsghdr *messages)
{
	if (count == 1)
		timed_came(op, count, messages[0].msg_hdr.msg_name,
			   messages[0].msg_hdr.msg_namelen);
}

/* A server has read a request: the first bytes say of which kind. The kernel has filled these parts
 * by now. */
static __attribute__((noinline, cold)) void timed_look_parts(uint64_t op, int64_t result,
							     const struct iovec *parts,
							     size_t count)
{
	struct self *self = op && result > 0 ? hook_enter() : NULL;
	if (!self)
		return;
	op_set_request(self, op, parts, count, (uint64_t)result);
	self_leave(self);
}

static __attribute__((noinline, cold)) void timed_look(uint64_t op, int64_t result, void *data)
{
	const struct iovec part = { data, (size_t)result };
	timed_look_parts(op, result, &part, 1);
}

static inline bool timed_looks(void)
{
	return UNLIKELY(__atomic_load_n(&recorder_peek, __ATOMIC_RELAXED) != 0);
}

static inline void timed_read(uint64_t op, int64_t result, void *data)
{
	if (timed_looks())
		timed_look(op, result, data);
}

static inline void timed_read_parts(uint64_t op, int64_t result, const struct iovec *parts,
				    int64_t count)
{
	if (timed_looks())
		timed_look_parts(op, result, parts, (size_t)count);
}

/* Bytes that stay to be read come again; with MSG_TRUNC, none may be where they should. */
static inline bool timed_has_taken(int flags)
{
	return !(flags & (MSG_PEEK | MSG_TRUNC | MSG_ERRQUEUE | MSG_OOB));
}

static inline void timed_received(uint64_t op, int64_t result, void *data, int flags)
{
	if (timed_looks() && timed_has_taken(flags))
		timed_look(op, result, data);
}

static inline void timed_received_from(uint64_t op, int64_t result, void *data, int flags,
				       const void *from, const socklen_t *size)
{
	if (result >= 0 && from && size)
		timed_came(op, result, from, *size);
	timed_received(op, result, data, flags);
}

static inline void timed_received_parts(uint64_t op, int64_t result, const struct msghdr *message,
					int flags)
{
	if (result >= 0)
		timed_came(op, result, message->msg_name, message->msg_namelen);
	if (timed_looks() && timed_has_taken(flags) && result > 0)
		timed_look_parts(op, result, message->msg_iov, message->msg_iovlen);
}

/* A queue of System V has messages of several types: who waits for one type waits for no other. */
static void timed_queued(uint64_t op, int64_t result, int queue, const void *message)
{
	if (result < 0)
		return;
	struct self *self = op ? hook_enter() : NULL;
	if (!self)
		return;
	struct hooks_name name = { .used = 0 };
	hooks_name_put(&name, "sysv queue ", (unsigned int)queue);
	hooks_name_put(&name, " type ", (unsigned long)*(const long *)message);
	op_set_ident(self, op, string_intern(name.bytes, name.used));
	self_leave(self);
}

/* Of several descriptors, this is the first that was ready. */
static void timed_ready(uint64_t op, int fd)
{
	struct self *self = op ? hook_enter() : NULL;
	if (!self)
		return;
	op_set_ready(self, op, fd);
	self_leave(self);
}

/* Other descriptors may have been ready, which the next call finds. */
static void timed_filled(uint64_t op, long result, int room)
{
	struct self *self = op && result > 0 && result >= room ? hook_enter() : NULL;
	if (!self)
		return;
	op_set_flags(self, op, RECORD_FULL);
	self_leave(self);
}

/* The kernel has read and written the set by now: it is there. */
static void timed_polled(uint64_t op, long result, const struct pollfd *set, nfds_t count)
{
	if (result >= 0 && count == 1) {
		timed_describe(op, set->fd);
		return;
	}
	nfds_t first = 0;
	while (result > 0 && first < count && set[first].revents == 0)
		first++;
	if (result > 0 && first < count)
		timed_ready(op, set[first].fd);
}

static unsigned long bits_at(const fd_set *set, int word)
{
	return set ? (unsigned long)set->fds_bits[word] : 0;
}

/*
 * The descriptors that the kernel left in the sets are ready, and there is at least one. So nothing
 * is read that it did not write, however large `count` is.
 */
static void timed_selected(uint64_t op, long result, int count, const fd_set *readable,
			   const fd_set *writable, const fd_set *urgent)
{
	for (int fd = 0; result > 0 && fd < count; fd += NFDBITS) {
		int word = fd / NFDBITS;
		unsigned long ready =
			bits_at(readable, word) | bits_at(writable, word) | bits_at(urgent, word);
		if (ready == 0)
			continue;
		timed_ready(op, fd + __builtin_ctzl(ready));
		return;
	}
}

/* Not when it was too short to have blocked. */
static void timed_end_brief(uint64_t op, bool has_failed, int64_t value)
{
	timed_end_as(op, has_failed, UNLIKELY(has_failed) ? -(int64_t)errno : value, true);
}

/* The call has its own way to say what went wrong: errno says nothing. */
static void timed_end_said(uint64_t op, bool has_failed, int64_t value)
{
	timed_end_as(op, has_failed, value, false);
}

/* By `result`, which is a number or an address; readdir() has none at the end. */
#define HAS_FAILED \
	_Generic(result, FILE * : !result, DIR * : !result, FTS * : !result, sem_t * : !result, \
		 char * : !result, default : (intptr_t)result < 0)

#define BODY(kind, type, symbol, parameters, arguments, fd, failed, value, before, after, end) \
	type hook_##symbol parameters                                                          \
	{                                                                                      \
		uint64_t op = timed_begin(KIND_##kind, CALL_##symbol, fd, CALLER);             \
		before;                                                                        \
		type result = real.symbol arguments;                                           \
		after;                                                                         \
		end(op, failed, value);                                                        \
		return result;                                                                 \
	}
#define TIMED_AROUND(kind, type, symbol, call, parameters, arguments, fd, value, before, after) \
	BODY(kind, type, symbol, parameters, arguments, fd, HAS_FAILED, value, before, after,   \
	     timed_end)
#define TIMED(kind, type, symbol, call, parameters, arguments, fd, value) \
	BODY(kind, type, symbol, parameters, arguments, fd, HAS_FAILED, value, , , timed_end)
#define TIMED_BRIEF(kind, type, symbol, call, parameters, arguments, fd, value) \
	BODY(kind, type, symbol, parameters, arguments, fd, HAS_FAILED, value, , , timed_end_brief)
#define TIMED_FAILS(kind, type, symbol, call, parameters, arguments, fd, failed) \
	BODY(kind, type, symbol, parameters, arguments, fd, failed, 0, , , timed_end_said)
#define TIMED_VOID(kind, symbol, call, parameters, arguments, fd)                  \
	void hook_##symbol parameters                                              \
	{                                                                          \
		uint64_t op = timed_begin(KIND_##kind, CALL_##symbol, fd, CALLER); \
		real.symbol arguments;                                             \
		timed_end(op, false, 0);                                           \
	}
#define GLOB(symbol)                                                                       \
	BODY(IO, int, symbol,                                                              \
	     (const char *pattern, int flags, int (*failed)(const char *, int), void *to), \
	     (pattern, flags, failed, to), -1, result != 0, 0, , , timed_end_said)
#define REALPATH(symbol)                                                                          \
	BODY(IO, char *, symbol, (const char *path, char *to), (path, to), -1, HAS_FAILED, 0, , , \
	     timed_end_brief)
GLOB(glob_old)
GLOB(glob)
GLOB(glob64_old)
GLOB(glob64)
REALPATH(realpath_old)
REALPATH(realpath)
#define STREAM(when, type, symbol, call, parameters, arguments, stream, quick, failed, value)
#include "hooks.def"

/* --- Not where a sanitizer looks on --- */

extern void __lsan_do_leak_check(void) __attribute__((weak));

/*
 * LeakSanitizer yields while it holds the world still. It takes every word on the yielding thread's
 * stack for a pointer in use: values that our frames left there hid leaks.
 */
int hook_sched_yield(void)
{
	bool is_recorded = !__lsan_do_leak_check;
	uint64_t op = is_recorded ? timed_begin(KIND_SLEEP, CALL_sched_yield, -1, CALLER) : 0;
	int result = real.sched_yield();
	timed_end_brief(op, result != 0, 0);
	return result;
}

/* --- What came is at the end of a pointer --- */

int hook_sigwait(const sigset_t *set, int *signal)
{
	uint64_t op = timed_begin(KIND_POLL, CALL_sigwait, -1, CALLER);
	int result = real.sigwait(set, signal);
	timed_end_said(op, result != 0, result == 0 ? *signal : 0);
	return result;
}

/* --- Only the program's memory --- */

int hook_mlockall(int flags)
{
	uint64_t op = timed_begin(KIND_IO, CALL_mlockall, -1, CALLER);
	int before = errno;
	int result = recorder_lock_all(flags, real.mlockall);
	if (result == 0)
		errno = before;
	timed_end_brief(op, result != 0, 0);
	return result;
}

/* --- These cannot fail: any number is a result --- */

uint32_t hook_arc4random(void)
{
	uint64_t op = timed_begin(KIND_IO, CALL_arc4random, -1, CALLER);
	uint32_t result = real.arc4random();
	timed_end_brief(op, false, sizeof(result));
	return result;
}

uint32_t hook_arc4random_uniform(uint32_t bound)
{
	uint64_t op = timed_begin(KIND_IO, CALL_arc4random_uniform, -1, CALLER);
	uint32_t result = real.arc4random_uniform(bound);
	timed_end_brief(op, false, sizeof(result));
	return result;
}

void hook_arc4random_buf(void *data, size_t size)
{
	uint64_t op = timed_begin(KIND_IO, CALL_arc4random_buf, -1, CALLER);
	real.arc4random_buf(data, size);
	timed_end_brief(op, false, (int64_t)size);
}

/* --- By syscall(): six arguments are passed on whatever the call takes --- */

#define RAW_BODY(kind, number, fd, value, before, after)                               \
	static long raw_##number(long a, long b, long c, long d, long e, long f)       \
	{                                                                              \
		uint64_t op = timed_begin(KIND_##kind, CALL_raw_##number, fd, CALLER); \
		before;                                                                \
		long result = real.syscall(SYS_##number, a, b, c, d, e, f);            \
		after;                                                                 \
		timed_end(op, result < 0, value);                                      \
		return result;                                                         \
	}
#define RAW_AROUND(kind, number, call, fd, value, after) RAW_BODY(kind, number, fd, value, , after)
#define RAW_BEFORE(kind, number, call, fd, before)       RAW_BODY(kind, number, fd, 0, before, )
#define RAW(kind, number, call, fd)                      RAW_BODY(kind, number, fd, result, , )
#include "hooks.def"

raw_call *const hooks_raw[RAW_NUMBERS] = {
	[SYS_futex] = hook_futex,
	[SYS_kill] = hook_raw_kill,
	[SYS_tkill] = hook_raw_tkill,
	[SYS_tgkill] = hook_raw_tgkill,
#define RAW(kind, number, call, fd) [SYS_##number] = raw_##number,
#include "hooks.def"
};

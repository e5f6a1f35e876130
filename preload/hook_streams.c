/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libc's streams: what it reads and writes for them inside itself, where no other hook sees it.
 *
 * A program may call getc() millions of times. A call that the stream's buffer serves goes straight
 * to libc, for the price of comparing two pointers. Any other call is an op. It leaves a record
 * when bytes moved between the buffer and the descriptor. It also leaves one when it took longer
 * than a call that did not block, as for a stream that another thread has locked. In between the op
 * is open, so that who is blocked is seen.
 *
 * The stream is read without its lock: a guess that is wrong costs a record more or less. Its
 * members are read only where libc's own macros would have read them before the call. Threads: any;
 * nothing is held across the real call, which may be left by cancellation.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "hooks.h"

/* The objects themselves: what a program has put into the variables is its own to free. */
extern FILE libc_stdout __asm__("_IO_2_1_stdout_");
extern FILE libc_stderr __asm__("_IO_2_1_stderr_");

/* --- What the buffer of a stream can serve --- */

static inline size_t bytes_buffered(const FILE *stream)
{
	return stream->_IO_read_ptr < stream->_IO_read_end
		       ? (size_t)(stream->_IO_read_end - stream->_IO_read_ptr)
		       : 0;
}

static inline bool has_buffered(const FILE *stream, size_t size, size_t count)
{
	size_t bytes;
	return !__builtin_mul_overflow(size, count, &bytes) && bytes <= bytes_buffered(stream);
}

/* A line that ends in the buffer, or fills the room of a call that stores a zero behind it. */
static inline bool has_line(const FILE *stream, int end, int room)
{
	size_t bytes = bytes_buffered(stream);
	size_t most = room > 0 ? (size_t)room - 1 : 0;
	if (most <= bytes)
		return true;
	return bytes > 0 && memchr(stream->_IO_read_ptr, end, bytes) != NULL;
}

static inline bool has_room(const FILE *stream, size_t size, size_t count)
{
	size_t bytes;
	return !__builtin_mul_overflow(size, count, &bytes) &&
	       stream->_IO_write_ptr < stream->_IO_write_end &&
	       bytes <= (size_t)(stream->_IO_write_end - stream->_IO_write_ptr);
}

static inline bool is_clean(const FILE *stream)
{
	return stream && stream->_IO_write_ptr <= stream->_IO_write_base &&
	       stream->_IO_read_ptr == stream->_IO_read_end;
}

/* The same of streams of wide characters: the beginning of what `_wide_data` points to, once the
 * stream is one. */
struct wide_buffer {
	const wchar_t *read_ptr;
	const wchar_t *read_end;
	const wchar_t *read_base;
	const wchar_t *write_base;
	const wchar_t *write_ptr;
	const wchar_t *write_end;
};

static inline const struct wide_buffer *wide_buffer(const FILE *stream)
{
	return stream->_mode > 0 ? (const struct wide_buffer *)stream->_wide_data : NULL;
}

static inline bool has_wide(const FILE *stream)
{
	const struct wide_buffer *wide = wide_buffer(stream);
	return wide && wide->read_ptr < wide->read_end;
}

static inline bool has_wide_room(const FILE *stream)
{
	const struct wide_buffer *wide = wide_buffer(stream);
	return wide && wide->write_ptr < wide->write_end;
}

static inline bool ferror_of(const FILE *stream)
{
	return (stream->_flags & _IO_ERR_SEEN) != 0;
}

/* --- The op --- */

enum stream_when { FILLED, READ, WROTE, BRIEF };

struct stream_op {
	uint64_t op;
	const FILE *stream; /* NULL = all of them */
	const char *read_end;
	int64_t buffered; /* bytes to read from the buffer */
	int64_t pending;  /* bytes written into it */
};

static inline int64_t bytes_pending(const FILE *stream)
{
	return stream->_IO_write_ptr - stream->_IO_write_base;
}

/* Of all streams, the one that most programs write to. */
static inline const FILE *stream_flushed(const FILE *stream)
{
	return stream || bytes_pending(&libc_stdout) <= 0 ? stream : &libc_stdout;
}

static void stream_begin(struct stream_op *now, enum call call, const FILE *stream,
			 struct caller caller)
{
	int fd = stream && stream->_fileno >= 0 ? stream->_fileno : -1;

	*now = (struct stream_op){ .stream = stream };
	if (UNLIKELY(__atomic_load_n(&recorder_port, __ATOMIC_RELAXED) != 0) && fd >= 0)
		recorder_note_descriptor(fd);
	struct self *self = hook_enter();
	if (!self)
		return;
	if (stream) {
		now->read_end = stream->_IO_read_end;
		now->buffered = (int64_t)bytes_buffered(stream);
		now->pending = bytes_pending(stream);
	}
	now->op = op_begin(self, KIND_IO, call, 0, fd, caller_stack(self, caller), caller.frame);
	self_leave(self);
}

/*
 * Bytes that went through the descriptor. Bytes that came out of the buffer or went into it, and
 * did not change how many lie there, have passed. Not known of formats that are read.
 */
static int64_t bytes_moved(const struct stream_op *now, enum stream_when when, int64_t value)
{
	if (!now->stream)
		return value;
	if (when == FILLED)
		return value + (int64_t)bytes_buffered(now->stream) - now->buffered;
	return when == WROTE ? value + now->pending - bytes_pending(now->stream) : 0;
}

static bool has_read(const struct stream_op *now)
{
	return now->buffered == 0 || now->stream->_IO_read_end != now->read_end ||
	       (int64_t)bytes_buffered(now->stream) > now->buffered;
}

static void stream_end(const struct stream_op *now, enum stream_when when, bool has_failed,
		       int64_t value)
{
	int64_t error = -(int64_t)errno;
	if (now->op == 0)
		return;
	int64_t bytes = bytes_moved(now, when, value);
	bool has_moved =
		when == FILLED || (when == WROTE && bytes > 0) || (when == READ && has_read(now));
	struct self *self = hook_enter_end(now->op, !has_failed && !has_moved);
	if (!self)
		return;
	if (has_failed)
		op_end(self, now->op, OUTCOME_ERROR, (uint64_t)error);
	else if (has_moved)
		op_end(self, now->op, OUTCOME_OK, (uint64_t)(bytes > 0 ? bytes : 0));
	else
		op_end_brief(self, now->op, OUTCOME_OK, 0);
	self_leave(self);
}

#define STREAM(when, type, symbol, call, parameters, arguments, stream, quick, failed, value) \
	type hook_##symbol parameters                                                         \
	{                                                                                     \
		if (quick)                                                                    \
			return real.symbol arguments;                                         \
		struct stream_op now;                                                         \
		stream_begin(&now, CALL_##symbol, stream, CALLER);                            \
		type result = real.symbol arguments;                                          \
		stream_end(&now, when, failed, (int64_t)(value));                             \
		return result;                                                                \
	}

/* A call of before the constructor, or the first one in a forked child, comes straight from
 * variadic.S. */
static inline void settle(void)
{
	if (hooks_need_set_up(true))
		hooks_set_up(true);
}

#define VARIADIC(when, type, symbol, call, form, parameters, last, arguments, stream, value) \
	type hook_##symbol parameters                                                        \
	{                                                                                    \
		struct stream_op now;                                                        \
		va_list list;                                                                \
		settle();                                                                    \
		stream_begin(&now, CALL_##symbol, stream, CALLER);                           \
		va_start(list, last);                                                        \
		type result = real.form arguments;                                           \
		va_end(list);                                                                \
		stream_end(&now, when, result < 0 && ferror_of(stream), (int64_t)(value));   \
		return result;                                                               \
	}
#define VARIADIC_OWN(type, symbol, call, parameters)
#include "hooks.def"

/*
 * libc is about to write the buffer's bytes, inside a call that is another thing, or none. An op
 * without a duration says that they went through the descriptor. It is said before the write: who
 * reads it may be done before this thread goes on.
 */
static void stream_flushes(const FILE *stream, struct caller caller)
{
	struct stream_op now;
	int64_t pending = bytes_pending(stream);
	if (pending <= 0)
		return;
	stream_begin(&now, CALL_fflush, stream, caller);
	now.stream = NULL;
	stream_end(&now, FILLED, false, pending);
}

void hooks_stream_ends(const FILE *stream, struct caller caller)
{
	stream_flushes(stream, caller);
	descriptor_forget(stream->_fileno);
}

void hooks_streams_end(struct caller caller)
{
	stream_flushes(&libc_stdout, caller);
	stream_flushes(&libc_stderr, caller);
}

/* The stream is gone afterwards. */
static int close_stream(FILE *stream, enum call call, int (*close)(FILE *), struct caller caller)
{
	struct stream_op now;
	stream_begin(&now, call, stream, caller);
	descriptor_forget(stream->_fileno);
	int64_t pending = bytes_pending(stream);
	int result = close(stream);
	bool has_failed = result < 0;
	now.stream = NULL;
	stream_end(&now, FILLED, has_failed, pending > 0 ? pending : 0);
	return result;
}

int hook_fclose(FILE *stream)
{
	return close_stream(stream, CALL_fclose, real.fclose, CALLER);
}

/* It says that all went well whatever happened; of no stream, too. */
int hook_endmntent(FILE *stream)
{
	return stream ? close_stream(stream, CALL_endmntent, real.endmntent, CALLER)
		      : real.endmntent(stream);
}

/* --- Without a stream: a descriptor, the system's log --- */

static uint64_t begin(enum call call, int fd, struct caller caller)
{
	settle();
	struct self *self = hook_enter();
	if (!self)
		return 0;
	uint64_t op =
		op_begin(self, KIND_IO, call, 0, fd, caller_stack(self, caller), caller.frame);
	self_leave(self);
	return op;
}

static int ended(uint64_t op, int result)
{
	int64_t error = -(int64_t)errno;
	struct self *self = hook_enter_end(op, false);
	if (self)
		op_end(self, op, result < 0 ? OUTCOME_ERROR : OUTCOME_OK,
		       (uint64_t)(result < 0 ? error : result));
	self_leave(self);
	return result;
}

int hook_dprintf(int fd, const char *format, ...)
{
	va_list list;
	uint64_t op = begin(CALL_dprintf, fd, CALLER);
	va_start(list, format);
	int result = real.vdprintf(fd, format, list);
	va_end(list);
	return ended(op, result);
}

int hook___dprintf_chk(int fd, int flag, const char *format, ...)
{
	va_list list;
	uint64_t op = begin(CALL_dprintf, fd, CALLER);
	va_start(list, format);
	int result = real.__vdprintf_chk(fd, flag, format, list);
	va_end(list);
	return ended(op, result);
}

void hook_syslog(int priority, const char *format, ...)
{
	va_list list;
	uint64_t op = begin(CALL_syslog, -1, CALLER);
	va_start(list, format);
	real.vsyslog(priority, format, list);
	va_end(list);
	ended(op, 0);
}

void hook___syslog_chk(int priority, int flag, const char *format, ...)
{
	va_list list;
	uint64_t op = begin(CALL_syslog, -1, CALLER);
	va_start(list, format);
	real.__vsyslog_chk(priority, flag, format, list);
	va_end(list);
	ended(op, 0);
}

void hook_warn(const char *format, ...)
{
	va_list list;
	uint64_t op = begin(CALL_warn, STDERR_FILENO, CALLER);
	va_start(list, format);
	real.vwarn(format, list);
	va_end(list);
	ended(op, 0);
}

void hook_warnx(const char *format, ...)
{
	va_list list;
	uint64_t op = begin(CALL_warnx, STDERR_FILENO, CALLER);
	va_start(list, format);
	real.vwarnx(format, list);
	va_end(list);
	ended(op, 0);
}

/* --- The lock of a stream --- */

/* The fields that libc keeps there. */
struct stream_lock {
	int state;
	int count;
	const void *owner;
};

void hook_flockfile(FILE *stream)
{
	const struct stream_lock *lock = (const struct stream_lock *)stream->_lock;
	if (__atomic_load_n(&lock->state, __ATOMIC_RELAXED) == 0 ||
	    __atomic_load_n(&lock->owner, __ATOMIC_RELAXED) == (const void *)pthread_self()) {
		real.flockfile(stream);
		return;
	}
	struct caller caller = CALLER;
	struct self *self = hook_enter();
	uint64_t wait = 0;
	if (self)
		wait = wait_begin(self, REASON_LOCK, CALL_flockfile, lock, 0,
				  caller_stack(self, caller), caller.frame);
	self_leave(self);
	real.flockfile(stream);
	self = wait ? hook_enter() : NULL;
	if (self)
		wait_end(self, wait, 0, 0);
	self_leave(self);
}

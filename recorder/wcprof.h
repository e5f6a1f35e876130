/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof.h: what a program can tell the wall-clock profiler about itself.
 *
 * Include it from C (C99 or later) or C++ (C++11 or later) on Linux; link with nothing. When the
 * program runs under wcprof, its words here are recorded beside the calls that are recorded anyway.
 * When it does not, each call is a load and a branch and does nothing. On other systems all of it
 * compiles to nothing.
 *
 *	void serve(struct request *request)
 *	{
 *		wcprof_op op = wcprof_begin("serve", request->url);
 *		...
 *		wcprof_end(op, request->failed ? WCPROF_ERROR : WCPROF_OK, 0);
 *	}
 *
 * Handles (wcprof_op, wcprof_wait) are numbers: nothing is allocated, nothing has to be freed. 0 is
 * the null handle. It is what a call returns when it records nothing, it may be given to every
 * call, and nothing happens then. A handle may be handed to other threads and be ended there. Two
 * threads must not change or end the same op at the same time. An op that has ended may still be
 * named as a parent, a target or one end of a link, until the program forks. A child begins with
 * nothing, and its parent's handles are null handles there.
 *
 * Strings belong to the caller, are copied before the call returns and may be null (no string).
 * They should be UTF-8; what comes after 1023 bytes is cut off. A recording holds some 65,000
 * different strings. So name classes after a few kinds of work. Give idents that repeat (a table, a
 * URL without its parameters) rather than a number for each request.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC. Nothing here fails visibly, changes errno, blocks or
 * allocates. Any thread may call anything. All but wcprof_flow_begin() and wcprof_flow_end() may be
 * called in signal handlers too: one that interrupted the profiler itself records nothing.
 */
#ifndef WCPROF_H
#define WCPROF_H

#include <stdint.h>

/* The kind of work that is done, from begin to end. */
typedef uint64_t wcprof_op;
/* A stretch of time in which an op could not go on. */
typedef uint64_t wcprof_wait;

/* Kinds of ops. USER is right for most; the others have their own rows and rules in reports. */
enum wcprof_kind {
	WCPROF_KIND_USER = 16,      /* whatever this program calls a piece of work */
	WCPROF_KIND_CALL = 1,       /* asks for a result: computed, shared with another, or found */
	WCPROF_KIND_CALL_EXEC = 2,  /* one computation that several calls may share */
	WCPROF_KIND_LAZY = 3,       /* a value that is computed when it is first needed */
	WCPROF_KIND_EXEC_PHASE = 4, /* a phase of the run of another program */
	WCPROF_KIND_EXEC = 5,       /* the run of another program */
	WCPROF_KIND_SERVICE_START = 6, /* until a service answers */
	WCPROF_KIND_SESSION_PHASE = 7, /* a phase of a session with a client */
	WCPROF_KIND_IO = 8,            /* input or output that is not a call that wcprof sees */
	WCPROF_KIND_INTERNAL = 9       /* overhead of the program's own */
};

/* How an op ended. */
enum wcprof_outcome {
	WCPROF_UNSAID = 0,       /* not said; the op keeps its hint */
	WCPROF_HIT = 1,          /* the result was there already */
	WCPROF_EXECUTED = 2,     /* it was computed */
	WCPROF_JOINED = 3,       /* another op was computing it, and this one waited for that */
	WCPROF_DO_NOT_CACHE = 4, /* it was computed and will not be kept */
	WCPROF_OK = 5,
	WCPROF_ERROR = 6,
	WCPROF_CANCELED = 7
};

/* The reason of a wait. */
enum wcprof_reason {
	WCPROF_FOR_CALL_EXEC = 1,    /* the computation of a call */
	WCPROF_FOR_SINGLEFLIGHT = 2, /* the same work, which another op does already */
	WCPROF_FOR_LAZY = 3,         /* a lazy value */
	WCPROF_FOR_SERVICE = 4,      /* a service */
	WCPROF_FOR_LOCK = 5,         /* a lock that wcprof does not know */
	WCPROF_FOR_EXEC = 6,         /* another program */
	WCPROF_FOR_IO = 7            /* input or output */
};

/* The meaning of a link. */
enum wcprof_link_kind {
	WCPROF_LINK_NESTED_CLIENT = 1, /* this op started the client (process) with that ident */
	WCPROF_LINK_RESULT = 2,        /* this op made that op's result */
	WCPROF_LINK_REUSED_RESULT = 3  /* this op uses the result of that op again */
};

#ifdef __cplusplus
extern "C" {
#endif

/* The library's side; programs call the functions below. A change of meaning is a change of
 * name. */
#ifdef WCPROF_IS_LIBRARY
#define WCPROF_SIDE __attribute__((visibility("default")))
#else
#define WCPROF_SIDE __attribute__((weak))
#endif

WCPROF_SIDE int wcprof_v1_enabled(void);
WCPROF_SIDE uint64_t wcprof_v1_now(void);
WCPROF_SIDE wcprof_op wcprof_v1_begin(wcprof_op, enum wcprof_kind, const char *, const char *);
WCPROF_SIDE void wcprof_v1_end(wcprof_op, enum wcprof_outcome, uint64_t);
WCPROF_SIDE void wcprof_v1_set_ident(wcprof_op, const char *);
WCPROF_SIDE void wcprof_v1_hint_outcome(wcprof_op, enum wcprof_outcome);
WCPROF_SIDE wcprof_op wcprof_v1_record(wcprof_op, enum wcprof_kind, const char *, const char *,
				       uint64_t, uint64_t, enum wcprof_outcome, uint64_t);
WCPROF_SIDE wcprof_wait wcprof_v1_wait(enum wcprof_reason, wcprof_op, const char *);
WCPROF_SIDE void wcprof_v1_wait_set_target(wcprof_wait, wcprof_op);
WCPROF_SIDE void wcprof_v1_wait_end(wcprof_wait);
WCPROF_SIDE void wcprof_v1_link(enum wcprof_link_kind, wcprof_op, wcprof_op, const char *);
WCPROF_SIDE void wcprof_v1_trace(const uint8_t *, const uint8_t *);
WCPROF_SIDE wcprof_op wcprof_v1_current(void);
WCPROF_SIDE void wcprof_v1_adopt(wcprof_op);
WCPROF_SIDE void wcprof_v1_leave(wcprof_op);
WCPROF_SIDE void wcprof_v1_flow_begin(void);
WCPROF_SIDE void wcprof_v1_flow_end(void);

/*
 * `call` is the library's function, null if there is none. The address comes out of the global
 * offset table. In a program that is not position-independent, a plain mention of a weak name is
 * bound to null for ever.
 */
#if defined(__ELF__) && defined(__x86_64__) && !defined(__ILP32__)
#define WCPROF_FIND(name)                                                                   \
	__typeof__(&wcprof_v1_##name) call;                                                 \
	__asm__(".weak wcprof_v1_" #name "\n\tmovq wcprof_v1_" #name "@GOTPCREL(%%rip), %0" \
		: "=r"(call))
#elif defined(__ELF__)
#define WCPROF_FIND(name) __typeof__(&wcprof_v1_##name) call = wcprof_v1_##name
#else
#define WCPROF_FIND(name) __typeof__(&wcprof_v1_##name) call = 0
#endif

/* Whether anything that this thread begins now would be recorded: 1 or 0. For what is costly to
 * prepare (an ident to be formatted); no call needs to be guarded by it. */
static __inline__ int wcprof_enabled(void)
{
	WCPROF_FIND(enabled);
	return call ? call() : 0;
}

/* The time, in nanoseconds of CLOCK_MONOTONIC, for wcprof_record(); 0 without the library. */
static __inline__ uint64_t wcprof_now(void)
{
	WCPROF_FIND(now);
	return call ? call() : 0;
}

/* --- Ops --- */

/*
 * An op of kind USER begins. This thread's work from now on belongs to it, until it ends or is
 * left. It belongs to the op that this thread was in before. `class_name` says what kind of work it
 * is: what-ifs are asked of classes. `ident` says which one. 0 when nothing is recorded.
 */
static __inline__ wcprof_op wcprof_begin(const char *class_name, const char *ident)
{
	WCPROF_FIND(begin);
	return call ? call(0, WCPROF_KIND_USER, class_name, ident) : 0;
}

/* The same with a kind, and with a parent, which may be another thread's; 0 = the current op. */
static __inline__ wcprof_op wcprof_begin_in(wcprof_op parent, enum wcprof_kind kind,
					    const char *class_name, const char *ident)
{
	WCPROF_FIND(begin);
	return call ? call(parent, kind, class_name, ident) : 0;
}

/* The op ends, on whatever thread. `result` is a number of the program's that names what came of it
 * (0 = none): ops with the same number had the same result. Ending it again does nothing. */
static __inline__ void wcprof_end(wcprof_op op, enum wcprof_outcome outcome, uint64_t result)
{
	WCPROF_FIND(end);
	if (call)
		call(op, outcome, result);
}

/* For what is not known at the beginning; until the op ends. */
static __inline__ void wcprof_set_ident(wcprof_op op, const char *ident)
{
	WCPROF_FIND(set_ident);
	if (call)
		call(op, ident);
}

/* How the op will have ended if its end does not say; until it ends. */
static __inline__ void wcprof_hint_outcome(wcprof_op op, enum wcprof_outcome outcome)
{
	WCPROF_FIND(hint_outcome);
	if (call)
		call(op, outcome);
}

/* An op that is over already, with the times at which it began and ended (wcprof_now()). */
static __inline__ wcprof_op wcprof_record(wcprof_op parent, enum wcprof_kind kind,
					  const char *class_name, const char *ident,
					  uint64_t start_ns, uint64_t end_ns,
					  enum wcprof_outcome outcome, uint64_t result)
{
	WCPROF_FIND(record);
	return call ? call(parent, kind, class_name, ident, start_ns, end_ns, outcome, result) : 0;
}

/* --- Handing work over --- */

/* The innermost op in which this thread is; the thread's own if the program began none. */
static __inline__ wcprof_op wcprof_current(void)
{
	WCPROF_FIND(current);
	return call ? call() : 0;
}

/* This thread works for `op` from now on, which some other thread began; until it ends or is left.
 * Several threads may work for one op. */
static __inline__ void wcprof_adopt(wcprof_op op)
{
	WCPROF_FIND(adopt);
	if (call)
		call(op);
}

/* This thread does no more for `op`, which goes on: the end of wcprof_adopt(), or the op was put
 * into a queue. Each thread that is in an op leaves it; what ends an op leaves it, too. */
static __inline__ void wcprof_leave(wcprof_op op)
{
	WCPROF_FIND(leave);
	if (call)
		call(op);
}

/* --- Waits: only for what wcprof cannot see itself; locks, conditions and calls are seen --- */

/* The current op waits for `target` to end, or to do what it is waiting for. */
static __inline__ wcprof_wait wcprof_wait_for(wcprof_op target, enum wcprof_reason reason)
{
	WCPROF_FIND(wait);
	return call ? call(reason, target, (const char *)0) : 0;
}

/* The current op waits for something with a name: a service, a resource, a queue. */
static __inline__ wcprof_wait wcprof_wait_for_name(const char *name, enum wcprof_reason reason)
{
	WCPROF_FIND(wait);
	return call ? call(reason, 0, name) : 0;
}

/* It has turned out which op lets it go on; until the wait ends. */
static __inline__ void wcprof_wait_set_target(wcprof_wait wait, wcprof_op target)
{
	WCPROF_FIND(wait_set_target);
	if (call)
		call(wait, target);
}

/* The wait is over, on whatever thread. Ending it again does nothing. */
static __inline__ void wcprof_wait_end(wcprof_wait wait)
{
	WCPROF_FIND(wait_end);
	if (call)
		call(wait);
}

/* --- Traces --- */

/*
 * This thread works for this span of this trace from now on, as W3C Trace Context has their ids: 16
 * and 8 bytes, the first digits first. The thread's events carry them. Null: no trace,
 * or no span. The ids stay until the next call on this thread, and are not handed on to other
 * threads. A call while nothing is recorded is lost; make it again for the next request. A program
 * whose tracer publishes its ids by OpenTelemetry's record for threads need not call this.
 */
static __inline__ void wcprof_trace(const uint8_t *trace_id, const uint8_t *span_id)
{
	WCPROF_FIND(trace);
	if (call)
		call(trace_id, span_id);
}

/* --- Links and flows --- */

/* Ties `from` (0 = the current op) to another op, to an ident, or to both. */
static __inline__ void wcprof_link(enum wcprof_link_kind kind, wcprof_op from, wcprof_op to,
				   const char *ident)
{
	WCPROF_FIND(link);
	if (call)
		call(kind, from, to, ident);
}

/*
 * This thread's work from here to wcprof_flow_end() is recorded even while recording is off for the
 * rest of the process. That is for the one request in a thousand that is to be looked at. Pairs
 * nest. Threads that adopt an op that began in a flow are in it for as long as they work for that
 * op. The first one in a process takes some milliseconds. Not in signal handlers.
 */
static __inline__ void wcprof_flow_begin(void)
{
	WCPROF_FIND(flow_begin);
	if (call)
		call();
}

static __inline__ void wcprof_flow_end(void)
{
	WCPROF_FIND(flow_end);
	if (call)
		call();
}

#undef WCPROF_FIND
#undef WCPROF_SIDE

#ifdef __cplusplus
}
#endif

#endif

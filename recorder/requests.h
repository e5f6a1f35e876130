/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request that a thread is at, its age, and the lengths of the last requests. Followed only
 * while a condition (condition.h) asks for them.
 *
 * A served request begins when a thread has read from a client's connection. It ends with the last
 * write to it before the next read. `wcprof top` has it so, too; the analyzer's begins sooner, when
 * it had arrived. A marked request is an op of kind `user` (wcprof.h) with none around it. A thread
 * is at the marked one that it works for, else at the one that it has read or answered last:
 *
 *	- it turns to another one with a read or a write there;
 *	- it leaves one that was answered when it polls or waits for work;
 *	- it leaves any with a wait of an event loop (epoll), as it may go on with anything then.
 *
 * So a thread that works on a request which another one has read is at none before it answers. The
 * same goes for an event loop that waits for somebody else in the middle of one. Marks tell.
 *
 * Lengths are counted by their logarithms: 32 steps to a doubling. When REQUESTS_HALVED_AT are
 * counted all counts are halved, so that the last ones decide.
 *
 * Any thread, also in a signal handler; nothing here uses vector registers (vectors.h). Counts are
 * added to by any thread, relaxed. While they are halved, some additions are lost.
 */
#ifndef WCPROF_REQUESTS_H
#define WCPROF_REQUESTS_H

#include "self.h"
#include "text.h"

enum request_kind { REQUESTS_SERVED, REQUESTS_MARKED, REQUEST_KINDS };

/* A request that a thread is at. */
struct request_now {
	uint64_t begun_ticks; /* 0: it is at none */
	enum request_kind kind;
};

enum {
	REQUESTS_HALVED_AT = 8192,
	/* Beyond a percentile there must be so many, or it is not known. */
	REQUESTS_BEYOND_LEAST = 5,
	REQUESTS_PERMILLE = 1000
};

/* Those that ask, each with a bit. */
enum { REQUESTS_FOR_SAMPLES = 1, REQUESTS_FOR_PROBES = 2 };

/* 0: nobody asks. Else it changes whenever they are followed anew. */
extern uint32_t requests_followed HIDDEN;
static inline bool requests_are_followed(void)
{
	return UNLIKELY(load_relaxed(&requests_followed) != 0);
}

/* The control thread's. False: there is no memory, and no served request will be known. */
bool requests_follow(uint32_t who, bool is_wanted) HIDDEN;

/* While they are followed. An op of input or output, or a poll, ends. */
void requests_note_call(struct self *, const struct record *, int64_t value,
			uint64_t now_ticks) HIDDEN;
/* A wait for anything but a lock ends. */
void requests_note_wait(const struct self *) HIDDEN;
/* An op that the program declared has ended. */
void requests_note_declared(const struct record *) HIDDEN;

/* That of the calling thread. */
struct request_now requests_now(const struct self *) HIDDEN;

/* How many have ended since they are followed; changes with each, and never goes back. */
uint32_t requests_ended(enum request_kind) HIDDEN;
/* The percentile of their lengths, in ticks; 0: too few have ended. */
uint64_t requests_percentile(enum request_kind, uint32_t permille) HIDDEN;

/* Adds what is known of them, as members of a JSON object, each after a comma. */
void requests_put_status(struct text *) HIDDEN;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions on what a thread is in at the moment: when samples are taken, and which calls of a
 * probed function are recorded.
 *
 *	request           it is at a request (requests.h)
 *	request>10ms      that is older than so much; ns, us, ms or s
 *	request>p95       that is older than so many in a hundred take, of late
 *	op:PATTERN        it is in a call of a probed function, or an op that the program declared
 *	class:PATTERN     the same, or in a call, or has a lock, of that name
 *	lock              it has a lock
 *	lock:PATTERN      of that name ("mutex server+0x40c0", or without its type) or address
 *	lock@SITE         that was taken in a call of a function, or at a line, FILE:LINE
 *
 * All must hold that are joined by " and " or by a comma. Locks are those whose holds are recorded.
 * A name is that of the recorder: it knows no functions' names, and no callers. Where the code of a
 * site is, the command says (probe_sites() of cmd/probe_spec.h).
 *
 * Parsed by the command and in the target; judged on the thread itself, in a signal handler too.
 * Nothing there uses vector registers (vectors.h).
 */
#ifndef WCPROF_CONDITION_H
#define WCPROF_CONDITION_H

#include "requests.h"
#include "text.h"

enum {
	CONDITION_BYTES = 128, /* of the text, with its end */
	CONDITION_NAME_BYTES = 64,
	CONDITION_TERMS_MAX = 4,
	CONDITION_SITES_MAX = 16, /* pieces of code */
	CONDITION_WHY_BYTES = 256 /* enough for each reason */
};

enum condition_type {
	CONDITION_REQUEST,
	CONDITION_OP,
	CONDITION_CLASS,
	CONDITION_LOCK,
	CONDITION_SITE
};

/* Where the code of the site is, in the process. */
struct condition_sites {
	uint64_t count;
	struct condition_range {
		uint64_t low, high;
	} ranges[CONDITION_SITES_MAX];
};

struct condition_term {
	enum condition_type type;
	uint32_t permille; /* of a request: that percentile; 0: none */
	uint64_t least_ns; /* the same: at least so old */
	uint64_t least_ticks;
	char pattern[CONDITION_NAME_BYTES]; /* "": any */
	/* The percentile, and how many requests had ended then. Any thread's, relaxed: one or the
	 * other thread looks once more than it need. */
	uint64_t known_ticks[REQUEST_KINDS];
	uint32_t known_at[REQUEST_KINDS];
};

struct condition {
	uint32_t count; /* 0: it always holds */
	struct condition_term terms[CONDITION_TERMS_MAX];
	struct condition_sites sites; /* none are known after it was parsed */
};

/* False: it is none; `why`, if not NULL, says where and what it may be. */
bool condition_parse(const char *text, size_t bytes, struct condition *, struct text *why) HIDDEN;
/* Before it is judged, where the clock is known. */
void condition_settle(struct condition *) HIDDEN;
/* The site that it asks for; NULL: for none. It has one at most. */
const char *condition_site(const struct condition *) HIDDEN;
/* Whether it asks for requests, so that they are to be followed. */
bool condition_asks_for_requests(const struct condition *) HIDDEN;

/* LATER: if its request goes on until it is old enough. */
enum condition_verdict { CONDITION_NO, CONDITION_LATER, CONDITION_YES };

/* Of the calling thread; `now_ticks` 0: the clock is read if it matters. `request` is what it is
 * at. */
enum condition_verdict condition_judge(struct condition *, const struct self *, uint64_t now_ticks,
				       struct request_now *request) HIDDEN;
/* Whether the request of a verdict LATER is old enough by now, or was when it ended. */
bool condition_is_reached(struct condition *, struct request_now request,
			  uint64_t now_ticks) HIDDEN;

#endif

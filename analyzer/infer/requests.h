/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests of a recording: what somebody asked for and waited for until it was answered.
 *
 * A request begins and ends where an op begins or ends, perhaps of another thread; the replay notes
 * when it comes by. An unfinished one has no end there, and counts until the end of the run. Built
 * once, read-only afterwards.
 */
#ifndef WCPROF_REQUESTS_H
#define WCPROF_REQUESTS_H

#include "asking.h"
#include "exchanges.h"
#include "flows.h"
#include "recording/classes.h"
#include "recording/timeline.h"
#include "traces.h"

enum { REQUESTS_LEAST = 2 /* one alone has no percentiles */ };

/* How a request is known, the surest first. */
enum request_source {
	REQUEST_MARKED, /* the program says so: an outermost op of kind user that takes time, as a
			 * mark that a thread comes by does not */
	REQUEST_TRACED, /* all that threads of all processes did for one trace, by its id */
	REQUEST_ASKED,  /* an exchange on a connection, from the question's write to the answer */
	REQUEST_SERVED, /* the same at the end that serves, from the question's arrival */
	REQUEST_JOB,    /* through a pipe to whoever reads first, until that one reads again */
	REQUEST_PROBED, /* an outermost call of a function that is probed, with all its calls */
	REQUEST_LOCK    /* where there is nothing else: the lock most waited for, until it is had */
};

/* Its times are as recorded. */
struct request {
	uint32_t class; /* of the op that it begins with */
	enum request_source source;
	uint64_t taken_ns;   /* end_ns - start_ns */
	uint64_t start_ns;   /* it had arrived by then */
	uint64_t end_ns;     /* of an unfinished one the end of the recording */
	uint64_t early_ns;   /* it arrived no sooner; start_ns if it is known when it arrived */
	uint32_t op;         /* that it begins with */
	uint32_t thread;     /* of this op, NO_INDEX = the dump names no threads */
	uint32_t connection; /* string id: the ident of its end of the connection, 0 = none */
	uint32_t ordinal;    /* among the requests of this end, from 0 */
	uint32_t kind;       /* string id: "GET /users"; 0 = not known, nobody peeked */
	enum exchange_sharing sharing; /* of an exchange: whether it may have several in it */
	uint32_t within;               /* requests in it, of a batch about; 0 = one */
	uint32_t of; /* index of the same one at the other end of the connection, or NO_INDEX */
	struct rec_ids ids; /* the first trace and span that its thread works for in it */
	bool is_unfinished;
	bool is_left_out; /* nothing is judged by it, as by those of other kinds */
	/* asked by a process that serves others, perhaps on their behalf; or served, where the one
	 * that asks is recorded, too */
	bool is_part;
};

/* When in an op. */
enum stamp_point {
	STAMP_BEGIN,  /* of a hold: its thread comes for the lock */
	STAMP_GAINED, /* of a hold: its thread has the lock */
	STAMP_END
};

/* Where a stamp is taken: stamp 2r at the begin of request r, 2r + 1 at its end. */
struct stamp_place {
	uint32_t op;
	uint32_t stamp;
	enum stamp_point point;
};

struct requests {
	struct request *requests;
	size_t count;
	struct stamp_place *places; /* by op, each in order of points */
	size_t place_count;
	uint8_t *has_places; /* a bit an op */
	struct traces traces;
	/* Hypotheses are judged by these; NO_INDEX = there are no requests. Of served and of traced
	 * ones all count, and this is the class of most of their time. */
	uint32_t judged_class;
	enum request_source judged_source;
	bool judged_is_part;
	size_t judged_count;
	struct asking asking; /* when a server was asked them; nothing of a program that is none */
};

void requests_build(struct requests *requests, const struct recording *recording,
		    const struct class_table *classes, const struct flows *flows,
		    const struct timeline *timeline);
void requests_free(struct requests *requests);

/* Finds those that are a part of others, or the same seen from the other end. */
void requests_find_parts(struct requests *requests, const struct recording *recording);

/* Served to a client that is not recorded, or is another process. */
bool request_is_of_others(const struct requests *requests, const struct recording *recording,
			  const struct request *request);

/* Chooses by which requests hypotheses are judged: of the kinds that are wanted, a flag for each
 * string; NULL: of any kind. */
void requests_judge(struct requests *requests, uint32_t class_count, const bool *is_wanted);

/* In order, as requests_places() needs it; after any of them was moved. */
void requests_sort_places(struct requests *requests);

/* The stamps to be taken at a point of an op. */
const struct stamp_place *requests_places(const struct requests *requests, uint32_t op,
					  enum stamp_point point, size_t *count);

bool request_is_judged(const struct requests *requests, const struct request *request);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a server was asked: from the arrival of the first request to the last answer, and the pauses
 * between, in which nobody asked. A client that had connected by then, and was not accepted yet,
 * is part of it from its connecting on.
 *
 * Before and after that time a server starts, waits for clients, and is stopped. That tells nothing
 * of its requests. Pure functions. Any thread.
 */
#ifndef WCPROF_ASKING_H
#define WCPROF_ASKING_H

#include "recording/recording.h"

/* A request, from its arrival to its answer. */
struct asking_span {
	uint64_t start_ns;
	uint64_t end_ns;
};

struct asking {
	uint64_t from_ns;
	uint64_t to_ns;
	uint64_t paused_ns; /* of that time */
	size_t pause_count;
};

/* Sorts the requests. False: there are too few of them to be a load. */
bool asking_measure(struct asking *, struct asking_span *requests, size_t count);

/* Of what came through accepted connections. False: too little did. A question that the recording's
 * end left open lasts until then. */
bool asking_find(struct asking *, const struct recording *);

#endif

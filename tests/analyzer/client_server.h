/* SPDX-License-Identifier: Apache-2.0 */
/* A server whose clients are not recorded, for the tests of what is made up of them. */
#ifndef WCPROF_TESTS_CLIENT_SERVER_H
#define WCPROF_TESTS_CLIENT_SERVER_H

#include "sketch.h"

/* A call of the server on a connection that it accepted. */
static inline uint32_t served_call(struct sketch *sketch, uint32_t thread, const char *call,
				   const char *connection, uint64_t bytes, double from_ms,
				   double to_ms)
{
	uint32_t op = sketch_op(sketch, KIND_IO, call, thread, from_ms, to_ms);

	sketch->rec.ops[op].ident = sketch_string(sketch, connection);
	sketch->rec.ops[op].outcome = OUTCOME_OK;
	sketch->rec.extras[op].amount = bytes;
	sketch->rec.extras[op].accepted = true;
	sketch->rec.extras[op].fd = 5;
	return op;
}

/* Reads from one time to another, and has worked and answered so long after. */
static inline void served_request(struct sketch *sketch, uint32_t thread, const char *connection,
				  double from_ms, double to_ms, double work_ms)
{
	served_call(sketch, thread, "read", connection, 10, from_ms, to_ms);
	sketch_io(sketch, thread, "work", "file /x", 1, to_ms, to_ms + work_ms);
	served_call(sketch, thread, "write", connection, 20, to_ms + work_ms,
		    to_ms + work_ms + 0.5);
}

/* A poll that found so many descriptors. */
static inline void served_poll(struct sketch *sketch, uint32_t thread, uint64_t found,
			       double from_ms, double to_ms)
{
	uint32_t op = sketch_op(sketch, KIND_POLL, "epoll_wait", thread, from_ms, to_ms);

	sketch->rec.extras[op].amount = found;
	sketch->rec.extras[op].fd = 3;
}

#endif

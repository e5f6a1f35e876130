/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes, datagrams, messages of queues, signals of eventfds, and connections that went from one
 * recorded thread to another.
 *
 * A flow is one direction of one pipe or connection, one eventfd, or all that comes to one address,
 * queue or listener. It is known by what the recorder says of the descriptors at both ends. Built
 * once, read-only afterwards.
 */
#ifndef WCPROF_FLOWS_H
#define WCPROF_FLOWS_H

#include "recording/recording.h"

/* A transfer has so many of these. */
enum flow_unit { FLOW_BYTES, FLOW_MESSAGES, FLOW_SIGNALS, FLOW_CONNECTIONS };

struct transfer {
	uint64_t bytes; /* or so many of the flow's unit */
	/* a read that waited: from the write that it waited for to its return */
	uint64_t latency_ns;
	uint64_t first_ns; /* a read: when the write of its first byte began */
	uint64_t offset;   /* of its flow, what went before it in the same direction */
	uint32_t flow;
	bool is_write;
	bool has_waited; /* for bytes (read) or for room (write) */
	bool has_woken;  /* the other end had waited for it */
	bool is_rest;    /* a read of a message that its thread has begun to read */
};

struct flow {
	uint64_t capacity; /* in its unit, 0 = no limit known */
	enum flow_unit unit;
	bool is_gathered; /* a read takes what is there: it waits for the first of what it took */
	bool is_shared;   /* several threads read: what follows a read is a job */
	bool is_whole;    /* all that its transfers read was written in the recording */
	/* Its readers write to it: bytes are permits, of which so many were there at the start. */
	bool is_given_back;
	uint64_t initial;
};

struct flows {
	struct transfer *transfers;
	size_t transfer_count;
	struct flow *flows;
	size_t flow_count;
	uint32_t *transfer_of; /* by op index, NO_INDEX = not of a flow that is whole */
	uint32_t *other_of;    /* the same, of the second descriptor of an op that has two */
	/* By op: the end of a connection is one byte more. Closing it is a write of that, and
	 * finding the end a read. */
	uint32_t *end_of;
};

/* Of a descriptor's description: a pipe, with a name or without. */
static inline bool flow_is_pipe(const char *ident)
{
	return strncmp(ident, "pipe:", 5) == 0 || strncmp(ident, "fifo ", 5) == 0;
}

enum flow_direction { FLOW_NONE, FLOW_READ, FLOW_WRITE };

/* Which way a call moves bytes, by its name. */
enum flow_direction flow_direction_of(const char *call);
/* The same of the second descriptor of a call that has two. */
enum flow_direction flow_other_direction_of(const char *call);

void flows_build(struct flows *, const struct recording *);
void flows_free(struct flows *);

#endif

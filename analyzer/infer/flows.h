/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that went from one recorded thread to another: through pipes and stream sockets.
 *
 * A flow is one direction of one pipe or connection, known by what the recorder says of the
 * descriptors at both ends. Built once, read-only afterwards.
 */
#ifndef WCPROF_FLOWS_H
#define WCPROF_FLOWS_H

#include "recording/recording.h"

struct transfer {
	uint64_t bytes;
	/* a read that waited: from the write that it waited for to its return */
	uint64_t latency_ns;
	uint64_t first_ns; /* a read: when the write of its first byte began */
	uint32_t flow;
	bool is_write;
	bool has_waited; /* for bytes (read) or for room (write) */
	bool has_woken;  /* the other end had waited for it */
};

struct flow {
	uint64_t capacity; /* bytes, 0 = no limit known */
	bool is_shared;    /* several threads read: what follows a read is a job */
	bool is_whole;     /* every byte that was read was written in the recording */
};

struct flows {
	struct transfer *transfers;
	size_t transfer_count;
	struct flow *flows;
	size_t flow_count;
	uint32_t *transfer_of; /* by op index, NO_INDEX = not of a flow that is whole */
	uint32_t *other_of;    /* the same, of the second descriptor of an op that has two */
};

enum flow_direction { FLOW_NONE, FLOW_READ, FLOW_WRITE };

/* Which way a call moves bytes, by its name. */
enum flow_direction flow_direction_of(const char *call);

void flows_build(struct flows *, const struct recording *);
void flows_free(struct flows *);

#endif

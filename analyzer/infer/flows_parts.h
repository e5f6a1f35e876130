/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files that find flows; flows.h has the contract.
 */
#ifndef WCPROF_FLOWS_PARTS_H
#define WCPROF_FLOWS_PARTS_H

#include "flows_names.h"

/* An end of an op in a flow. */
struct side {
	uint64_t at_ns;  /* write: its beginning; read: its end */
	uint64_t amount; /* in the flow's unit */
	uint32_t op;
	uint32_t flow;
	enum flow_unit unit;
	bool is_write;
	bool is_other; /* the second descriptor of the op's */
	bool is_look;  /* it found nothing to read when it began */
};

/*
 * flows_messages.c. Of one flow of messages, in order of time: only what was both sent and read
 * stays, and the rest is taken out. Returns how many sides are left.
 */
size_t flow_messages_match(struct flow *, const struct recording *, struct side *, size_t count);

/* flows_connections.c. The same of the connections to one address. False: it cannot be told, as an
 * accept() does not say what it got. */
bool flow_connections_match(const struct flow_names *, struct side *, size_t *count);

/* flows_permits.c, of all sides of one flow. Whether its bytes are taken and given back; how many
 * were there at the start. */
bool flows_is_given_back(const struct recording *, const struct side *, size_t count);
uint64_t flows_deficit(const struct side *, size_t count);

/* flows_rests.c. Of one flow of bytes that several threads read: which of its transfers, one for
 * each side, go on with a message. */
void flow_rests_find(const struct recording *, const struct side *, size_t count,
		     struct transfer *);

/*
 * flows_messages.c. The same of a flow of bytes that was recorded from the middle on, or by one end
 * before the other. Where that does not explain it, nothing is taken out. `is_whole`: no read ran
 * ahead of the writes.
 */
size_t flow_bytes_match(const struct recording *, struct side *, size_t count, bool is_whole);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions and answers on connections: stream sockets, tcp and unix, and sockets for datagrams.
 *
 * One end of a connection asks, the other one serves. An exchange is a question with its answer, at
 * one end of its connection. All threads and processes that use this end count. Of a connection
 * whose ends are both recorded each exchange is there twice, once for each end.
 *
 * Built once, read-only afterwards.
 */
#ifndef WCPROF_EXCHANGES_H
#define WCPROF_EXCHANGES_H

#include "flows_carriers.h"

/* Reasons why an exchange may have more than one request in it. */
enum exchange_sharing {
	EXCHANGE_PLAIN,     /* nothing says that it has more */
	EXCHANGE_BATCH,     /* it was longer than its first request */
	EXCHANGE_PIPELINED, /* it was asked before the one before it was answered */
	EXCHANGE_HIDDEN,    /* encrypted: nobody knows */
	EXCHANGE_STREAMS    /* of a connection on which requests overlap, as of HTTP/2 */
};

struct exchange {
	uint32_t connection; /* string id: the ident of its end */
	uint32_t first_op;   /* that reads, or of who asks writes, the question's first bytes */
	uint32_t last_op;    /* of the answer; NO_INDEX = there was none by the recording's end */
	uint32_t ordinal;    /* at its end, from 0 */
	uint32_t of;         /* index of the same one at the other end, or NO_INDEX */
	uint32_t kind;       /* string id: of the first read that tells it; 0 = not known */
	uint32_t within;     /* requests in it, of a batch about */
	enum exchange_sharing sharing;
	bool is_served; /* its end serves */
	/* It had arrived when this op began or ended, and arrived no sooner than early_ns. */
	uint32_t arrival_op;
	bool is_at_end;
	uint64_t start_ns;
	uint64_t early_ns;
};

struct exchanges {
	struct exchange *exchanges;
	size_t count;
	bool *is_of_end; /* by op: it is of a connection that is looked at here */
};

void exchanges_build(struct exchanges *, const struct recording *, const struct flows *,
		     const struct carriers *);
void exchanges_free(struct exchanges *);

#endif

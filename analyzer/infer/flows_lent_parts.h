/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by flows_lent.c (which connections are lent, and to whom) and flows_lent_move.c (their
 * flows, written anew). Private to them.
 */
#ifndef WCPROF_FLOWS_LENT_PARTS_H
#define WCPROF_FLOWS_LENT_PARTS_H

#include "flows_lent.h"
#include "recording/addresses.h"

/* One direction of a connection, by flow. */
struct direction {
	uint32_t first; /* transfer; they are in a row, in order of time */
	uint32_t count;
	uint32_t reader; /* a thread, NO_INDEX = none or several */
	uint32_t writer;
	uint32_t back;    /* flow: of the answers, NO_INDEX = not known */
	uint32_t pool;    /* of questions: number of the pool that it is in, NO_INDEX = of none */
	bool has_several; /* threads that ask */
	bool is_one_of_several; /* connections of a thread */
	bool is_lent;
};

/* A question with its answer; or the end of the connection, which has none. */
struct loan {
	uint32_t flow; /* of the connection's questions */
	uint32_t asker;
	uint32_t write;   /* transfer: the first one of the question, and */
	uint32_t read;    /* the first one that reads it */
	uint32_t message; /* transfer: its write, and next the read */
	uint64_t asked_ns;
	uint64_t read_ns; /* UINT64_MAX = not yet */
	uint64_t left[2]; /* bytes of the question, of the answer, that were not read yet */
	bool is_answered;
	bool is_end;
	bool is_lent;
};

struct lending {
	const struct recording *rec;
	struct flows *flows;
	uint32_t *op_of;              /* by transfer, NO_INDEX = of a second descriptor */
	struct direction *directions; /* by flow */
	uint32_t *loan_of;            /* by transfer, NO_INDEX = of none */
	struct loan *loans;           /* connection by connection, in order of time */
	size_t loan_count;
	size_t loan_capacity;
	struct addresses pools; /* process that asks, and server */
};

/* flows_lent_move.c. Gives each loan its flows, and each pool that of its messages. */
void flows_lent_move(struct lending *);

#endif

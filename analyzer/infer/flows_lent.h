/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections that threads borrow from a pool.
 *
 * Several threads ask a server by a few connections, each by one that is free. At the other end a
 * thread serves each connection. In another run a thread gets another connection, and is served by
 * the thread behind that. So a question belongs to whoever of the server's threads is free, and the
 * answer to the question, not to the connection.
 *
 * Each question with its answer gets flows of its own. Before it goes a message that any of the
 * server's threads may read: what follows is a job, as with connections that are accepted.
 *
 * One thread.
 */
#ifndef WCPROF_FLOWS_LENT_H
#define WCPROF_FLOWS_LENT_H

#include "flows.h"

/* Rewrites the flows of such connections: transfers move, so their indices change. */
void flows_lend(struct flows *, const struct recording *);

#endif

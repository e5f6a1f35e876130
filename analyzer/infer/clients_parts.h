/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files that make up clients; clients.h has the contract.
 */
#ifndef WCPROF_CLIENTS_PARTS_H
#define WCPROF_CLIENTS_PARTS_H

#include "clients.h"
#include "recording/addresses.h"

/* A server's end of a connection whose other end is missing. */
struct client_end {
	uint32_t ident;
	uint32_t peer; /* the address that datagrams come from; string id, 0 = a stream's */
};

struct client_ends {
	const struct recording *rec;
	struct client_end *ends; /* by connection */
	size_t count;
	size_t room;
	uint32_t *of_stream;      /* by ident: connection, NO_INDEX = none of a client */
	struct addresses senders; /* of datagrams: server's ident, and address */
	size_t first_sender;      /* its connection; the others' come next */
};

/* A call of a server that moved bytes. */
struct served {
	uint64_t at_ns; /* write: its beginning; read: its end */
	uint32_t op;
	uint32_t connection;
	bool is_write;
};

/* A client sends or gets so many bytes at once. */
struct doing {
	/* A send: when it came, between the earliest and latest times at which it can have. An
	 * answer: all of it was there by then. */
	uint64_t at_ns;
	uint64_t due_ns; /* a send: when it would have come without awaiting the answer before */
	uint64_t answered_ns; /* a send: when its client had the answer before, 0 = there is none */
	uint64_t early_ns;
	uint64_t late_ns;
	uint64_t work_ns; /* a send: of the one thread that all clients are */
	uint64_t bytes;
	uint32_t messages; /* 0 = one, or a stream's bytes */
	uint32_t op;       /* of the server: the first read, or the last write, or the accept */
	uint32_t found_by; /* a send: the poll, NO_INDEX = none */
	uint32_t connection;
	bool is_send;
	bool is_connect; /* instead; `op` accepts it then */
	bool is_exact;   /* a send: the server was waiting for it, and it came at its latest time */
	bool is_near;    /* a send: the server did little else since its earliest time */
	bool is_queued;  /* a send: by that thread, when its turn has come */
	bool is_first;   /* a send: behind an answer, or of its connection */
	bool is_new;     /* a send: of an address that sent nothing before */
};

/* When a send or connect was is known, about. */
static inline bool clients_is_known(const struct doing *send)
{
	return send->is_exact || send->is_near;
}

/* The nearest time within bounds. */
static inline uint64_t clients_within(uint64_t ns, uint64_t least_ns, uint64_t most_ns)
{
	return ns < least_ns ? least_ns : ns > most_ns ? most_ns : ns;
}

/* Of all clients, connection by connection, in order. */
struct doings {
	const struct recording *rec;
	const struct client_end *ends; /* by connection */
	size_t connection_count;
	uint32_t *client_of; /* by connection */
	size_t client_count;
	struct doing *list;
	size_t count;
};

/* A connection, from its first doing to its last. */
struct span {
	uint64_t start_ns;
	uint64_t end_ns;
	size_t first; /* doing */
};

/* clients_ends.c. Finds them; the recording must outlive them. */
void client_ends_find(struct client_ends *, const struct recording *);
void client_ends_free(struct client_ends *);
/* The connection that an op moved bytes of; NO_INDEX = it did not. */
uint32_t client_ends_connection(const struct client_ends *, uint32_t op);
/* One more of the same ident. Returns its number. */
uint32_t client_ends_add(struct client_ends *, uint32_t like);

/* clients_recorded.c. A connection through a path, named by its server's end. */
bool clients_is_unix(const char *ident);

/* clients_recorded.c. Makes the recording with the clients in it. */
void clients_record(struct clients *, const struct doings *, const struct class_table *);

/* Polls that found something, by thread, then end. */
struct clients_polls {
	const struct recording *rec;
	uint32_t *polls; /* ops */
	size_t count;
};

/* clients.c. The place of the last poll of a thread that had returned by then; SIZE_MAX = none. */
size_t clients_poll_before(const struct clients_polls *, uint32_t thread, uint64_t until_ns);

/* A read by a thread that did not poll for it. */
struct handed_read {
	uint64_t after_ns; /* the last doing on its connection before */
	uint64_t start_ns;
	uint32_t process;
	uint32_t number;
};

/* clients_handed.c. By a read's number: the poll of another thread that found it. Reads of which
 * none is known are left out. The reads are put in order. */
void clients_hand(const struct clients_polls *, struct handed_read *, size_t count,
		  uint32_t *poll_of);

/* clients_connects.c. Calls are connection by connection, in order. Those behind a close of what
 * the call before them used get connections of their own, which are put behind the others. */
void clients_split(struct client_ends *, struct served *, size_t count);

/* An accept of a connection that no bytes went through. */
struct knock {
	uint32_t accept; /* op */
	uint32_t like;   /* a connection of the same port */
	bool is_waiting; /* it was there at the end, and its server had not come to it */
};

/* clients_accepts.c. An accept that found a connection. */
bool clients_is_accept(const struct recording *, uint32_t op);

/* A socket at which connections are accepted. */
bool clients_is_listening(const char *ident);

/* clients_accepts.c. By connection: the accept that it came about by, NO_INDEX = none is known.
 * The first call that moved bytes through each began at that time. Returns the number of accepts
 * that are left, a list that the caller frees. */
size_t clients_accepts_find(const struct client_ends *, const uint64_t *first_ns,
			    uint32_t *accept_of, struct knock **knocks);

/* clients_connects.c. Whose each connection is, and when a client came for its next one. Returns
 * the number of clients. */
size_t clients_connect(struct clients *, struct clients_wanted, const struct doings *);

/* clients_bound.c. Number of connections that would have come while most were open, had they come
 * by themselves as often as others. Spans are of all connections, by start. */
double clients_missing(const struct doings *, const struct span *);

/* clients_times.c. Half of the values lie within it; 0 for none. They are put in another order. */
uint64_t clients_spread_ns(uint64_t *values_ns, size_t count);

/* clients_times.c. From what is known of their times: the sort of clients, and when each question
 * came. Doings are connection by connection, in order. */
void clients_time(struct clients *, const struct recording *, struct clients_wanted, struct doing *,
		  size_t count);

/* Pairs of questions of which the one with the later answer came first; and how many would have,
 * had each client thought for itself. */
struct overtakes {
	double expected;
	double seen;
};

/* clients_order.c. By the order within polls, where that tells. Doings are connection by
 * connection, in order. */
struct overtakes clients_turned(const struct recording *, const struct doing *, size_t count);

/* clients_queue.c. Finds what is at the other end, from the time that they usually think. True: one
 * thread, whose sends have their times then, and its work. By a timetable sends are off by so much
 * on average; INFINITY: there is none. */
bool clients_queue(struct clients *, const struct recording *, struct doing *, size_t count,
		   double table_off_ns);

#endif

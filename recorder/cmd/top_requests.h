/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests, as the program marks them (top_marks.h), or as the calls of a server show them. Those
 * are slow that took longer than 95 of 100 of their kind did in the last seconds.
 *
 * As in the analyzer, the surest source counts, and no other: marks, once two of a kind were seen.
 *
 * A served request begins when a server has read the first bytes of a question on a connection that
 * it accepted. It ends with the last write there before the next question. So time in the kernel's
 * queues before that is not in it. Calls, waits and samples of the thread that serves it are its
 * parts. A thread serves the connection that it read from last.
 *
 * One thread.
 */
#ifndef WCPROF_TOP_REQUESTS_H
#define WCPROF_TOP_REQUESTS_H

#include "top_stacks.h"

enum {
	TOP_REQUESTS_MAX = 65536, /* the last ones, of which percentiles are made */
	TOP_ENOUGH = 50           /* of fewer of a kind none is slow; of calls, too */
};

enum top_source { TOP_SERVED, TOP_MARKED };

/* Time of threads for a request, as far as it was seen. */
enum { TOP_WORK_STACKS = 24 }; /* stacks: what comes later is in the parts alone */
struct top_work_piece {
	uint32_t number; /* of a stack */
	float ns;
};
struct top_work {
	uint64_t parts_ns[TOP_PARTS];
	uint64_t generation; /* of the stacks' numbers */
	uint32_t piece_count;
	struct top_work_piece pieces[TOP_WORK_STACKS];
};

struct top_request {
	uint64_t end_ns;
	uint64_t taken_ns;
	uint64_t parts_ns[TOP_PARTS]; /* the rest is code and the run queue */
	uint64_t op;                  /* of a marked one */
	uint32_t ident;               /* connection, or which one; string */
	uint32_t kind;                /* string, 0 = not known; of a marked one its class */
	uint32_t thread;
	int32_t fd;
	bool is_slow;
	bool is_running; /* not answered yet: it has taken so long until now */
};

struct top_connection;
struct top_threshold;
struct top_first;

struct top_requests {
	struct top_request *ring;
	uint64_t count; /* all that ever ended */
	struct top_connection *connections;
	uint32_t connection_count; /* idents below have been seen */
	uint32_t *descriptors;     /* by descriptor: the connection that it is, 0 = none */
	struct top_threshold *thresholds;
	enum top_source source;   /* of those in the ring */
	struct top_first *firsts; /* of marks, while the other source counts */
	size_t first_count;
	double by_second[TOP_SHARES][TOP_SECONDS];
	double taken_ns[TOP_SHARES][TOP_SECONDS];
};

/* False: there is no memory. */
bool top_requests_begin(struct top_requests *);
void top_requests_end(struct top_requests *);

/* Time of a thread, of a stack with that number: a part, or a sample's. */
void top_work_add(struct top_work *, const struct top_stacks *, enum top_part, uint32_t number,
		  double ns);
void top_work_join(struct top_work *, const struct top_stacks *, const struct top_work *from);

/* One of that class that the program marks was seen: of two the source is marks from now on.
 * Requests of the other source are forgotten then. */
void top_requests_mark(struct top_requests *, struct top_stacks *, uint32_t kind, uint64_t second);
/* One has ended. It is left out if its source is not the one that counts. The first mark of a class
 * counts when there is a second one. */
void top_requests_add(struct top_requests *, struct top_stacks *, enum top_source,
		      struct top_request, const struct top_work *, uint64_t second);
/* A call on a connection, by a thread. True: the thread serves that connection from now on. */
bool top_requests_look_at(struct top_requests *, struct top_stacks *, const struct record *,
			  uint32_t thread, bool is_write, uint64_t second);
/* Time of the thread that serves the connection `ident`, from a record: which is a part if it is
 * one, else a sample's. `number`: its stack's, as top_stacks_find() has it. */
void top_requests_part(struct top_requests *, const struct top_stacks *, uint32_t ident,
		       const struct record *, enum top_part, uint32_t number, double ns);
/* It is so late: requests that were answered have ended. */
void top_requests_tick(struct top_requests *, struct top_stacks *, uint64_t now_ns,
		       uint64_t second);
/* That second begins anew. */
void top_requests_clear(struct top_requests *, uint64_t second);
/* Beyond that a request of the kind is slow; 0 = too few were seen. */
uint64_t top_requests_threshold_ns(const struct top_requests *, uint32_t kind);

/* Those that ended since then, the slowest first; the caller frees the list. */
struct top_request *top_requests_list(const struct top_requests *, uint64_t since_ns,
				      size_t *count);
/* Served ones that are not answered yet, likewise. One whose connection was closed meanwhile is
 * there, too, until top_requests_forget() or until its descriptor is seen as another one. */
struct top_request *top_requests_running(const struct top_requests *, uint64_t now_ns,
					 size_t *count);
void top_requests_forget(struct top_requests *, uint32_t ident);
/* The slowest first. */
int top_requests_compare(const void *left, const void *right);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by exchanges.c (questions and answers) and its parts. exchanges_ends.c has the ends of
 * connections, and their roles; exchanges_shared.c which of them may have several questions at
 * once; exchanges_arrivals.c when a question was there.
 */
#ifndef WCPROF_EXCHANGES_PARTS_H
#define WCPROF_EXCHANGES_PARTS_H

#include "exchanges.h"

enum end_role { ROLE_UNKNOWN, ROLE_ASKS, ROLE_SERVES };

enum end_event_sort {
	END_READ,
	END_WRITTEN,
	END_EMPTY, /* a read that found nothing */
	END_CLOSED /* by one of the processes that have it */
};

struct end_event {
	uint64_t at_ns; /* a write's begin, a read's end */
	uint32_t op;
	uint32_t end;
	enum end_event_sort sort;
	bool is_other; /* through the second descriptor of the op's */
};

struct connection_end {
	uint32_t ident;
	uint32_t peer;   /* index of the other end, NO_INDEX = not recorded */
	bool is_crowded; /* other connections have the same ident */
	bool is_closed;  /* that was its last event */
	enum end_role role;
	/* by the first words of what it read */
	enum exchange_sharing sharing;
	uint32_t shared_kind; /* string id: of all its exchanges; 0 = each has its own */
	size_t first_event;
	size_t event_count;
};

struct connection_ends {
	struct connection_end *ends;
	size_t count;
	struct end_event *events; /* end by end, in order of time */
	size_t event_count;
};

/* exchanges_ends.c */
void connection_ends_build(struct connection_ends *, const struct recording *,
			   const struct flows *);
void connection_ends_free(struct connection_ends *);

/* exchanges_shared.c. Fills what the first words say of the ends. */
void connection_ends_share(struct connection_ends *, const struct recording *);
/* The kind of what an op read: the messages of an encrypted connection itself, which are none. */
bool is_kind_of_none(const struct recording *, uint32_t kind);

/* exchanges_arrivals.c. The polls of a recording, to find those that found a question. */
struct arrival_polls;
struct arrival_polls *arrival_polls_new(const struct recording *);
void arrival_polls_free(struct arrival_polls *);
/* Of a served exchange: fills when it arrived. `before_ns`: when its end was used last, 0 = never.
 */
void arrival_find(const struct arrival_polls *, const struct connection_end *, struct exchange *,
		  uint64_t before_ns);

#endif

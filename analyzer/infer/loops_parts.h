/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by loops.c (the whole, and where loops end) and its parts. loops_sources.c finds which
 * connections a loop has, loops_timers.c timers of its own, loops_turns.c what it does for each.
 * Private to them.
 */
#ifndef WCPROF_LOOPS_PARTS_H
#define WCPROF_LOOPS_PARTS_H

#include "loops.h"

#include "recording/addresses.h"

enum event_sort {
	EVENT_POLL,
	EVENT_TRANSFER,
	EVENT_CONNECT,
	EVENT_CALL,   /* any other op */
	EVENT_SHARED, /* a wait or a signal */
};

/* Of a thread that polls. */
struct loop_event {
	uint64_t at_ns;
	uint32_t op;       /* of a shared one: a wait or a link */
	uint32_t transfer; /* of a read or a write */
	enum event_sort sort;
	bool is_held; /* the thread has a lock: it is in the middle of something */
	bool is_idle; /* a signal that does nothing */
	/* Of a write, or a connect, at a timer's end: since its connection was left; 0 = none. Of a
	 * connect that is the connection before, a source. */
	uint64_t timer_ns;
	uint32_t before;
};

/* By flow, while loops are being found. */
struct loop_flow {
	uint32_t reader;     /* a thread that polls, NO_INDEX = none */
	uint32_t turn;       /* event: the last turn in which it was read */
	uint32_t own;        /* of a written one: the source of the same socket, NO_INDEX = none */
	uint32_t owner;      /* of a written one: the source that it belongs to, NO_INDEX = none */
	uint32_t writes;     /* turns in which it was written after few reads */
	uint32_t own_writes; /* and its own source was read before, or none */
	uint64_t left_ns;    /* when its loop last turned away from it; 0 = never */
	bool is_polled;
	uint32_t next_ended; /* flow: the next one that its loop closed; NO_INDEX = none */
	bool is_ended;       /* closed so far, while timers are looked for */
	bool is_visited;
	bool is_barred; /* threads read it that do not poll, or that are a pool */
};

/* Of a thread. */
struct habits {
	uint32_t writes; /* in turns, to its connections; and such as are answers to their own */
	uint32_t own_writes;
	uint32_t prompt_count; /* answers before the next event of the turn */
	uint32_t put_off_count;
	uint32_t room_count; /* polls behind which it writes first; and of these that took longer */
	uint32_t room_late_count;
	bool puts_off;
	bool has_bell;
	bool has_groups; /* turns of several events, which show what is done once a turn: */
	bool has_own_work;
	bool has_shared_work; /* some of that concerns others */
	uint32_t visited;     /* the flow of the last visit so far, NO_INDEX = none */
	uint64_t checked_ns;  /* the end of its last poll so far: timers that were due then ran */
	uint32_t timer_poll;  /* op: a poll that ended with a timer, if the thread has timers */
	uint32_t timed_connects;
	uint32_t prompt_connects; /* in a turn in which a connection was closed */
	uint32_t first_ended; /* flow: closed, and no connection came after it; NO_INDEX = none */
	uint32_t last_ended;
};

struct finding {
	struct loops *loops;
	const struct recording *rec;
	const struct flows *flows;
	const bool *puts;          /* by op */
	struct loop_event *events; /* thread by thread */
	size_t event_count;
	size_t event_capacity;
	size_t *first; /* by thread */
	struct loop_flow *of_flow;
	uint32_t *parent;       /* by thread: towards the one that stands for the loop */
	struct habits *habits;  /* by thread */
	uint32_t *opener;       /* by string: the source at which a socket was named first */
	uint32_t *source_of;    /* by string: of a socket, NO_INDEX = none */
	struct addresses sites; /* calls, by name and stack */
	bool *is_of_event;      /* by site: it is called between two events of a turn */
	size_t site_capacity;
	struct addresses pairs; /* a written flow and a source that was read before it */
	uint32_t *pair_writes;
	size_t pair_capacity;
	size_t visit_capacity;
	struct timed_write *timed_writes; /* thread by thread, in order */
	size_t timed_write_count;
	size_t timed_write_capacity;
};

static inline bool is_read(const struct finding *finding, const struct loop_event *event)
{
	return event->sort == EVENT_TRANSFER &&
	       !finding->flows->transfers[event->transfer].is_write;
}

static inline struct loop_flow *flow_of(const struct finding *finding,
					const struct loop_event *event)
{
	return &finding->of_flow[finding->flows->transfers[event->transfer].flow];
}

/* The poll at `from`, and what comes after it. */
static inline size_t turn_end(const struct finding *finding, size_t from, size_t end)
{
	for (from++; from < end && finding->events[from].sort != EVENT_POLL;)
		from++;
	return from;
}

static inline bool is_source(const struct finding *finding, const struct loop_flow *flow)
{
	return flow->is_polled && finding->loops->loop_of_thread[flow->reader] != NO_INDEX;
}

static inline uint32_t thread_of(const struct finding *finding, size_t event)
{
	return finding->rec->ops[finding->events[event].op].thread;
}

/* loops_turns.c. Does that for each turn, with its poll and its end; no flow has been in a turn
 * before. */
void loops_turns_do(struct finding *, void (*)(struct finding *, size_t from, size_t to));

/* loops_sources.c. Collects the events of threads that poll; finds the loops, their sources, and
 * the source of each write. */
void loops_events_find(struct finding *, const struct timeline *);
void loops_sources_find(struct finding *);

/* loops_timers.c. Writes that a timer of the loop let go. */
void loops_timers_find(struct finding *);

/* loops_turns.c. The source of which an event may begin a visit; NO_INDEX = none. */
uint32_t loops_source_of(const struct finding *, const struct loop_event *);

/* Finds the work that loops do once a turn; then adds the visits of a turn. */
void loops_habits_find(struct finding *);
void loops_turn_visit(struct finding *, size_t from, size_t to);
uint32_t loops_visit_add(struct finding *, const struct visit *);

#endif

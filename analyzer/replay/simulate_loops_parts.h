/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by simulate_loops.c (a run) and simulate_loops_find.c (what there is for all runs).
 * Private to them. One thread a simulation.
 */
#ifndef WCPROF_SIMULATE_LOOPS_PARTS_H
#define WCPROF_SIMULATE_LOOPS_PARTS_H

#include "simulate_parts.h"

/* A connection of a loop. */
struct source {
	uint32_t flow;
	uint32_t loop;
	uint32_t next_of_flow; /* source: of another loop that accepts from the same listener */
	uint32_t first;        /* of its visits, in their order */
	uint32_t count;
	/* The rest is of a run. */
	uint32_t done;
	uint32_t next;   /* source, in the queue that it is in */
	bool is_ready;   /* in a queue */
	bool is_visited; /* a thread is at it */
	bool is_early;   /* data are there, for a visit behind the next barrier */
	bool is_armed;   /* its timer is among those of the loop */
	uint64_t due_ns; /* when the timer of its next visit has run */
};

/* The visits behind a barrier, up to the next one. */
struct stretch {
	uint32_t step; /* of the barrier */
	uint32_t first;
	uint32_t end;
};

/* A visit of a source. */
struct planned_visit {
	uint64_t needed;        /* so much must be there; 0: it needs nothing */
	uint32_t step;          /* in the script */
	uint32_t job;           /* must be done; NO_INDEX = none */
	uint32_t stretch : 29;  /* of its thread, from 0 */
	uint32_t is_accept : 1; /* of the connection with this number, from 1 */
	uint32_t is_put_off : 1;
	uint32_t is_timed : 1; /* the next step is its timer, from the end of the visit before */
};

/* Work that a thread does when nothing has come for some time. */
struct planned_tick {
	uint64_t after_ns; /* the thread came to its stretch */
	uint32_t step;     /* NO_INDEX = it was left out */
	uint32_t stretch;
};

/* Sources in a row, as they were put there. */
struct source_queue {
	uint32_t first; /* NO_INDEX = there is none */
	uint32_t last;
	uint32_t count;
};

struct loop {
	bool is_pinned;
	bool is_shared; /* by several threads */
	/* The rest is of a run. */
	struct queue sleepers;
	struct source_queue ready;
	struct agenda timers; /* of sources, by number */
	uint32_t stretch;
	uint32_t left; /* visits of the stretch that have not begun */
	uint32_t early_count;
	uint64_t since_ns;  /* it sleeps although a source is early; UINT64_MAX = it does not */
	uint64_t waited_ns; /* so, in all */
};

/* A thread of a loop. */
struct looper {
	uint32_t loop;       /* NO_INDEX = it is none, or keeps the recorded order */
	uint32_t first_turn; /* of its own work, by turn */
	uint32_t turn_count;
	uint32_t first_tick;
	uint32_t tick_count;
	uint32_t visits_stretch; /* in a shared loop: the only one with visits */
	/* The rest is of a run. */
	uint32_t stretch;
	uint32_t visited;  /* source, NO_INDEX = none */
	uint32_t to_visit; /* events of this turn that are left */
	uint32_t turns;
	uint32_t ticks;
	uint64_t entered_ns; /* its stretch; UINT64_MAX = it has not come to the loop */
	bool is_in_turn;     /* events were visited, and its own work is to be done */
	struct source_queue put_off;
};

struct event_loops {
	struct loop *loops;
	size_t loop_count;
	struct source *sources;
	size_t source_count;
	uint32_t *source_of_flow;   /* the first one; NO_INDEX = of no loop */
	struct planned_visit *plan; /* by source, in its order */
	uint32_t *source_of_job;    /* that has an answer which needs it; NO_INDEX = none has */
	uint32_t *in_step_order;    /* sources of visits, stretch by stretch */
	struct stretch *stretches;  /* actor by actor; the first one of each has no barrier */
	uint32_t *first_stretch;    /* by actor, and one more */
	uint32_t *turn_steps;       /* work of turns, actor by actor; NO_INDEX = a turn had none */
	struct planned_tick *ticks; /* actor by actor */
	struct looper *loopers;     /* by actor */
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finite CPUs, each with a queue of its own, as Linux has them. An actor that runs keeps its CPU
 * for a slice. A thread that wakes waits until it is its turn there, and a CPU with nothing to do
 * fetches from the others now and then.
 *
 * The other model of CPUs beside crowd.h, with the same questions and one more. An actor that has
 * run what it had to stays on its CPU until it says that it goes to sleep. One thread; each
 * simulation has its own.
 */
#ifndef WCPROF_RUNQUEUES_H
#define WCPROF_RUNQUEUES_H

#include "base/assumptions.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The scheduler's view of an actor. Times are of the actor's own clock, which runs while the actor
 * does, the slower the more weight it has. */
struct runner {
	double virtual_ns;
	double deadline_ns;   /* its slice ends there */
	double lag_ns;        /* asleep: how far it was behind the average (> 0: it is owed) */
	double left_ns;       /* to run */
	uint64_t since_ns;    /* on a CPU: accounted for until then */
	uint64_t last_ran_ns; /* waiting: left the CPU then */
	uint64_t queued_ns;   /* waiting: since then, in this queue */
	double weight;
	uint32_t cpu;       /* NO_INDEX = was on none yet */
	uint32_t waker_cpu; /* from which it was woken; NO_INDEX = by a timer */
	bool is_queued;
	bool is_pulled; /* goes to that CPU next, even if it is not idle */
	bool is_asleep; /* in the queue all the same: it ran more than its share */
	bool is_on;
};

struct runqueue {
	uint32_t *waiting; /* actors, in no order */
	uint32_t count;
	uint32_t current;  /* actor, NO_INDEX = idle */
	uint64_t end_ns;   /* when that has run what it had to; UINT64_MAX = idle */
	double average_ns; /* of the virtual times of all that are here, if it is not stale */
	/* Sums over those that wait, in their order, and the first deadline of them. */
	double waiting_ns;
	double waiting_weight;
	double waiting_deadline_ns;
	bool is_sum_stale; /* work these out when somebody asks, as somebody has left; */
	bool is_stale;     /* the average */
	bool is_slice_over;
};

struct runqueues {
	struct runqueue *cpus;
	uint32_t cpu_count;
	struct runner *runners; /* by actor */
	size_t actor_count;
	double speed;    /* of each CPU: below 1 when others use them too */
	double slice_ns; /* run of an actor while others wait */
	uint64_t now_ns;
	uint64_t next_ns;    /* cached answer, 0 = look it up */
	uint64_t period_ns;  /* of the timer */
	uint64_t tick_ns;    /* cached: the timer's next tick, if that is after now_ns */
	bool has_weights;    /* of other than 1 */
	bool keeps_hot;      /* no CPU takes an actor that has just been running on another one */
	uint32_t cache_cpus; /* CPUs of one cache, in a row; 0 = all share it */
	uint32_t running;    /* actors that are queued or on a CPU with something to run */
	uint32_t counted;    /* number of the first actors, whose time in queues is added up */
	uint64_t waited_ns;  /* that sum */
};

/* How long an actor runs while others wait. */
static inline double runqueues_slice_ns(const struct runqueues *queues, const struct runner *runner)
{
	return queues->slice_ns / runner->weight;
}

/* An actor has waited in a queue, and leaves it. */
static inline void runqueues_add_wait(struct runqueues *queues, uint32_t actor)
{
	const struct runner *runner = &queues->runners[actor];

	if (actor < queues->counted && !runner->is_asleep)
		queues->waited_ns += queues->now_ns - runner->queued_ns;
}

/* When the timer ticks next. */
static inline uint64_t runqueues_tick_ns(struct runqueues *queues)
{
	if (queues->now_ns >= queues->tick_ns)
		queues->tick_ns = (queues->now_ns / queues->period_ns + 1) * queues->period_ns;
	return queues->tick_ns;
}

/* Room for so many actors on so many CPUs, at most. */
void runqueues_make(struct runqueues *, size_t actors, double cpus);
void runqueues_free(struct runqueues *);
void runqueues_reset(struct runqueues *, double cpus, uint64_t tick_ns);

/* Nice threads weigh less: 1.0 for nice 0. Before the actor runs first. */
void runqueues_weigh(struct runqueues *, uint32_t actor, double weight);

static inline bool runqueues_is_on(const struct runqueues *queues, uint32_t actor)
{
	return queues->runners[actor].is_on;
}

/* At now_ns, not before any earlier call's: this actor has so much to run. */
void runqueues_enter(struct runqueues *, uint64_t now_ns, uint32_t actor, double run_ns);

/* An actor that is asleep is woken by another one, on whose CPU it is to queue. */
void runqueues_pull(struct runqueues *, uint32_t actor, uint32_t waker);

/* The actor is woken from its waker's CPU. */
void runqueues_woken(struct runqueues *, uint32_t actor, uint32_t waker);

/* Where an actor that wakes goes; the weight of all that are in a queue: for runqueues.c. */
struct runqueue *runqueues_queue_for(struct runqueues *, const struct runner *);
double runqueues_load_of(const struct runqueues *, const struct runqueue *);

/* runqueues_happen() would let this actor on next, which has come to a CPU just now. */
bool runqueues_is_first(const struct runqueues *, uint32_t actor);

/*
 * An actor that is on a CPU and goes on at once, run after run, while nothing else happens on any
 * CPU. The same as runqueues_enter() and runqueues_happen() for each run, but the queues are told
 * at runqueues_ahead_end(). They must not be asked until then.
 */
struct run_ahead {
	struct runner *runner;
	double speed;
	double slice_ns;
	uint64_t now_ns;
	uint64_t before_ns; /* then something else happens */
	bool has_run;       /* and the queues do not know it yet */
	bool is_slice_over;
	bool may_sleep; /* nobody waits for a CPU: its own will be idle until it comes back */
};

void runqueues_ahead_begin(struct runqueues *, struct run_ahead *, uint32_t actor);
void runqueues_ahead_end(struct runqueues *, struct run_ahead *);

/* Up to the whole nanosecond; none for what is over. Times are far below 2^63, and signed ones are
 * converted in one instruction. */
static inline uint64_t runqueues_whole_ns(double ns)
{
	int64_t cut_ns = ns > 0 ? (int64_t)ns : 0;

	return (uint64_t)(cut_ns + ((double)cut_ns < ns));
}

/* False: something else happens before its end, or it is after until_ns; nothing has been done. */
static inline bool runqueues_ahead_run(struct run_ahead *ahead, uint64_t run_ns, uint64_t until_ns)
{
	struct runner *runner = ahead->runner;
	uint64_t length_ns =
		ahead->speed < 1 ? runqueues_whole_ns((double)run_ns / ahead->speed) : run_ns;
	uint64_t end_ns = ahead->now_ns + length_ns;
	double ran_ns = (double)(int64_t)length_ns * ahead->speed;

	if (end_ns >= ahead->before_ns || end_ns > until_ns)
		return false;
	ahead->now_ns = end_ns;
	ahead->has_run = true;
	runner->virtual_ns += runner->weight == 1.0 ? ran_ns : ran_ns / runner->weight;
	if (runner->virtual_ns >= runner->deadline_ns) {
		runner->deadline_ns = runner->virtual_ns + ahead->slice_ns;
		ahead->is_slice_over = true;
	}
	return true;
}

/* It gives its CPU away, and has it again at that time: the same as runqueues_off(),
 * runqueues_enter() and runqueues_happen(). False: something else happens until then. */
static inline bool runqueues_ahead_sleep(struct run_ahead *ahead, uint64_t to_ns, uint64_t until_ns)
{
	struct runner *runner = ahead->runner;

	if (!ahead->may_sleep || to_ns >= ahead->before_ns || to_ns >= until_ns)
		return false;
	runner->lag_ns = 0;
	runner->last_ran_ns = ahead->now_ns;
	runner->deadline_ns = runner->virtual_ns + ahead->slice_ns;
	ahead->now_ns = to_ns;
	ahead->has_run = true;
	ahead->is_slice_over = false;
	return true;
}

/* It goes to sleep: it gives its CPU away. */
void runqueues_off(struct runqueues *, uint64_t now_ns, uint32_t actor);

/* For runqueues_next_ns(): looks it up anew. */
uint64_t runqueues_look(struct runqueues *);

/* When something happens next; UINT64_MAX = nothing. */
static inline uint64_t runqueues_next_ns(struct runqueues *queues)
{
	if (!queues->running)
		return UINT64_MAX;
	return queues->next_ns ? queues->next_ns : runqueues_look(queues);
}

/* Lets it happen. Returns who has run what it had to, and stays on its CPU; NO_INDEX: nobody. */
uint32_t runqueues_happen(struct runqueues *);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What simulate.c (whose turn it is, and runs from start to end), simulate_steps.c (what steps do
 * that concern others) and simulate_locks.c have in common. Private to them.
 */
#ifndef WCPROF_SIMULATE_PARTS_H
#define WCPROF_SIMULATE_PARTS_H

#include "base/assumptions.h"
#include "crowd.h"
#include "machine.h"
#include "replayer.h"
#include "runqueues.h"
#include "script/script.h"

struct queue {
	uint32_t first; /* actor, NO_INDEX = empty */
	uint32_t last;
};

struct lock {
	struct queue sleepers; /* mutex; rwlock: writers */
	struct queue readers;
	uint32_t owner; /* actor, NO_INDEX = free */
	uint32_t reader_count;
	bool was_slept_on;
	bool is_shared; /* an rwlock */
};

struct tokens {
	struct queue sleepers;
	uint32_t count;
	bool is_open;   /* its gate was opened */
	uint64_t taken; /* in batches */
};

struct permits {
	struct queue sleepers;
	uint32_t count;
	uint32_t owed; /* claimed before they were there */
};

struct meeting {
	struct queue sleepers;
	uint32_t count;
};

/* A flow: bytes on their way. */
struct channel {
	struct queue readers;
	struct queue writers;
	uint64_t written;
	uint64_t claimed; /* bytes that reads have come for, in order */
	uint64_t received;
};

/* What an actor took at once, against what it had taken in the recording when it did the same. */
struct batch {
	const struct batch_cost *cost_of; /* by scope; NULL: it took one, or nothing */
	double items;
	double recorded_items;
};

struct player {
	uint64_t needed; /* in a read: bytes to have been written; in a write: bytes left */
	uint64_t now_ns;
	uint64_t tried_ns; /* when it tried a lock in vain last */
	uint64_t finish_ns;
	uint32_t step;
	uint32_t next; /* in the queue that it sleeps in */
	struct queue joiners;
	struct batch batch;
	bool is_started;
	bool is_done;
	bool is_granted; /* what it slept for is its own: go on with the next step */
	bool is_forced;
	bool has_left;    /* went on to its last body: only once, or it might go round for ever */
	bool slept;       /* in the step where it is */
	bool has_lost;    /* came back for a lock that somebody else had taken meanwhile */
	bool needs_lock;  /* in a take: the lock is to be had again first */
	bool is_running;  /* on a CPU, or in line for one, with something to run */
	bool woke;        /* its last signal or write let somebody go who slept */
	bool is_arriving; /* in line for a CPU before it can go on */
	bool has_slept;   /* and has yet to use the CPU time that this takes */
};

struct entry {
	uint64_t at_ns;
	uint64_t order; /* of equal times, first come first served */
	uint32_t actor;
};

struct simulation {
	const struct script *script;
	const struct machine *machine;
	double *factor; /* by scope */
	struct player *players;
	struct lock *locks;
	struct tokens *tokens;
	struct permits *semaphores;
	struct meeting *barriers;
	struct channel *channels;
	struct queue *listeners; /* by link: who waits for this signal */
	bool *was_given;         /* by link */
	uint32_t *next_job;      /* by source of jobs: how many were taken */
	uint32_t *sent;          /* by room of messages: the job in each, in the order of writes */
	struct entry *heap;
	size_t heap_count;
	/* who runs, when there are more actors than CPUs: one of the two */
	struct crowd crowd;
	struct runqueues queues;
	uint64_t *stamp_ns; /* by stamp: when it came by, UINT64_MAX = it did not */
	uint64_t *taken_ns; /* room for what each request took */
	bool is_crowded;
	bool is_fair; /* a lock goes to whoever has waited longest */
	bool has_queues;
	uint32_t jitter; /* lengths are off a little, as this number decides; 0 = they are not */
	uint64_t order;
	uint64_t forced_steps;
};

/* simulate.c: this actor's next turn is then. It has none yet. */
void simulate_schedule(struct simulation *sim, uint32_t actor, uint64_t at_ns);

/* How long a step of the recording takes with another number of things to do. */
static inline uint64_t simulate_batch_ns(const struct batch *batch, const struct step *step,
					 uint64_t ns)
{
	const struct batch_cost *cost = &batch->cost_of[step->arg];
	double recorded_ns = cost->fixed_ns + cost->item_ns * batch->recorded_items;

	return recorded_ns > 0
		       ? (uint64_t)((double)ns * (cost->fixed_ns + cost->item_ns * batch->items) /
				    recorded_ns)
		       : ns;
}

/* A step's length with jitter: the same whenever it is asked for. */
static inline uint64_t simulate_jitter_ns(const struct simulation *sim, const struct step *step,
					  uint64_t ns)
{
	uint64_t bits = (uint64_t)(step - sim->script->steps) * 0x9e3779b97f4a7c15u + sim->jitter;

	bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
	bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
	double part = (double)(bits >> 32) / (double)UINT32_MAX * 2 - 1;

	return (uint64_t)((double)ns * (1 + assume.jitter * part));
}

/* To wake a thread takes longer if that is on another CPU. Of a transfer it was in the call. */
static inline uint64_t simulate_crossing_run_ns(const struct simulation *sim,
						const struct step *step)
{
	bool crosses = sim->machine->crosses && step->type == STEP_WAKING;

	return crosses && step[-1].type == STEP_SIGNAL ? assume.crossing_run : 0;
}

/* How long a step takes under the hypothesis. */
static inline uint64_t simulate_scaled_ns(const struct simulation *sim, const struct player *player,
					  const struct step *step)
{
	double factor = sim->factor[step->arg];
	uint64_t ns = step->ns + simulate_crossing_run_ns(sim, step);

	ns = factor == 1.0 ? ns : (uint64_t)((double)ns * factor);
	ns = player->batch.cost_of ? simulate_batch_ns(&player->batch, step, ns) : ns;
	return sim->jitter ? simulate_jitter_ns(sim, step, ns) : ns;
}

static inline const struct step *simulate_step_of(const struct simulation *sim, uint32_t actor)
{
	return &sim->script->steps[sim->players[actor].step];
}

/* simulate_locks.c. True: it has the lock. False: it sleeps. `is_back`: it was woken from this
 * lock's queue. */
bool simulate_lock_acquire(struct simulation *sim, const struct step *step, uint32_t actor,
			   bool is_back);
bool simulate_mutex_acquire(struct simulation *sim, struct lock *lock, uint32_t actor,
			    bool is_back);
/* Who went on without the lock has nothing to give back. */
void simulate_lock_release(struct simulation *sim, const struct step *step, uint32_t actor);
void simulate_mutex_release(struct simulation *sim, struct lock *lock, uint64_t now_ns);

/* simulate_steps.c */
void simulate_sleep(struct simulation *sim, struct queue *queue, uint32_t actor);
/* Wakes whoever is first; false: there is nobody. `is_granted`: it has what it slept for. */
bool simulate_wake_first(struct simulation *sim, struct queue *queue, uint64_t now_ns,
			 bool is_granted);
void simulate_wake_all(struct simulation *sim, struct queue *queue, uint64_t now_ns,
		       bool is_granted);
void simulate_start(struct simulation *sim, uint32_t actor, uint64_t at_ns);
/* One step that concerns others, at the actor's time. False: it sleeps, or has ended. */
bool simulate_interact(struct simulation *sim, const struct step *step, uint32_t actor,
		       bool is_back);
/* An added actor that sleeps where jobs are taken, of which there are no more: it ends. */
bool simulate_retire(struct simulation *sim, uint32_t actor, uint64_t now_ns);
/* Out of whatever queue the actor sleeps in. */
void simulate_leave_queues(struct simulation *sim, uint32_t actor);

#endif

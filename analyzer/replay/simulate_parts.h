/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a simulation, shared by the simulate_*.c files. Private to them.
 *
 * simulate_state.c makes it, simulate.c says which actor is next and runs steps that concern nobody
 * else. simulate_steps.c dispatches the other steps to _locks, _tokens, _streams and _threads,
 * which use _jobs and _queue. One thread a simulation.
 */
#ifndef WCPROF_SIMULATE_PARTS_H
#define WCPROF_SIMULATE_PARTS_H

#include "agenda.h"
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

/* The number of things that an actor took at once, now and in the recording. */
struct batch {
	const struct batch_cost *cost_of; /* by scope; NULL: it took one, or nothing */
	double items;
	double recorded_items;
};

enum player_life { PLAYER_TO_START, PLAYER_STARTED, PLAYER_DONE };

/* Of an actor that has something to run: whether it is that, or the way to a CPU. */
enum player_cpu { PLAYER_OFF, PLAYER_ARRIVING, PLAYER_RUNNING };

/* An actor in a simulation. */
struct player {
	uint64_t needed; /* in a read: bytes to have been written; in a write: bytes left */
	uint64_t now_ns;
	uint64_t tried_ns; /* when it tried a lock in vain last */
	uint64_t finish_ns;
	struct queue *sleeps_in; /* NULL = in none */
	uint32_t step;
	uint32_t next; /* in the queue that it sleeps in */
	struct queue joiners;
	struct batch batch;
	enum player_life life;
	enum player_cpu cpu;
	bool slept;      /* in the step where it is, or ran there */
	bool has_slept;  /* and has yet to use the CPU time that this takes */
	bool is_granted; /* it has what it slept for: go on with the next step */
	bool is_back;    /* it was woken to try its step again */
	bool is_forced;  /* goes on with its step whether it may or not */
	bool has_left;   /* went on to its last body: only once, or it might go round for ever */
	bool has_lost;   /* came back for a lock that another actor had taken meanwhile */
	bool needs_lock; /* in a take: the lock is to be had again first */
	bool woke;       /* its last signal or write let an actor go that slept */
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
	struct queue *listeners; /* by link: actors that wait for this signal */
	bool *was_given;         /* by link */
	uint32_t *next_job;      /* by source of jobs: how many were taken */
	uint32_t *sent;          /* by room of messages: the job in each, in the order of writes */
	struct agenda agenda;
	/* actors on CPUs, when there are more actors than those: one of the two */
	struct crowd crowd;
	struct runqueues queues;
	uint64_t *stamp_ns; /* by stamp: when it came by, UINT64_MAX = it did not */
	uint64_t *taken_ns; /* room for what each request took */
	bool is_crowded;
	bool is_fair; /* a lock goes to the actor that has waited longest */
	bool has_queues;
	uint32_t jitter; /* lengths are off a little, as this number decides; 0 = they are not */
	uint64_t forced_steps;
};

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

/* simulate_state.c */
struct simulation *simulate_new(const struct script *, const struct machine *);
void simulate_free(struct simulation *);
/* Nothing has happened yet; actors that nobody starts are to start. */
void simulate_reset(struct simulation *);

/*
 * simulate_queue.c. A wake-up lets the first actor of a queue go on after its latency; false: the
 * queue is empty. `is_granted`: it has what it slept for.
 */
void simulate_sleep(struct simulation *, struct queue *, uint32_t actor);
bool simulate_wake_first(struct simulation *, struct queue *, uint64_t now_ns, bool is_granted);
void simulate_wake_all(struct simulation *, struct queue *, uint64_t now_ns, bool is_granted);
/* Out of turn: the actor sleeps in some queue. */
void simulate_leave_queue(struct simulation *, uint32_t actor);

/* simulate_jobs.c. The step after a take, or after a take of so many things at once. */
uint32_t simulate_next_job(struct simulation *, const struct step *, uint32_t actor);
uint32_t simulate_next_batch(struct simulation *, const struct step *, uint32_t actor,
			     uint32_t items);
/* The jobs that a step takes from are all taken; false also for a step that takes none. */
bool simulate_jobs_are_done(const struct simulation *, const struct step *);

/* One step that concerns other actors, at the actor's time. False: it sleeps, runs or has ended. */
bool simulate_interact(struct simulation *, const struct step *, uint32_t actor);

/* The rest are its parts, with the same answer. simulate_locks.c; `is_back`: the actor was woken
 * from this lock's queue. */
bool simulate_lock_acquire(struct simulation *, const struct step *, uint32_t actor);
bool simulate_mutex_acquire(struct simulation *, struct lock *, uint32_t actor, bool is_back);
/* An actor that went on without the lock has nothing to give back. */
void simulate_lock_release(struct simulation *, const struct step *, uint32_t actor);
void simulate_mutex_release(struct simulation *, struct lock *, uint64_t now_ns);

/* simulate_tokens.c */
bool simulate_take(struct simulation *, const struct step *, uint32_t actor);
void simulate_put(struct simulation *, const struct step *, uint32_t actor);
/* True: an actor slept that was let go by it. */
bool simulate_signal(struct simulation *, const struct step *, uint32_t actor);
bool simulate_listen(struct simulation *, const struct step *, uint32_t actor);
void simulate_post(struct simulation *, const struct step *, uint32_t actor);
bool simulate_permit(struct simulation *, const struct step *, uint32_t actor);
bool simulate_meet(struct simulation *, const struct step *, uint32_t actor);

/* simulate_streams.c. A message goes at once; other bytes as far as there is room, the rest later.
 */
bool simulate_send(struct simulation *, const struct step *, uint32_t actor);
bool simulate_receive(struct simulation *, const struct step *, uint32_t actor);
bool simulate_await(struct simulation *, const struct step *, uint32_t actor);

/* simulate_threads.c. An actor starts once only. */
void simulate_start(struct simulation *, uint32_t actor, uint64_t at_ns);
bool simulate_join(struct simulation *, const struct step *, uint32_t actor);
/* True: it goes on, with jobs that are left as an actor was not there that did them. */
bool simulate_end(struct simulation *, uint32_t actor);
/* An added actor that sleeps where jobs are taken, of which there are no more: it ends. */
bool simulate_retire(struct simulation *, uint32_t actor, uint64_t now_ns);
/* On one of the CPUs, which are crowded. */
void simulate_run(struct simulation *, const struct step *, uint32_t actor);

#endif

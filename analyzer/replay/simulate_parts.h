/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a simulation, shared by the simulate_*.c files. Private to them.
 *
 * simulate_state.c makes it, simulate.c says which actor is next and runs steps that concern nobody
 * else, simulate_bounds.c how far it goes. simulate_steps.c dispatches the other steps to _locks,
 * _tokens, _streams, _clients and _threads, which use _jobs and _queue. Actors run on _cpus, and
 * so do _strangers: other programs. One thread a simulation.
 */
#ifndef WCPROF_SIMULATE_PARTS_H
#define WCPROF_SIMULATE_PARTS_H

#include "agenda.h"
#include "base/assumptions.h"
#include "crowd.h"
#include "machine.h"
#include "replayer.h"
#include "runqueues.h"
#include "simulate_halts.h"
#include "simulate_stalls.h"
#include "script/script.h"
#include "trace.h"

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
	bool is_open;      /* its gate was opened */
	uint64_t taken;    /* in batches */
	uint64_t since_ns; /* one was taken last */
};

struct permits {
	struct queue sleepers;
	uint32_t count;
	uint32_t owed; /* claimed before they were there */
};

/* The cause of a row of looks. */
struct sight {
	struct queue sleepers;
	bool is_there;
};

struct meeting {
	struct queue sleepers;
	uint32_t count;
};

/* A group whose actors work for each other in turns. */
struct circle {
	struct queue due;  /* until the end of the turn that is under way */
	struct queue late; /* until that of the next one */
	uint64_t begun;    /* turns */
	uint64_t ended;
	uint64_t taken;     /* actors that turns were begun for */
	uint32_t asked;     /* actors that have come for the next turn, and do something else */
	uint32_t next;      /* of the recorded turns */
	struct queue maker; /* of all turns, if it sleeps until another actor comes */
};

/* The thread that all clients are. */
struct desk {
	struct queue sleepers;
	uint32_t client;  /* that it works for, NO_INDEX = none */
	uint64_t rest_ns; /* since when there is none, 0 = it has not worked yet */
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
	uint64_t tried_ns; /* when it tried a lock, or looked, in vain last */
	uint64_t finish_ns;
	uint64_t awaited_turn; /* of `awaited_of`, from 1 on; 0 = none */
	int64_t owed_ns;  /* for waking others: to be added to its next run; negative: taken off */
	uint64_t due_ns;  /* in a take: when it takes what is there; 0 = it waits for enough */
	uint64_t beat_ns; /* the last deadline of its schedule, or when that began */
	struct queue *sleeps_in; /* NULL = in none */
	uint32_t step;
	uint32_t awaited_of; /* group */
	uint32_t back_step;  /* in a turn that it makes: where it goes on then */
	uint32_t round;      /* of pieces that it takes, and */
	uint32_t pieces_end; /* where it goes on when none is left; 0 = it takes none */
	uint32_t rounds;     /* of a loop of tries or looks, in vain so far */
	uint32_t row;        /* 1 + that of the looks of these rounds; 0 = it is in none */
	uint32_t next;       /* in the queue that it sleeps in */
	struct queue joiners;
	uint32_t job;       /* that it does, among those of all sources; NO_INDEX = it does none */
	uint32_t token;     /* 1 + condition that is given back before waits; 0 = it has none */
	uint32_t gave_back; /* the same, of one that it is to have again before it goes on */
	struct player_halt halt;
	struct batch batch;
	enum player_life life;
	enum player_cpu cpu;
	bool slept;         /* in the step where it is, or ran there */
	bool has_slept;     /* and has yet to use the CPU time that this takes */
	bool is_granted;    /* it has what it slept for: go on with the next step */
	bool is_back;       /* it was woken to try its step again */
	bool is_forced;     /* goes on with its step whether it may or not */
	bool has_timed_out; /* in a race */
	bool is_timed;      /* sleeps in its loop or take, and has a turn when a timer has run */
	bool has_left;      /* went on to its last body: only once, or it might go round for ever */
	bool has_lost;      /* came back for a lock that another actor had taken meanwhile */
	bool needs_lock;    /* in a take: the lock is to be had again first */
	bool has_asked;     /* for a turn of a group, and does not wait for it yet */
	bool has_yielded;   /* its token, and is to have one again */
	bool has_permit;    /* in a claim: only the token that it gave back is missing */
	bool woke;          /* its last signal or write let an actor go that slept */
	bool has_moved;     /* it is in the list of stalls */
};

/* Sums of a script's steps, as if one came after the other. */
struct lengths {
	double *of_scope_ns; /* by scope */
	double fixed_ns;     /* that no hypothesis scales */
	double round_ns;     /* of the longest loop of tries or looks */
	uint64_t last_ns;    /* when the last actor starts that nobody starts */
};

enum { ROUNDS_A_LOOK = 1024 }; /* looking at all actors after each would cost more than they do */

/* Another program: the period in which it wants a CPU, or wants one next. */
struct stranger {
	uint32_t kernel;
	uint32_t number;    /* of those on the same kernel */
	uint64_t at_ns;     /* as recorded */
	uint64_t before_ns; /* this is replayed so much later */
	size_t window;
};

/* One kernel's CPUs and the actors on them, when there are more actors than CPUs. Those are known
 * there by numbers of their own, strangers last. */
struct cpus {
	struct crowd crowd; /* one of the two */
	struct runqueues queues;
	uint32_t *actors; /* by number */
	uint32_t count;
};

struct cpu_user {
	uint32_t kernel;
	uint32_t number; /* among its actors */
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
	struct sight *sights;
	struct circle *circles;
	uint32_t *next_piece;    /* by round: how many were begun */
	uint32_t *step_of_piece; /* behind its first step */
	struct channel *channels;
	struct desk desk;
	struct gate *gates;        /* by halt */
	struct queue *listeners;   /* by link: actors that wait for this signal */
	bool *was_given;           /* by link */
	struct event_loops *loops; /* NULL = there are none */
	uint32_t *next_job;        /* by source of jobs: how many were taken */
	uint32_t *handed; /* jobs in the order in which they were put, each source's on its own */
	uint32_t *handed_count; /* by source: how many were put */
	bool *is_put;           /* by job of all sources: it was handed over */
	bool *is_taken;         /* the same */
	uint32_t *first_left;   /* by source: all jobs before this one were taken */
	bool *is_done;          /* the same */
	uint32_t *sent;         /* by room of messages: the job in each, in the order of writes */
	struct stranger *strangers; /* by number, from that of the last actor on */
	uint32_t stranger_count;
	struct agenda agenda;
	struct stalls stalls;
	struct cpus *cpus; /* by kernel */
	uint32_t kernel_count;
	struct cpu_user *users; /* by actor, and those of strangers behind them */
	uint64_t *stamp_ns;     /* by stamp: when it came by, UINT64_MAX = it did not */
	uint64_t *timing_ns;    /* by loop that ends by the clock: when its time began, the same */
	uint64_t *taken_ns;     /* room for what each request took */
	bool is_crowded;
	bool is_fair;        /* a lock goes to the actor that has waited longest */
	bool keeps_timeouts; /* no event cuts one short, no flag ends rounds by guess */
	bool takes_latest;   /* pools that put jobs for themselves take what was put last */
	bool wakes_clients;  /* their thread is as late after a short rest as after a long one */
	bool drops_waits;    /* unruly ones end at once */
	bool shares_all;     /* pieces, also those that may have been given out beforehand */
	bool has_queues;
	struct crossing_cost crossing;
	uint32_t jitter; /* lengths are off a little, as this number decides; 0 = they are not */
	uint64_t forced_steps;
	struct step_times *times; /* NULL = nobody asks */
	struct trace *trace;      /* NULL = none */
	uint32_t acting;          /* the actor whose turn it is, NO_INDEX = none */
	struct lengths lengths;
	uint64_t bound_ns;         /* of simulated time, and */
	uint64_t steps_left;       /* of steps and turns: beyond, nothing ends the replay */
	struct replay_place stuck; /* the first actor let go by force, or the one that ran away */
	bool ran_away;
};

/* Times are far below 2^63, and signed ones are converted in one instruction. */
static inline uint64_t simulate_times(uint64_t ns, double factor)
{
	return (uint64_t)(int64_t)((double)(int64_t)ns * factor);
}

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
	double part = (double)(int64_t)(bits >> 32) / (double)UINT32_MAX * 2 - 1;

	return simulate_times(ns, 1 + assume.jitter * part);
}

/* How long a step takes under the hypothesis. */
static inline uint64_t simulate_scaled_ns(const struct simulation *sim, const struct player *player,
					  const struct step *step)
{
	double factor = sim->factor[step->arg];
	uint64_t ns = step->ns;

	if (sim->crossing.signal_run_ns && step->type == STEP_WAKING &&
	    step[-1].type == STEP_SIGNAL)
		ns += sim->crossing.signal_run_ns;
	ns = factor == 1.0 ? ns : simulate_times(ns, factor);
	ns = player->batch.cost_of ? simulate_batch_ns(&player->batch, step, ns) : ns;
	return sim->jitter ? simulate_jitter_ns(sim, step, ns) : ns;
}

/* A run of this length that begins now, with what its actor owes. */
static inline uint64_t simulate_run_ns(const struct player *player, uint64_t ns)
{
	if (player->owed_ns >= 0)
		return ns + (uint64_t)player->owed_ns;
	return ns > (uint64_t)-player->owed_ns ? ns - (uint64_t)-player->owed_ns : 0;
}

/* That run has begun. */
static inline void simulate_paid(struct player *player, uint64_t ns)
{
	int64_t left_ns = player->owed_ns;

	if (left_ns < 0)
		left_ns += (int64_t)ns;
	if (left_ns)
		player->owed_ns = left_ns < 0 ? left_ns : 0;
}

static inline const struct step *simulate_step_of(const struct simulation *sim, uint32_t actor)
{
	return &sim->script->steps[sim->players[actor].step];
}

/* The actor has a turn: it will be looked at in the next stall. */
static inline void simulate_moves(struct simulation *sim, uint32_t actor)
{
	if (sim->players[actor].has_moved)
		return;
	sim->players[actor].has_moved = true;
	sim->stalls.moved[sim->stalls.moved_count++] = actor;
}

/* For whoever asks when steps were. */
static inline void simulate_arrives(const struct simulation *sim, uint32_t step, uint64_t now_ns)
{
	if (sim->times && !sim->times->arrived_ns[step])
		sim->times->arrived_ns[step] = now_ns;
}

static inline void simulate_passes(const struct simulation *sim, uint32_t step, uint64_t now_ns)
{
	if (sim->times)
		sim->times->passed_ns[step] = now_ns;
}

/* simulate_state.c */
struct simulation *simulate_new(const struct script *, const struct machine *);
void simulate_free(struct simulation *);
/* Nothing has happened yet; actors that nobody starts are to start. */
void simulate_reset(struct simulation *);

/* simulate_bounds.c. Adds a script's lengths; sets the bounds of a run; notes that it has reached
 * one in this actor's turn. */
void simulate_lengths_add(struct lengths *, const struct script *);
void simulate_bound(struct simulation *);
void simulate_run_away(struct simulation *, uint32_t actor);

/* simulate_stalls.c. Room for so many actors; all have moved. */
void simulate_stalls_make(struct stalls *, size_t actor_count);
void simulate_stalls_free(struct stalls *);
void simulate_stalls_reset(struct simulation *);
/* Nobody can go on: ends actors that nobody needs, or lets one go. False: nobody is left. */
bool simulate_unstall(struct simulation *);

/*
 * simulate_queue.c. A wake-up lets the first actor of a queue go on after its latency; false: the
 * queue is empty. `is_granted`: it has what it slept for.
 */
void simulate_sleep(struct simulation *, struct queue *, uint32_t actor);
bool simulate_wake_first(struct simulation *, struct queue *, uint64_t now_ns, bool is_granted);
/* CPU time in which an actor comes back after a sleep. */
uint64_t simulate_sleep_run_ns(const struct simulation *, uint32_t actor);
void simulate_wake_all(struct simulation *, struct queue *, uint64_t now_ns, bool is_granted);
/* Out of turn: the actor sleeps in some queue. */
void simulate_leave_queue(struct simulation *, uint32_t actor);

/* simulate_jobs.c. The step after a take, or after a take of so many things at once. */
uint32_t simulate_next_job(struct simulation *, const struct step *, uint32_t actor);
uint32_t simulate_next_batch(struct simulation *, const struct step *, uint32_t actor,
			     uint32_t items);
/* The jobs that a step takes from are all taken; false also for a step that takes none. */
bool simulate_jobs_are_done(const struct simulation *, const struct step *);

/* A step puts something; the job that it says comes with that. */
void simulate_hand_over(struct simulation *, const struct step *);
/* The job that the actor does is done. Answers may need that. */
void simulate_job_ends(struct simulation *, uint32_t actor);
/* The actor comes for its next one. */
void simulate_comes_for_job(struct simulation *, const struct step *, uint32_t actor);

/* One step that concerns other actors, at the actor's time. False: it sleeps, runs or has ended. */
bool simulate_interact(struct simulation *, const struct step *, uint32_t actor);

/* The rest are its parts, with the same answer. simulate_locks.c; `is_back`: the actor was woken
 * from this lock's queue. */
bool simulate_lock_acquire(struct simulation *, const struct step *, uint32_t actor);
bool simulate_mutex_acquire(struct simulation *, struct lock *, uint32_t actor, bool is_back);
/* An actor that went on without the lock has nothing to give back. */
void simulate_lock_release(struct simulation *, const struct step *, uint32_t actor);
void simulate_mutex_release(struct simulation *, struct lock *, uint64_t now_ns);

/* simulate_races.c. The wait that a race is for; the actor's turn came while it sleeps. */
bool simulate_race(struct simulation *, const struct step *, uint32_t actor);
const struct step *simulate_raced(const struct step *);
void simulate_timeout(struct simulation *, uint32_t actor);

/* simulate_looks.c; of a delay in rounds beyond the recorded ones, in which sleeps may grow. */
uint64_t simulate_nap_ns(const struct simulation *, const struct player *, const struct step *);
bool simulate_look(struct simulation *, const struct step *, uint32_t actor);
/* Answers depend on a trial's keeps_timeouts. */
bool simulate_guesses_rounds(const struct script *);
void simulate_reach(struct simulation *, const struct step *, uint32_t actor);
/* Every actor sleeps or goes round, now and then looked at: nothing ends its rounds. */
bool simulate_is_hopeless(const struct simulation *, struct player *);

/* simulate_tokens.c */
bool simulate_take(struct simulation *, const struct step *, uint32_t actor);
bool simulate_yield(struct simulation *, const struct step *, uint32_t actor);
void simulate_put(struct simulation *, const struct step *, uint32_t actor);
/* True: an actor slept that was let go by it. */
bool simulate_signal(struct simulation *, const struct step *, uint32_t actor);
bool simulate_listen(struct simulation *, const struct step *, uint32_t actor);
void simulate_post(struct simulation *, const struct step *, uint32_t actor);
bool simulate_permit(struct simulation *, const struct step *, uint32_t actor);
bool simulate_meet(struct simulation *, const struct step *, uint32_t actor);

/* simulate_turns.c. The actor comes for a turn, begins or ends one; sets the next step. */
bool simulate_turn(struct simulation *, const struct step *, uint32_t actor);

/* simulate_pieces.c. The actor has the next piece of its round; sets the next step. */
bool simulate_piece(struct simulation *, const struct step *, uint32_t actor);

/* simulate_clients.c. A client has the thread of all, or sleeps; lets the next one have it. */
bool simulate_come(struct simulation *, uint32_t actor);
void simulate_come_next(struct simulation *, uint32_t actor);

/* simulate_streams.c. A message goes at once; of other bytes those that have room. */
bool simulate_send(struct simulation *, const struct step *, uint32_t actor);
bool simulate_receive(struct simulation *, const struct step *, uint32_t actor);
bool simulate_await(struct simulation *, const struct step *, uint32_t actor);

/* simulate_loops.c; _find lists the visits of each event loop. */
void simulate_loops_find(struct simulation *);
void simulate_loops_free(struct simulation *);
void simulate_loops_reset(struct simulation *);
/* After a write to a flow. */
void simulate_loop_has(struct simulation *, uint32_t flow, uint64_t now_ns);
/* A job is done. */
void simulate_loop_may_answer(struct simulation *, uint32_t job, uint64_t now_ns);
/* Sets the next step. */
bool simulate_visit(struct simulation *, const struct step *, uint32_t actor);
void simulate_loops_answer(const struct simulation *, struct replay_answer *);

/* --- simulate_requests.c --- */

/* Of all judged requests, in the script's order. */
void simulate_requests_tell(const struct simulation *, uint64_t makespan_ns,
			    struct request_time *times);
/* Of those that came to their end; called once a run. */
void simulate_requests_answer(struct simulation *, struct replay_answer *);

/* simulate_cpus.c. Of each actor the CPUs of its kernel. */
void simulate_cpus_make(struct simulation *);
void simulate_cpus_free(struct simulation *);
void simulate_cpus_reset(struct simulation *);
/* At now_ns, not before anything else that has happened: this actor has so much to run. */
void simulate_cpus_enter(struct simulation *, uint64_t now_ns, uint32_t actor, double run_ns);
/* When something happens on any of them; UINT64_MAX: nothing does. */
uint64_t simulate_cpus_next_ns(const struct simulation *);
/* Lets it happen, at that time. The actor that has run what it had to; NO_INDEX: none. */
uint32_t simulate_cpus_happen(struct simulation *, uint64_t next_ns);
void simulate_cpus_ahead_begin(struct simulation *, struct run_ahead *, uint32_t actor);
/* On CPUs that all share: as crowd_run(). */
bool simulate_cpus_run(struct simulation *, uint64_t *now_ns, uint64_t run_ns, uint64_t until_ns);
void simulate_cpus_pull(struct simulation *, uint32_t actor, uint32_t waker);
void simulate_cpus_woken(struct simulation *, uint32_t actor, uint32_t waker);
/* How many actors and strangers are on CPUs or wait for one. */
size_t simulate_cpus_running(const struct simulation *);
double simulate_cpus_waited_ns(const struct simulation *);

static inline struct cpus *cpus_of(struct simulation *sim, uint32_t actor)
{
	return &sim->cpus[sim->users[actor].kernel];
}

/* simulate_strangers.c. A stranger comes to a CPU, and goes when it has run what it had to. */
void simulate_strangers_make(struct simulation *);
void simulate_strangers_reset(struct simulation *);
void simulate_stranger_turn(struct simulation *, struct turn, bool has_run);

/* simulate_threads.c. An actor starts once only. */
void simulate_start(struct simulation *, uint32_t actor, uint64_t at_ns);
/* A start, a join, the finish, the end. */
bool simulate_life(struct simulation *, const struct step *, uint32_t actor);
/* An added actor that sleeps where jobs are taken, of which there are no more: it ends. */
bool simulate_retire(struct simulation *, uint32_t actor, uint64_t now_ns);
/* On one of the CPUs, which are crowded. */
bool simulate_run(struct simulation *, const struct step *, uint32_t actor);

/* Where the thread that began the time has not come there yet, the loop is not held up. */
static inline uint64_t timed_until_ns(const struct simulation *sim, const struct step *step,
				      uint64_t now_ns)
{
	uint64_t from_ns = sim->timing_ns[step->arg];

	return from_ns != UINT64_MAX && from_ns + step->ns > now_ns ? from_ns + step->ns : now_ns;
}

#endif

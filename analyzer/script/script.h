/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorded run as a program of actors: what each thread does, step by step, in one flat array.
 *
 * Built once from a recording that names threads, and read-only from then on: a variant is a copy.
 * The replay runs it under a hypothesis.
 *
 * A step that runs, or waits for something outside, has a scope: the class of the innermost op, and
 * the classes of the locks held. So "held half as long" scales all that happens under a lock. A
 * step that waits for another actor has no length, only the latency from what ended the wait to the
 * return.
 */
#ifndef WCPROF_SCRIPT_H
#define WCPROF_SCRIPT_H

#include "infer/arrivals.h"
#include "infer/clients.h"
#include "infer/clockreads.h"
#include "infer/flows.h"
#include "infer/halts.h"
#include "infer/looks.h"
#include "infer/loops.h"
#include "infer/monitors.h"
#include "infer/others.h"
#include "infer/requests.h"
#include "infer/scopes.h"
#include "infer/shares.h"
#include "recording/classes.h"
#include "recording/releases.h"
#include "recording/timeline.h"

/* The table that a step's `arg` is an index into; steps.def says it of each type. */
enum step_operand {
	OPERAND_NOTHING,
	OPERAND_SCOPE,
	OPERAND_LOCK,
	OPERAND_CONDITION,
	OPERAND_LINK,
	OPERAND_SEMAPHORE,
	OPERAND_BARRIER,
	OPERAND_CIRCLE,
	OPERAND_READ, /* a transfer */
	OPERAND_WRITE,
	OPERAND_ACTOR,
	OPERAND_STAMP,
	OPERAND_TIMED, /* a loop that ends by the clock */
	OPERAND_LOOK,
	OPERAND_ROUND,
	OPERAND_PIECE,
	OPERAND_VISIT,
	OPERAND_WAIT /* of the recording, NO_INDEX = none of them */
};

/* The sort of number that a step has. */
enum step_number {
	NUMBER_NONE,
	NUMBER_LENGTH,
	NUMBER_LATENCY, /* from what ended the wait to the return */
	NUMBER_JOB,     /* 1 + the number of the job that it hands over, 0 = not known */
	NUMBER_TIME,    /* since the last deadline of the thread's schedule, or its begin */
	NUMBER_JUMP
};

enum step_type {
#define STEP(name, operand, number, word, does) STEP_##name,
#include "steps.def"
};

struct step_contract {
	enum step_operand operand;
	enum step_number number;
	const char *word;
	const char *does;
};

/* script_valid.c */
const struct step_contract *script_contract(enum step_type);

struct step {
	union {
		uint64_t ns;
		uint64_t job;  /* of its source, from 1 on */
		uint64_t jump; /* steps, ahead to the end of the rounds or of a turn, or back */
	};
	uint32_t arg;
	uint32_t type; /* enum step_type */
};

struct actor {
	uint32_t first_step;
	uint32_t last_body; /* step after its last take from a pool, NO_INDEX: may take any job */
	uint32_t take_step; /* at its end it goes on there if jobs are left, NO_INDEX = it ends */
	uint64_t start_ns;
	uint64_t finish_ns; /* as recorded */
	double weight;      /* share of a contended CPU, 1 = the usual one */
	uint32_t kernel;    /* index: its CPUs are those of this kernel */
	/* Its first steps are the CPU time of its start, in no op: its own, and the recorder's. */
	uint32_t startup_steps;
	bool is_spawned; /* by a STEP_SPAWN; else it starts at start_ns */
	bool counts;     /* its finish is the makespan, or part of it */
	bool ticks;      /* it goes on as long as it is left alone: its finish is nothing */
	bool rests;      /* it did nothing, and was still there at the end: nor is its */
	bool is_client;  /* that is made up: it uses no CPU, and waits for none */
};

/* No recording has as many waits, ops or links. */
enum { ORIGIN_INDEX_MAX = (1 << 30) - 1 };

enum origin_sort { ORIGIN_WAIT, ORIGIN_OP, ORIGIN_LINK };

/* The record that a step was compiled from which concerns other actors. */
struct step_origin {
	uint32_t step;
	uint32_t index : 30;
	uint32_t sort : 2; /* enum origin_sort */
};

/* The steps of a row of looks. */
struct look_span {
	uint32_t first;
	uint32_t end;
};

struct batch_cost;

/* Where a source's jobs begin, in recorded order: behind each take from a condition, read from a
 * shared pipe, or permit that others post. */
struct job_list {
	uint32_t *steps;
	size_t count;
	size_t capacity;
	uint32_t lock;       /* index into locks, NO_INDEX = never taken */
	uint32_t first;      /* number of its first job among those of all sources */
	bool is_handed_over; /* steps that put say which job; else they are in recorded order */
	uint32_t there;      /* the first jobs are there at the start, if so */
	/* By number of a put, those there at the start first: the job that it gives if takes get
	 * what was put last. NULL = others put all, and in their order. */
	uint32_t *latest;
	/* by job, where a take takes all that is there: how many items; NULL: each takes one */
	uint32_t *items;
	uint32_t last_items; /* of the last take, whose job is in no list */
	uint64_t all_items;
	struct batch_cost *cost_of; /* by scope */
};

/* Time of a scope after a take of several items: in any case, and for each item. */
struct batch_cost {
	double fixed_ns;
	double item_ns;
};

/* Threads that work for each other in turns (infer/turns.h). */
struct script_circle {
	struct job_list turns; /* where each begins, and for how many it was made */
	uint64_t latency_ns;   /* from a turn's end to the return of a wait */
	uint32_t last_end;     /* step behind the last turn of the thread that makes them all */
	bool is_led;           /* a thread that finds no turn under way makes one */
	bool is_asked;         /* else: that thread waits until another comes */
};

/* Pieces that threads share out among themselves (infer/pieces.h). */
struct script_round {
	uint32_t first; /* of its pieces, in the order in which they were begun */
	uint32_t count;
	bool is_sure; /* else they may have been given out beforehand */
};

/* Places of a flow's messages, from the number of its first transfer on. count = 0: this flow has
 * no fixed-size messages with several readers. */
struct message_room {
	uint32_t first;
	uint32_t count;
};

struct messages {
	uint32_t *job_of; /* by transfer: of a write, the number of its job; NO_INDEX = none */
	struct message_room *rooms; /* by flow */
};

/* Written by script_build() and the files that it calls, read by all others. A variant is a copy
 * that shares what it does not change. */
struct script {
	const struct recording *recording; /* with the clients, if there are any */
	struct clients clients;            /* that are not recorded, each a thread of its own */
	struct monitors monitors;
	struct step *steps;
	size_t step_count;
	struct step_origin *origins; /* in order of steps; a variant has none */
	size_t origin_count;
	struct scopes scopes;
	uint64_t *scope_ns;          /* by scope: runs and delays */
	enum arrival_sort *arrivals; /* by class: whether it waits for work to arrive */
	uint32_t class_count; /* hypotheses from here on are functions, in the order of `shares` */
	struct shares shares;
	struct actor *actors; /* one a thread */
	size_t actor_count;
	uint64_t recorded_tick_ns;    /* of their scheduler; 0: not known */
	uint32_t recorded_cache_cpus; /* CPUs of one cache; 0: all share it */
	double *kernel_cpus;          /* that its processes could use; infinite: not known */
	size_t kernel_count;          /* one for each clock of the recording */
	double recorded_cpus;         /* of all kernels together */
	uint64_t cpu_ns;              /* that all threads used, by samples */
	uint64_t queued_ns;           /* in run queues: left out of steps, made anew */
	bool was_crowded;             /* more threads than CPUs: runs are what was spent on a CPU */
	double idle_share;            /* part of the time in which a CPU was free */
	struct others others;         /* CPU time of other programs */
	size_t lock_count;
	size_t key_count;       /* of these: keys of conditions (infer/keys.h) */
	uint32_t *lock_class;   /* by lock: of its holds, NO_INDEX = a key, which has none */
	uint32_t *permits;      /* by semaphore: at the start */
	uint32_t *owed_permits; /* the same: posted for waits that are not there */
	size_t semaphore_count;
	size_t children_count; /* the first semaphores: a permit is a child that has ended */
	uint32_t *parties;     /* by barrier */
	size_t barrier_count;
	struct job_list *jobs; /* by source: conditions, then flows, then semaphores */
	size_t source_count;
	uint32_t job_count;     /* of all sources */
	uint32_t *job_of_visit; /* an answer needs that this one is done; NO_INDEX = none */
	uint32_t *also_of_job;  /* an answer that needs it needs that one, too; NO_INDEX = none */
	/* By link: a job that is handed over gives this signal. NO_INDEX = none does. */
	uint32_t *job_of_link;
	/* By link: a faster program may have no waits for this signal. NULL: not looked for. */
	bool *is_unruly;
	bool has_unruly;
	struct script_circle *circles;
	size_t circle_count;
	struct script_round *rounds;
	size_t round_count;
	size_t piece_count; /* of all rounds */
	bool has_unsure_rounds;
	struct flows flows;
	struct loops loops;
	struct messages messages;
	struct requests requests;
	struct looks looks;
	struct halts halts;
	struct clock_reads clock_reads;
	struct look_span *look_spans; /* by row of looks */
	uint64_t lock_latency_ns;     /* median, for waits that the recording does not have */
	uint64_t sleep_run_ns; /* CPU time that a sleep takes, on crowded CPUs; 0 = not known */
	uint64_t start_ns;     /* of the first actor */
	uint64_t actual_ns;    /* makespan as recorded, of the actors that count */
	/* waits whose waker is not known: they stay as long as they were */
	uint64_t unresolved_waits;
	uint64_t unresolved_ns;
	uint64_t unresolved_calls_ns;     /* of that: calls that are not recorded as waits */
	uint32_t unresolved_wait;         /* the longest of them, NO_INDEX = none is a wait */
	uint64_t *unresolved_of_class_ns; /* by class of the innermost op */
	bool has_recorder; /* its work as processes start has a scope, which is in no class */
	uint32_t recorder_scope;
	bool has_spare_actors; /* more than were recorded: some may end up with nothing to do */
};

/* Facts that the recording itself does not say. */
struct script_options {
	const struct stack_functions *functions; /* of the samples; NULL = not known */
	struct clients_wanted clients;
};

/* A timeout comes next, and its thread may go on before that has passed. */
static inline bool script_is_race(enum step_type type)
{
	return type == STEP_RACE || type == STEP_CUT;
}

/* It only lets time pass, for its own thread. */
static inline bool script_is_private(enum step_type type)
{
	return (type <= STEP_SCHEDULE && !script_is_race(type)) || type == STEP_STAMP ||
	       type == STEP_WAKING;
}

/* The source whose jobs a step takes, NO_INDEX = it takes none. */
static inline uint32_t script_source(const struct script *script, const struct step *step)
{
	size_t conditions = script->monitors.condition_count;

	if (step->type == STEP_TAKE)
		return step->arg;
	if (step->type == STEP_RECEIVE)
		return script->flows.transfers[step->arg].is_rest
			       ? NO_INDEX
			       : (uint32_t)conditions + script->flows.transfers[step->arg].flow;
	if (step->type == STEP_PERMIT || step->type == STEP_CLAIM)
		return (uint32_t)(conditions + script->flows.flow_count) + step->arg;
	return NO_INDEX;
}

/* The source that a step puts one into, which the takes of others get; NO_INDEX = none. */
static inline uint32_t script_put_source(const struct script *script, const struct step *step)
{
	const struct monitors *monitors = &script->monitors;

	if (step->type == STEP_PUT)
		return step->arg;
	if (step->type == STEP_POST)
		return (uint32_t)(monitors->condition_count + script->flows.flow_count) + step->arg;
	if (step->type != STEP_SIGNAL || monitors->signals[step->arg].is_gate)
		return NO_INDEX;
	uint32_t condition = monitors->signals[step->arg].condition;

	return condition != NO_INDEX && monitors->conditions[condition].model == PUT_BY_SIGNAL
		       ? condition
		       : NO_INDEX;
}

/* It calls an event loop, as something is done. */
static inline bool script_rings(const struct script *script, const struct step *step)
{
	return step->type == STEP_SEND &&
	       loops_is_bell(&script->loops, script->flows.transfers[step->arg].flow);
}

/* It waits for any child of its process to end. */
static inline bool script_awaits_child(const struct script *script, const struct step *step)
{
	return step->type == STEP_PERMIT && step->arg < script->children_count;
}

/* Where an actor begins to take its next job; NO_INDEX = in the middle of something else, or it
 * takes none. */
uint32_t script_take_step(const struct script *, uint32_t actor);

/* Number of actors that are recorded threads; those behind them are clients, or were added. */
size_t script_recorded_actors(const struct script *);

/* Number of ops that are recorded; those behind them are of clients. */
size_t script_recorded_ops(const struct script *);

/* Of a step that concerns other actors; NULL = not known. */
static inline const struct step_origin *script_origin(const struct script *script, uint32_t step)
{
	size_t from = 0, to = script->origin_count;

	while (from < to) {
		size_t middle = (from + to) / 2;

		if (script->origins[middle].step < step)
			from = middle + 1;
		else
			to = middle;
	}
	return from < script->origin_count && script->origins[from].step == step
		       ? &script->origins[from]
		       : NULL;
}

void script_build(struct script *, const struct recording *, const struct class_table *,
		  const struct script_options *);
void script_free(struct script *);

#endif

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

#include "infer/flows.h"
#include "infer/monitors.h"
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
	OPERAND_READ, /* a transfer */
	OPERAND_WRITE,
	OPERAND_ACTOR,
	OPERAND_STAMP
};

/* The sort of number that a step has. */
enum step_number {
	NUMBER_NONE,
	NUMBER_LENGTH,
	NUMBER_LATENCY, /* from what ended the wait to the return */
	NUMBER_TIME,    /* since the recording's begin */
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
		uint64_t jump; /* steps, ahead to the end of the rounds (STEP_TRY) or back */
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
	bool is_spawned;    /* by a STEP_SPAWN; else it starts at start_ns */
	bool counts;        /* its finish is the makespan, or part of it */
	bool ticks;         /* it goes on as long as it is left alone: its finish is nothing */
};

struct batch_cost;

/* Where a source's jobs begin, in recorded order: behind each take from a condition, read from a
 * shared pipe, or permit that others post. */
struct job_list {
	uint32_t *steps;
	size_t count;
	size_t capacity;
	uint32_t lock; /* index into locks, NO_INDEX = never taken */
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
	const struct recording *recording;
	struct monitors monitors;
	struct step *steps;
	size_t step_count;
	struct scopes scopes;
	uint32_t class_count; /* hypotheses from here on are functions, in the order of `shares` */
	struct shares shares;
	struct actor *actors; /* one a thread */
	size_t actor_count;
	double recorded_cpus; /* that the processes could use; infinite: not known */
	double left_cpus;     /* of these: others had the rest for themselves */
	bool was_crowded;     /* more threads than CPUs: runs are what was spent on a CPU */
	bool made_crowd;      /* it was they themselves that left no CPU free */
	size_t lock_count;
	uint32_t *lock_class; /* by lock: of its holds, NO_INDEX = never held */
	uint32_t *permits;    /* by semaphore: at the start */
	size_t semaphore_count;
	uint32_t *parties; /* by barrier */
	size_t barrier_count;
	struct job_list *jobs; /* by source: conditions, then flows, then semaphores */
	size_t source_count;
	struct flows flows;
	struct messages messages;
	struct requests requests;
	uint64_t lock_latency_ns; /* median, for waits that the recording does not have */
	uint64_t sleep_run_ns;    /* CPU time that a sleep takes, on crowded CPUs; 0 = not known */
	uint64_t start_ns;        /* of the first actor */
	uint64_t actual_ns;       /* makespan as recorded, of the actors that count */
	/* waits whose waker is not known: they stay as long as they were */
	uint64_t unresolved_waits;
	uint64_t unresolved_ns;
	uint64_t *unresolved_of_class_ns; /* by class of the innermost op */
	uint64_t *polling_of_class_ns;    /* by class: in short sleeps, until something was there */
	bool has_spare_actors; /* more than were recorded: some may end up with nothing to do */
};

/* Facts that the recording itself does not say. */
struct script_options {
	const struct stack_functions *functions; /* of the samples; NULL = not known */
};

/* The source whose jobs a step takes, NO_INDEX = it takes none. */
static inline uint32_t script_source(const struct script *script, const struct step *step)
{
	size_t conditions = script->monitors.condition_count;

	if (step->type == STEP_TAKE)
		return step->arg;
	if (step->type == STEP_RECEIVE)
		return (uint32_t)conditions + script->flows.transfers[step->arg].flow;
	if (step->type == STEP_PERMIT || step->type == STEP_CLAIM)
		return (uint32_t)(conditions + script->flows.flow_count) + step->arg;
	return NO_INDEX;
}

void script_build(struct script *, const struct recording *, const struct class_table *,
		  const struct script_options *);
void script_free(struct script *);

#endif

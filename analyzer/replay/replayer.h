/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A replay answers "what if": it gives the makespan of the run under a hypothesis.
 *
 * A replayer's state is read-only, so any number of threads may run it, each with a scratch of its
 * own.
 */
#ifndef WCPROF_REPLAYER_H
#define WCPROF_REPLAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A step that an actor came to: both as in the script. */
struct replay_place {
	uint32_t actor;
	uint32_t step;
};

/* Of how long requests took. */
enum request_figure { REQUEST_MEAN, REQUEST_P50, REQUEST_P95, REQUEST_P99, REQUEST_FIGURES };

struct request_time {
	uint64_t start_ns;
	uint64_t taken_ns;  /* until the end of the run, if it was not finished */
	bool is_unfinished; /* the replay did not come to its end, or never began it */
};

struct replay_answer {
	double makespan_ns;        /* whole */
	double queued_ns;          /* that recorded threads waited in the queues of CPUs */
	uint64_t broken_cycles;    /* joins of what was itself waiting for the one that joined */
	uint64_t fallback_anchors; /* placed by recorded time, because nothing started them in time
				    */
	uint64_t forced_steps;     /* let go although what they waited for never came */
	/* By figure, of the requests that the recording shows; 0 = there are none. */
	double requests_ns[REQUEST_FIGURES];
	/* Nothing ended it: it was stopped, and the makespan is so long that no answer prefers it.
	 */
	bool ran_away;
	/* The first actor that was let go by force, or the one that ran away. */
	struct replay_place stuck;
	/* So long an event loop waited although data were there, for what has to come later: the
	 * loop that did so most. */
	double order_ns;
	uint32_t order_actor; /* NO_INDEX = none did */
};

struct trace;

/* The cost of waking a thread on another CPU, where that is not as in the recording. */
enum crossing {
	CROSSING_USUAL, /* as the assumptions have it */
	CROSSING_FREE,  /* nothing; on fewer CPUs recorded costs are gone */
	CROSSING_DEAR,  /* as much as in a virtual machine that lets its host have an idle CPU */
	CROSSING_PULLED /* a thread that is woken by bytes runs on its waker's CPU */
};

/* All self time of a class times a factor. */
struct scaling {
	uint32_t class;
	double factor;
};

/* By step of the script: when an actor came to it first, and when it went on; 0 = it did not. Only
 * of steps that concern other actors. */
struct step_times {
	uint64_t *arrived_ns;
	uint64_t *passed_ns;
};

/* One run: several scalings at once, each applied to what the others left. */
struct trial {
	const struct scaling *scalings; /* of known classes */
	size_t count;
	/* With what recording took to begin in each process; else as if it took nothing. */
	bool as_recorded;
	/* Locks go to the thread that has waited longest; else to the first thread that comes once
	 * they are free, as glibc's do. */
	bool is_fair;
	/* A timeout that passed does so again, though the event that it was for comes first. Rounds
	 * that a flag may have stopped are as many. */
	bool keeps_timeouts;
	/* Pools that put jobs for themselves take what was put last; else what was put first. */
	bool takes_latest;
	/* The thread that all clients are takes as long to be back from a short rest as from a long
	 * one. */
	bool wakes_clients;
	/* Waits that no count explains, and that come now and then, end at once; else as recorded.
	 */
	bool drops_waits;
	/* Pieces that may have been given out beforehand go to whichever thread is free. */
	bool shares_all;
	/* CPUs are shared equally by all that could run; else each has a queue of its own. */
	bool shares_cpus;
	enum crossing crossing;
	/* 0: everything takes as long as it did; else longer or shorter by up to assume.jitter, as
	 * this number decides. */
	unsigned jitter;
	uint64_t *finish_ns; /* where to put each recorded thread's finish; NULL = nowhere */
	struct request_time *requests; /* where to put each judged request's; NULL = nowhere */
	struct step_times *times;      /* where to put those of steps; NULL = nowhere */
	struct trace *trace; /* begun: gets what happens; NULL = nobody asks. Of threads only. */
};

struct machine;

struct replayer {
	const void *state;
	const struct machine *machine; /* NULL: the replayer knows no CPUs */
	size_t cost;                   /* of a trial that is run alone, in steps of some sort */
	size_t finish_count;           /* of the threads whose finishes a trial tells */
	size_t request_count;          /* judged requests, of which a trial tells */
	bool has_recorder;             /* answers depend on a trial's as_recorded; */
	bool has_jitter;               /* answers depend on a trial's jitter; */
	bool has_locks;                /* on is_fair; */
	bool has_timeouts;             /* on keeps_timeouts; */
	bool feeds_pools;              /* on takes_latest; */
	bool has_rests;                /* on wakes_clients; */
	bool has_unruly;               /* on drops_waits; */
	bool has_unsure_rounds;        /* on shares_all; */
	bool is_crowded;               /* on shares_cpus: there are fewer CPUs than threads */
	bool may_cross;                /* on crossing */
	/* Trials of so many classes, given at once, cost less than one by one; 1 = they do not. */
	size_t classes_at_once;
	void *spare; /* a scratch for one thread's single trials; NULL = there is none */
	void *(*scratch_new)(const struct replayer *);
	void (*scratch_free)(void *scratch);
	/* One answer for each of the trials; those of a class are best given one after the other.
	 */
	void (*run)(const struct replayer *, const struct trial *trials, size_t count,
		    void *scratch, struct replay_answer *answers);
};

/* A single trial, with the spare scratch or one of its own. */
static inline struct replay_answer replayer_try(const struct replayer *replayer,
						const struct trial *trial)
{
	struct replay_answer answer;
	void *scratch = replayer->spare ? replayer->spare : replayer->scratch_new(replayer);
	replayer->run(replayer, trial, 1, scratch, &answer);
	if (!replayer->spare)
		replayer->scratch_free(scratch);
	return answer;
}

#endif

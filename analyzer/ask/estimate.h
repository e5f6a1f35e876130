/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The saving of a change, and how sure it is: one answer for the table and for --what-if.
 *
 * An estimate is the saving under the assumptions of the recorded run, and a range that holds under
 * other assumptions too. Causes of a range, of which the widest counts:
 *
 *   jitter     lengths are a little off, and bring threads into another order
 *   order      locks go to the thread that has waited longest
 *   timeouts   that passed do so again, though what they were for comes first then
 *   jobs       are taken last in, first out, where the pool puts them itself
 *   rests      of the thread that all clients are make it as slow to be back, though they are short
 *   CPUs       are shared equally by all that could run
 *   crossing   waking a thread on another CPU costs nothing, or as much as it may, or the
 *              thread comes to the waker's CPU instead: of an answer about CPUs
 *   events     are taken by an event loop as they come, not in recorded order
 *   sampling   error of what is known from samples alone, beside the others
 *   requests   of the same sort there may be others, and the replay of the unchanged run has their
 *              figures wrong by so much: of an answer about requests, beside the others
 *
 * A saving is always the difference to the unchanged run under the same assumptions. Workers only
 * read an estimator, but for the scratches: each worker has one of its own.
 */
#ifndef WCPROF_ESTIMATE_H
#define WCPROF_ESTIMATE_H

#include "base/workers.h"
#include "jitter.h"
#include "replay/replayer.h"
#include "shortened.h"

struct estimate {
	double saved_ns; /* whole, negative = slower; the median where jitter matters */
	double least_ns; /* the range of what is saved */
	double most_ns;
	/* By figure; estimate_first() knows no range of them. */
	struct shortened requests[REQUEST_FIGURES];
	double waits_ns;    /* of that, the end of unruly waits (replayer.h) changes so much */
	double crossing_ns; /* of that, waking threads on other CPUs may change so much */
	uint64_t forced_steps;
	/* Its replay was stopped, as nothing ended it. Or it takes longer than that of the
	 * unchanged run, and more threads had to be let go by force. All else is nothing. */
	bool is_none;
	bool depends_on_order;    /* of threads at locks: another one changes the saving much */
	bool depends_on_timeouts; /* on what a thread does that times out no more: likewise */
	bool depends_on_jobs;     /* on which job a thread takes: likewise */
	bool depends_on_cpus;     /* on how threads get CPUs: likewise */
};

/* A range holds its saving. */
bool estimate_is_valid(const struct estimate *estimate);

/* Assumptions under which a trial is replayed, beside those of the recorded run. */
enum estimate_way {
	ESTIMATE_FAIR,
	ESTIMATE_TIMEOUTS,
	ESTIMATE_LATEST,
	ESTIMATE_WOKEN,
	ESTIMATE_DROPPED, /* waits */
	ESTIMATE_PIECES,  /* shared out */
	ESTIMATE_SHARING,
	ESTIMATE_FREE, /* crossings */
	ESTIMATE_DEAR,
	ESTIMATE_PULLED,
	ESTIMATE_WAYS
};

struct estimator {
	const struct replayer *replayer; /* of the run as it was; must outlive the estimator */
	/* By hypothesis: a standard deviation, as a part of what is saved; NULL = none. */
	const double *sampling_error;
	struct replay_answer recorded; /* the unchanged run, */
	struct replay_answer baseline; /* and the same without what recording took to begin */
	uint64_t *baseline_finish_ns;  /* of each thread that the replayer tells of */
	struct request_time *baseline_requests;
	uint32_t *request_order;                /* indices of them in order of time */
	double request_off_ns[REQUEST_FIGURES]; /* of the replay, from what was recorded */
	struct replay_answer way_baseline[ESTIMATE_WAYS];
	struct jitter jitter;
	bool knows_way[ESTIMATE_WAYS]; /* way_baseline */
	bool way_is_endless[ESTIMATE_WAYS];
	bool knows_jitter;
	bool tries_way[ESTIMATE_WAYS]; /* estimator_afford() says: there is time for it */
	bool tries_jitter;
	/* A replay of the unchanged run, under other assumptions, was stopped: those are not tried.
	 */
	bool is_endless;
	struct replay_place endless_place;
	void *scratches[WORKERS_MAX];
};

void estimator_begin(struct estimator *estimator, const struct replayer *replayer,
		     const double *sampling_error);
void estimator_end(struct estimator *estimator);

/* The figures as recorded: no saving is surer than the replay of the unchanged run. NAN = not
 * known. Without this, ranges have no part of it. */
void estimator_compare(struct estimator *estimator, const double recorded_ns[REQUEST_FIGURES]);

/* The assumptions that `estimate_count` estimates to come have time for: in all recordings but
 * huge ones all of them. False: for none, so that estimate_first() is all there is to know. */
bool estimator_afford(struct estimator *estimator, size_t estimate_count);

/* The worker's own, for the estimator's replayer. */
void *estimator_scratch(struct estimator *estimator, size_t worker);

/* Of `answer`, which is that of `trial`: with the sampling error as the only cause of a range. */
struct estimate estimate_first(const struct estimator *estimator, const struct trial *trial,
			       const struct replay_answer *answer);

/*
 * Of a trial that has scalings alone; its finishes become those of the saving. `known` is the
 * trial's plain replay, which left its finishes and requests there; NULL = it is made. If the trial
 * has no room for requests, and there are some, it is made, too. `replayer` is the
 * estimator's, or that of a variant of its script.
 */
struct estimate estimate_make(const struct estimator *estimator, const struct replayer *replayer,
			      const struct trial *trial, const struct replay_answer *known,
			      void *scratch);

#endif

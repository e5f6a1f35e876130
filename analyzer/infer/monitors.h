/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which locks guard a condition, and how what is put and taken there can be replayed.
 *
 * A section is one stay in a critical section, from the lock call to the unlock, with the waits on
 * conditions in between. Sections are known by their site: the lock call's innermost frames.
 *
 * Built once from a timeline, read-only afterwards.
 */
#ifndef WCPROF_MONITORS_H
#define WCPROF_MONITORS_H

#include "base/buckets.h"
#include "recording/releases.h"
#include "recording/timeline.h"

/*
 * Frames of the lock call that tell one site from another, at most. One helper may lock for several
 * callers, and one call may stand in several places of an unrolled loop.
 */
enum { SITE_FRAMES = 3 };

/* By how many frames, less one. The last kind is any place in the function, of the same callers: a
 * compiler may have made several copies of a call. */
enum { SITE_FUNCTION = SITE_FRAMES, SITE_KINDS };

struct section {
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t first_signal_ns;  /* UINT64_MAX = it never signals */
	uint64_t first_wake_ns;    /* the same, of signals to conditions of other mutexes, too */
	uint64_t site[SITE_KINDS]; /* 0 = no stack */
	uint32_t thread;
	uint32_t mutex; /* index into monitors->mutexes */
	uint32_t
		first_hold; /* op index, NO_INDEX: it was not recorded yet when the section began */
	uint32_t last_hold; /* op index */
	uint32_t first_wait; /* wait index, NO_INDEX = did not wait */
	uint32_t last_wait;
	uint32_t unmet_wait; /* the last one since it signalled last, NO_INDEX = none */
	uint32_t take;       /* condition that it takes from, NO_INDEX = none */
	uint32_t put; /* condition that it puts to when it ends (put_by_section()), else NO_INDEX */
	uint32_t items;  /* where a take takes all that is there (PUT_BATCH): how many that was */
	bool takes_late; /* it signals before it waits: takes where it waits, not where it locks */
	bool goes_again; /* its thread comes back to the mutex next, and does nothing else before */
	bool in_vain;    /* it was let go, but another thread had come first: it takes nothing */
};

enum put_model {
	PUT_BY_SIGNAL,  /* a signal puts one */
	PUT_BY_SECTION, /* each section of a site that ever signals puts one */
	PUT_BATCH,      /* as PUT_BY_SECTION, and a take takes all that is there */
	/* tokens do not explain the recording: only the edge from the waking signal is kept */
	PUT_NONE
};

static inline bool put_by_section(enum put_model model)
{
	return model == PUT_BY_SECTION || model == PUT_BATCH;
}

struct condition {
	uint64_t address;
	uint64_t latency_ns; /* median from signal to return */
	uint64_t gate_ns;    /* when a closing broadcast opened it for good, UINT64_MAX = never */
	uint32_t process;
	uint32_t mutex;
	enum put_model model;
	uint32_t least;      /* a take waits until so many are there, */
	uint64_t timeout_ns; /* or for so long: then it takes what is there; 0 = for ever */
	/* For how long a thread works for all that it took at once, where the replay keeps how much
	 * that was; 0 = there is none. */
	uint64_t lumps_ns;
	uint32_t lumps_of;   /* that thread */
	uint64_t quantum_ns; /* it is a lock that is handed over on request (quanta.h); 0 = no */
	uint32_t initial;    /* tokens at the start of the recording */
	bool is_pool; /* several threads take, and do nothing else: what follows a take is a job */
	bool is_given_back; /* a lock that threads give back before they wait for a permit */
	bool is_fed_back;   /* threads of the pool put jobs, too */
	double violations;  /* share of waits that began although tokens were there */
};

/* The role of a signal: parallel to recording->links. */
struct signal_role {
	uint32_t condition; /* NO_INDEX: not a signal of a known condition */
	uint32_t section;   /* the one that it was given in or after, NO_INDEX = unknown */
	bool is_gate;
	bool wakes_all;
};

struct monitors {
	size_t mutex_count; /* that go with a condition */
	struct condition *conditions;
	size_t condition_count;
	struct section *sections; /* in order of thread, then time */
	size_t section_count;
	uint32_t *section_of_hold;   /* by op index, NO_INDEX = none */
	uint32_t *section_of_wait;   /* by wait index */
	uint32_t *condition_of_wait; /* by wait index */
	uint32_t *waking_link;       /* by wait index: link that ended it, NO_INDEX = unknown */
	/* By wait index: the wait after which its section had what it waited for. That is the last
	 * one before the section signals, or its last one. */
	uint32_t *met_by_wait;
	struct signal_role *signals; /* by link index */
};

void monitors_build(struct monitors *, const struct recording *, const struct timeline *,
		    const struct releases *);
void monitors_free(struct monitors *);

/* Waits, links and sections by the condition or mutex that they concern, in order of index. */
struct monitors_uses {
	struct buckets waits;    /* by condition: indices of waits */
	struct buckets links;    /* by condition: indices of links that signal it */
	struct buckets sections; /* by mutex: indices of sections */
};

void monitors_uses_build(struct monitors_uses *, const struct monitors *, const struct recording *);
void monitors_uses_free(struct monitors_uses *);

/* By op: a hold in which something is put for others to take. To be freed. */
bool *monitors_puts(const struct monitors *, const struct recording *);

#endif

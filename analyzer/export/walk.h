/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk through a recording that all exporters make: thread by thread, in order of time.
 *
 * A thread's slices come without gaps from its first event to its last. Their sums are those that
 * the reports have, to the nanosecond (measure/threadtime.h): idle is a part of blocked there.
 *
 *     struct walk walk;
 *     struct walk_slice slice;
 *     walk_begin(&walk, analysis);
 *     for (uint32_t thread = 0; thread < walk_thread_count(&walk); thread++)
 *             for (walk_thread(&walk, thread); walk_next(&walk, &slice);)
 *                     ...
 *     walk_end(&walk);
 *
 * Holds and other ops of a thread come from walk_next_op(), its samples from
 * samples_of_thread(). Times are as in recording.h. The analysis stays in place meanwhile.
 * Memory: an index of 16 bytes for each begin and end of an op. One thread.
 */
#ifndef WCPROF_WALK_H
#define WCPROF_WALK_H

#include "infer/arrivals.h"
#include "infer/requests.h"
#include "measure/threadtime.h"
#include "recording/timeline.h"
#include "report/labels.h"
#include "script/wakers.h"

enum walk_state {
	WALK_RUNNING,
	WALK_QUEUED,     /* waiting for a CPU */
	WALK_BLOCKED,    /* in a call or a wait */
	WALK_IDLE,       /* the same, until there is work: a poll of an event loop, an accept */
	WALK_UNEXPLAINED /* neither on a CPU nor in a recorded call */
};

enum { WALK_STATES = WALK_UNEXPLAINED + 1 };

struct walk_slice {
	uint64_t start_ns;
	uint64_t end_ns; /* later than start_ns */
	enum walk_state state;
	uint32_t thread;
	/* The next two: what the thread is in, running too; of the innermost. */
	uint32_t op;    /* a call; NO_INDEX = none */
	uint32_t wait;  /* NO_INDEX = none */
	uint32_t cause; /* of a call or wait: its sort, for thread_cause_word(); else NO_INDEX */
	uint32_t name;  /* string id: the call, or the lock or other thing waited for; 0 = none */
	uint32_t class; /* of a call; of a wait that of the op that it was for; else the thread's */
	uint32_t stack; /* of a call or wait; else as the next sample has it; 0 = not known */
	uint32_t holder; /* of a wait: the thread that had the lock as it began; NO_INDEX */
	bool is_end;     /* the call or wait ended with it: walk_waker() may know by what */
};

/* The event of another thread that ended a call or wait. */
struct walk_waker {
	uint64_t at_ns; /* at most the end of the slice */
	uint32_t thread;
	uint32_t op;   /* hold or thread that ended, write that began, of a link the op it was in */
	uint32_t link; /* signal or post; NO_INDEX = it is none */
};

struct walk_request {
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t op;      /* that it begins with; it is of this op's thread */
	uint32_t request; /* index into walk.requests, which says more */
	uint32_t class;
	enum request_source source;
};

struct analysis;

struct walk {
	const struct recording *recording;
	const struct labels *labels;       /* NULL: names are as recorded */
	const struct class_table *classes; /* NULL: no slice has a class */
	const enum arrival_sort *arrivals; /* NULL: no slice is idle */
	const struct requests *requests;   /* NULL: none */
	const struct script *script;       /* NULL: no waker is known */
	struct wakers *wakers;             /* empty until one is asked for */
	struct timeline timeline;
	struct thread_slices *slices;
	/* of the thread that is walked through */
	uint32_t thread;
	uint64_t start_ns;
	uint64_t end_ns;
	const struct rec_sample *samples;
	size_t sample_count, sample;
	size_t op_at; /* in the timeline */
	struct walk_slice next;
	bool has_next;
};

void walk_begin(struct walk *, const struct analysis *);
/* The same of a recording alone; `labels` may be NULL. */
void walk_begin_plain(struct walk *, const struct recording *, const struct labels *labels);
void walk_end(struct walk *);

/* 0 for a recording that names no threads. */
uint32_t walk_thread_count(const struct walk *);
/* This thread's slices come next; walk.start_ns and walk.end_ns are its first event and last. */
void walk_thread(struct walk *, uint32_t thread);
/* Neighbours that differ in their times alone come as one. False: there are no more. */
bool walk_next(struct walk *, struct walk_slice *);
/* The thread's ops in order of their begin, but no process, thread or exec. */
bool walk_next_op(struct walk *, uint32_t *op);

/* The wakers of all waits and calls; empty if there is no script to tell. */
const struct wakers *walk_wakers(const struct walk *);
/* False: not known. Of slices of any thread. */
bool walk_waker(const struct walk *, const struct walk_slice *, struct walk_waker *);

/* All requests of the recording, in order of their begin; to be freed. */
struct walk_request *walk_requests(const struct walk *, size_t *count);

/* "running", "queued" ... */
const char *walk_state_word(enum walk_state state);
/* As the kernel has it; "?" = not known. */
const char *walk_thread_name(const struct walk *, uint32_t thread);
/* The functions of a slice's stack, innermost first: string ids; at most `room`. */
size_t walk_stack(const struct walk *, uint32_t stack, uint32_t *functions, size_t room);

/* Steps through all threads: slices are in order, without gap or overlap, and have these sums. */
bool walk_is_valid(struct walk *, const struct thread_table *);

#endif

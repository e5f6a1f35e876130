/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A question that the user asks with --what-if: one text, several changes at once.
 *
 *   CLASS*FACTOR          all time of a class is multiplied; CLASS is a name as the report has it,
 *                         with its kind before it where the name alone could mean several
 *   lock:NAME split N     the lock becomes N locks, each for a part of what it guards
 *   threads:POOL*FACTOR   so many times the threads take jobs off the same queue
 *   queue:NAME*FACTOR     so much more fits into the queue; NAME is the resource that threads wait
 *                         for, as the table of waits has it, or the call that writes to a pipe
 *   cpus N                so many CPUs
 *   load*FACTOR           so many requests of clients that are not recorded
 *   clients*FACTOR        so many of these clients, each of which waits for its answers
 *
 * Changes stand with commas between; a name may have commas and asterisks in it. Read-only once
 * parsed.
 */
#ifndef WCPROF_QUESTION_H
#define WCPROF_QUESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/options.h"
#include "replay/replayer.h"

enum { QUESTION_CHANGES_MAX = 64 };

/* A lock or a pool of threads, and what is made of it. */
struct rebuild {
	uint32_t class; /* of the lock's holds, of the threads */
	double times;   /* number of locks; factor of the number of threads */
};

/* A queue's capacity, and how many times it is to be had. */
struct resize {
	const char *name; /* in the question's text: it is not terminated */
	size_t name_bytes;
	double times;
};

struct question {
	struct scaling scalings[QUESTION_CHANGES_MAX];
	size_t scaling_count;
	struct rebuild splits[QUESTION_CHANGES_MAX];
	size_t split_count;
	struct rebuild pools[QUESTION_CHANGES_MAX];
	size_t pool_count;
	struct resize queues[QUESTION_CHANGES_MAX];
	size_t queue_count;
	const uint32_t *wait_name; /* of queues: string id per wait; NULL = each wait's own ident */
	double cpus;               /* 0 = as many as otherwise */
	double load_times;         /* requests of clients that are not recorded; 0 = as many */
	double clients_times;      /* such clients; 0 = as many */
};

/* Classes and functions that a question may be about; a name's index is its class. */
struct subjects {
	const char **names;
	const char **kinds;
	size_t count;
};

/*
 * 0, or -EINVAL with a line in `error` that says what is wrong, and what is called nearly so. The
 * question points into `text`, which must outlive it.
 */
int question_parse(struct question *question, const char *text, const struct subjects *subjects,
		   char error[OPTIONS_ERROR_BYTES]);

/*
 * The subjects that a name alone stands for, as CLASS above does: all of one kind. How many, or
 * -EINVAL with a line in `error`, which speaks of --option.
 */
int question_find(const char *name, const struct subjects *subjects, const char *option,
		  uint32_t found[QUESTION_CHANGES_MAX], char error[OPTIONS_ERROR_BYTES]);

/* Whether it changes more than how long things take: only the replay of threads can do that. */
bool question_rebuilds(const struct question *question);

/* How many letters differ between two names (Levenshtein), or more than `most`. */
size_t question_distance(const char *, const char *, size_t most);

#endif

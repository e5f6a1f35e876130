/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The locks that somebody waited for, each with its holds: what viewers show as lanes of their own.
 *
 * Built once, read-only afterwards. One thread.
 */
#ifndef WCPROF_CONTENDED_H
#define WCPROF_CONTENDED_H

#include "recording/addresses.h"
#include "report/labels.h"

struct contended_lock {
	uint32_t name;    /* string id */
	uint32_t process; /* of one that processes share, that of the first wait for it */
	uint32_t wait_count;
	uint64_t waited_ns;
	const uint32_t *holds; /* op indexes, in order of their begin; readers overlap */
	size_t hold_count;
};

struct contended {
	struct contended_lock *locks; /* most waited for first */
	size_t count;
	size_t left_out; /* locks beyond */
	uint32_t *holds;
	struct addresses numbers; /* of all locks that were waited for, in order of first sight */
	uint32_t *rank;           /* by number: index into `locks`, NO_INDEX = it is left out */
};

/* More lanes than that nobody looks through. */
enum { CONTENDED_MAX = 200 };

/* At most so many locks. The labels may be NULL. */
void contended_build(struct contended *, const struct recording *, const struct labels *,
		     size_t most);
void contended_free(struct contended *);

/* The index of the lock that a wait is for, or an op is a hold of; NO_INDEX = none of them. */
uint32_t contended_of_wait(const struct contended *, const struct recording *, size_t wait);
uint32_t contended_of_op(const struct contended *, const struct recording *, size_t op);

#endif

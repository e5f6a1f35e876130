/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where locks of one kind are used most. It goes by the time that threads waited there for them.
 * Of locks that nobody waited for it goes by the time that they were held from there on.
 *
 * A zeroed struct is empty. One thread.
 */
#ifndef WCPROF_LOCKUSES_H
#define WCPROF_LOCKUSES_H

#include "callers.h"
#include "recording/recording.h"

struct lock_use {
	uint32_t kind; /* any number */
	uint32_t site; /* string id */
	uint64_t waited_ns;
	uint64_t held_ns;
};

struct lock_uses {
	struct lock_use *uses; /* in order of kind, one for each site, once they were counted */
	size_t count;
	size_t capacity;
	uint32_t *sites; /* by stack: string id, 0 = not looked at, NO_INDEX = none */
};

/* A hold or a wait from that stack; what it was not is 0. Adds strings to the recording. */
void lock_uses_add(struct lock_uses *, struct recording *, struct callers *, uint32_t kind,
		   uint32_t stack, uint64_t waited_ns, uint64_t held_ns);

/* After the last one was added. */
void lock_uses_count(struct lock_uses *);

/* String id of the site; 0 = not known. The site of a function that does nothing but lock is its
 * caller's. */
uint32_t lock_uses_most(const struct lock_uses *, uint32_t kind);
void lock_uses_free(struct lock_uses *);

#endif

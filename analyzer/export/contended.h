/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The locks that somebody waited for, each with its holds: what viewers show as lanes of their own.
 *
 * Built once, read-only afterwards. One thread.
 */
#ifndef WCPROF_CONTENDED_H
#define WCPROF_CONTENDED_H

#include "walk.h"

struct contended_lock {
	uint32_t name;    /* string id */
	uint32_t process; /* of one that processes share, that of the first wait for it */
	uint32_t wait_count;
	uint64_t waited_ns;
	const uint32_t *holds; /* op indexes, in order of their begin; readers overlap */
	size_t hold_count;
};

struct contended {
	struct contended_lock *locks; /* most waited for first, at most CONTENDED_MAX */
	size_t count;
	size_t left_out; /* locks beyond */
	uint32_t *holds;
};

/* More lanes than that nobody looks through. */
enum { CONTENDED_MAX = 200 };

void contended_build(struct contended *, const struct walk *);
void contended_free(struct contended *);

#endif

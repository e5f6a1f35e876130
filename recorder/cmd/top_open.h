/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls and waits of threads that have not ended yet: which they are, and since when.
 *
 * A record that is open says since when. Of others the kernel names the call: they count
 * from the first look that saw the thread in it. Nothing is stopped for that. One thread.
 */
#ifndef WCPROF_TOP_OPEN_H
#define WCPROF_TOP_OPEN_H

#include "top_read.h"
#include "top_stacks.h"

struct top_open_thread {
	pid_t tid;
	enum top_part part; /* TOP_PARTS = it runs, or nobody knows */
	uint64_t since_ns;  /* of the arena's clock */
	uint64_t lock;      /* that it waits for; 0 = none */
	uint32_t ident;     /* string: the lock's */
	/* As the kernel tells, of calls whose begin was not recorded. */
	int call;
	uint64_t argument, switches;
};

/* A lock that threads wait for. */
struct top_waiting {
	uint64_t address;
	uint32_t ident;
	unsigned waiters;
	pid_t holder;     /* 0 = nobody, or nobody knows */
	uint64_t held_ns; /* 0 = not known */
};

struct top_open {
	struct top_open_thread *threads; /* by tid */
	size_t count;
	struct top_waiting *locks;
	size_t lock_count;
};

/* Looks anew; what there was before says since when. False: nobody may see, or there is no
 * memory. */
bool top_open_look(struct top_open *, const struct top_reader *, uint64_t now_ns);
void top_open_free(struct top_open *);
/* NULL: there is none. */
const struct top_open_thread *top_open_find(const struct top_open *, pid_t tid);
const struct top_waiting *top_open_lock(const struct top_open *, uint64_t address);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads of a process at the moment, from an answer to STACKS. It is the process's own or, if
 * its control thread does not answer, one made from its arena and /proc.
 */
#ifndef WCPROF_STACKLIST_H
#define WCPROF_STACKLIST_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "target.h"

struct stacklist_thread {
	pid_t tid;
	char name[32];
	char state;      /* as in /proc: R runs or wants to, S sleeps, D sleeps deeply, T stopped */
	char call[64];   /* "pthread_mutex_lock"; empty: nothing that is recorded is open */
	char what[256];  /* "mutex server+0x40c0"; empty when it has no name */
	char reason[32]; /* "mutex"; empty: it is not a wait */
	char system_call[64];
	int fd;
	uint64_t address; /* of what it waits for, 0 = it has none */
	uint64_t wait_ns; /* 0 = not known */
	pid_t holder;
	uint64_t held_ns;
	uint64_t *frames; /* return addresses, innermost first */
	size_t frame_count;
};

/* One deadlock: tids, each of which waits for what the next one has. */
struct stacklist_circle {
	pid_t *tids;
	size_t count;
};

struct stacklist {
	char *answer; /* the object itself, without a newline */
	struct stacklist_thread *threads;
	size_t count;
	struct stacklist_circle *circles;
	size_t circle_count;
	bool is_from_outside; /* the process did not answer */
};

/* False: nothing is to be had, as `error` says. */
bool stacklist_read(struct stacklist *list, const struct target *target, char *error, size_t size);
void stacklist_free(struct stacklist *list);
/* NULL = there is none with that tid. */
const struct stacklist_thread *stacklist_find(const struct stacklist *list, pid_t tid);

/* Takes an object that malloc() made; false when it is none of STACKS. */
bool stacklist_parse(struct stacklist *list, char *answer);

#endif

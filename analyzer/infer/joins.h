/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits of threads for the end of others: those of pthread_join(), and those for a semaphore that
 * the other thread posts as its last act. Runtimes join their threads so, as Python's does.
 */
#ifndef WCPROF_JOINS_H
#define WCPROF_JOINS_H

#include <stdint.h>

#include "recording/recording.h"

struct join {
	uint32_t thread; /* NO_INDEX = the wait is for no thread's end, or that of an unknown one */
	uint32_t post;   /* link by which that one says that it ends; NO_INDEX = by none */
};

/* By wait. To be freed. */
struct join *joins_find(const struct recording *);

#endif

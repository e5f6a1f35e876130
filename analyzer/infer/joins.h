/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits of threads for the end of others: those of pthread_join(), and those for a semaphore that
 * the other thread has for all its life. Runtimes join their threads so, as Python's does. And
 * waits for permits by which threads tell each other something.
 */
#ifndef WCPROF_JOINS_H
#define WCPROF_JOINS_H

#include <stdbool.h>
#include <stdint.h>

#include "recording/recording.h"

struct join {
	uint32_t thread; /* NO_INDEX = the wait is for no thread's end, or that of an unknown one */
	uint32_t post;   /* link by which that one says that it ends; NO_INDEX = by none */
	bool is_got;     /* it got a permit that another thread gave */
	bool is_told;    /* which had not taken it before: it told something */
};

/* By wait. To be freed. */
struct join *joins_find(const struct recording *);

#endif

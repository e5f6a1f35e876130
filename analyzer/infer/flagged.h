/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that go on until another one says stop, by a flag in memory. No record shows the flag.
 *
 * Such a thread is waited for by another one, and comes to its end at once then. That one comes
 * from a sleep, or from the ends of threads of another sort.
 */
#ifndef WCPROF_FLAGGED_H
#define WCPROF_FLAGGED_H

#include <stddef.h>
#include <stdint.h>

#include "recording/classes.h"
#include "recording/recording.h"

struct flagged {
	uint32_t thread;
	uint32_t teller;   /* the thread that waits for its end */
	uint64_t joins_ns; /* when that one began to wait for threads of this sort */
	uint32_t post;     /* link by which it says that it ends, as joins.h has it */
};

/* In order of the tellers and time; to be freed. NULL = none. */
struct flagged *flagged_find(const struct recording *, const struct class_table *, size_t *count);

#endif

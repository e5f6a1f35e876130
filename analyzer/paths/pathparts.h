/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of paths: the sorts of time that a request's latency is made of, numbered.
 *
 * Equal parts have one number. Names are string ids of the recording. One thread adds.
 */
#ifndef WCPROF_PATHPARTS_H
#define WCPROF_PATHPARTS_H

#include "base/tuples.h"

enum path_kind {
	PATH_CPU,        /* name: the innermost function, or the class of the call or thread */
	PATH_CPU_WAIT,   /* ready to run */
	PATH_LOCK,       /* name: the lock; by: the site of its hold, 0 = not known */
	PATH_IO,         /* name: the class of the call */
	PATH_WAIT,       /* name: the thing waited for */
	PATH_DOWNSTREAM, /* name: the class of the request that the thread asked for */
	PATH_QUEUED,     /* name: the class of the request that its thread was at, 0 = other work;
			  * by: the function or call that this thread was in */
	PATH_WAKING,     /* an event had let the thread go on */
	PATH_UNEXPLAINED
};

struct path_part {
	enum path_kind kind;
	uint32_t name; /* string id, 0 = none */
	uint32_t by;   /* string id, 0 = none */
};

struct path_parts {
	struct tuples tuples;
};

void path_parts_begin(struct path_parts *parts);
void path_parts_free(struct path_parts *parts);

/* The number of a part, which is added when it is new. */
uint32_t path_parts_add(struct path_parts *parts, enum path_kind kind, uint32_t name, uint32_t by);
struct path_part path_parts_at(const struct path_parts *parts, uint32_t number);

/* "cpu", "cpu wait", "lock" ... */
const char *path_kind_word(enum path_kind kind);

#endif

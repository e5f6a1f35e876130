/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory of the last dumps, of a bounded size.
 *
 * A dump is there whole, under a name that begins with its number, or not at all. The oldest go
 * first, by that number: the machine's clock may jump. Files that are not called like dumps are
 * left alone. One process, one thread.
 */
#ifndef WCPROF_STORE_H
#define WCPROF_STORE_H

#include <stdint.h>
#include <sys/types.h>

#include "config.h"

enum { STORE_PATH_BYTES = CONFIG_PATH_BYTES + 128 };

struct store {
	char directory[CONFIG_PATH_BYTES];
	uint64_t bytes_max;
	uint64_t bytes;   /* of the dumps that are there */
	uint64_t number;  /* of the last one */
	uint64_t removed; /* to make room, so far */
};

/* Makes the directory if it is not there. 0, or -errno; -EPERM: others may write to it. Half dumps
 * that an agent left are removed. */
int store_open(struct store *store, const char *directory, uint64_t bytes_max);
/* The path of a dump to be written. */
void store_begin(struct store *store, const char *program, pid_t pid, char path[STORE_PATH_BYTES]);
/* It is written: it gets its name, which replaces that in `path`, and others make room. 0, or
 * -errno, and it is gone. */
int store_keep(struct store *store, char path[STORE_PATH_BYTES]);
/* It is not. */
void store_abandon(const char *path);
/* Removes the oldest dumps until no more than so many bytes are left. */
void store_shrink(struct store *store, uint64_t bytes);

#endif

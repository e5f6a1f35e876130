/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays on the heap for the analyzer: they are there or the command ends.
 *
 * Any thread may call. Running out of memory prints one line with the size asked for and exits with
 * status 2. An offline analysis cannot go on without its data.
 */
#ifndef WCPROF_MEMORY_H
#define WCPROF_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Stands for no element wherever an index of 32 bits is kept. */
#define NO_INDEX UINT32_MAX

/* `count` zeroed elements; never NULL, also for none. */
void *memory_new(size_t count, size_t element_bytes);

/* The same of indexes, all NO_INDEX. */
uint32_t *memory_new_indexes(size_t count);

/*
 * Room for `needed` elements in an array of *capacity, doubling it; what is new is not zeroed. The
 * old pointer is gone.
 */
void *memory_grow(void *array, size_t *capacity, size_t needed, size_t element_bytes);

/* A stream whose text is there, to be freed, once it is closed. Never NULL. */
FILE *memory_stream(char **text, size_t *bytes);

#endif

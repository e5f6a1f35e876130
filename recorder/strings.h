/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of strings in an arena: equal strings have equal ids, id 0 is the empty one.
 *
 * interned.h says what threads may do. Longer strings are cut to STRING_BYTES_MAX.
 */
#ifndef WCPROF_STRINGS_H
#define WCPROF_STRINGS_H

#include "arena.h"

uint32_t strings_intern(struct arena *, const char *, size_t bytes) HIDDEN;
/* Makes the next id for a string that nobody will look up: names of calls, whose ids are fixed. */
uint32_t strings_append(struct arena *, const char *, size_t bytes) HIDDEN;
/* Ids 1 to that are given. */
uint32_t strings_count(const struct arena *) HIDDEN;
/* Whether each lies within the table; of an arena that may be torn. */
bool strings_are_valid(const struct arena *) HIDDEN;
/* Never NULL; "" for an id that is not, or not yet, there. */
const char *strings_get(const struct arena *, uint32_t id, uint32_t *bytes) HIDDEN;

#endif

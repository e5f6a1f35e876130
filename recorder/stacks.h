/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of call stacks in an arena: equal stacks have equal ids.
 *
 * interned.h says what threads may do.
 */
#ifndef WCPROF_STACKS_H
#define WCPROF_STACKS_H

#include <stdint.h>

#include "recorder.h"

struct arena;

/* Id of the stack in this process's arena; pcs are absolute return addresses, innermost first.
 * 0 when count is 0, nothing is being recorded, or the table is full. */
uint32_t stack_intern(const uint64_t *pcs, uint32_t count) HIDDEN;

/* The same for a given arena (dead ones too). stacks_get: frames of an id below stacks_count(). */
uint32_t stacks_intern(struct arena *, const uint64_t *pcs, uint32_t count) HIDDEN;
uint32_t stacks_count(const struct arena *) HIDDEN;
/* Whether each lies within the table; of an arena that may be torn. */
bool stacks_are_valid(const struct arena *) HIDDEN;
const uint64_t *stacks_get(const struct arena *, uint32_t id, uint32_t *count) HIDDEN;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of numbers in JSON, each on one line: columns of many rows. JSON only. One thread. */
#ifndef WCPROF_NUMBERS_H
#define WCPROF_NUMBERS_H

#include "emit.h"
#include "memory.h"

void numbers_begin(struct emit *emit, const char *key);
void numbers_put(struct emit *emit, int64_t number);
void numbers_end(struct emit *emit);

/* NO_INDEX is -1. */
static inline void numbers_put_index(struct emit *emit, uint32_t index)
{
	numbers_put(emit, index == NO_INDEX ? -1 : (int64_t)index);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files that find locks made of futexes, and private to them: futexlocks.c finds the
 * locks, futexlocks_unseen.c holds that nobody waited for. One thread.
 */
#ifndef WCPROF_FUTEXLOCKS_PARTS_H
#define WCPROF_FUTEXLOCKS_PARTS_H

#include "futexlocks.h"

/* The ops from `first_hold` on are the known holds, lock by lock, of each the last one first. There
 * is room for `op_capacity` ops. */
void futex_unseen_find(struct recording *, size_t first_hold, size_t op_capacity);

#endif

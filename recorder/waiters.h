/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of watched addresses, as the rest of the recorder sees it; recorder.h has the hooks'
 * view.
 */
#ifndef WCPROF_WAITERS_H
#define WCPROF_WAITERS_H

#include "arena.h"

/* Whether the hold `op` of the watch with this index goes on. */
bool watch_is_holder(int32_t index, uint64_t op) HIDDEN;
/* Nobody will say when that hold ends. Index -1 = none. */
void watch_drop_holder(int32_t index, uint64_t op) HIDDEN;

/* The same as watch_find() in any arena, also another process's. */
const struct watch *watch_find_in(const struct arena *, uint64_t address) HIDDEN;

/* For the drainer: each watch in use, by index; NULL for one that is not. */
struct watch *watch_at(const struct arena *, uint32_t index) HIDDEN;

#endif

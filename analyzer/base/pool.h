/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is given back all at once, and stays where it is until then.
 *
 * One thread. A zeroed struct is an empty pool.
 */
#ifndef WCPROF_POOL_H
#define WCPROF_POOL_H

#include <stddef.h>

struct pool_block;

struct pool {
	struct pool_block *newest;
};

/* Zeroed and aligned for any object, never NULL. */
void *pool_alloc(struct pool *pool, size_t bytes);

/* A NUL-terminated copy of the first `bytes` bytes of `text`, never NULL. */
char *pool_text(struct pool *pool, const char *text, size_t bytes);

void pool_free(struct pool *pool);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is given back all at once, and stays where it is until then.
 *
 * For what is kept for the whole run: names, frames. A zeroed struct has no blocks. One thread.
 */
#ifndef WCPROF_BLOCKS_H
#define WCPROF_BLOCKS_H

#include <stddef.h>

struct memory_block;

struct blocks {
	struct memory_block *newest;
};

/* Zeroed and aligned for any object, never NULL. */
void *blocks_alloc(struct blocks *blocks, size_t bytes);

/* A NUL-terminated copy of the first `bytes` bytes of `text`, never NULL. */
char *blocks_text(struct blocks *blocks, const char *text, size_t bytes);

void blocks_free(struct blocks *blocks);

#endif

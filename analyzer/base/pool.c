/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of blocks; the newest one has room or a new one is put in front of it.
 *
 * Used for what symbols and classes keep for the whole run: names, frames. One thread.
 */
#include "pool.h"

#include <assert.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { BLOCK_BYTES = 64 * 1024 - 64 }; /* with malloc's own header within sixteen pages */

struct pool_block {
	struct pool_block *older;
	size_t used_bytes;
	size_t room_bytes;
	alignas(max_align_t) char bytes[];
};

static struct pool_block *block_new(struct pool *pool, size_t bytes)
{
	size_t room_bytes = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
	struct pool_block *block = memory_new(1, sizeof(*block) + room_bytes);

	block->older = pool->newest;
	block->room_bytes = room_bytes;
	pool->newest = block;
	return block;
}

void *pool_alloc(struct pool *pool, size_t bytes)
{
	struct pool_block *block = pool->newest;
	size_t rounded = (bytes + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);

	assert(rounded >= bytes);
	if (!block || block->room_bytes - block->used_bytes < rounded)
		block = block_new(pool, rounded);
	block->used_bytes += rounded;
	return block->bytes + block->used_bytes - rounded;
}

char *pool_text(struct pool *pool, const char *text, size_t bytes)
{
	char *copy = pool_alloc(pool, bytes + 1);

	memcpy(copy, text, bytes);
	return copy;
}

void pool_free(struct pool *pool)
{
	while (pool->newest) {
		struct pool_block *block = pool->newest;

		pool->newest = block->older;
		free(block);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of blocks, the newest first: a piece comes from the newest block, or from a new one.
 *
 * The rest of a block stays unused when a larger piece is asked for. One thread.
 */
#include "blocks.h"

#include <assert.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { BLOCK_BYTES = 64 * 1024 - 64 }; /* with malloc's own header within sixteen pages */

struct memory_block {
	struct memory_block *older;
	size_t used_bytes;
	size_t room_bytes;
	alignas(max_align_t) char bytes[];
};

static struct memory_block *block_new(struct blocks *blocks, size_t bytes)
{
	size_t room_bytes = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
	struct memory_block *block = memory_new(1, sizeof(*block) + room_bytes);

	block->older = blocks->newest;
	block->room_bytes = room_bytes;
	blocks->newest = block;
	return block;
}

void *blocks_alloc(struct blocks *blocks, size_t bytes)
{
	struct memory_block *block = blocks->newest;
	size_t rounded = (bytes + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);

	assert(rounded >= bytes);
	assert(!block || block->used_bytes <= block->room_bytes);
	if (!block || block->room_bytes - block->used_bytes < rounded)
		block = block_new(blocks, rounded);
	block->used_bytes += rounded;
	return block->bytes + block->used_bytes - rounded;
}

char *blocks_text(struct blocks *blocks, const char *text, size_t bytes)
{
	char *copy = blocks_alloc(blocks, bytes + 1);

	memcpy(copy, text, bytes);
	return copy;
}

void blocks_free(struct blocks *blocks)
{
	while (blocks->newest) {
		struct memory_block *block = blocks->newest;

		blocks->newest = block->older;
		free(block);
	}
}

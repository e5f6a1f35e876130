/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock-free stacks of the arena's items. See pool.h.
 */
#include "pool.h"

#include "in_target.h"

static uint32_t *next_of(struct arena *arena, struct pool_items items, uint32_t index)
{
	return arena_at(arena, items.offset + index * items.item_bytes);
}

/* A head with one more change than `old`. */
static uint64_t head_make(uint64_t old, uint32_t index_plus_one)
{
	return ((old >> 32) + 1) << 32 | index_plus_one;
}

uint32_t pool_take_given(struct arena *arena, struct pool *pool, struct pool_items items)
{
	uint64_t head = load_acquire(&pool->head);

	while ((uint32_t)head != 0) {
		uint32_t index = (uint32_t)head - 1;
		uint32_t next = load_relaxed(next_of(arena, items, index));

		/* Acquire: what the giver wrote into the item is seen by the taker. */
		if (cas_acq_rel(&pool->head, &head, head_make(head, next))) {
			add_relaxed(&pool->given, UINT32_MAX);
			return index;
		}
	}
	return POOL_NONE;
}

uint32_t pool_make(struct arena *arena, struct pool *pool, struct pool_items items)
{
	/* Pairs with the exchange below: items below it have memory. */
	uint32_t made = load_acquire(&pool->made);

	/* Populated first, claimed after: of two threads that make the same item one tries the
	 * next. */
	while (made < pool->max) {
		if (!arena_populate(arena, items.offset + made * items.item_bytes,
				    items.item_bytes))
			return POOL_NONE;
		if (cas_acq_rel(&pool->made, &made, made + 1))
			return made;
	}
	return POOL_NONE;
}

uint32_t pool_take(struct arena *arena, struct pool *pool, struct pool_items items)
{
	uint32_t index = pool_take_given(arena, pool, items);

	return index != POOL_NONE ? index : pool_make(arena, pool, items);
}

void pool_give(struct arena *arena, struct pool *pool, struct pool_items items, uint32_t index)
{
	uint64_t head = load_relaxed(&pool->head);

	/* Release: pairs with pool_take_given(). */
	do
		store_relaxed(next_of(arena, items, index), (uint32_t)head);
	while (!cas_acq_rel(&pool->head, &head, head_make(head, index + 1)));
	add_relaxed(&pool->given, 1);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits for any child: which of them has ended is not for the recording to say.
 *
 * Method. A parent that waits for any child goes on with the first one that ends, which may be
 * another one in a faster program. So the ends of its children are permits of a semaphore: a child
 * posts one as it ends, and the wait takes one. That holds for children whose wait named none. A
 * child may be waited for twice, first by a signal and then for its status: the first wait takes.
 *
 * One thread.
 */
#include "base/memory.h"
#include "format.h"
#include "script_parts.h"

#include <assert.h>
#include <stdlib.h>

/* No semaphore is there. */
enum { CHILDREN_ADDRESS = 1 };

static bool comes_first(const struct recording *rec, uint32_t wait, uint32_t other)
{
	return other == NO_INDEX || rec->waits[wait].start_ns < rec->waits[other].start_ns;
}

void script_children_find(struct found *found, const struct recording *rec)
{
	bool *is_named = memory_new(rec->thread_count, sizeof(*is_named));

	assert(!found->children);
	found->children = memory_new(rec->thread_count, sizeof(*found->children));
	for (size_t t = 0; t < rec->thread_count; t++)
		found->children[t] = (struct child){ NO_INDEX, NO_INDEX, NO_INDEX };
	for (uint32_t i = 0; i < rec->wait_count; i++) {
		const struct rec_wait *wait = &rec->waits[i];
		uint32_t actor = wait->reason == REASON_EXEC && wait->thread != NO_INDEX
					 ? script_joined_actor(rec, wait)
					 : NO_INDEX;

		if (actor == NO_INDEX || actor == wait->thread)
			continue;
		is_named[actor] = is_named[actor] || wait->address;
		if (comes_first(rec, i, found->children[actor].wait))
			found->children[actor].wait = i;
		if (wait->end_ns >= rec->ops[rec->threads[actor].op].end_ns &&
		    comes_first(rec, i, found->children[actor].last_wait))
			found->children[actor].last_wait = i;
	}
	for (size_t t = 0; t < rec->thread_count; t++) {
		struct child *child = &found->children[t];

		if (child->wait != NO_INDEX && !is_named[t] &&
		    !rec->extras[rec->threads[t].op].open)
			child->semaphore =
				addresses_add(&found->semaphores,
					      rec->threads[rec->waits[child->wait].thread].process,
					      CHILDREN_ADDRESS);
	}
	free(is_named);
}

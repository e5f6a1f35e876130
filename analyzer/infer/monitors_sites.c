/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sites of sections: hashes of the places in the code where they begin.
 *
 * Method. A site is known by one, two or three of the lock call's innermost frames. The last kind
 * of site is the function, known by its callers and its thread's start routine. Compilers copy
 * code, so one call of the source may stand in several places.
 *
 * One thread.
 */
#include "base/assumptions.h"
#include "monitors_parts.h"

#include <assert.h>
#include <string.h>

static uint64_t mixed(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

static uint64_t hash_of_frame(const struct rec_frame *frame)
{
	return frame->offset ^ (uint64_t)frame->module << 40;
}

uint64_t monitors_function_site(const struct recording *rec, uint32_t stack, uint32_t thread)
{
	const struct rec_stack *frames = &rec->stacks[stack];
	uint32_t op = rec->threads[thread].op;
	uint64_t hash = op == NO_INDEX ? 1 : mixed(1, rec->extras[op].address);

	assert(stack < rec->stack_count);
	if (frames->frame_count < 2)
		return 0;
	hash = mixed(hash, rec->frames[frames->first_frame].module);
	for (uint32_t i = 1; i < SITE_FRAMES && i < frames->frame_count; i++)
		hash = mixed(hash, hash_of_frame(&rec->frames[frames->first_frame + i]));
	return hash;
}

void monitors_site_set(const struct recording *rec, uint32_t stack, uint32_t thread,
		       uint64_t site[SITE_KINDS])
{
	uint64_t hash = 0;

	if (!stack || stack >= rec->stack_count)
		return;
	const struct rec_stack *frames = &rec->stacks[stack];
	for (uint32_t i = 0; i < SITE_FRAMES; i++) {
		if (i < frames->frame_count)
			hash = mixed(hash, hash_of_frame(&rec->frames[frames->first_frame + i]));
		site[i] = hash;
	}
	site[SITE_FUNCTION] = monitors_function_site(rec, stack, thread);
}

bool monitors_is_same_function(const struct recording *rec, uint32_t a, uint32_t b)
{
	const struct rec_stack *left = &rec->stacks[a], *right = &rec->stacks[b];
	uint32_t count =
		left->frame_count < right->frame_count ? left->frame_count : right->frame_count;
	const struct rec_frame *l = &rec->frames[left->first_frame],
			       *r = &rec->frames[right->first_frame];

	if (!count || l[0].module != r[0].module ||
	    (count == 1 && left->frame_count != right->frame_count))
		return false;
	if (count == 1 &&
	    (l[0].offset < r[0].offset ? r[0].offset - l[0].offset : l[0].offset - r[0].offset) >
		    assume.function_span)
		return false;
	for (uint32_t i = 1; i < count && i < SITE_FRAMES; i++)
		if (l[i].module != r[i].module || l[i].offset != r[i].offset)
			return false;
	return true;
}

/* Where the stack's innermost frame is in its file; 0 = there is no frame, and perhaps none in the
 * whole recording. */
static uint64_t offset_of(const struct recording *rec, uint32_t stack)
{
	const struct rec_stack *frames = &rec->stacks[stack];

	return frames->frame_count ? rec->frames[frames->first_frame].offset : 0;
}

/* Another section whose site is that of one of which only a wait was recorded. Its lock call is the
 * nearest before the wait in the code of the same function. NO_INDEX: there is none. */
static uint32_t site_before_wait(const struct monitors *monitors, const struct recording *rec,
				 const struct section *section)
{
	assert(section->first_wait != NO_INDEX);
	uint32_t stack = rec->waits[section->first_wait].stack, nearest = NO_INDEX;
	uint64_t wait_at = offset_of(rec, stack), nearest_at = 0;

	for (size_t j = 0; stack && j < monitors->section_count; j++) {
		const struct section *other = &monitors->sections[j];

		if (other->first_hold == NO_INDEX || other->mutex != section->mutex)
			continue;
		uint32_t lock = rec->extras[other->first_hold].stack;
		uint64_t lock_at = offset_of(rec, lock);
		if (!lock || lock_at >= wait_at || lock_at < nearest_at ||
		    !monitors_is_same_function(rec, lock, stack))
			continue;
		nearest = (uint32_t)j;
		nearest_at = lock_at;
	}
	return nearest;
}

void monitors_complete_sites(struct monitors *monitors, const struct recording *rec)
{
	for (size_t i = 0; i < monitors->section_count; i++) {
		struct section *section = &monitors->sections[i];
		uint32_t other = section->first_hold == NO_INDEX
					 ? site_before_wait(monitors, rec, section)
					 : NO_INDEX;

		if (other != NO_INDEX)
			memcpy(section->site, monitors->sections[other].site,
			       sizeof(section->site));
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Processor sharing with a binary heap of virtual ends; see crowd.h. */
#include "crowd.h"

#include <assert.h>
#include <math.h>

static double rate(const struct crowd *crowd)
{
	double count = (double)crowd->count;

	return count <= crowd->cpus ? 1.0 : crowd->cpus / count;
}

static void advance(struct crowd *crowd, uint64_t now_ns)
{
	assert(now_ns >= crowd->now_ns);
	if (crowd->count)
		crowd->virtual_ns += (double)(now_ns - crowd->now_ns) * rate(crowd);
	crowd->now_ns = now_ns;
}

static bool before(const struct crowd_entry *a, const struct crowd_entry *b)
{
	return a->end != b->end ? a->end < b->end : a->order < b->order;
}

/* How long so much of virtual time lasts. */
static uint64_t lasts_ns(double virtual_ns, double rate)
{
	return virtual_ns > 0 ? (uint64_t)ceil(virtual_ns / rate) : 0;
}

static void look_ahead(struct crowd *crowd)
{
	crowd->next_ns = UINT64_MAX;
	if (crowd->count)
		crowd->next_ns = crowd->now_ns +
				 lasts_ns(crowd->heap[0].end - crowd->virtual_ns, rate(crowd));
}

void crowd_reset(struct crowd *crowd, double cpus)
{
	assert(cpus > 0);
	crowd->count = 0;
	crowd->cpus = cpus;
	crowd->virtual_ns = 0;
	crowd->now_ns = 0;
	crowd->order = 0;
	look_ahead(crowd);
}

void crowd_enter(struct crowd *crowd, uint64_t now_ns, uint32_t actor, uint64_t run_ns)
{
	advance(crowd, now_ns);
	struct crowd_entry entry = { crowd->virtual_ns + (double)run_ns, crowd->order++, actor };
	size_t at = crowd->count++;

	for (; at > 0 && before(&entry, &crowd->heap[(at - 1) / 2]); at = (at - 1) / 2)
		crowd->heap[at] = crowd->heap[(at - 1) / 2];
	crowd->heap[at] = entry;
	look_ahead(crowd);
}

uint32_t crowd_leave(struct crowd *crowd)
{
	assert(crowd->count > 0);
	advance(crowd, crowd_next_ns(crowd));
	uint32_t actor = crowd->heap[0].actor;
	struct crowd_entry last = crowd->heap[--crowd->count];
	size_t at = 0, child;

	for (; (child = 2 * at + 1) < crowd->count; at = child) {
		if (child + 1 < crowd->count &&
		    before(&crowd->heap[child + 1], &crowd->heap[child]))
			child++;
		if (!before(&crowd->heap[child], &last))
			break;
		crowd->heap[at] = crowd->heap[child];
	}
	crowd->heap[at] = last;
	look_ahead(crowd);
	return actor;
}

bool crowd_run(struct crowd *crowd, uint64_t *now_ns, uint64_t run_ns, uint64_t until_ns)
{
	if ((double)(crowd->count + 1) > crowd->cpus || *now_ns > crowd->next_ns)
		return false;
	assert(*now_ns >= crowd->now_ns);
	double since = crowd->count ? (double)(*now_ns - crowd->now_ns) : 0;
	double begin = crowd->virtual_ns + since, end = begin + (double)run_ns;
	uint64_t lasts = lasts_ns(end - begin, 1.0);

	if ((crowd->count && crowd->heap[0].end <= end) || *now_ns + lasts > until_ns)
		return false;
	crowd->virtual_ns = begin + (double)lasts;
	*now_ns += lasts;
	crowd->now_ns = *now_ns;
	look_ahead(crowd);
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots of time. See pace.h.
 *
 * The cost is a quotient of sums, not a mean of quotients. A slot in which the program did much
 * says more than an idle one.
 */
#include "pace.h"

#include "in_target.h"

/* All bits of the number decide each bit; the constants are those of splitmix64. */
static uint64_t hash(uint64_t number)
{
	uint64_t bits = number + UINT64_C(0x9e3779b97f4a7c15);

	bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
	return bits ^ (bits >> 31);
}

static uint64_t begin_of(uint64_t slot)
{
	return slot * PACE_SLOT_NS + hash(~slot) % (PACE_SLOT_NS / 2);
}

struct pace_slot pace_slot_at(uint64_t mono_ns)
{
	uint64_t slot = mono_ns / PACE_SLOT_NS;

	if (slot > 0 && mono_ns < begin_of(slot))
		slot--;
	return (struct pace_slot){ slot, begin_of(slot + 1) };
}

bool pace_records(uint64_t slot, uint64_t share)
{
	return (hash(slot) >> 32) * PACE_WHOLE >> 32 < share;
}

void pace_learn(struct pace *pace, uint64_t own_ns, uint64_t cpu_ns)
{
	pace->own_ns += own_ns - pace->own_ns / PACE_FORGETS;
	pace->cpu_ns += cpu_ns - pace->cpu_ns / PACE_FORGETS;
}

uint64_t pace_cost(const struct pace *pace)
{
	if (pace->cpu_ns == 0)
		return PACE_COST_FIRST;
	return pace->own_ns < pace->cpu_ns
		       ? (uint64_t)((unsigned __int128)pace->own_ns * PACE_WHOLE / pace->cpu_ns)
		       : PACE_WHOLE;
}

uint64_t pace_share(const struct pace *pace, uint64_t budget)
{
	uint64_t cost = pace_cost(pace), aim = budget * PACE_AIM_PERCENT / 100, share;

	if (cost <= aim)
		return PACE_WHOLE;
	share = aim * PACE_WHOLE / cost;
	return share > PACE_SHARE_LEAST ? share : PACE_SHARE_LEAST;
}

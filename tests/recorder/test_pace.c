/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, recording costs more than its budget, or sees other times than those by chance. */
#include "pace.h"

#include <stdlib.h>

#include "suite.h"

enum { SLOTS = 20000, ONE_PERCENT = 10000, SLOT_CPU_NS = 500000000 };

START_TEST(slots_follow_each_other_without_a_gap)
{
	struct pace_slot slot = pace_slot_at(UINT64_C(5000) * PACE_SLOT_NS);

	for (int i = 0; i < 1000; i++) {
		struct pace_slot next = pace_slot_at(slot.end_ns);

		ck_assert_uint_eq(pace_slot_at(slot.end_ns - 1).number, slot.number);
		ck_assert_uint_eq(next.number, slot.number + 1);
		ck_assert_uint_ge(next.end_ns - slot.end_ns, PACE_SLOT_NS / 2);
		ck_assert_uint_le(next.end_ns - slot.end_ns, 3 * (uint64_t)PACE_SLOT_NS / 2);
		slot = next;
	}
}
END_TEST

START_TEST(the_first_second_of_a_machine_is_a_slot_too)
{
	ck_assert_uint_eq(pace_slot_at(0).number, 0);
	ck_assert_uint_gt(pace_slot_at(0).end_ns, 0);
}
END_TEST

static uint64_t recorded_of(uint64_t share)
{
	uint64_t count = 0;

	for (uint64_t slot = 0; slot < SLOTS; slot++)
		count += pace_records(slot, share);
	return count;
}

START_TEST(shares_are_met)
{
	static const uint64_t shares[] = { 10000, 50000, 300000, 900000 };

	for (int i = 0; i < 4; i++) {
		uint64_t wanted = SLOTS * shares[i] / PACE_WHOLE;

		ck_assert_uint_ge(recorded_of(shares[i]), wanted - wanted / 7);
		ck_assert_uint_le(recorded_of(shares[i]), wanted + wanted / 7);
	}
	ck_assert_uint_eq(recorded_of(0), 0);
	ck_assert_uint_eq(recorded_of(PACE_WHOLE), SLOTS);
}
END_TEST

START_TEST(who_records_more_records_what_others_do)
{
	for (uint64_t slot = 0; slot < SLOTS; slot++)
		if (pace_records(slot, 10000))
			ck_assert(pace_records(slot, 20000));
}
END_TEST

START_TEST(no_period_of_a_program_is_favoured)
{
	for (uint64_t period = 2; period < 20; period++) {
		uint64_t count = 0;

		for (uint64_t slot = 0; slot < SLOTS * period; slot += period)
			count += pace_records(slot, 200000);
		ck_assert_uint_ge(count, SLOTS / 5 - SLOTS / 50);
		ck_assert_uint_le(count, SLOTS / 5 + SLOTS / 50);
	}
}
END_TEST

/* A second of a load: CPU time of the program, and what recording costs of that in percent. */
struct second {
	uint64_t cpu_ns;
	uint64_t cost_percent;
};

static struct second constant(uint64_t slot)
{
	(void)slot;
	return (struct second){ SLOT_CPU_NS, 20 };
}

static struct second bursty(uint64_t slot)
{
	return slot / 7 % 10 ? (struct second){ SLOT_CPU_NS / 10, 2 }
			     : (struct second){ 2 * SLOT_CPU_NS, 50 };
}

static struct second growing(uint64_t slot)
{
	return (struct second){ SLOT_CPU_NS + slot * 10000, 1 + 60 * slot / SLOTS };
}

static struct second dear_and_rare(uint64_t slot)
{
	return (struct second){ slot % 3 ? 0 : SLOT_CPU_NS, 90 };
}

/* The cost of recording in millionths of all CPU time, first learning included. */
static uint64_t run(struct second (*load)(uint64_t), uint64_t budget)
{
	struct pace pace = { 0 };
	uint64_t own_ns = 0, cpu_ns = 0;

	for (uint64_t slot = 0; slot < SLOTS; slot++) {
		struct second second = load(slot);
		uint64_t cost_ns = second.cpu_ns * second.cost_percent / 100;

		cpu_ns += second.cpu_ns;
		if (!pace_records(slot, pace_share(&pace, budget)))
			continue;
		pace_learn(&pace, cost_ns, second.cpu_ns);
		own_ns += cost_ns;
	}
	return (uint64_t)((double)own_ns * PACE_WHOLE / (double)cpu_ns);
}

START_TEST(the_cost_comes_to_the_budget_and_not_beyond)
{
	static struct second (*const loads[])(uint64_t) = { constant, bursty, growing,
							    dear_and_rare };
	static const uint64_t budgets[] = { ONE_PERCENT, 2 * ONE_PERCENT, 5 * ONE_PERCENT };
	uint64_t budget = budgets[_i / 4], cost = run(loads[_i % 4], budget);

	ck_assert_msg(cost <= budget && cost >= budget / 2, "load %d: %lu of %lu", _i % 4,
		      (unsigned long)cost, (unsigned long)budget);
}
END_TEST

START_TEST(what_costs_less_is_recorded_all_the_time)
{
	struct pace pace = { 0 };

	pace_learn(&pace, 1000, 1000000);
	ck_assert_uint_eq(pace_share(&pace, ONE_PERCENT), PACE_WHOLE);
}
END_TEST

START_TEST(nothing_is_too_dear_to_be_looked_at_now_and_then)
{
	struct pace pace = { 0 };

	/* The estimate of the cost may be more than all CPU time. */
	pace_learn(&pace, 5000000, 1000000);
	ck_assert_uint_eq(pace_cost(&pace), PACE_WHOLE);
	ck_assert_uint_eq(pace_share(&pace, 1), PACE_SHARE_LEAST);
}
END_TEST

START_TEST(a_slot_without_cpu_time_tells_nothing)
{
	struct pace pace = { 0 };

	pace_learn(&pace, 0, 0);
	ck_assert_uint_eq(pace_cost(&pace), PACE_COST_FIRST);
	pace_learn(&pace, 30000, 1000000);
	pace_learn(&pace, 0, 0);
	ck_assert_uint_ge(pace_cost(&pace), 29990);
	ck_assert_uint_le(pace_cost(&pace), 30010);
}
END_TEST

START_TEST(the_last_slots_count_most)
{
	struct pace pace = { 0 };

	for (int i = 0; i < 50; i++)
		pace_learn(&pace, 10000000, 1000000000);
	for (int i = 0; i < 200; i++)
		pace_learn(&pace, 300000000, 1000000000);
	ck_assert_uint_ge(pace_cost(&pace), 29 * ONE_PERCENT);
	ck_assert_uint_le(pace_cost(&pace), 30 * ONE_PERCENT);
}
END_TEST

SUITE()
{
	TEST(slots_follow_each_other_without_a_gap);
	TEST(the_first_second_of_a_machine_is_a_slot_too);
	TEST(shares_are_met);
	TEST(who_records_more_records_what_others_do);
	TEST(no_period_of_a_program_is_favoured);
	LOOP(the_cost_comes_to_the_budget_and_not_beyond, 0, 12);
	TEST(what_costs_less_is_recorded_all_the_time);
	TEST(nothing_is_too_dear_to_be_looked_at_now_and_then);
	TEST(a_slot_without_cpu_time_tells_nothing);
	TEST(the_last_slots_count_most);
}

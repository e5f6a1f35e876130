/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, moved instructions read other memory, or a jump lacks its traps. */
#include "probe_hop.h"

#include "probed.h"
#include "suite.h"

static int32_t distance_at(const uint8_t *at)
{
	int32_t distance;

	memcpy(&distance, at, sizeof(distance));
	return distance;
}

static const uint8_t traps[][PROBE_MARKS_MAX] = { { 0 }, { 1 }, { 4 }, { 2, 4 }, { 1, 2, 3, 4 } };

START_TEST(a_jump_has_traps_at_its_marks)
{
	struct probe_order order = probed_order();
	uint64_t hop;
	uint8_t bytes[4];
	int32_t distance;

	order.mark_count = 0;
	for (int i = 0; i < PROBE_MARKS_MAX && traps[_i][i]; i++)
		order.marks[order.mark_count++].old = traps[_i][i];
	hop = probe_hop_make(&order, 3);
	ck_assert_uint_ne(hop, 0);
	distance = (int32_t)(hop - order.address - PROBE_JUMP_BYTES);
	ck_assert_uint_eq(order.address + PROBE_JUMP_BYTES + (uint64_t)(int64_t)distance, hop);
	memcpy(bytes, &distance, sizeof(bytes));
	for (uint32_t i = 0; i < order.mark_count; i++)
		ck_assert_uint_eq(bytes[order.marks[i].old - 1], PROBE_TRAP);
}

START_TEST(the_way_back_leads_behind_the_old_bytes)
{
	struct probe_order order = probed_order();
	uint64_t first = probe_hop_make(&order, 3), second = probe_hop_make(&order, 4);
	const uint8_t *hop = (const uint8_t *)(uintptr_t)first;
	uint64_t end = first + PROBE_HOP_CODE + order.moved_bytes;

	ck_assert_uint_ne(first, 0);
	ck_assert_uint_ne(second, first);
	ck_assert_int_eq(distance_at(hop + 2), 3);
	ck_assert_int_eq(memcmp(hop + PROBE_HOP_CODE, order.old, order.old_bytes), 0);
	ck_assert_uint_eq(end + (uint64_t)(int64_t)distance_at(hop + PROBE_HOP_CODE + 7),
			  order.address + order.old_bytes);
}

/* The same code may be probed in another way after that. */
START_TEST(there_is_room_for_several)
{
	struct probe_order order = probed_order();

	order.marks[0].old = 3;
	order.marks[1].old = 4;
	for (uint32_t i = 0; i < 8; i++)
		ck_assert_uint_ne(probe_hop_make(&order, i), 0);
}

START_TEST(where_nothing_can_be_mapped_there_is_none)
{
	struct probe_order order = probed_order();

	/* 2 GB above and below there is the kernel's, or nobody's. */
	order.address = UINT64_C(0x7000000000000000);
	ck_assert_uint_eq(probe_hop_make(&order, 0), 0);
}

SUITE()
{
	LOOP(a_jump_has_traps_at_its_marks, 0, 5);
	TEST(the_way_back_leads_behind_the_old_bytes);
	TEST(there_is_room_for_several);
	TEST(where_nothing_can_be_mapped_there_is_none);
}

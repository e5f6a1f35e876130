/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, moved instructions read other memory, or a jump lacks its traps. */
#include "probe_hop.h"

#include <signal.h>

#include "probed.h"
#include "suite.h"

static int32_t distance_at(const uint8_t *at)
{
	int32_t distance;

	memcpy(&distance, at, sizeof(distance));
	return distance;
}

/* test_probe_traps.c runs them. */
static const uint8_t invalid[] = { 0x61, 0x60, 0x3f, 0x37, 0x2f, 0x27, 0x1f,
				   0x1e, 0x17, 0x16, 0x0e, 0x07, 0x06 };
static const uint8_t traps[][PROBE_MARKS_MAX] = { { 0 }, { 1 }, { 4 }, { 2, 4 }, { 1, 2, 3, 4 } };

/* A program that is linked to a fixed address, and the others. */
static bool is_low(int row)
{
	return row >= 5;
}

START_TEST(a_jump_has_traps_at_its_marks)
{
	struct probe_order order = probed_order();
	const uint8_t *marks = traps[_i % 5];
	uint64_t hop;
	uint8_t bytes[4];
	int32_t distance;

	order.mark_count = 0;
	if (is_low(_i))
		order.address = 0x401210;
	for (int i = 0; i < PROBE_MARKS_MAX && marks[i]; i++)
		order.marks[order.mark_count++].old = marks[i];
	hop = probe_hop_make(&order, 3);
	ck_assert_uint_ne(hop, 0);
	distance = (int32_t)(hop - order.address - PROBE_JUMP_BYTES);
	ck_assert_uint_eq(order.address + PROBE_JUMP_BYTES + (uint64_t)(int64_t)distance, hop);
	memcpy(bytes, &distance, sizeof(bytes));
	for (uint32_t i = 0; i < order.mark_count; i++) {
		uint8_t byte = bytes[order.marks[i].old - 1];

		if (is_low(_i) && order.marks[i].old == 4)
			ck_assert_ptr_nonnull(memchr(invalid, byte, sizeof(invalid)));
		else
			ck_assert_uint_eq(byte, PROBE_TRAP);
	}
}

START_TEST(the_signals_are_those_of_the_marks)
{
	static const uint32_t trap = 1U << SIGTRAP, ill = 1U << SIGILL;
	const uint32_t expected[] = { 0, trap, trap, trap,       trap,
				      0, trap, ill,  trap | ill, trap | ill };
	struct probe_order order = probed_order();

	order.mark_count = 0;
	if (is_low(_i))
		order.address = 0x401210;
	for (int i = 0; i < PROBE_MARKS_MAX && traps[_i % 5][i]; i++)
		order.marks[order.mark_count++].old = traps[_i % 5][i];
	ck_assert_uint_eq(probe_hop_signals(&order), expected[_i]);
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
	LOOP(a_jump_has_traps_at_its_marks, 0, 10);
	LOOP(the_signals_are_those_of_the_marks, 0, 10);
	TEST(the_way_back_leads_behind_the_old_bytes);
	TEST(there_is_room_for_several);
	TEST(where_nothing_can_be_mapped_there_is_none);
}

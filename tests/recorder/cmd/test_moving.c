/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a jump for a place within a function breaks instructions that others jump to. */
#include "moving.h"

#include <string.h>

#include "probe_plan.h"
#include "suite.h"

enum { FUNCTION_AT = 16, TEXT_BYTES = 96, ADDRESS = 0x1000 };

static const struct row {
	const char *code;
	uint32_t bytes;
	uint32_t place;
	uint64_t function; /* address, less ADDRESS */
	const char *why;   /* NULL: it can be */
	uint8_t from, old_bytes, stub_at, marks;
} rows[] = {
	/*  0: nop; mov eax, edi; lea eax, [rax+1]; ret */
	{ "\x90\x89\xf8\x8d\x40\x01\xc3", 7, 0, 0, NULL, 0, 6, 0, 2 },
	/*  1: mov eax, 5; nop; ret; padding: the whole instruction before the nop is the jump */
	{ "\xb8\x05\0\0\0\x90\xc3\x90\x90\x90\x90", 7, 5, 0, NULL, 0, 5, 5, 0 },
	/*  2: xor eax, eax; nop; ret; padding of one instruction, which is overwritten */
	{ "\x31\xc0\x90\xc3\x66\x0f\x1f\x44\0\0", 4, 2, 0, NULL, 2, 8, 0, 2 },
	/*  3: the same, and code instead of padding */
	{ "\x31\xc0\x90\xc3\x31\xc0\xc3", 4, 2, 0, "shorter", 0, 0, 0, 0 },
	/*  4: nop; dec edi; jg 1; ret: the loop's begin is within the jump */
	{ "\x90\xff\xcf\x7f\xfc\xc3", 6, 0, 0, "a jump leads", 0, 0, 0, 0 },
	/*  5: nop; xor eax, eax; xor ecx, ecx; dec edi; jg 0; ret: one may lead to the jump itself
	 */
	{ "\x90\x31\xc0\x31\xc9\xff\xcf\x7f\xf7\xc3", 10, 0, 0, NULL, 0, 5, 0, 2 },
	/*  6: nop; jmp rax; six nops: a table may lead to any of them */
	{ "\x90\xff\xe0\x90\x90\x90\x90\x90\x90", 9, 3, 0, "by a table", 0, 0, 0, 0 },
	/*  7: the same, mov eax, 5 */
	{ "\x90\xff\xe0\xb8\x05\0\0\0\xc3", 9, 3, 0, NULL, 3, 5, 0, 0 },
	/*  8: nop; jmp [rip+0]: that is a tail call */
	{ "\x90\xff\x25\0\0\0\0", 7, 0, 0, NULL, 0, 7, 0, 1 },
	/*  9: nop; call rax; ret */
	{ "\x90\xff\xd0\xc3\x90\x90", 4, 0, 0, "a call", 0, 0, 0, 0 },
	/* 10: mov eax, edi; ret: nothing begins at its second byte */
	{ "\x89\xf8\xb8\x05\0\0\0\xc3", 8, 1, 0, "begins there", 0, 0, 0, 0 },
	/* 11: as 0, 13 bytes behind a border of 16 */
	{ "\x90\x89\xf8\x8d\x40\x01\xc3", 7, 0, 13, "a border", 0, 0, 0, 0 },
	/* 12: the same with instructions before: mov ecx, 0; nop; ... */
	{ "\xb9\0\0\0\0\x90\x89\xf8\x8d\x40\x01\xc3", 12, 5, 8, NULL, 0, 5, 5, 0 },
	/* 13: mov eax, 5; ret; nop; mov eax, edi; lea eax, [rax+1]; ret: no way leads to the nop */
	{ "\xb8\x05\0\0\0\xc3\x90\x89\xf8\x8d\x40\x01\xc3", 13, 6, 0, NULL, 6, 6, 0, 2 },
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* A jump of another function is at the first byte of the text. */
static const char *plan(const struct row *row, struct probe_order *order, int32_t other)
{
	uint8_t code[TEXT_BYTES];
	const struct probe_text_bytes text = { code, sizeof(code), FUNCTION_AT, row->bytes };

	memset(code, 0xcc, sizeof(code));
	memcpy(code + FUNCTION_AT, row->code, row->bytes);
	for (uint32_t i = row->bytes; i < row->bytes + 12 && row->code[row->bytes]; i++)
		code[FUNCTION_AT + i] = (uint8_t)row->code[i];
	code[0] = 0xe9;
	other += FUNCTION_AT - 5;
	memcpy(code + 1, &other, sizeof(other));
	*order = (struct probe_order){ .place = ADDRESS + row->function + row->place };
	return probe_plan_within(&text, row->place, order);
}

START_TEST(a_place_has_a_jump_or_a_reason)
{
	const struct row *row = &rows[_i];
	struct probe_order order;
	const char *why = plan(row, &order, -10);

	if (row->why) {
		ck_assert_msg(why && strstr(why, row->why), "%s", why ? why : "it was moved");
		return;
	}
	ck_assert_msg(!why, "%s", why);
	ck_assert_uint_eq(order.sight, PROBE_SEES_A_MOMENT);
	ck_assert_uint_eq(order.address, ADDRESS + row->function + row->from);
	ck_assert_uint_eq(order.old_bytes, row->old_bytes);
	ck_assert_uint_eq(order.stub_at, row->stub_at);
	ck_assert_uint_eq(order.mark_count, row->marks);
	ck_assert_int_eq(memcmp(order.old, row->code + row->from, row->old_bytes), 0);
	/* Instructions before the place run before the stub. */
	ck_assert_int_eq(memcmp(order.moved, order.old, row->stub_at), 0);
	ck_assert_uint_eq(order.moved[row->stub_at], 0x90);
}

START_TEST(jumps_of_other_functions_count)
{
	struct probe_order order;

	ck_assert_ptr_null(plan(&rows[0], &order, 0));
	ck_assert_ptr_nonnull(plan(&rows[0], &order, 1));
	ck_assert_ptr_nonnull(plan(&rows[0], &order, 3));
	ck_assert_ptr_null(plan(&rows[0], &order, 6));
	/* The jump begins before the place: who comes to the place would not be seen. */
	ck_assert_ptr_nonnull(plan(&rows[12], &order, 5));
}

SUITE()
{
	LOOP(a_place_has_a_jump_or_a_reason, 0, ROWS);
	TEST(jumps_of_other_functions_count);
}

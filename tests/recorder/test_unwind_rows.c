/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this fails, a row of an unwind table is that of another address, or a damaged table is read
 * beyond its end.
 */
#include <string.h>

#include "unwind_rows.h"
#include "suite.h"

enum { START = 0x1000, MOST = 24, RBX = 3, RBP = 6, SP = 7 };

#define CODE(...) .code = { __VA_ARGS__ }, .bytes = sizeof((uint8_t[]){ __VA_ARGS__ })
#define SAVED(offset)                                \
	{                                            \
		.how = HOW_SAVED, .number = (offset) \
	}

/* At rsp + 8, the return address at CFA - 8, as compilers have it. */
static const uint8_t shared[] = { 0x0c, SP, 8, 0x90, 1 };

static const struct {
	uint8_t code[MOST];
	uint8_t bytes;
	uint8_t at; /* in the function */
	bool is_wrong;
	int64_t cfa_offset;
	uint64_t cfa_register;
	struct unwind_cell rbx;
} rows[] = {
	/*  0 */ { CODE(0), .cfa_register = SP, .cfa_offset = 8 },
	/*  1: from where on */
	{ CODE(0x42, 0x0e, 16), .at = 1, .cfa_register = SP, .cfa_offset = 8 },
	/*  2 */ { CODE(0x42, 0x0e, 16), .at = 2, .cfa_register = SP, .cfa_offset = 16 },
	/*  3 */ { CODE(2, 9, 0x0e, 16), .at = 8, .cfa_register = SP, .cfa_offset = 8 },
	/*  4 */ { CODE(3, 9, 0, 0x0e, 16), .at = 9, .cfa_register = SP, .cfa_offset = 16 },
	/*  5 */ { CODE(4, 9, 0, 0, 0, 0x0d, RBP), .at = 9, .cfa_register = RBP, .cfa_offset = 8 },
	/*  6: scaled by -8 */
	{ CODE(0x83, 2), .cfa_register = SP, .cfa_offset = 8, .rbx = SAVED(-16) },
	/*  7 */ { CODE(0x11, RBX, 0x7e), .cfa_register = SP, .cfa_offset = 8, .rbx = SAVED(16) },
	/*  8 */ { CODE(0x2f, RBX, 2), .cfa_register = SP, .cfa_offset = 8, .rbx = SAVED(16) },
	/*  9 */ { CODE(0x12, RBP, 0x7e), .cfa_register = RBP, .cfa_offset = 16 },
	/* 10 */ { CODE(0x13, 0x7f), .cfa_register = SP, .cfa_offset = 8 },
	/* 11 */
	{ CODE(0x14, RBX, 2), .cfa_register = SP, .cfa_offset = 8, .rbx = { HOW_SUM, { -16 } } },
	/* 12 */
	{ CODE(0x09, RBX, 9), .cfa_register = SP, .cfa_offset = 8, .rbx = { HOW_REGISTER, { 9 } } },
	/* 13 */
	{ CODE(0x07, RBX), .cfa_register = SP, .cfa_offset = 8, .rbx = { HOW_UNKNOWN, { 0 } } },
	/* 14: as it was, as it always is */
	{ CODE(0x83, 2, 0x0a, 0x0e, 64, 0x83, 3, 0x0b), .cfa_register = SP, .cfa_offset = 8,
	  .rbx = SAVED(-16) },
	/* 15 */ { CODE(0x83, 2, 0xc3), .cfa_register = SP, .cfa_offset = 8 },
	/* 16: what calls have pushed, and nothing */
	{ CODE(0x2e, 16, 0), .cfa_register = SP, .cfa_offset = 8 },
	/* 17: none, cut off, without a begin, too deep */
	{ CODE(0x3f), .is_wrong = true },
	/* 18 */ { CODE(0x0c, SP), .is_wrong = true },
	/* 19 */ { CODE(0x0b), .is_wrong = true },
	/* 20 */ { CODE(10, 10, 10, 10, 10, 10, 10, 10, 10), .is_wrong = true },
	/* 21: an expression that is longer than the table */
	{ CODE(0x0f, 9, 0x77, 8), .is_wrong = true },
	/* 22 */
	{ CODE(0x10, RBX, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1),
	  .is_wrong = true },
};

static struct unwind_entry entry_of(const uint8_t *code, uint8_t bytes)
{
	return (struct unwind_entry){
		.common = { shared, shared + sizeof(shared), false },
		.own = { code, code + bytes, false },
		.start = START,
		.code_factor = 1,
		.data_factor = -8,
		.return_column = 16,
	};
}

START_TEST(a_row_is_that_of_its_address)
{
	/* On the heap, so that a sanitizer sees what is read beyond. */
	uint8_t *code = malloc(rows[_i].bytes);
	struct unwind_entry entry = entry_of(code, rows[_i].bytes);
	struct unwind_row row;

	memcpy(code, rows[_i].code, rows[_i].bytes);
	ck_assert_int_eq(unwind_row_at(&entry, START + rows[_i].at, &row), !rows[_i].is_wrong);
	free(code);
	if (rows[_i].is_wrong)
		return;
	ck_assert_uint_eq(row.cfa_register, rows[_i].cfa_register);
	ck_assert_int_eq(row.cfa_offset, rows[_i].cfa_offset);
	ck_assert_uint_eq(row.cells[UNWIND_RBX].how, rows[_i].rbx.how);
	ck_assert_int_eq(row.cells[UNWIND_RBX].number, rows[_i].rbx.number);
	ck_assert_uint_eq(row.cells[UNWIND_PC].how, HOW_SAVED);
	ck_assert_int_eq(row.cells[UNWIND_PC].number, -8);
}
END_TEST

START_TEST(an_expression_is_found_by_its_length)
{
	static const uint8_t code[] = { 0x0f, 2, 0x77, 8, 0x16, RBX, 1, 0x30 };
	struct unwind_entry entry = entry_of(code, sizeof(code));
	struct unwind_bytes expression;
	struct unwind_row row;

	ck_assert(unwind_row_at(&entry, START, &row));
	expression = unwind_expression(row.cfa_from);
	ck_assert_ptr_eq(expression.at, code + 2);
	ck_assert_ptr_eq(expression.end, code + 4);
	ck_assert_uint_eq(row.cells[UNWIND_RBX].how, HOW_EXPRESSION);
	expression = unwind_expression(row.cells[UNWIND_RBX].from);
	ck_assert_ptr_eq(expression.at, code + 7);
	ck_assert_ptr_eq(expression.end, code + 8);
}
END_TEST

SUITE()
{
	EACH(a_row_is_that_of_its_address, rows);
	TEST(an_expression_is_found_by_its_length);
}

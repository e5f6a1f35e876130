/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this fails, an expression of an unwind table is taken for another place, or reckoning with a
 * damaged one goes beyond its end.
 */
#include <string.h>

#include "unwind_value.h"
#include "suite.h"

enum { PC = 0x40100d, MOST = 24 };

#define CODE(...) .code = { __VA_ARGS__ }, .bytes = sizeof((uint8_t[]){ __VA_ARGS__ })
#define NUMBER(number)                                 \
	{                                              \
		.kind = VALUE_NUMBER, .plus = (number) \
	}
#define REGISTER(register, number)                                                  \
	{                                                                           \
		.kind = VALUE_REGISTER, .base = UNWIND_##register, .plus = (number) \
	}
#define READ(register, where, number)                        \
	{                                                    \
		VALUE_READ, UNWIND_##register, where, number \
	}
#define UNKNOWN                       \
	{                             \
		.kind = VALUE_UNKNOWN \
	}

static const struct {
	uint8_t code[MOST];
	uint8_t bytes;
	bool is_wrong;
	struct unwind_value value;
} rows[] = {
	/*  0 */ { CODE(0x77, 8), .value = REGISTER(SP, 8) },
	/*  1 */ { CODE(0x92, 6, 0x70), .value = REGISTER(RBP, -16) },
	/*  2 */ { CODE(0x76, 0x78, 0x06, 0x23, 16), .value = READ(RBP, -8, 16) },
	/*  3 */ { CODE(0x76, 0, 0x06, 0x06), .value = UNKNOWN },
	/*  4 */ { CODE(0x77, 15, 0x09, 0xf0, 0x1a), .value = UNKNOWN },
	/*  5 */ { CODE(0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24), .value = NUMBER(8) },
	/*  6 */
	{ CODE(0x0a, 0x34, 0x12, 0x0d, 0xff, 0xff, 0xff, 0xff, 0x22), .value = NUMBER(0x1233) },
	/*  7 */ { CODE(0x10, 0x80, 1, 0x11, 0x7f, 0x1e), .value = NUMBER(-128) },
	/*  8 */ { CODE(0x35, 0x32, 0x16, 0x1c), .value = NUMBER(-3) },
	/*  9 */ { CODE(0x31, 0x32, 0x33, 0x15, 2, 0x14, 0x13, 0x12, 0x22), .value = NUMBER(2) },
	/* 10 */ { CODE(0x31, 0x28, 1, 0, 0x01, 0x37), .value = NUMBER(7) },
	/* 11 */ { CODE(0x2f, 1, 0, 0x01, 0x37, 0x1f, 0x20), .value = NUMBER(6) },
	/* 12 */ { CODE(0x70, 0), .value = UNKNOWN },
	/* 13: nothing, a stack that is too short, no operation */
	{ CODE(0x96), .is_wrong = true },
	/* 14 */ { CODE(0x31, 0x22), .is_wrong = true },
	/* 15 */ { CODE(0x01), .is_wrong = true },
	/* 16: cut off in a number */
	{ CODE(0x0c, 1, 2), .is_wrong = true },
	/* 17 */ { CODE(0x10, 0x80, 0x80), .is_wrong = true },
	/* 18: jumps out at either end, goes round for ever */
	{ CODE(0x2f, 1, 0), .is_wrong = true },
	/* 19 */ { CODE(0x2f, 0xf0, 0xff), .is_wrong = true },
	/* 20 */ { CODE(0x2f, 0xfd, 0xff), .is_wrong = true },
	/* 21: either way may be gone */
	{ CODE(0x77, 0, 0x28, 0, 0), .is_wrong = true },
	/* 22: seventeen of them */
	{ CODE(0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30,
	       0x30, 0x30, 0x30),
	  .is_wrong = true },
	/* 23: a number of ever more bytes */
	{ CODE(0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f),
	  .value = NUMBER(-1) },
};

START_TEST(an_expression_has_its_value)
{
	/* On the heap, so that a sanitizer sees what is read beyond. */
	uint8_t *code = malloc(rows[_i].bytes);
	struct unwind_bytes bytes = { code, code + rows[_i].bytes, false };
	struct unwind_value value;

	memcpy(code, rows[_i].code, rows[_i].bytes);
	ck_assert_int_eq(unwind_evaluate(bytes, PC, NULL, &value), !rows[_i].is_wrong);
	free(code);
	if (rows[_i].is_wrong)
		return;
	ck_assert_uint_eq(value.kind, rows[_i].value.kind);
	if (value.kind == VALUE_UNKNOWN)
		return;
	ck_assert_int_eq(value.plus, rows[_i].value.plus);
	ck_assert_uint_eq(value.base, rows[_i].value.base);
	ck_assert_int_eq(value.at, rows[_i].value.at);
}
END_TEST

START_TEST(the_canonical_address_comes_first)
{
	static const uint8_t code[] = { 0x23, 0x08 };
	struct unwind_value first = REGISTER(R12, 32), value;

	ck_assert(unwind_evaluate((struct unwind_bytes){ code, code + sizeof(code), false }, PC,
				  &first, &value));
	ck_assert(value_has_same_base(&first, &value));
	ck_assert_int_eq(value.plus, 40);
}
END_TEST

SUITE()
{
	EACH(an_expression_has_its_value, rows);
	TEST(the_canonical_address_comes_first);
}

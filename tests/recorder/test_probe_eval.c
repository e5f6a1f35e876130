/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a probe reads wrong values, counts wrong calls, or runs bytes that are no program.
 */
#include "probe_eval.h"

#include <math.h>
#include <string.h>

#include "suite.h"

/* The program's memory: two pages' worth that end where nothing follows. */
enum { MEMORY_START = 0x10000 - 64, MEMORY_BYTES = 64 };
static unsigned char memory[MEMORY_BYTES];

static bool read_memory(void *context, uint64_t address, void *to, size_t bytes)
{
	(void)context;
	if (address < MEMORY_START || bytes > MEMORY_BYTES ||
	    address - MEMORY_START > MEMORY_BYTES - bytes)
		return false;
	memcpy(to, memory + (address - MEMORY_START), bytes);
	return true;
}

static uint64_t registers[PROBE_REGISTERS];
static uint64_t vectors[PROBE_VECTORS];
static const struct probe_context context = {
	registers, 0x1000, read_memory, NULL, 0x5000, vectors
};
static struct probe_value values[PROBE_FETCHES_MAX];

static struct probe_value *fetch(const struct probe_fetch *wanted)
{
	struct probe_code code = { .fetch_count = 1, .fetches = { *wanted } };

	code.has_reals = probe_code_has_reals(&code);
	ck_assert(probe_code_is_valid(&code));
	probe_fetch_all(&code, &context, false, values);
	return values;
}

START_TEST(registers_are_cut_and_extended)
{
	static const struct {
		uint64_t content;
		uint8_t type, size, shift, count;
		uint64_t expected;
	} rows[] = {
		/*  0 */ { 0xffffffff80000001, PROBE_SIGNED, 4, 0, 0, 0xffffffff80000001 },
		/*  1 */ { 0x1234567880000001, PROBE_SIGNED, 4, 0, 0, 0xffffffff80000001 },
		/*  2 */ { 0x1234567880000001, PROBE_UNSIGNED, 4, 0, 0, 0x80000001 },
		/*  3 */ { 0x12345678800000ff, PROBE_SIGNED, 1, 0, 0, UINT64_MAX },
		/*  4 */ { 0x12345678800000ff, PROBE_HEXADECIMAL, 2, 0, 0, 0xff },
		/*  5 */ { 0x1234567880000001, PROBE_UNSIGNED, 8, 0, 0, 0x1234567880000001 },
		/*  6: a bit-field of 3 */ { 0xb8, PROBE_UNSIGNED, 4, 3, 3, 7 },
		/*  7 */ { 0xb8, PROBE_SIGNED, 4, 3, 3, UINT64_MAX },
		/*  8 */ { 0x98, PROBE_SIGNED, 4, 3, 3, 3 },
		/*  9: 1.5 */ { 0x3ff8000000000000, PROBE_REAL, 8, 0, 0, 0x3ff8000000000000 },
		/* 10: -1.5, of a float; what is above is not its own */
		{ 0x12345678bfc00000, PROBE_REAL, 4, 0, 0, 0xbff8000000000000 },
		/* 11: the upper of two floats */
		{ 0xbfc0000012345678, PROBE_REAL, 4, 32, 32, 0xbff8000000000000 },
		/* 12: 0 */ { 0, PROBE_REAL, 4, 0, 0, 0 },
		/* 13: -0 */ { 0x80000000, PROBE_REAL, 4, 0, 0, 0x8000000000000000 },
		/* 14: the least float, 2 ^ -149 */ { 1, PROBE_REAL, 4, 0, 0, 0x36a0000000000000 },
		/* 15: the largest that begins with no 1 */
		{ 0x7fffff, PROBE_REAL, 4, 0, 0, 0x380fffffc0000000 },
		/* 16: the largest */ { 0x7f7fffff, PROBE_REAL, 4, 0, 0, 0x47efffffe0000000 },
		/* 17: infinite */ { 0xff800000, PROBE_REAL, 4, 0, 0, 0xfff0000000000000 },
		/* 18: no number */ { 0x7fc00001, PROBE_REAL, 4, 0, 0, 0x7ff8000020000000 },
	};

	registers[PROBE_RSI] = rows[_i].content;
	ck_assert_uint_eq(fetch(&(struct probe_fetch){ .reg = PROBE_RSI,
						       .type = rows[_i].type,
						       .size = rows[_i].size,
						       .bit_shift = rows[_i].shift,
						       .bit_count = rows[_i].count })
				  ->bits,
			  rows[_i].expected);
	ck_assert(values[0].is_known);
}

START_TEST(numbers_begin_where_they_say)
{
	static const struct {
		uint8_t start;
		uint64_t expected;
	} rows[] = {
		/* 0 */ { PROBE_FROM_REGISTER, 0x300 + 7 },
		/* 1 */ { PROBE_FROM_MODULE, 0x1000 + 7 },
		/* 2 */ { PROBE_FROM_ZERO, 7 },
		/* 3 */ { PROBE_FROM_THREAD, 0x5000 + 7 },
		/* 4 */ { PROBE_FROM_VECTOR, 0x700 + 7 },
	};

	registers[PROBE_RSI] = 0x300;
	vectors[PROBE_RSI] = 0x700;
	ck_assert_uint_eq(
		fetch(&(struct probe_fetch){
			      .start = rows[_i].start, .reg = PROBE_RSI, .add = 7, .size = 8 })
			->bits,
		rows[_i].expected);
}

START_TEST(steps_follow_pointers)
{
	uint64_t pointer = MEMORY_START + 32;
	int32_t number = -7;
	struct probe_fetch fetches = { .reg = PROBE_RDI,
				       .add = 8,
				       .type = PROBE_SIGNED,
				       .size = 4,
				       .step_count = 2,
				       .steps = { { .bytes = 8, .add = 4 }, { .bytes = 4 } } };

	memcpy(memory + 8, &pointer, sizeof(pointer));
	memcpy(memory + 36, &number, sizeof(number));
	registers[PROBE_RDI] = MEMORY_START;
	ck_assert_int_eq((int64_t)fetch(&fetches)->bits, -7);
	/* A bad pointer is no value, and no fault. */
	registers[PROBE_RDI] = 0;
	ck_assert(!fetch(&fetches)->is_known);
	/* A static variable moves with its module. */
	fetches = (struct probe_fetch){ .start = PROBE_FROM_MODULE,
					.add = MEMORY_START + 36 - 0x1000,
					.type = PROBE_SIGNED,
					.size = 4,
					.step_count = 1,
					.steps = { { .bytes = 4 } } };
	ck_assert_int_eq((int64_t)fetch(&fetches)->bits, -7);
	fetches = (struct probe_fetch){
		.start = PROBE_FROM_ZERO, .add = -3, .type = PROBE_SIGNED, .size = 8
	};
	ck_assert_int_eq((int64_t)fetch(&fetches)->bits, -3);
}

START_TEST(strings_end_at_a_nul_or_a_bound)
{
	static const struct {
		const char *content;
		uint64_t at;
		uint8_t size;
		const char *expected; /* NULL: not known */
		bool is_cut;
	} rows[] = {
		/*  0 */ { "GET", MEMORY_START, 64, "GET", false },
		/*  1: the page behind is not there */ { "GET", 0x10000 - 8, 64, "GET", false },
		/*  2: nor is its NUL */ { "12345678", 0x10000 - 8, 64, "12345678", true },
		/*  3: an array that is full */ { "12345678", MEMORY_START, 4, "1234", false },
		/*  4 */ { "", MEMORY_START, 64, "", false },
		/*  5 */ { "", 0, 64, NULL, false },
	};
	const struct probe_fetch string = { .reg = PROBE_RDI,
					    .type = PROBE_STRING,
					    .size = rows[_i].size };

	memset(memory, 'x', sizeof(memory));
	if (rows[_i].at)
		memcpy(memory + (rows[_i].at - MEMORY_START), rows[_i].content,
		       strlen(rows[_i].content) +
			       (rows[_i].at + strlen(rows[_i].content) < 0x10000));
	registers[PROBE_RDI] = rows[_i].at;
	fetch(&string);
	ck_assert(values[0].is_known == (rows[_i].expected != NULL));
	ck_assert_str_eq(values[0].text, rows[_i].expected ? rows[_i].expected : "");
	ck_assert_uint_eq(values[0].length, strlen(values[0].text));
	ck_assert(values[0].is_cut == rows[_i].is_cut);
}

START_TEST(a_long_string_is_cut)
{
	memset(memory, 'x', sizeof(memory));
	registers[PROBE_RDI] = MEMORY_START;
	fetch(&(struct probe_fetch){ .reg = PROBE_RDI, .type = PROBE_STRING, .size = 64 });
	ck_assert_uint_eq(values[0].length, 63);
	ck_assert(values[0].is_cut);
}

START_TEST(what_is_returned_comes_later)
{
	const struct probe_code code = {
		.fetch_count = 2,
		.fetches = { { .reg = PROBE_RDI, .size = 8 },
			     { .reg = PROBE_RAX, .size = 8, .is_at_return = true } },
	};

	registers[PROBE_RDI] = 1;
	registers[PROBE_RAX] = 2;
	probe_fetch_all(&code, &context, false, values);
	ck_assert(values[0].is_known && !values[1].is_known);
	registers[PROBE_RDI] = 3;
	registers[PROBE_RAX] = 4;
	probe_fetch_all(&code, &context, true, values);
	ck_assert_uint_eq(values[0].bits, 1);
	ck_assert(values[1].is_known && values[1].bits == 4);
}

enum { F = PROBE_OP_FETCH, C = PROBE_OP_CONSTANT };

START_TEST(conditions_count_as_numbers_do)
{
	static const struct {
		struct probe_op ops[8];
		uint8_t count;
		enum probe_verdict expected;
	} rows[] = {
		/* fetch 0: signed -1; 1: unsigned 2^64-1; 2: unknown; 3: "GET"
		 * constant 0: 0; 1: -1; 2: 2^64-1 */
		/*  0 */ { { { 0 } }, 0, PROBE_YES },
		/*  1 */ { { { F, 0, 0 }, { C, 1, 0 }, { PROBE_OP_EQUAL, 0, 0 } }, 3, PROBE_YES },
		/*  2 */ { { { F, 0, 0 }, { C, 0, 0 }, { PROBE_OP_LESS, 0, 0 } }, 3, PROBE_YES },
		/*  3 */ { { { F, 1, 0 }, { C, 0, 0 }, { PROBE_OP_GREATER, 0, 0 } }, 3, PROBE_YES },
		/*  4 */ { { { F, 1, 0 }, { C, 1, 0 }, { PROBE_OP_EQUAL, 0, 0 } }, 3, PROBE_NO },
		/*  5 */ { { { F, 1, 0 }, { C, 2, 0 }, { PROBE_OP_EQUAL, 0, 0 } }, 3, PROBE_YES },
		/*  6 */ { { { F, 0, 0 }, { F, 1, 0 }, { PROBE_OP_LESS, 0, 0 } }, 3, PROBE_YES },
		/*  7 */ { { { F, 0, 0 }, { F, 1, 0 }, { PROBE_OP_UNEQUAL, 0, 0 } }, 3, PROBE_YES },
		/*  8 */
		{ { { F, 2, 0 }, { C, 0, 0 }, { PROBE_OP_EQUAL, 0, 0 } }, 3, PROBE_UNKNOWN },
		/*  9 */ { { { F, 2, 0 }, { C, 0, 0 }, { PROBE_OP_AND, 0, 0 } }, 3, PROBE_NO },
		/* 10 */ { { { F, 2, 0 }, { C, 1, 0 }, { PROBE_OP_AND, 0, 0 } }, 3, PROBE_UNKNOWN },
		/* 11 */ { { { C, 1, 0 }, { F, 2, 0 }, { PROBE_OP_OR, 0, 0 } }, 3, PROBE_YES },
		/* 12 */ { { { C, 0, 0 }, { F, 2, 0 }, { PROBE_OP_OR, 0, 0 } }, 3, PROBE_UNKNOWN },
		/* 13 */ { { { F, 2, 0 }, { PROBE_OP_NOT, 0, 0 } }, 2, PROBE_UNKNOWN },
		/* 14 */ { { { C, 0, 0 }, { PROBE_OP_NOT, 0, 0 } }, 2, PROBE_YES },
		/* 15 */ { { { PROBE_OP_TEXT_EQUAL, 3, 0 } }, 1, PROBE_YES },
		/* 16 */ { { { PROBE_OP_TEXT_EQUAL, 3, 1 } }, 1, PROBE_NO },
		/* 17 */ { { { PROBE_OP_TEXT_EQUAL, 3, 2 } }, 1, PROBE_NO },
		/* 18 */
		{ { { F, 0, 0 }, { F, 0, 0 }, { PROBE_OP_GREATER_EQUAL, 0, 0 } }, 3, PROBE_YES },
		/* 19 */
		{ { { F, 1, 0 }, { F, 0, 0 }, { PROBE_OP_LESS_EQUAL, 0, 0 } }, 3, PROBE_NO },
	};
	struct probe_code code = {
		.fetch_count = 4,
		.op_count = rows[_i].count,
		.constant_count = 3,
		.text_count = 3,
		.fetches = { { .type = PROBE_SIGNED, .size = 8 },
			     { .type = PROBE_UNSIGNED, .size = 8 },
			     { .type = PROBE_UNSIGNED, .size = 8 },
			     { .type = PROBE_STRING, .size = 64 } },
		.constants = { { 0 },
			       { .magnitude = 1, .is_negative = 1 },
			       { .magnitude = UINT64_MAX } },
		.texts = { "GET", "GE", "GETS" },
	};

	memcpy(code.ops, rows[_i].ops, sizeof(rows[_i].ops));
	ck_assert(probe_code_is_valid(&code));
	values[0] = (struct probe_value){ .bits = UINT64_MAX, .is_known = true };
	values[1] = values[0];
	values[2] = (struct probe_value){ 0 };
	values[3] = (struct probe_value){ .is_known = true, .length = 3, .text = "GET" };
	ck_assert_int_eq(probe_judge(&code, values), rows[_i].expected);
}

/* Numbers of each kind, in their order. Those of one rank are equal. */
#define WHOLE(number)  .bits = (uint64_t)(number), .type = PROBE_SIGNED
#define REAL(number)   .real = (number), .type = PROBE_REAL
#define CONSTANT(m, e) .bits = (m), .exponent = (e), .is_constant = true
#define NO_NUMBER      99
static const struct operand {
	uint64_t bits;
	double real;
	uint8_t type;
	int16_t exponent;
	bool is_constant;
	int rank;
} operands[] = {
	{ REAL(-INFINITY), .rank = 0 },
	{ WHOLE(INT64_MIN), .rank = 1 },
	{ REAL(-0x1p63), .rank = 1 },
	{ REAL(-1.5), .rank = 2 },
	{ WHOLE(-1), .rank = 3 },
	{ REAL(-1.0), .rank = 3 },
	{ REAL(-0x1p-1074), .rank = 4 },
	{ REAL(-0.0), .rank = 5 },
	{ REAL(0.0), .rank = 5 },
	{ WHOLE(0), .rank = 5 },
	{ CONSTANT(0, 0), .rank = 5 },
	{ REAL(0x1p-1074), .rank = 6 },
	{ CONSTANT(1, -1), .rank = 7 },
	{ REAL(0.5), .rank = 7 },
	{ WHOLE(1), .rank = 8 },
	{ CONSTANT(3, -1), .rank = 9 },
	{ REAL(0x1p53), .rank = 10 },
	{ WHOLE((INT64_C(1) << 53) + 1), .rank = 11 }, /* as a double it would be the one above */
	{ WHOLE(INT64_MAX), .rank = 12 },
	{ .bits = UINT64_C(1) << 63, .type = PROBE_UNSIGNED, .rank = 13 },
	{ REAL(0x1p63), .rank = 13 },
	{ .bits = UINT64_MAX, .type = PROBE_UNSIGNED, .rank = 14 },
	{ REAL(0x1p64), .rank = 15 },
	{ CONSTANT(5, 300), .rank = 16 },
	{ REAL(0x5p300), .rank = 16 },
	{ REAL(INFINITY), .rank = 17 },
	{ REAL(NAN), .rank = NO_NUMBER },
	{ REAL(-NAN), .rank = NO_NUMBER },
};
enum { REALS = sizeof(operands) / sizeof(operands[0]) };

static void put_operand(const struct operand *operand, uint8_t which, struct probe_code *code)
{
	code->constants[which] = (struct probe_constant){ .magnitude = operand->bits,
							  .exponent = operand->exponent };
	code->fetches[which] = (struct probe_fetch){ .type = operand->type, .size = 8 };
	values[which] = (struct probe_value){ .bits = operand->bits, .is_known = true };
	if (operand->type == PROBE_REAL)
		memcpy(&values[which].bits, &operand->real, sizeof(operand->real));
	code->ops[which] =
		(struct probe_op){ operand->is_constant ? PROBE_OP_CONSTANT : PROBE_OP_FETCH, which,
				   0 };
}

static bool is_expected(uint8_t code, const struct operand *a, const struct operand *b)
{
	if (a->rank == NO_NUMBER || b->rank == NO_NUMBER)
		return code == PROBE_OP_UNEQUAL;
	return (code == PROBE_OP_EQUAL && a->rank == b->rank) ||
	       (code == PROBE_OP_UNEQUAL && a->rank != b->rank) ||
	       (code == PROBE_OP_LESS && a->rank < b->rank) ||
	       (code == PROBE_OP_LESS_EQUAL && a->rank <= b->rank) ||
	       (code == PROBE_OP_GREATER && a->rank > b->rank) ||
	       (code == PROBE_OP_GREATER_EQUAL && a->rank >= b->rank);
}

START_TEST(real_numbers_compare_as_they_do_in_c)
{
	struct probe_code code = { .fetch_count = 2, .constant_count = 2, .op_count = 3 };

	put_operand(&operands[_i], 0, &code);
	for (size_t i = 0; i < REALS; i++) {
		put_operand(&operands[i], 1, &code);
		for (uint8_t op = PROBE_OP_EQUAL; op <= PROBE_OP_GREATER_EQUAL; op++) {
			bool expected = is_expected(op, &operands[_i], &operands[i]);

			code.ops[2] = (struct probe_op){ op, 0, 0 };
			code.has_reals = probe_code_has_reals(&code);
			ck_assert(probe_code_is_valid(&code));
			ck_assert_msg(probe_judge(&code, values) ==
					      (expected ? PROBE_YES : PROBE_NO),
				      "%d and %zu, op %u", _i, i, op);
		}
	}
}

START_TEST(floats_become_the_doubles_that_they_are)
{
	for (uint64_t i = 0; i < UINT32_MAX; i += 65521) { /* a prime */
		uint32_t bits = (uint32_t)i;
		float number;
		double wanted, got;

		memcpy(&number, &bits, sizeof(number));
		wanted = (double)number;
		registers[PROBE_RSI] = bits;
		fetch(&(struct probe_fetch){ .reg = PROBE_RSI, .type = PROBE_REAL, .size = 4 });
		memcpy(&got, &values[0].bits, sizeof(got));
		ck_assert(isnan(number) ? isnan(got) : memcmp(&got, &wanted, sizeof(got)) == 0);
	}
}

START_TEST(bytes_that_are_no_program_are_refused)
{
	const struct probe_code good = {
		.fetch_count = 1,
		.op_count = 1,
		.constant_count = 1,
		.text_count = 1,
		.fetches = { { .size = 8, .step_count = 1, .steps = { { .bytes = 8 } } } },
		.ops = { { PROBE_OP_CONSTANT, 0, 0 } },
	};
	struct probe_code bad[21];
	size_t count = 0;

	for (size_t i = 0; i < 21; i++)
		bad[i] = good;
	ck_assert(probe_code_is_valid(&good));
	bad[count++].fetch_count = PROBE_FETCHES_MAX + 1;
	bad[count++].op_count = PROBE_OPS_MAX + 1;
	bad[count++].constant_count = PROBE_CONSTANTS_MAX + 1;
	bad[count++].text_count = PROBE_TEXTS_MAX + 1;
	bad[count++].fetches[0].size = 3;
	bad[count++].fetches[0].reg = PROBE_REGISTERS;
	bad[count++].fetches[0].start = PROBE_FROM_VECTOR + 1;
	bad[count].fetches[0].start = PROBE_FROM_VECTOR;
	bad[count].has_reals = true;
	bad[count++].fetches[0].reg = PROBE_VECTORS;
	bad[count++].has_reals = true;
	bad[count++].fetches[0].type = PROBE_REAL;
	bad[count++].constants[0].exponent = 1;
	bad[count].fetches[0].type = PROBE_REAL;
	bad[count].has_reals = true;
	bad[count++].fetches[0].size = 2;
	bad[count++].fetches[0].step_count = PROBE_STEPS_MAX + 1;
	bad[count++].fetches[0].steps[0].bytes = 0;
	bad[count++].fetches[0].bit_count = 65;
	bad[count++].ops[0].operand = 1;
	bad[count++].ops[0].code = PROBE_OP_TEXT_EQUAL; /* the fetch is no string */
	bad[count++].ops[0].code = PROBE_OP_AND;        /* of nothing */
	bad[count++].ops[0].code = PROBE_OP_TEXT_EQUAL + 1;
	memset(bad[count++].fetches[0].name, 'x', PROBE_NAME_BYTES);
	memset(bad[count++].texts[0], 'x', PROBE_STRING_BYTES);
	ck_assert(!probe_code_is_valid(&bad[_i]));
}

START_TEST(a_condition_leaves_one_number)
{
	struct probe_code code = { .constant_count = 1, .op_count = 2 };

	for (size_t i = 0; i < PROBE_OPS_MAX; i++)
		code.ops[i] = (struct probe_op){ PROBE_OP_CONSTANT, 0, 0 };
	ck_assert(!probe_code_is_valid(&code));
	code.ops[2].code = PROBE_OP_AND;
	code.op_count = 3;
	ck_assert(probe_code_is_valid(&code));
	code.ops[2].code = PROBE_OP_CONSTANT;
	code.op_count = PROBE_OPS_MAX;
	ck_assert(!probe_code_is_valid(&code));
}

SUITE()
{
	LOOP(registers_are_cut_and_extended, 0, 19);
	TEST(floats_become_the_doubles_that_they_are);
	LOOP(real_numbers_compare_as_they_do_in_c, 0, REALS);
	LOOP(numbers_begin_where_they_say, 0, 5);
	TEST(steps_follow_pointers);
	LOOP(strings_end_at_a_nul_or_a_bound, 0, 6);
	TEST(a_long_string_is_cut);
	TEST(what_is_returned_comes_later);
	LOOP(conditions_count_as_numbers_do, 0, 20);
	LOOP(bytes_that_are_no_program_are_refused, 0, 21);
	TEST(a_condition_leaves_one_number);
}

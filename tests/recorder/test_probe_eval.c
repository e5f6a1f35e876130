/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a probe reads wrong values, counts wrong calls, or runs bytes that are no program.
 */
#include "probe_eval.h"

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
static const struct probe_context context = { registers, 0x1000, read_memory, NULL, 0x5000 };
static struct probe_value values[PROBE_FETCHES_MAX];

static struct probe_value *fetch(const struct probe_fetch *wanted)
{
	struct probe_code code = { .fetch_count = 1, .fetches = { *wanted } };

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
	};

	registers[PROBE_RSI] = 0x300;
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
	struct probe_code bad[16];
	size_t count = 0;

	for (size_t i = 0; i < 16; i++)
		bad[i] = good;
	ck_assert(probe_code_is_valid(&good));
	bad[count++].fetch_count = PROBE_FETCHES_MAX + 1;
	bad[count++].op_count = PROBE_OPS_MAX + 1;
	bad[count++].constant_count = PROBE_CONSTANTS_MAX + 1;
	bad[count++].text_count = PROBE_TEXTS_MAX + 1;
	bad[count++].fetches[0].size = 3;
	bad[count++].fetches[0].reg = PROBE_REGISTERS;
	bad[count++].fetches[0].start = PROBE_FROM_THREAD + 1;
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
	LOOP(registers_are_cut_and_extended, 0, 9);
	LOOP(numbers_begin_where_they_say, 0, 4);
	TEST(steps_follow_pointers);
	LOOP(strings_end_at_a_nul_or_a_bound, 0, 6);
	TEST(a_long_string_is_cut);
	TEST(what_is_returned_comes_later);
	LOOP(conditions_count_as_numbers_do, 0, 20);
	LOOP(bytes_that_are_no_program_are_refused, 0, 16);
	TEST(a_condition_leaves_one_number);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, the text of a probe means something else than the manual says. */
#include "grammar.h"

#include <errno.h>
#include <string.h>

#include "suite.h"

static struct probe_text parsed;
static char error[PROBE_MESSAGE_BYTES];

START_TEST(places_are_taken_apart)
{
	static const struct {
		const char *text;
		enum probe_where where;
		const char *module, *file, *function;
		uint32_t line;
		bool is_return;
	} rows[] = {
		/*  0 */ { "parse", PROBE_FUNCTION, "", "", "parse", 0, false },
		/*  1 */ { " parse%return ", PROBE_FUNCTION, "", "", "parse", 0, true },
		/*  2 */ { "parse($ret)", PROBE_FUNCTION, "", "", "parse", 0, true },
		/*  3 */
		{ "libfoo.so:parse()", PROBE_FUNCTION, "libfoo.so", "", "parse", 0, false },
		/*  4 */ { "query.c:12", PROBE_SOURCE_LINE, "", "query.c", "", 12, false },
		/*  5 */
		{ "libfoo.so.1:src/query.c:12(x)", PROBE_SOURCE_LINE, "libfoo.so.1", "src/query.c",
		  "", 12, false },
		/*  6 */
		{ "usdt:postgresql:query__start", PROBE_MARK, "", "postgresql", "query__start", 0,
		  false },
		/*  7 */
		{ "db::query::parse", PROBE_FUNCTION, "", "", "db::query::parse", 0, false },
		/*  8 */ { "x.so:db::parse", PROBE_FUNCTION, "x.so", "", "db::parse", 0, false },
		/*  9 */
		{ "list<a, (b)>::push(x)", PROBE_FUNCTION, "", "", "list<a, (b)>::push", 0, false },
		/* 10 */ { "f::operator()(x)", PROBE_FUNCTION, "", "", "f::operator()", 0, false },
		/* 11 */ { "f::operator<(x)", PROBE_FUNCTION, "", "", "f::operator<", 0, false },
		/* 12 */ { "operator->(x)", PROBE_FUNCTION, "", "", "operator->", 0, false },
		/* 13 */
		{ "(anonymous namespace)::f(x)", PROBE_FUNCTION, "", "", "(anonymous namespace)::f",
		  0, false },
		/* 14 */ { "my_operator(x)", PROBE_FUNCTION, "", "", "my_operator", 0, false },
		/* 15 */ { "<a as b::c>::d", PROBE_FUNCTION, "", "", "<a as b::c>::d", 0, false },
		/* 16 */
		{ "a::{closure#0}(x)", PROBE_FUNCTION, "", "", "a::{closure#0}", 0, false },
		/* 17 */ { "parse_*", PROBE_FUNCTION, "", "", "parse_*", 0, false },
		/* 18 */ { "malloc if $arg1 > 1MB", PROBE_FUNCTION, "", "", "malloc", 0, false },
	};

	ck_assert_int_eq(probe_parse(rows[_i].text, &parsed, error), 0);
	ck_assert_int_eq(parsed.where, rows[_i].where);
	ck_assert_str_eq(parsed.module, rows[_i].module);
	ck_assert_str_eq(parsed.file, rows[_i].file);
	ck_assert_str_eq(parsed.function, rows[_i].function);
	ck_assert_uint_eq(parsed.line, rows[_i].line);
	ck_assert(parsed.is_return == rows[_i].is_return);
}

/* "base" and each part behind it. */
static void write_expression(const struct probe_expression *expression, char *to, size_t size)
{
	static const char *const signs[] = { ".", "->", "[", "*", "&" };
	size_t used = (size_t)snprintf(to, size, "%s", expression->base);

	for (size_t i = 0; i < expression->part_count; i++) {
		const struct probe_part *part = &expression->parts[i];

		used += (size_t)snprintf(to + used, size - used, " %s%s", signs[part->kind],
					 part->name);
		if (part->kind == PROBE_PART_INDEX)
			used += (size_t)snprintf(to + used, size - used, "%d", (int)part->index);
	}
}

START_TEST(values_are_taken_apart)
{
	static const struct {
		const char *value, *label, *parts;
		enum probe_format format;
		uint8_t bytes;
	} rows[] = {
		/*  0 */ { "len", "len", "len", PROBE_FORMAT_NONE, 0 },
		/*  1 */ { "q -> len:u32", "q->len", "q ->len", PROBE_FORMAT_UNSIGNED, 4 },
		/*  2 */ { "n=q->a.b[3]", "n", "q ->a .b [3", PROBE_FORMAT_NONE, 0 },
		/*  3 */ { "*p:x64", "*p", "p *", PROBE_FORMAT_HEXADECIMAL, 8 },
		/*  4 */ { "(*p).x", "(*p).x", "p * .x", PROBE_FORMAT_NONE, 0 },
		/*  5 */ { "*p->x", "*p->x", "p ->x *", PROBE_FORMAT_NONE, 0 },
		/*  6 */ { "name:str", "name", "name", PROBE_FORMAT_STRING, 0 },
		/*  7 */ { "$arg1:s8", "$arg1", "$arg1", PROBE_FORMAT_SIGNED, 1 },
		/*  8 */ { "$ret->len", "$ret->len", "$ret ->len", PROBE_FORMAT_NONE, 0 },
		/*  9 */ { "a[-1]", "a[-1]", "a [-1", PROBE_FORMAT_NONE, 0 },
		/* 10 */ { "ns::total", "ns::total", "ns::total", PROBE_FORMAT_NONE, 0 },
		/* 11 */ { "&q->len", "&q->len", "q ->len &", PROBE_FORMAT_NONE, 0 },
		/* 12 */ { "x:f32", "x", "x", PROBE_FORMAT_REAL, 4 },
		/* 13 */ { "$arg8:f64", "$arg8", "$arg8", PROBE_FORMAT_REAL, 8 },
	};
	char text[128], parts[256];

	snprintf(text, sizeof(text), "f(first, %s)", rows[_i].value);
	ck_assert_int_eq(probe_parse(text, &parsed, error), 0);
	ck_assert_uint_eq(parsed.code.fetch_count, 2);
	write_expression(&parsed.expressions[1], parts, sizeof(parts));
	ck_assert_str_eq(parsed.expressions[1].label, rows[_i].label);
	ck_assert_str_eq(parts, rows[_i].parts);
	ck_assert_int_eq(parsed.expressions[1].format, rows[_i].format);
	ck_assert_uint_eq(parsed.expressions[1].format_bytes, rows[_i].bytes);
}

/* Postfix: fetches as f0, constants as numbers, strings in quotes. */
static void write_condition(const struct probe_code *code, char *to, size_t size)
{
	static const char *const words[] = { "f", "",   "==", "!=", "<", "<=",
					     ">", ">=", "&&", "||", "!", "" };
	size_t used = 0;

	to[0] = '\0';
	for (size_t i = 0; i < code->op_count; i++) {
		const struct probe_op *op = &code->ops[i];
		const struct probe_constant *constant = &code->constants[op->operand];

		used += (size_t)snprintf(to + used, size - used, "%s%s", i ? " " : "",
					 words[op->code]);
		if (op->code == PROBE_OP_FETCH)
			used += (size_t)snprintf(to + used, size - used, "%u", op->operand);
		if (op->code == PROBE_OP_CONSTANT)
			used += (size_t)snprintf(to + used, size - used, "%s%llu",
						 constant->is_negative ? "-" : "",
						 (unsigned long long)constant->magnitude);
		if (op->code == PROBE_OP_CONSTANT && constant->exponent)
			used += (size_t)snprintf(to + used, size - used, "p%d", constant->exponent);
		if (op->code == PROBE_OP_TEXT_EQUAL)
			used += (size_t)snprintf(to + used, size - used, "f%u=\"%s\"", op->operand,
						 code->texts[op->other]);
	}
}

START_TEST(conditions_become_postfix)
{
	static const struct {
		const char *condition, *expected;
	} rows[] = {
		/*  0 */ { "x > 1MB", "f0 1048576 >" },
		/*  1 */ { "x == 1 && y || !z", "f0 1 == f1 && f2 ! ||" },
		/*  2 */ { "x && (y || z)", "f0 f1 f2 || &&" },
		/*  3 */ { "!(x < -5us)", "f0 -5000 < !" },
		/*  4 */ { "name == \"GET\"", "f0=\"GET\"" },
		/*  5 */ { "\"a\\\"b\" != name", "f0=\"a\"b\" !" },
		/*  6 */ { "x == 'a' || x == '\\n'", "f0 97 == f0 10 == ||" },
		/*  7 */ { "(*p).x>=0x10", "f0 16 >=" },
		/*  8 */ { "x <= y && x != 3s", "f0 f1 <= f0 3000000000 != &&" },
		/*  9 */ { "q->len > 1 && q->len < 9", "f0 1 > f0 9 < &&" },
		/* 10 */ { "2KB < x", "2048 f0 <" },
		/* 11 */ { "(x)", "f0" },
		/* 12 */ { "x && name == \"a\" && y", "f0 f1=\"a\" && f2 &&" },
		/* 13 */ { "x > 0.5", "f0 1p-1 >" },
		/* 14 */ { "x > -0.75", "f0 -3p-2 >" },
		/* 15: what is whole is so */ { "x > 1.5ms", "f0 1500000 >" },
		/* 16 */ { "x > 1e3", "f0 1000 >" },
		/* 17 */ { "x > -2.0", "f0 -2 >" },
		/* 18 */ { "x > 0.0", "f0 0 >" },
		/* 19 */ { "x > 1.25e-1", "f0 1p-3 >" },
		/* 20: the double next to it */ { "x > 0.1", "f0 3602879701896397p-55 >" },
		/* 21 */ { "x > 1e300", "f0 6724873095247260p944 >" },
		/* 22: the least of all */ { "x > 5e-324", "f0 1p-1074 >" },
		/* 23 */ { "x > 0.5KB", "f0 512 >" },
	};
	char text[128], postfix[256];

	snprintf(text, sizeof(text), "f if %s", rows[_i].condition);
	ck_assert_msg(probe_parse(text, &parsed, error) == 0, "%s", error);
	write_condition(&parsed.code, postfix, sizeof(postfix));
	ck_assert_str_eq(postfix, rows[_i].expected);
	ck_assert(parsed.code.fetch_count > 0 && parsed.expressions[0].is_hidden);
}

START_TEST(a_value_of_list_and_condition_is_fetched_once)
{
	ck_assert_int_eq(probe_parse("f(q->len, x) if q->len > 1 && x:u8 > 2", &parsed, error), 0);
	ck_assert_uint_eq(parsed.code.fetch_count, 3);
	ck_assert(!parsed.expressions[0].is_hidden && parsed.expressions[2].is_hidden);
}

START_TEST(errors_name_the_column)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		/*  0 */ { "", "column 1: expected a function, FILE:LINE or usdt:PROVIDER:NAME" },
		/*  1 */
		{ "f(", "column 3: expected the name of a variable, and there is nothing more" },
		/*  2 */ { "f(a", "column 4: expected `,` or `)`, and there is nothing more" },
		/*  3 */ { "f(a b)", "column 5: expected `,` or `)`, not `b)`" },
		/*  4 */
		{ "f if", "column 5: expected a value, a number or a string, and there is "
			  "nothing more" },
		/*  5 */ { "f if x = 1", "column 8: expected a comparison: equal is `==`" },
		/*  6 */
		{ "f if x > 1QB", "column 11: there is no unit `QB`: KB MB GB, or ns us ms s" },
		/*  7 */
		{ "f(x:u7)", "column 5: there is no format `u7`: str, u8 to u64, s8 to s64, x8 "
			     "to x64, f32, f64" },
		/*  8 */
		{ "f($argc)", "column 3: there is no $argc: $arg1 to $arg12 are the "
			      "arguments, $ret what is returned" },
		/*  9 */
		{ "f if name > \"a\"", "column 6: a string is compared with one value, by == "
				       "or !=" },
		/* 10 */
		{ "f if x > 1.5f", "column 13: there is no unit `f`: KB MB GB, or ns us ms s" },
		/* 11 */ { "f%ret", "column 2: expected %return, not `%ret`" },
		/* 12 */ { "f if x > 1 y", "column 12: expected a comparison, && or ||, not `y`" },
		/* 13 */ { "a.c:0", "column 5: `0` is no line of a file" },
		/* 14 */ { "usdt:a", "column 6: expected usdt:PROVIDER:NAME" },
		/* 15 */ { "f if \"a\"", "column 6: expected a comparison with the string" },
		/* 16 */ { "f if x == \"a", "column 11: the string does not end: expected `\"`" },
		/* 17 */ { "f(a[x])", "column 5: expected a number in the brackets, not `x])`" },
		/* 18 */ { "f if x > 99999999999999999999", "column 10: the number is too large" },
		/* 19 */ { "f if x > 99999999999GB", "column 10: the number is too large" },
		/* 20 */ { "f x", "column 3: expected ( or `if`, not `x`" },
		/* 21 */ { ":f", "column 1: expected the name of a file before the colon" },
		/* 22 */ { "f if x > 1e999", "column 10: the number is too large" },
	};

	ck_assert_int_eq(probe_parse(rows[_i].text, &parsed, error), -EINVAL);
	ck_assert_str_eq(error, rows[_i].expected);
}

/* A text of any length or depth ends in an error. */
START_TEST(what_is_too_much_is_refused)
{
	static const char *const pieces[] = { "(", "!",     "x&&",  "x==\"a\"||",
					      "*", "1<2&&", "x1||", "(x==1&&(y==2||" };
	char text[4096] = "f if ";
	size_t used = strlen(text), length = strlen(pieces[_i]);

	while (used + length + 2 < sizeof(text)) {
		memcpy(text + used, pieces[_i], length);
		used += length;
	}
	text[used] = 'x';
	ck_assert_int_eq(probe_parse(text, &parsed, error), -EINVAL);
	memset(text, 'x', sizeof(text) - 1);
	ck_assert_int_eq(probe_parse(text, &parsed, error), -EINVAL);
}

SUITE()
{
	LOOP(places_are_taken_apart, 0, 19);
	LOOP(values_are_taken_apart, 0, 14);
	LOOP(conditions_become_postfix, 0, 24);
	TEST(a_value_of_list_and_condition_is_fetched_once);
	LOOP(errors_name_the_column, 0, 23);
	LOOP(what_is_too_much_is_refused, 0, 8);
}

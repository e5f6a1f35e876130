/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The condition of a probe's text, which becomes a program of probe_code.h; grammar.c has the
 * grammar. One thread.
 */
#include "grammar_parts.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A term that was read: strings are compared as a whole. */
struct term {
	bool is_text;  /* a string: `index` of the texts */
	bool is_value; /* one fetch: `index` of the expressions */
	uint8_t index;
};

static bool emit(struct parser *parser, enum probe_op_code op, uint8_t operand, uint8_t other)
{
	struct probe_code *code = &parser->out->code;

	if (code->op_count == PROBE_OPS_MAX)
		return parser_fail(parser, parser->at, "the condition is too long");
	if (op == PROBE_OP_FETCH || op == PROBE_OP_CONSTANT || op == PROBE_OP_TEXT_EQUAL)
		parser->stack++;
	else if (op != PROBE_OP_NOT)
		parser->stack--;
	if (parser->stack > PROBE_STACK_MAX)
		return parser_fail(parser, parser->at, "the condition nests too deep");
	code->ops[code->op_count++] = (struct probe_op){ (uint8_t)op, operand, other };
	return true;
}

static bool read_unit(struct parser *parser, uint64_t *factor)
{
	static const struct {
		const char *word;
		uint64_t factor;
	} units[] = {
		{ "", 1 },
		{ "B", 1 },
		{ "KB", 1024 },
		{ "MB", 1024 * 1024 },
		{ "GB", 1024 * 1024 * 1024 },
		{ "ns", 1 },
		{ "us", 1000 },
		{ "ms", 1000000 },
		{ "s", 1000000000 },
	};
	size_t length = 0;

	while (parser_is_name_sign(parser->at[length]))
		length++;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i].word) != length ||
		    strncmp(units[i].word, parser->at, length) != 0)
			continue;
		*factor = units[i].factor;
		parser->at += length;
		return true;
	}
	return parser_fail(parser, parser->at, "there is no unit `%.*s`: KB MB GB, or ns us ms s",
			   (int)length, parser->at);
}

static bool emit_constant(struct parser *parser, uint64_t magnitude, int exponent, bool is_negative)
{
	struct probe_code *code = &parser->out->code;

	if (code->constant_count == PROBE_CONSTANTS_MAX)
		return parser_fail(parser, parser->at, "more than %d numbers", PROBE_CONSTANTS_MAX);
	code->constants[code->constant_count++] = (struct probe_constant){
		.magnitude = magnitude, .exponent = (int16_t)exponent, .is_negative = is_negative
	};
	return emit(parser, PROBE_OP_CONSTANT, (uint8_t)(code->constant_count - 1), 0);
}

/* "1.5", "1e-3": a double, as in C. A whole one becomes what it is without the point. */
static bool read_real(struct parser *parser, const char *begin, bool is_negative)
{
	uint64_t factor, magnitude;
	int exponent;
	char *end;
	double value = strtod(parser->at, &end);

	parser->at = end;
	if (!read_unit(parser, &factor))
		return false;
	value *= (double)factor;
	if (isinf(value))
		return parser_fail(parser, begin, "the number is too large");
	magnitude = (uint64_t)ldexp(frexp(value, &exponent), DBL_MANT_DIG);
	exponent = magnitude ? exponent - DBL_MANT_DIG : 0;
	for (; exponent < 0 && magnitude % 2 == 0; exponent++)
		magnitude /= 2;
	return emit_constant(parser, magnitude, exponent, is_negative);
}

static bool is_real(const char *at)
{
	size_t digits = strspn(at, "0123456789");

	if (at[digits] == '.')
		return true;
	if (at[digits] != 'e' && at[digits] != 'E')
		return false;
	at += digits + 1;
	return isdigit((unsigned char)at[*at == '-' || *at == '+']);
}

static bool read_number(struct parser *parser)
{
	const char *begin = parser->at;
	bool is_negative = *begin == '-';
	uint64_t value, factor = 1;
	char *end;

	parser->at += is_negative;
	if (!isdigit((unsigned char)*parser->at))
		return parser_expected(parser, "a number");
	if (is_real(parser->at))
		return read_real(parser, begin, is_negative);
	errno = 0;
	value = strtoull(parser->at, &end, 0);
	parser->at = end;
	if (errno != 0)
		return parser_fail(parser, begin, "the number is too large");
	if (!read_unit(parser, &factor))
		return false;
	if (value > UINT64_MAX / factor || (is_negative && value * factor > (uint64_t)1 << 63))
		return parser_fail(parser, begin, "the number is too large");
	return emit_constant(parser, value * factor, 0, is_negative);
}

/* One letter of a string or between ' and ', which may stand behind a backslash. */
static char read_letter(struct parser *parser)
{
	static const char *const escapes = "n\nt\tr\r0\0";
	char letter = *parser->at++;

	if (letter != '\\' || !*parser->at)
		return letter;
	letter = *parser->at++;
	for (size_t i = 0; i < 8; i += 2)
		if (escapes[i] == letter)
			return escapes[i + 1];
	return letter;
}

static bool read_character(struct parser *parser)
{
	const char *begin = parser->at++;
	char letter;

	if (!*parser->at || *parser->at == '\'')
		return parser_fail(parser, begin, "expected a character");
	letter = read_letter(parser);
	if (*parser->at != '\'')
		return parser_fail(parser, begin, "expected one character; a string is in \"\"");
	parser->at++;
	return emit_constant(parser, (unsigned char)letter, 0, false);
}

static bool read_text(struct parser *parser, struct term *term)
{
	struct probe_code *code = &parser->out->code;
	const char *begin = parser->at++;
	char *to;
	size_t used = 0;

	if (code->text_count == PROBE_TEXTS_MAX)
		return parser_fail(parser, begin, "more than %d strings", PROBE_TEXTS_MAX);
	to = code->texts[code->text_count];
	while (*parser->at && *parser->at != '"') {
		if (used + 2 > PROBE_STRING_BYTES)
			return parser_fail(parser, begin, "a string of more than %d bytes",
					   PROBE_STRING_BYTES - 1);
		to[used++] = read_letter(parser);
	}
	if (*parser->at != '"')
		return parser_fail(parser, begin, "the string does not end: expected `\"`");
	parser->at++;
	to[used] = '\0';
	*term = (struct term){ .is_text = true, .index = code->text_count++ };
	return true;
}

static bool is_same_value(const struct probe_expression *a, const struct probe_expression *b)
{
	if (strcmp(a->base, b->base) != 0 || a->part_count != b->part_count ||
	    a->format != b->format || a->format_bytes != b->format_bytes)
		return false;
	for (size_t i = 0; i < a->part_count; i++)
		if (a->parts[i].kind != b->parts[i].kind ||
		    a->parts[i].index != b->parts[i].index ||
		    strcmp(a->parts[i].name, b->parts[i].name) != 0)
			return false;
	return true;
}

static bool read_value(struct parser *parser, struct term *term)
{
	struct probe_text *out = parser->out;
	struct probe_expression expression;
	uint8_t i = 0;

	if (!parser_read_value(parser, &expression, false))
		return false;
	while (i < out->code.fetch_count && !is_same_value(&out->expressions[i], &expression))
		i++;
	if (i == PROBE_FETCHES_MAX)
		return parser_fail(parser, parser->at, "more than %d values", PROBE_FETCHES_MAX);
	if (i == out->code.fetch_count) {
		expression.is_hidden = true;
		out->expressions[i] = expression;
		out->code.fetch_count++;
	}
	*term = (struct term){ .is_value = true, .index = i };
	return emit(parser, PROBE_OP_FETCH, i, 0);
}

/* "(*p).len" is a value, "(a || b)" is none. */
static bool is_value_in_brackets(const char *at)
{
	at += strspn(at, "( \t");
	return *at == '*' || *at == '&';
}

static bool parse_term(struct parser *parser, struct term *term)
{
	bool is_ok;

	*term = (struct term){ 0 };
	if (parser->depth >= GRAMMAR_DEPTH_MAX)
		return parser_fail(parser, parser->at, "more than %d brackets in brackets",
				   GRAMMAR_DEPTH_MAX);
	parser_skip_spaces(parser);
	if (parser->at[0] == '!' && parser->at[1] != '=') {
		parser->at++;
		parser->depth++;
		is_ok = parse_term(parser, term);
		parser->depth--;
		if (is_ok && term->is_text)
			return parser_fail(parser, parser->at, "a string is compared by == or !=");
		*term = (struct term){ 0 };
		return is_ok && emit(parser, PROBE_OP_NOT, 0, 0);
	}
	if (*parser->at == '(' && !is_value_in_brackets(parser->at)) {
		parser->at++;
		parser->depth++;
		is_ok = parser_read_condition(parser) &&
			(parser_take(parser, ")") ||
			 parser_expected(parser, "`)`, or a comparison"));
		parser->depth--;
		return is_ok;
	}
	if (isdigit((unsigned char)*parser->at) || *parser->at == '-')
		return read_number(parser);
	if (*parser->at == '\'')
		return read_character(parser);
	if (*parser->at == '"')
		return read_text(parser, term);
	if (parser_is_name_sign(*parser->at) || (*parser->at && strchr("$(*&", *parser->at)))
		return read_value(parser, term);
	return parser_expected(parser, "a value, a number or a string");
}

static bool read_comparison(struct parser *parser, enum probe_op_code *op)
{
	static const struct {
		const char *sign;
		enum probe_op_code op;
	} signs[] = {
		{ "==", PROBE_OP_EQUAL },      { "!=", PROBE_OP_UNEQUAL },
		{ "<=", PROBE_OP_LESS_EQUAL }, { ">=", PROBE_OP_GREATER_EQUAL },
		{ "<", PROBE_OP_LESS },        { ">", PROBE_OP_GREATER },
	};

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		if (!parser_take(parser, signs[i].sign))
			continue;
		*op = signs[i].op;
		return true;
	}
	return false;
}

/* The fetch that was emitted for the value becomes a comparison. */
static bool emit_text(struct parser *parser, const char *at, enum probe_op_code op,
		      const struct term *value, const struct term *text)
{
	struct probe_code *code = &parser->out->code;

	if (!value->is_value || (op != PROBE_OP_EQUAL && op != PROBE_OP_UNEQUAL))
		return parser_fail(parser, at, "a string is compared with one value, by == or !=");
	code->op_count--;
	parser->stack--;
	parser->out->expressions[value->index].is_text = true;
	return emit(parser, PROBE_OP_TEXT_EQUAL, value->index, text->index) &&
	       (op == PROBE_OP_EQUAL || emit(parser, PROBE_OP_NOT, 0, 0));
}

static bool parse_comparison(struct parser *parser)
{
	struct term left, right;
	enum probe_op_code op;
	const char *begin;

	parser_skip_spaces(parser);
	begin = parser->at;
	if (!parse_term(parser, &left))
		return false;
	if (!read_comparison(parser, &op)) {
		if (*parser->at == '=')
			return parser_fail(parser, parser->at,
					   "expected a comparison: equal is `==`");
		return !left.is_text ||
		       parser_fail(parser, begin, "expected a comparison with the string");
	}
	if (!parse_term(parser, &right))
		return false;
	if (left.is_text || right.is_text)
		return emit_text(parser, begin, op, left.is_text ? &right : &left,
				 left.is_text ? &left : &right);
	return emit(parser, op, 0, 0);
}

static bool parse_conjunct(struct parser *parser)
{
	if (!parse_comparison(parser))
		return false;
	while (parser_take(parser, "&&"))
		if (!parse_comparison(parser) || !emit(parser, PROBE_OP_AND, 0, 0))
			return false;
	return true;
}

bool parser_read_condition(struct parser *parser)
{
	if (!parse_conjunct(parser))
		return false;
	while (parser_take(parser, "||"))
		if (!parse_conjunct(parser) || !emit(parser, PROBE_OP_OR, 0, 0))
			return false;
	return true;
}

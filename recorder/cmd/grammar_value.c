/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a probe's text; grammar.c has the grammar. One thread. */
#include "grammar_parts.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool read_name(struct parser *parser, char *to, size_t size, const char *what)
{
	const char *begin;

	parser_skip_spaces(parser);
	begin = parser->at;
	if (!parser_is_name_sign(*begin) || isdigit((unsigned char)*begin))
		return parser_expected(parser, what);
	/* "a::b" is one name of C++. */
	while (parser_is_name_sign(*parser->at) ||
	       (parser->at[0] == ':' && parser->at[1] == ':' && parser_is_name_sign(parser->at[2])))
		parser->at += *parser->at == ':' ? 2 : 1;
	return parser_copy(parser, begin, (size_t)(parser->at - begin), to, size);
}

static bool read_special(struct parser *parser, struct probe_expression *expression)
{
	const char *begin = parser->at++;
	unsigned long number;

	while (parser_is_name_sign(*parser->at))
		parser->at++;
	if (!parser_copy(parser, begin, (size_t)(parser->at - begin), expression->base,
			 sizeof(expression->base)))
		return false;
	if (strcmp(expression->base, "$ret") == 0) {
		parser->out->is_return = true;
		return true;
	}
	number = strncmp(expression->base, "$arg", 4) == 0 ? strtoul(expression->base + 4, NULL, 10)
							   : 0;
	if (number >= 1 && number <= 12)
		return true;
	return parser_fail(
		parser, begin,
		"there is no %s: $arg1 to $arg12 are the arguments, $ret what is returned",
		expression->base);
}

static struct probe_part *add_part(struct parser *parser, struct probe_expression *expression,
				   enum probe_part_kind kind)
{
	if (expression->part_count == PROBE_PARTS_MAX) {
		parser_fail(parser, parser->at, "more than %d steps from a variable to its part",
			    PROBE_PARTS_MAX);
		return NULL;
	}
	expression->parts[expression->part_count].kind = kind;
	return &expression->parts[expression->part_count++];
}

static bool read_member(struct parser *parser, struct probe_expression *expression,
			enum probe_part_kind kind)
{
	struct probe_part *part = add_part(parser, expression, kind);

	return part && read_name(parser, part->name, sizeof(part->name), "the name of a member");
}

static bool read_index(struct parser *parser, struct probe_expression *expression)
{
	struct probe_part *part = add_part(parser, expression, PROBE_PART_INDEX);
	char *end;

	if (!part)
		return false;
	parser_skip_spaces(parser);
	if (!isdigit((unsigned char)*parser->at) && *parser->at != '-')
		return parser_expected(parser, "a number in the brackets");
	errno = 0;
	part->index = strtoll(parser->at, &end, 0);
	if (errno != 0 || end == parser->at || part->index > INT32_MAX || part->index < INT32_MIN)
		return parser_fail(parser, parser->at, "the number is too large");
	parser->at = end;
	return parser_take(parser, "]") || parser_expected(parser, "`]`");
}

static bool parse_operand(struct parser *parser, struct probe_expression *expression)
{
	const char *begin;
	bool is_ok;

	if (++parser->depth > GRAMMAR_DEPTH_MAX)
		return parser_fail(parser, parser->at, "more than %d brackets in brackets",
				   GRAMMAR_DEPTH_MAX);
	parser_skip_spaces(parser);
	begin = parser->at;
	if (*begin == '*' || (*begin == '&' && begin[1] != '&')) {
		parser->at++;
		is_ok = parse_operand(parser, expression) &&
			add_part(parser, expression,
				 *begin == '*' ? PROBE_PART_CONTENT : PROBE_PART_ADDRESS);
		parser->depth--;
		return is_ok;
	}
	if (parser_take(parser, "("))
		is_ok = parse_operand(parser, expression) &&
			(parser_take(parser, ")") || parser_expected(parser, "`)`"));
	else if (*begin == '$')
		is_ok = read_special(parser, expression);
	else
		is_ok = read_name(parser, expression->base, sizeof(expression->base),
				  "the name of a variable");
	while (is_ok) {
		if (parser_take(parser, "->"))
			is_ok = read_member(parser, expression, PROBE_PART_ARROW);
		else if (parser_take(parser, "."))
			is_ok = read_member(parser, expression, PROBE_PART_MEMBER);
		else if (parser_take(parser, "["))
			is_ok = read_index(parser, expression);
		else
			break;
	}
	parser->depth--;
	return is_ok;
}

static bool read_format(struct parser *parser, struct probe_expression *expression)
{
	static const struct {
		const char *word;
		enum probe_format format;
		uint8_t bytes;
	} formats[] = {
		{ "str", PROBE_FORMAT_STRING, 0 },      { "string", PROBE_FORMAT_STRING, 0 },
		{ "u8", PROBE_FORMAT_UNSIGNED, 1 },     { "u16", PROBE_FORMAT_UNSIGNED, 2 },
		{ "u32", PROBE_FORMAT_UNSIGNED, 4 },    { "u64", PROBE_FORMAT_UNSIGNED, 8 },
		{ "s8", PROBE_FORMAT_SIGNED, 1 },       { "s16", PROBE_FORMAT_SIGNED, 2 },
		{ "s32", PROBE_FORMAT_SIGNED, 4 },      { "s64", PROBE_FORMAT_SIGNED, 8 },
		{ "x8", PROBE_FORMAT_HEXADECIMAL, 1 },  { "x16", PROBE_FORMAT_HEXADECIMAL, 2 },
		{ "x32", PROBE_FORMAT_HEXADECIMAL, 4 }, { "x64", PROBE_FORMAT_HEXADECIMAL, 8 },
		{ "f32", PROBE_FORMAT_REAL, 4 },        { "f64", PROBE_FORMAT_REAL, 8 },
	};
	char word[16];
	const char *begin = parser->at;

	if (!read_name(parser, word, sizeof(word), "a format"))
		return false;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (strcmp(word, formats[i].word) != 0)
			continue;
		expression->format = formats[i].format;
		expression->format_bytes = formats[i].bytes;
		return true;
	}
	return parser_fail(
		parser, begin,
		"there is no format `%s`: str, u8 to u64, s8 to s64, x8 to x64, f32, f64", word);
}

/* A label that is too long for its place keeps its end, which tells more. */
static void write_label(struct probe_expression *expression, const char *begin, const char *end)
{
	size_t used = 0, count = 0;

	for (const char *at = begin; at < end; at++)
		count += !isspace((unsigned char)*at);
	for (const char *at = begin; at < end; at++) {
		if (isspace((unsigned char)*at))
			continue;
		if (count-- < sizeof(expression->label))
			expression->label[used++] = *at;
	}
	expression->label[used] = '\0';
}

/* "name=": a name, and an equals sign that is no comparison. */
static bool read_label(struct parser *parser, struct probe_expression *expression)
{
	const char *begin = parser->at;
	char word[PROBE_NAME_BYTES];
	size_t length = 0;

	while (parser_is_name_sign(begin[length]))
		length++;
	parser->at += length;
	if (length == 0 || length >= sizeof(word) || !parser_take(parser, "=") ||
	    *parser->at == '=') {
		parser->at = begin;
		return false;
	}
	memcpy(expression->label, begin, length);
	expression->label[length] = '\0';
	return true;
}

bool parser_read_value(struct parser *parser, struct probe_expression *expression, bool is_listed)
{
	const char *begin;
	bool has_label;

	memset(expression, 0, sizeof(*expression));
	parser_skip_spaces(parser);
	has_label = is_listed && read_label(parser, expression);
	parser_skip_spaces(parser);
	begin = parser->at;
	expression->column = (uint32_t)(begin - parser->text) + 1;
	if (!parse_operand(parser, expression))
		return false;
	if (!has_label)
		write_label(expression, begin, parser->at);
	return !parser_take(parser, ":") || read_format(parser, expression);
}

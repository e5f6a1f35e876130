/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a probe: a parser by recursive descent, with a bound on how deep it goes.
 *
 *	probe      = place [ "%return" ] [ "(" value { "," value } ")" ] [ "if" condition ]
 *	place      = [ module ":" ] ( function | file ":" number ) | "usdt:" provider ":" name
 *	value      = [ label "=" ] operand [ ":" format ]
 *	operand    = { "*" | "&" } ( name | "$argN" | "$ret" | "(" operand ")" ) { part }
 *	part       = "." name | "->" name | "[" number "]"
 *	condition  = conjunct { "||" conjunct }
 *	conjunct   = comparison { "&&" comparison }
 *	comparison = term [ ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) term ]
 *	term       = "!" term | "(" condition ")" | number [ unit ] | character | string | value
 *
 * A value in a condition is a fetch of its own, unless it is among the values. It is not recorded.
 * One thread.
 */
#include "grammar_parts.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Only the first is kept: what follows from it says nothing. */
bool parser_fail(struct parser *parser, const char *at, const char *format, ...)
{
	va_list arguments;
	int used;

	if (parser->error[0])
		return false;
	used = snprintf(parser->error, PROBE_MESSAGE_BYTES,
			"column %zu: ", (size_t)(at - parser->text) + 1);
	va_start(arguments, format);
	vsnprintf(parser->error + used, PROBE_MESSAGE_BYTES - (size_t)used, format, arguments);
	va_end(arguments);
	return false;
}

void parser_skip_spaces(struct parser *parser)
{
	parser->at += strspn(parser->at, " \t\n");
}

bool parser_take(struct parser *parser, const char *sign)
{
	size_t length = strlen(sign);

	parser_skip_spaces(parser);
	if (strncmp(parser->at, sign, length) != 0)
		return false;
	parser->at += length;
	return true;
}

bool parser_is_name_sign(char sign)
{
	return isalnum((unsigned char)sign) || sign == '_' || (unsigned char)sign >= 0x80;
}

bool parser_expected(struct parser *parser, const char *what)
{
	parser_skip_spaces(parser);
	if (!*parser->at)
		return parser_fail(parser, parser->at, "expected %s, and there is nothing more",
				   what);
	return parser_fail(parser, parser->at, "expected %s, not `%.20s`", what, parser->at);
}

bool parser_copy(struct parser *parser, const char *from, size_t length, char *to, size_t size)
{
	if (length >= size)
		return parser_fail(parser, from, "a name of %zu letters: at most %zu", length,
				   size - 1);
	memcpy(to, from, length);
	to[length] = '\0';
	return true;
}

/* --- the place --- */

/* "operator()", "operator->": what belongs to the name behind the word. */
static size_t operator_length(const char *at)
{
	if (at[0] == '(' && at[1] == ')')
		return 2;
	if (at[0] == '[' && at[1] == ']')
		return 2;
	return strspn(at, "<>=!+-*/%&|^~,");
}

static bool ends_with_operator(const char *begin, const char *end)
{
	static const char word[] = "operator";
	size_t length = sizeof(word) - 1;

	return (size_t)(end - begin) >= length && memcmp(end - length, word, length) == 0 &&
	       ((size_t)(end - begin) == length ||
		!parser_is_name_sign(end[-(ptrdiff_t)length - 1]));
}

/* Names of C++ and Rust have brackets, those of templates also spaces. */
static const char *end_of_place(const char *begin)
{
	static const char nameless[] = "(anonymous namespace)";
	const char *at = begin;
	unsigned depth = 0; /* of < and { */

	while (*at && *at != '\n') {
		size_t sign = ends_with_operator(begin, at) ? operator_length(at) : 0;

		if (sign > 0) {
			at += sign;
			continue;
		}
		if (strncmp(at, nameless, sizeof(nameless) - 1) == 0) {
			at += sizeof(nameless) - 1;
			continue;
		}
		if (depth == 0 && strchr(" \t(%", *at))
			break;
		if (*at == '<' || *at == '{')
			depth++;
		else if ((*at == '>' && at > begin && at[-1] != '-') || *at == '}')
			depth -= depth > 0;
		at++;
	}
	return at;
}

/* The first colon that is alone, and in no brackets; NULL: there is none. */
static const char *find_colon(const char *at, const char *end)
{
	unsigned depth = 0;

	for (; at < end; at++) {
		if (*at == '<' || *at == '{')
			depth++;
		else if (*at == '>' || *at == '}')
			depth -= depth > 0;
		if (*at != ':' || depth > 0)
			continue;
		if (at + 1 == end || at[1] != ':')
			return at;
		at++;
	}
	return NULL;
}

static bool is_number(const char *at, const char *end)
{
	if (at == end)
		return false;
	for (; at < end; at++)
		if (!isdigit((unsigned char)*at))
			return false;
	return true;
}

static bool read_line(struct parser *parser, const char *at, const char *end)
{
	unsigned long line = end - at > 9 ? 0 : strtoul(at, NULL, 10);

	if (line == 0)
		return parser_fail(parser, at, "`%.*s` is no line of a file", (int)(end - at), at);
	parser->out->line = (uint32_t)line;
	return true;
}

/* "provider:name" */
static bool parse_mark(struct parser *parser, const char *at, const char *end)
{
	struct probe_text *out = parser->out;
	const char *colon = find_colon(at, end);

	if (!colon || colon == at || colon + 1 == end)
		return parser_fail(parser, at, "expected usdt:PROVIDER:NAME");
	out->where = PROBE_MARK;
	return parser_copy(parser, at, (size_t)(colon - at), out->file, sizeof(out->file)) &&
	       parser_copy(parser, colon + 1, (size_t)(end - colon) - 1, out->function,
			   sizeof(out->function));
}

/* "function", "file.c:12" */
static bool parse_where(struct parser *parser, const char *at, const char *end)
{
	struct probe_text *out = parser->out;
	const char *colon = find_colon(at, end);

	if (at == end)
		return parser_fail(parser, at,
				   "expected a function, FILE:LINE or usdt:PROVIDER:NAME");
	if (!colon) {
		out->where = PROBE_FUNCTION;
		return parser_copy(parser, at, (size_t)(end - at), out->function,
				   sizeof(out->function));
	}
	if (colon == at || !is_number(colon + 1, end))
		return parser_fail(parser, colon + 1, "expected the number of a line of `%.*s`",
				   (int)(colon - at), at);
	out->where = PROBE_SOURCE_LINE;
	return read_line(parser, colon + 1, end) &&
	       parser_copy(parser, at, (size_t)(colon - at), out->file, sizeof(out->file));
}

static bool parse_place(struct parser *parser)
{
	struct probe_text *out = parser->out;
	const char *at, *end, *colon;

	parser_skip_spaces(parser);
	at = parser->at;
	end = end_of_place(at);
	parser->at = end;
	if (strncmp(at, "usdt:", 5) == 0)
		return parse_mark(parser, at + 5, end);
	colon = find_colon(at, end);
	if (colon && !is_number(colon + 1, end)) {
		if (colon == at)
			return parser_fail(parser, at,
					   "expected the name of a file before the colon");
		if (!parser_copy(parser, at, (size_t)(colon - at), out->module,
				 sizeof(out->module)))
			return false;
		at = colon + 1;
	}
	return parse_where(parser, at, end);
}

/* --- all of it --- */

static bool parse_list(struct parser *parser)
{
	struct probe_code *code = &parser->out->code;

	if (!parser_take(parser, "(") || parser_take(parser, ")"))
		return true;
	do {
		if (code->fetch_count == PROBE_FETCHES_MAX)
			return parser_fail(parser, parser->at, "more than %d values",
					   PROBE_FETCHES_MAX);
		if (!parser_read_value(parser, &parser->out->expressions[code->fetch_count], true))
			return false;
		code->fetch_count++;
	} while (parser_take(parser, ","));
	return parser_take(parser, ")") || parser_expected(parser, "`,` or `)`");
}

static bool take_if(struct parser *parser)
{
	parser_skip_spaces(parser);
	if (strncmp(parser->at, "if", 2) != 0 || parser_is_name_sign(parser->at[2]))
		return false;
	parser->at += 2;
	return true;
}

static bool parse_all(struct parser *parser)
{
	if (!parse_place(parser))
		return false;
	if (*parser->at == '%') {
		if (!parser_take(parser, "%return"))
			return parser_expected(parser, "%return");
		parser->out->is_return = true;
	}
	if (!parse_list(parser))
		return false;
	if (take_if(parser) && !parser_read_condition(parser))
		return false;
	parser_skip_spaces(parser);
	return !*parser->at ||
	       parser_expected(parser,
			       parser->out->code.op_count ? "a comparison, && or ||" : "( or `if`");
}

int probe_parse(const char *text, struct probe_text *parsed, char error[PROBE_MESSAGE_BYTES])
{
	struct parser parser = { .text = text, .at = text, .out = parsed, .error = error };

	memset(parsed, 0, sizeof(*parsed));
	error[0] = '\0';
	return parse_all(&parser) ? 0 : -EINVAL;
}

bool probe_is_glob(const char *word)
{
	return strpbrk(word, "*?[") != NULL && strstr(word, "operator") == NULL;
}

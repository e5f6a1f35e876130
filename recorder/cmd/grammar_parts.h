/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser that its files share: where it is, and how it fails. Nobody else includes this.
 */
#ifndef WCPROF_GRAMMAR_PARTS_H
#define WCPROF_GRAMMAR_PARTS_H

#include "grammar.h"

enum { GRAMMAR_DEPTH_MAX = 32 }; /* of brackets in brackets */

struct parser {
	const char *text;
	const char *at;
	struct probe_text *out;
	char *error;    /* empty until something fails */
	unsigned depth; /* of brackets */
	size_t stack;   /* numbers that the condition has on its stack */
};

/* Says what is wrong there, unless something was before: what follows from it says nothing. False.
 */
bool parser_fail(struct parser *parser, const char *at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same, where the parser is. */
bool parser_expected(struct parser *parser, const char *what);
void parser_skip_spaces(struct parser *parser);
/* Skips the sign, and spaces before it, if that comes next. */
bool parser_take(struct parser *parser, const char *sign);
/* Of a name of C, or a byte of a letter that is not ASCII. */
bool parser_is_name_sign(char sign);
bool parser_copy(struct parser *parser, const char *from, size_t length, char *to, size_t size);

/* grammar_value.c: one value; one with a label, if it is in the list of values. */
bool parser_read_value(struct parser *parser, struct probe_expression *expression, bool is_listed);
/* grammar_condition.c */
bool parser_read_condition(struct parser *parser);

#endif

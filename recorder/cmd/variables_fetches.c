/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values at one place: a name is a variable or an enumerator, $arg1 an argument by its number, $ret
 * what is returned.
 *
 * Afterwards comparisons are looked at: an unsigned value is never below 0, which C would have made
 * a large number. One thread.
 */
#include "variables_fetches.h"

#include <dwarf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe_eval.h"
#include "variables_members.h"

enum { VECTOR_ARGUMENTS = 8 }; /* that are passed in registers */

struct filling {
	const struct probe_text *text;
	struct variables *variables; /* NULL: no debug information */
	const struct probe_fetch *arguments;
	size_t argument_count;
	struct probe_place *place;
	char *error;
};

static int fail(const struct filling *filling, int result, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static int fail(const struct filling *filling, int result, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(filling->error, PROBE_ERROR_BYTES, format, arguments);
	va_end(arguments);
	return result;
}

/* Behind an expression's column and text, the end of a sentence. */
static int fail_value(const struct filling *filling, const struct probe_expression *expression,
		      const char *why)
{
	return fail(filling, -ENOTSUP, "column %u: `%s` %s", expression->column, expression->label,
		    why);
}

/* --- without a type --- */

static int fetch_untyped(const struct filling *filling, const struct probe_expression *expression,
			 struct probe_fetch *fetch)
{
	if (expression->part_count > 0)
		return fail_value(filling, expression, "has no known type, and so no parts");
	fetch->type = PROBE_HEXADECIMAL;
	fetch->size = expression->format_bytes ? expression->format_bytes : 8;
	switch (expression->format) {
	case PROBE_FORMAT_SIGNED:
		fetch->type = PROBE_SIGNED;
		break;
	case PROBE_FORMAT_UNSIGNED:
		fetch->type = PROBE_UNSIGNED;
		break;
	case PROBE_FORMAT_STRING:
		fetch->type = PROBE_STRING;
		break;
	case PROBE_FORMAT_REAL:
		fetch->type = PROBE_REAL;
		break;
	case PROBE_FORMAT_NONE:
	case PROBE_FORMAT_HEXADECIMAL:
		break;
	}
	if (expression->is_text)
		fetch->type = PROBE_STRING;
	if (fetch->type == PROBE_STRING)
		fetch->size = PROBE_STRING_BYTES;
	return 0;
}

/* An argument of a mark: its note says where it is and how large. */
static int fetch_noted(const struct filling *filling, const struct probe_expression *expression,
		       size_t number, struct probe_fetch *fetch)
{
	struct probe_fetch untyped = *fetch;
	int result;

	if (number > filling->argument_count)
		return fail(filling, -ENOENT, "column %u: usdt:%s:%s has %zu arguments, no %s",
			    expression->column, filling->text->file, filling->text->function,
			    filling->argument_count, expression->base);
	if (filling->arguments[number - 1].size == 0)
		return fail_value(filling, expression, "is at a place that cannot be read");
	result = fetch_untyped(filling, expression, &untyped);
	*fetch = filling->arguments[number - 1];
	memcpy(fetch->name, untyped.name, sizeof(fetch->name));
	fetch->is_hidden = untyped.is_hidden;
	if (untyped.type == PROBE_STRING || expression->format != PROBE_FORMAT_NONE) {
		if (untyped.type == PROBE_REAL && fetch->size < untyped.size)
			return fail_value(filling, expression, "has fewer bits");
		if (untyped.type == PROBE_STRING || untyped.size < fetch->size)
			fetch->size = untyped.size;
		fetch->type = untyped.type;
	}
	return result;
}

static int fetch_argument(const struct filling *filling, const struct probe_expression *expression,
			  struct probe_fetch *fetch)
{
	static const uint8_t registers[] = { PROBE_RDI, PROBE_RSI, PROBE_RDX,
					     PROBE_RCX, PROBE_R8,  PROBE_R9 };
	unsigned long number = strtoul(expression->base + 4, NULL, 10);

	if (filling->text->where == PROBE_MARK)
		return fetch_noted(filling, expression, number, fetch);
	if (filling->place->kind != PROBE_AT_ENTRY)
		return fail_value(filling, expression,
				  "is known only at the entry of a function: name a variable");
	if (expression->format == PROBE_FORMAT_REAL) {
		if (number > VECTOR_ARGUMENTS)
			return fail_value(filling, expression,
					  "is not passed in a register: the first 8 of these are");
		fetch->start = PROBE_FROM_VECTOR;
		fetch->reg = (uint8_t)(number - 1);
		return fetch_untyped(filling, expression, fetch);
	}
	if (number > sizeof(registers))
		return fail_value(filling, expression,
				  "is not passed in a register: $arg1 to $arg6 are");
	fetch->reg = registers[number - 1];
	return fetch_untyped(filling, expression, fetch);
}

/* --- with one --- */

static int fetch_typed(const struct filling *filling, const struct probe_expression *expression,
		       Dwarf_Die *type, struct location *location, struct probe_fetch *fetch)
{
	char why[MEMBERS_WHY_BYTES];
	struct probe_fetch named = *fetch;

	if (!members_fetch(expression, type, location, why))
		return fail_value(filling, expression, why);
	*fetch = location->program;
	memcpy(fetch->name, named.name, sizeof(fetch->name));
	fetch->is_hidden = named.is_hidden;
	fetch->is_at_return = named.is_at_return;
	return 0;
}

static int fetch_returned(const struct filling *filling, const struct probe_expression *expression,
			  struct probe_fetch *fetch)
{
	struct location location;
	Dwarf_Die type;
	const char *why;

	if (filling->place->kind != PROBE_AT_ENTRY)
		return fail_value(filling, expression,
				  "is known only to a probe of a whole function");
	fetch->is_at_return = true;
	fetch->reg = PROBE_RAX;
	if (!filling->variables ||
	    (expression->part_count == 0 && expression->format != PROBE_FORMAT_NONE)) {
		if (expression->format == PROBE_FORMAT_REAL) {
			fetch->start = PROBE_FROM_VECTOR;
			fetch->reg = 0;
		}
		return fetch_untyped(filling, expression, fetch);
	}
	if (filling->variables->is_clone)
		return fail_value(
			filling, expression,
			"is not known: the compiler made a copy of the function, which may return "
			"nothing where nobody asks for it");
	why = variables_returned(filling->variables, &type, &location);
	if (why)
		return fail_value(filling, expression, why);
	return fetch_typed(filling, expression, &type, &location, fetch);
}

struct listing {
	char *to;
	size_t size;
	size_t count;
};

static void list_variable(void *context, Dwarf_Die *variable, bool is_parameter)
{
	struct listing *listing = context;
	Dwarf_Attribute attribute;
	Dwarf_Die type;
	char type_name[96] = "";
	size_t used = strlen(listing->to);

	(void)is_parameter;
	if (dwarf_formref_die(dwarf_attr_integrate(variable, DW_AT_type, &attribute), &type))
		members_write_type(&type, type_name, sizeof(type_name));
	snprintf(listing->to + used, listing->size - used, "%s%s%s%s%s", used ? ", " : "",
		 dwarf_diename(variable), type_name[0] ? " (" : "", type_name,
		 type_name[0] ? ")" : "");
	listing->count++;
}

static int fail_unknown(const struct filling *filling, const struct probe_expression *expression)
{
	const struct probe_place *place = filling->place;
	char names[PROBE_ERROR_BYTES / 2] = "";
	struct listing listing = { names, sizeof(names), 0 };

	variables_each(filling->variables, list_variable, &listing);
	return fail(filling, -ENOENT,
		    "column %u: `%s` is no parameter or variable of %s%s; there %s: %s",
		    expression->column, expression->base, place->function,
		    place->kind == PROBE_AT_ENTRY ? " at its entry" : "",
		    listing.count == 1 ? "is" : "are", listing.count ? names : "none");
}

static int fetch_named(const struct filling *filling, const struct probe_expression *expression,
		       struct probe_fetch *fetch)
{
	struct location location;
	Dwarf_Die type;
	const char *why;
	int64_t value;
	bool is_found;

	if (!filling->variables)
		return fail(filling, -ENOTSUP,
			    "column %u: `%s`: %s has no debug information here, so no names: build "
			    "it with -g or install its -dbgsym package, or write $arg1 to $arg6",
			    expression->column, expression->base, filling->place->module->path);
	why = variables_find(filling->variables, expression->base, &type, &location, &is_found);
	if (is_found && why)
		return fail_value(filling, expression, why);
	if (is_found)
		return fetch_typed(filling, expression, &type, &location, fetch);
	if (expression->part_count > 0 || !expression->is_hidden ||
	    !variables_enumerator(filling->variables, expression->base, &value))
		return fail_unknown(filling, expression);
	fetch->start = PROBE_FROM_ZERO;
	fetch->add = value;
	fetch->type = PROBE_SIGNED;
	fetch->size = 8;
	return 0;
}

static int fetch_value(const struct filling *filling, const struct probe_expression *expression,
		       struct probe_fetch *fetch)
{
	memset(fetch, 0, sizeof(*fetch));
	memcpy(fetch->name, expression->label, sizeof(fetch->name));
	fetch->is_hidden = expression->is_hidden;
	if (strcmp(expression->base, "$ret") == 0)
		return fetch_returned(filling, expression, fetch);
	if (expression->base[0] == '$')
		return fetch_argument(filling, expression, fetch);
	return fetch_named(filling, expression, fetch);
}

/* --- comparisons --- */

/* An unsigned value and a negative number: equal in C after the number has been cut to the type. */
static int settle_sign(const struct filling *filling, uint8_t op, const struct probe_fetch *fetch,
		       struct probe_constant *constant)
{
	uint64_t bits = 0 - constant->magnitude;

	if (!constant->is_negative || constant->magnitude == 0 || fetch->type == PROBE_SIGNED ||
	    fetch->type == PROBE_REAL)
		return 0;
	if (op != PROBE_OP_EQUAL && op != PROBE_OP_UNEQUAL)
		return fail(filling, -EINVAL,
			    "`%s` has no sign: it is never below 0 (with one: %s:s%d)", fetch->name,
			    fetch->name, fetch->size == PROBE_STRING_BYTES ? 64 : fetch->size * 8);
	if (constant->exponent != 0)
		return 0; /* is no whole number: it differs from all of these */
	if (fetch->size < 8)
		bits &= ((uint64_t)1 << fetch->size * 8) - 1;
	*constant = (struct probe_constant){ .magnitude = bits };
	return 0;
}

static int settle_signs(const struct filling *filling)
{
	struct probe_code *code = &filling->place->code;
	int result = 0;

	for (uint8_t i = 0; i + 2 < code->op_count && result == 0; i++) {
		const struct probe_op *a = &code->ops[i], *b = &code->ops[i + 1];
		uint8_t op = code->ops[i + 2].code;

		if (op < PROBE_OP_EQUAL || op > PROBE_OP_GREATER_EQUAL)
			continue;
		if (a->code == PROBE_OP_FETCH && b->code == PROBE_OP_CONSTANT)
			result = settle_sign(filling, op, &code->fetches[a->operand],
					     &code->constants[b->operand]);
		if (a->code == PROBE_OP_CONSTANT && b->code == PROBE_OP_FETCH)
			result = settle_sign(filling, op, &code->fetches[b->operand],
					     &code->constants[a->operand]);
	}
	return result;
}

static void note_return(struct probe_code *code)
{
	for (uint8_t i = 0; i < code->op_count; i++)
		if ((code->ops[i].code == PROBE_OP_FETCH ||
		     code->ops[i].code == PROBE_OP_TEXT_EQUAL) &&
		    code->fetches[code->ops[i].operand].is_at_return)
			code->needs_return = true;
}

int fetches_fill(const struct probe_text *text, struct variables *variables,
		 const struct probe_fetch *arguments, size_t argument_count,
		 struct probe_place *place, char error[PROBE_ERROR_BYTES])
{
	const struct filling filling = { text, variables, arguments, argument_count, place, error };
	int result = 0;

	place->code = text->code;
	place->is_return = text->is_return;
	for (uint8_t i = 0; i < text->code.fetch_count && result == 0; i++)
		result = fetch_value(&filling, &text->expressions[i], &place->code.fetches[i]);
	if (result == 0)
		result = settle_signs(&filling);
	if (result == 0)
		note_return(&place->code);
	place->code.has_reals = probe_code_has_reals(&place->code);
	return result;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the programs of probe_code.h: loads, and a stack of numbers for the condition.
 *
 * A number is a magnitude, a power of two and a sign. So signed, unsigned and real ones compare as
 * numbers do, without vector registers. Each is known or not. `false && unknown` is false and
 * `true || unknown` is true; all else with an unknown is unknown. Whatever the bytes, nothing
 * outside of the structs is touched once probe_code_is_valid() has said yes.
 */
#include "probe_eval.h"

#include "in_target.h"

/* A string may end before a page that is not there. */
enum { PIECE_BYTES = 4096 };

/* magnitude * 2 ^ exponent */
struct number {
	uint64_t magnitude;
	int32_t exponent; /* 0 of whole ones */
	bool is_negative;
	bool is_known;
	bool is_nan;
};

static bool is_word(uint8_t bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

static bool ends_with_nul(const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (text[i] == '\0')
			return true;
	return false;
}

static bool is_fetch_valid(const struct probe_fetch *fetch)
{
	uint8_t registers = fetch->start == PROBE_FROM_VECTOR ? PROBE_VECTORS : PROBE_REGISTERS;

	if (!ends_with_nul(fetch->name, PROBE_NAME_BYTES) || fetch->start > PROBE_FROM_VECTOR ||
	    fetch->reg >= registers || fetch->type > PROBE_REAL ||
	    fetch->bit_shift + fetch->bit_count > 64 || fetch->step_count > PROBE_STEPS_MAX)
		return false;
	if (fetch->type == PROBE_REAL && fetch->size < 4)
		return false;
	if (fetch->type == PROBE_STRING ? fetch->size == 0 || fetch->size > PROBE_STRING_BYTES
					: !is_word(fetch->size))
		return false;
	for (uint8_t i = 0; i < fetch->step_count; i++)
		if (!is_word(fetch->steps[i].bytes))
			return false;
	return true;
}

/* How many numbers an op takes from the stack; each puts one back. */
static uint32_t op_takes(uint8_t code)
{
	if (code == PROBE_OP_FETCH || code == PROBE_OP_CONSTANT || code == PROBE_OP_TEXT_EQUAL)
		return 0;
	return code == PROBE_OP_NOT ? 1 : 2;
}

static bool is_op_valid(const struct probe_code *code, const struct probe_op *op)
{
	switch (op->code) {
	case PROBE_OP_FETCH:
		return op->operand < code->fetch_count;
	case PROBE_OP_CONSTANT:
		return op->operand < code->constant_count;
	case PROBE_OP_TEXT_EQUAL:
		return op->operand < code->fetch_count && op->other < code->text_count &&
		       code->fetches[op->operand].type == PROBE_STRING;
	default:
		return op->code <= PROBE_OP_TEXT_EQUAL;
	}
}

bool probe_code_has_reals(const struct probe_code *code)
{
	bool has = false;

	for (uint8_t i = 0; i < code->fetch_count; i++)
		has |= code->fetches[i].type == PROBE_REAL ||
		       code->fetches[i].start == PROBE_FROM_VECTOR;
	for (uint8_t i = 0; i < code->constant_count; i++)
		has |= code->constants[i].exponent != 0;
	return has;
}

bool probe_code_is_valid(const struct probe_code *code)
{
	uint32_t depth = 0;

	if (code->fetch_count > PROBE_FETCHES_MAX || code->op_count > PROBE_OPS_MAX ||
	    code->constant_count > PROBE_CONSTANTS_MAX || code->text_count > PROBE_TEXTS_MAX)
		return false;
	for (uint8_t i = 0; i < code->fetch_count; i++)
		if (!is_fetch_valid(&code->fetches[i]))
			return false;
	for (uint8_t i = 0; i < code->text_count; i++)
		if (!ends_with_nul(code->texts[i], PROBE_STRING_BYTES))
			return false;
	for (uint8_t i = 0; i < code->op_count; i++) {
		const struct probe_op *op = &code->ops[i];

		if (!is_op_valid(code, op) || depth < op_takes(op->code))
			return false;
		depth += 1 - op_takes(op->code);
		if (depth > PROBE_STACK_MAX)
			return false;
	}
	return depth == (code->op_count ? 1 : 0) && code->has_reals == probe_code_has_reals(code);
}

/* --- values --- */

static bool load(const struct probe_context *context, uint64_t address, uint8_t bytes,
		 uint64_t *value)
{
	uint64_t loaded = 0; /* the machine's first byte is the lowest */

	if (!context->read(context->read_context, address, &loaded, bytes))
		return false;
	*value = loaded;
	return true;
}

/* A function that is made once for each kind of program: most have no real numbers. */
#define FOR_EACH_KIND static inline __attribute__((always_inline))

FOR_EACH_KIND uint64_t begin(const struct probe_fetch *fetch, const struct probe_context *context,
			     bool has_reals)
{
	uint64_t value = (uint64_t)fetch->add;

	if (fetch->start == PROBE_FROM_REGISTER)
		value += context->registers[fetch->reg];
	else if (fetch->start == PROBE_FROM_MODULE)
		value += context->bias;
	else if (fetch->start == PROBE_FROM_THREAD)
		value += context->thread;
	else if (has_reals && fetch->start == PROBE_FROM_VECTOR)
		value += context->vectors[fetch->reg];
	return value;
}

/* IEEE 754: a sign, an exponent, and a fraction without its first digit, but for the smallest. */
enum {
	FLOAT_FRACTION = 23,
	FLOAT_EXPONENT_MAX = 0xff, /* of what is infinite or no number */
	DOUBLE_FRACTION = 52,
	DOUBLE_EXPONENT_MAX = 0x7ff,
	DOUBLE_BIAS = 1023,
	FLOAT_BIAS = 127
};

static uint64_t double_of_float(uint32_t bits)
{
	uint64_t fraction = bits & ((1U << FLOAT_FRACTION) - 1);
	uint64_t exponent = bits >> FLOAT_FRACTION & FLOAT_EXPONENT_MAX;

	if (exponent == FLOAT_EXPONENT_MAX) {
		exponent = DOUBLE_EXPONENT_MAX;
	} else if (exponent == 0 && fraction) {
		int shift = __builtin_clz((uint32_t)fraction) - (31 - FLOAT_FRACTION);

		fraction = fraction << shift & ((1U << FLOAT_FRACTION) - 1);
		exponent = (uint64_t)(DOUBLE_BIAS - FLOAT_BIAS + 1 - shift);
	} else if (exponent) {
		exponent += DOUBLE_BIAS - FLOAT_BIAS;
	}
	return (uint64_t)(bits >> 31) << 63 | exponent << DOUBLE_FRACTION |
	       fraction << (DOUBLE_FRACTION - FLOAT_FRACTION);
}

FOR_EACH_KIND uint64_t cut_and_extend(const struct probe_fetch *fetch, uint64_t bits,
				      bool has_reals)
{
	uint32_t count = fetch->bit_count ? fetch->bit_count : fetch->size * 8U;

	bits >>= fetch->bit_count ? fetch->bit_shift : 0;
	if (count >= 64)
		return bits;
	bits &= ((uint64_t)1 << count) - 1;
	if (fetch->type == PROBE_SIGNED && bits >> (count - 1))
		bits |= ~(uint64_t)0 << count;
	if (has_reals && fetch->type == PROBE_REAL)
		return double_of_float((uint32_t)bits);
	return bits;
}

static void read_string(const struct probe_fetch *fetch, const struct probe_context *context,
			struct probe_value *value)
{
	size_t used = 0, length = 0;

	while (used < fetch->size) {
		uint64_t address = value->bits + used;
		size_t piece = PIECE_BYTES - address % PIECE_BYTES;

		if (piece > fetch->size - used)
			piece = fetch->size - used;
		if (!context->read(context->read_context, address, value->text + used, piece))
			break;
		used += piece;
		while (length < used && value->text[length])
			length++;
		if (length < used)
			break; /* there is its NUL */
	}
	/* A field that is full needs no NUL. */
	value->is_known = used > 0;
	value->is_cut = used > 0 && length == used &&
			(used < fetch->size || fetch->size == PROBE_STRING_BYTES);
	if (length >= PROBE_STRING_BYTES)
		length = PROBE_STRING_BYTES - 1;
	value->text[length] = '\0';
	value->length = (uint8_t)length;
}

static void fetch_one(const struct probe_fetch *fetch, const struct probe_context *context,
		      struct probe_value *value)
{
	uint64_t bits = begin(fetch, context, true);

	for (uint8_t i = 0; i < fetch->step_count; i++) {
		if (!load(context, bits, fetch->steps[i].bytes, &bits))
			return;
		bits += (uint64_t)(int64_t)fetch->steps[i].add;
	}
	value->is_known = true;
	value->bits = bits;
	if (fetch->type == PROBE_STRING)
		read_string(fetch, context, value);
	else
		value->bits = cut_and_extend(fetch, bits, true);
}

/* A number that needs no memory: only its bits are looked at. */
static bool is_plain(const struct probe_fetch *fetch)
{
	return fetch->step_count == 0 && fetch->type != PROBE_STRING;
}

FOR_EACH_KIND void fetch_all(const struct probe_code *code, const struct probe_context *context,
			     bool is_at_return, struct probe_value *values, bool has_reals)
{
	for (uint8_t i = 0; i < code->fetch_count; i++) {
		const struct probe_fetch *fetch = &code->fetches[i];

		if (is_at_return && !fetch->is_at_return)
			continue;
		if (fetch->is_at_return == is_at_return && is_plain(fetch)) {
			values[i].bits =
				cut_and_extend(fetch, begin(fetch, context, has_reals), has_reals);
			values[i].is_known = true;
			continue;
		}
		values[i].bits = 0;
		values[i].is_known = false;
		values[i].is_cut = false;
		values[i].length = 0;
		values[i].text[0] = '\0';
		if (fetch->is_at_return == is_at_return)
			fetch_one(fetch, context, &values[i]);
	}
}

void probe_fetch_all(const struct probe_code *code, const struct probe_context *context,
		     bool is_at_return, struct probe_value *values)
{
	if (code->has_reals)
		fetch_all(code, context, is_at_return, values, true);
	else
		fetch_all(code, context, is_at_return, values, false);
}

/* --- conditions --- */

/* A whole one; its power of two is written, and looked at, where there may be others. */
FOR_EACH_KIND void set_number(struct number *number, uint64_t magnitude, bool is_negative,
			      bool is_known, bool has_reals)
{
	number->magnitude = magnitude;
	number->is_negative = is_negative;
	number->is_known = is_known;
	if (has_reals) {
		number->exponent = 0;
		number->is_nan = false;
	}
}

static void set_double(struct number *number, uint64_t bits, bool is_known)
{
	uint64_t fraction = bits & ((UINT64_C(1) << DOUBLE_FRACTION) - 1);
	int32_t exponent = (int32_t)(bits >> DOUBLE_FRACTION & DOUBLE_EXPONENT_MAX);

	*number = (struct number){ .is_known = is_known };
	if (exponent == DOUBLE_EXPONENT_MAX) {
		number->is_nan = fraction != 0;
		number->magnitude = 1;
		number->exponent = INT16_MAX; /* far beyond all that are finite */
	} else {
		number->magnitude =
			fraction | (exponent ? UINT64_C(1) << DOUBLE_FRACTION : UINT64_C(0));
		number->exponent = (exponent ? exponent : 1) - DOUBLE_BIAS - DOUBLE_FRACTION;
	}
	number->is_negative = bits >> 63 && number->magnitude;
}

FOR_EACH_KIND void set_value(struct number *number, const struct probe_fetch *fetch,
			     const struct probe_value *value, bool has_reals)
{
	bool is_negative = fetch->type == PROBE_SIGNED && value->bits >> 63;
	/* An address is known even where nothing can be read. */
	bool is_known = value->is_known || (fetch->type == PROBE_STRING && value->bits);

	if (has_reals && fetch->type == PROBE_REAL)
		set_double(number, value->bits, value->is_known);
	else
		set_number(number, is_negative ? 0 - value->bits : value->bits, is_negative,
			   is_known, has_reals);
}

FOR_EACH_KIND void set_constant(struct number *number, const struct probe_constant *constant,
				bool has_reals)
{
	set_number(number, constant->magnitude, constant->is_negative && constant->magnitude, true,
		   has_reals);
	if (has_reals)
		number->exponent = constant->exponent;
}

/* Its first digit is the highest bit of the magnitude then. */
static void normalize(struct number *number)
{
	int shift = __builtin_clzll(number->magnitude);

	number->magnitude <<= shift;
	number->exponent -= shift;
}

/* Magnitudes that are none of them 0. */
static int compare_apart(struct number a, struct number b)
{
	normalize(&a);
	normalize(&b);
	if (a.exponent != b.exponent)
		return a.exponent > b.exponent ? 1 : -1;
	return (a.magnitude > b.magnitude) - (a.magnitude < b.magnitude);
}

/* -1, 0 or 1. */
FOR_EACH_KIND int compare(const struct number *a, const struct number *b, bool has_reals)
{
	int larger = a->is_negative ? -1 : 1;

	if (a->is_negative != b->is_negative)
		return larger;
	if (has_reals && a->exponent != b->exponent && a->magnitude && b->magnitude)
		return larger * compare_apart(*a, *b);
	if (a->magnitude == b->magnitude)
		return 0;
	return a->magnitude > b->magnitude ? larger : -larger;
}

FOR_EACH_KIND bool is_so(uint8_t code, const struct number *a, const struct number *b,
			 bool has_reals)
{
	int order;

	if (has_reals && (a->is_nan || b->is_nan))
		return code == PROBE_OP_UNEQUAL;
	order = compare(a, b, has_reals);
	switch (code) {
	case PROBE_OP_EQUAL:
		return order == 0;
	case PROBE_OP_UNEQUAL:
		return order != 0;
	case PROBE_OP_LESS:
		return order < 0;
	case PROBE_OP_LESS_EQUAL:
		return order <= 0;
	case PROBE_OP_GREATER:
		return order > 0;
	default:
		return order >= 0;
	}
}

/* The first becomes what both are. */
FOR_EACH_KIND void combine(uint8_t code, struct number *a, const struct number *b, bool has_reals)
{
	bool is_known = a->is_known && b->is_known;
	bool decides = code == PROBE_OP_OR; /* the operand that decides alone */
	bool is_true;

	if (code == PROBE_OP_AND || code == PROBE_OP_OR) {
		bool is_decided = (a->is_known && !!a->magnitude == decides) ||
				  (b->is_known && !!b->magnitude == decides);

		is_true = is_decided ? decides : !decides;
		is_known = is_known || is_decided;
	} else {
		is_true = is_so(code, a, b, has_reals);
	}
	set_number(a, is_true, false, is_known, has_reals);
}

static bool is_text(const struct probe_value *value, const char *text)
{
	size_t i = 0;

	while (i < value->length && value->text[i] == text[i])
		i++;
	/* The text is shorter than what is kept of a string that was cut. */
	return i == value->length && text[i] == '\0' && !value->is_cut;
}

FOR_EACH_KIND void push(const struct probe_code *code, const struct probe_op *op,
			const struct probe_value *values, struct number *to, bool has_reals)
{
	const struct probe_value *value = &values[op->operand];

	if (op->code == PROBE_OP_FETCH)
		set_value(to, &code->fetches[op->operand], value, has_reals);
	else if (op->code == PROBE_OP_TEXT_EQUAL)
		set_number(to, is_text(value, code->texts[op->other]), false, value->is_known,
			   has_reals);
	else
		set_constant(to, &code->constants[op->operand], has_reals);
}

FOR_EACH_KIND enum probe_verdict judge(const struct probe_code *code,
				       const struct probe_value *values, bool has_reals)
{
	struct number stack[PROBE_STACK_MAX];
	uint32_t depth = 0;

	if (code->op_count == 0)
		return PROBE_YES;
	for (uint8_t i = 0; i < code->op_count; i++) {
		const struct probe_op *op = &code->ops[i];

		switch (op_takes(op->code)) {
		case 0:
			push(code, op, values, &stack[depth++], has_reals);
			break;
		case 1:
			set_number(&stack[depth - 1], !stack[depth - 1].magnitude, false,
				   stack[depth - 1].is_known, has_reals);
			break;
		default:
			depth--;
			combine(op->code, &stack[depth - 1], &stack[depth], has_reals);
			break;
		}
	}
	if (!stack[0].is_known)
		return PROBE_UNKNOWN;
	return stack[0].magnitude ? PROBE_YES : PROBE_NO;
}

enum probe_verdict probe_judge(const struct probe_code *code, const struct probe_value *values)
{
	return code->has_reals ? judge(code, values, true) : judge(code, values, false);
}

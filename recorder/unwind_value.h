/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of which only the way to them is known: no stack is looked at when a rule is learnt.
 *
 * A value is a number, a register of the frame + a number, or the word in memory at such a place +
 * a number. Whatever else a table may say is not known.
 */
#ifndef WCPROF_UNWIND_VALUE_H
#define WCPROF_UNWIND_VALUE_H

#include "unwind.h"
#include "unwind_bytes.h"

enum unwind_value_kind { VALUE_UNKNOWN, VALUE_NUMBER, VALUE_REGISTER, VALUE_READ };

struct unwind_value {
	enum unwind_value_kind kind;
	enum unwind_register base; /* of VALUE_REGISTER and VALUE_READ */
	int64_t at;                /* VALUE_READ: the word at the register's value + this */
	int64_t plus;
};

static inline int64_t value_sum(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline struct unwind_value value_plus(struct unwind_value value, int64_t number)
{
	value.plus = value_sum(value.plus, number);
	return value;
}

/* The word in memory there. */
static inline struct unwind_value value_read(struct unwind_value place)
{
	if (place.kind != VALUE_REGISTER)
		return (struct unwind_value){ .kind = VALUE_UNKNOWN };
	return (struct unwind_value){ VALUE_READ, place.base, place.plus, 0 };
}

/* Whether they differ by a number that is known. */
static inline bool value_has_same_base(const struct unwind_value *a, const struct unwind_value *b)
{
	return a->kind == b->kind && a->base == b->base && a->at == b->at;
}

/* Where a register's value in the frame is known by the number that tables have for it. */
struct unwind_value unwind_value_of(uint64_t number, uint64_t pc) HIDDEN;
/* The register of that number, or UNWIND_REGISTER_COUNT: none of interest. */
enum unwind_register unwind_register_of(uint64_t number) HIDDEN;

/*
 * The value of an expression of a table for the frame of `pc`. `first` is on its stack before it;
 * NULL: nothing is. False: it is none.
 */
bool unwind_evaluate(struct unwind_bytes expression, uint64_t pc, const struct unwind_value *first,
		     struct unwind_value *result) HIDDEN;

#endif

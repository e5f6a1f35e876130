/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Learns unwind rules from the unwind tables.
 *
 * The row of the table at an address says how the caller's registers are found. A
 * register + a number, or a word in memory at such a place, goes into the rule. No stack is read
 * here, whatever the tables say. Where the canonical address is anything else (an alignment, say),
 * the stack ends.
 *
 * Code without tables, as made at run time, may keep a frame pointer. Its rule says so, on trial: a
 * walk believes it when it leads behind a call in code that has tables.
 *
 * Threads: any, at the same time. No locks, no allocation.
 */
#include "unwind.h"

#include <string.h>

#include "spare.h"
#include "unwind_rows.h"
#include "unwind_table.h"
#include "unwind_value.h"

#include "in_target.h"

/* --- From a row to a rule --------------------------------------------------------------------- */

struct frame {
	uint64_t pc;
	const struct unwind_row *row;
	struct unwind_value cfa;
	struct unwind_value caller_sp; /* the CFA, unless the table has another place for it */
};

static bool as_offset(int64_t number, int32_t *offset)
{
	*offset = (int32_t)number;
	return *offset == number;
}

static bool find_cfa(struct frame *frame)
{
	const struct unwind_row *row = frame->row;

	if (row->cfa_from)
		return unwind_evaluate(unwind_expression(row->cfa_from), frame->pc, NULL,
				       &frame->cfa);
	frame->cfa = value_plus(unwind_value_of(row->cfa_register, frame->pc), row->cfa_offset);
	return true;
}

/*
 * The caller's value of a register that has not stayed: in memory at *place, or if that is unknown,
 * *value. False: the table has nonsense.
 */
static bool find_value(const struct frame *frame, const struct unwind_cell *cell,
		       struct unwind_value *place, struct unwind_value *value)
{
	struct unwind_value unknown = { .kind = VALUE_UNKNOWN };
	bool is_sound = true;

	*place = *value = unknown;
	switch (cell->how) {
	case HOW_SAVED:
		*place = value_plus(frame->cfa, cell->number);
		break;
	case HOW_SAVED_WHERE:
		is_sound = unwind_evaluate(unwind_expression(cell->from), frame->pc, &frame->cfa,
					   place);
		break;
	case HOW_SUM:
		*value = value_plus(frame->cfa, cell->number);
		break;
	case HOW_REGISTER:
		*value = unwind_value_of((uint64_t)cell->number, frame->pc);
		break;
	case HOW_EXPRESSION:
		is_sound = unwind_evaluate(unwind_expression(cell->from), frame->pc, &frame->cfa,
					   value);
		break;
	case HOW_SAME:
	case HOW_UNKNOWN:
		break;
	}
	/* A value that was read as it is has a place, too. */
	if (value->kind == VALUE_READ && value->plus == 0)
		*place = (struct unwind_value){ VALUE_REGISTER, value->base, 0, value->at };
	return is_sound;
}

static bool find_caller_sp(struct frame *frame)
{
	const struct unwind_cell *cell = &frame->row->cells[UNWIND_SP];
	struct unwind_value place, value;

	frame->caller_sp = frame->cfa;
	if (cell->how == HOW_SAME)
		return true;
	if (!find_value(frame, cell, &place, &value))
		return false;
	frame->caller_sp = place.kind == VALUE_UNKNOWN ? value : value_read(place);
	return true;
}

static bool rule_of_cfa(const struct unwind_value *cfa, struct unwind_rule *rule)
{
	int64_t offset = cfa->kind == VALUE_READ ? cfa->at : cfa->plus;

	if (cfa->kind != VALUE_REGISTER && cfa->kind != VALUE_READ)
		return false;
	if (cfa->kind == VALUE_READ)
		rule->flags |= UNWIND_DEREF;
	rule->cfa_register = (uint8_t)cfa->base;
	return as_offset(offset, &rule->cfa_offset) &&
	       (cfa->kind == VALUE_REGISTER || as_offset(cfa->plus, &rule->cfa_after));
}

static enum unwind_where near_what(const struct frame *frame, const struct unwind_value *place,
				   int32_t *at)
{
	const struct unwind_value *cfa = &frame->caller_sp;
	bool is_near = place->kind == VALUE_REGISTER && as_offset(place->plus, at);

	if (value_has_same_base(place, cfa))
		return as_offset((int64_t)((uint64_t)place->plus - (uint64_t)cfa->plus), at)
			       ? UNWIND_NEAR_CFA
			       : UNWIND_LOST;
	if (is_near && place->base == UNWIND_SP)
		return UNWIND_NEAR_SP;
	return is_near && place->base == UNWIND_RBP ? UNWIND_NEAR_RBP : UNWIND_LOST;
}

static bool rule_of_register(const struct frame *frame, enum unwind_register number,
			     struct unwind_rule *rule)
{
	const struct unwind_cell *cell = &frame->row->cells[number];
	struct unwind_value place, value;

	rule->where[number] = number == UNWIND_PC ? UNWIND_LOST : UNWIND_SAME;
	if (cell->how == HOW_SAME)
		return true;
	if (!find_value(frame, cell, &place, &value))
		return false;
	if (value.kind == VALUE_REGISTER && value.base == number && value.plus == 0)
		return true;
	rule->where[number] = (uint8_t)near_what(frame, &place, &rule->at[number]);
	if (rule->where[number] == UNWIND_LOST)
		rule->at[number] = 0;
	return true;
}

/* Nearly all rules are plain: a walk by one need not look at `where`. */
static void rule_simplify(struct unwind_rule *rule)
{
	if (rule->flags || rule->where[UNWIND_PC] != UNWIND_NEAR_CFA)
		return;
	for (unsigned i = 0; i < UNWIND_PRESERVED_COUNT; i++) {
		if (rule->where[i] == UNWIND_NEAR_CFA)
			rule->saved |= (uint8_t)(1U << i);
		else if (rule->where[i] != UNWIND_SAME)
			return;
	}
	rule->flags = UNWIND_PLAIN;
}

static const struct unwind_rule rule_end = { .flags = UNWIND_END };

/* The rule in a function that begins with push %rbp; mov %rsp, %rbp. */
static const struct unwind_rule rule_trial = {
	.flags = UNWIND_TRIAL,
	.cfa_register = UNWIND_RBP,
	.cfa_offset = 16,
	.at = { [UNWIND_RBP] = -16, [UNWIND_PC] = -8 },
	.where = { [UNWIND_RBP] = UNWIND_NEAR_CFA,
		   [UNWIND_RBX] = UNWIND_LOST,
		   [UNWIND_R12] = UNWIND_LOST,
		   [UNWIND_R13] = UNWIND_LOST,
		   [UNWIND_R14] = UNWIND_LOST,
		   [UNWIND_R15] = UNWIND_LOST,
		   [UNWIND_PC] = UNWIND_NEAR_CFA },
};

static bool rule_of_row(const struct unwind_entry *entry, uint64_t pc, struct unwind_rule *rule)
{
	struct unwind_row row;
	struct frame frame = { .pc = pc, .row = &row };

	if (!unwind_row_at(entry, pc, &row) || !find_cfa(&frame) || !find_caller_sp(&frame) ||
	    !rule_of_cfa(&frame.caller_sp, rule))
		return false;
	for (unsigned i = 0; i < UNWIND_SAVED_COUNT; i++)
		if (!rule_of_register(&frame, (enum unwind_register)i, rule))
			return false;
	if (entry->is_signal)
		rule->flags |= UNWIND_SIGNAL;
	rule_simplify(rule);
	return rule->where[UNWIND_PC] != UNWIND_LOST;
}

/* Whether a call ends there: to a place that it names (E8), or that a register or memory does (FF
 * /2, of 2 to 7 bytes). */
static bool is_after_call(const struct unwind_module *module, uint64_t pc)
{
	enum { NEAR = 0xe8, NEAR_BYTES = 5, INDIRECT = 0xff, INDIRECT_BYTES_MAX = 7 };
	const unsigned char *end = (const unsigned char *)(uintptr_t)pc;

	if (!unwind_module_may_read(module, pc - INDIRECT_BYTES_MAX, INDIRECT_BYTES_MAX))
		return false;
	for (int bytes = 2; bytes <= INDIRECT_BYTES_MAX; bytes++)
		if (end[-bytes] == INDIRECT && (end[1 - bytes] >> 3 & 7) == 2)
			return true;
	return end[-NEAR_BYTES] == NEAR;
}

/* --- Learning --------------------------------------------------------------------------------- */

struct lesson {
	uint64_t pc;
	struct unwind_rule *rule;
};

static void learn(void *context)
{
	const struct lesson *lesson = context;
	struct unwind_rule *rule = lesson->rule;
	struct unwind_module module;
	struct unwind_entry entry;

	memset(rule, 0, sizeof(*rule));
	if (!unwind_module_at(lesson->pc, &module) ||
	    !unwind_entry_at(&module, lesson->pc, &entry)) {
		*rule = rule_trial;
		return;
	}
	if (!rule_of_row(&entry, lesson->pc, rule))
		*rule = rule_end;
	rule->follows_call = is_after_call(&module, lesson->pc + 1);
}

void unwind_learn(uint64_t pc, struct unwind_rule *rule, void *borrowed)
{
	struct lesson lesson = { pc, rule };

	if (borrowed)
		spare_call_on(borrowed, learn, &lesson);
	else
		learn(&lesson);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of blocked threads. See parked.h.
 *
 * The upper end of the stack is copied by a system call: where memory is gone the call fails, not
 * the program. Then the kernel is asked whether the thread is still where it was. The walk goes
 * through the copy by the unwind rules that captures go by. Known race: a thread may leave the call
 * and come back to it at the same depth during the copy. Then the stack is of two moments.
 */
#include "parked.h"

#include <assert.h>
#include <string.h>

#include "stack_rules.h"
#include "syscalls.h"

#include "in_target.h"

enum { COPY_BYTES = 65536 };

/* A walk: the reached frame's registers as far as they are known. */
struct parked_walk {
	uint64_t sp;
	uint64_t values[UNWIND_PRESERVED_COUNT];
	uint32_t known; /* bit per register */
	uint64_t base;  /* of the copy */
	size_t bytes;
};

/* The control thread's own. */
static uint64_t copy[COPY_BYTES / sizeof(uint64_t)];

static bool read_word(const struct parked_walk *walk, uint64_t address, uint64_t *value)
{
	uint64_t offset = address - walk->base;

	if (address % sizeof(uint64_t) || address < walk->base || walk->bytes < sizeof(*value) ||
	    offset > walk->bytes - sizeof(*value))
		return false;
	*value = copy[offset / sizeof(uint64_t)];
	return true;
}

static bool register_value(const struct parked_walk *walk, unsigned number, uint64_t *value)
{
	assert(number < UNWIND_REGISTER_COUNT && number != UNWIND_PC);
	*value = number == UNWIND_SP ? walk->sp : walk->values[number];
	return number == UNWIND_SP || (walk->known >> number & 1);
}

/* The caller's value of a register that the rule says is in memory. */
static bool saved_value(const struct parked_walk *walk, const struct unwind_rule *rule,
			unsigned number, uint64_t cfa, uint64_t *value)
{
	uint64_t base = cfa;

	if (rule->where[number] == UNWIND_NEAR_SP)
		base = walk->sp;
	else if (rule->where[number] == UNWIND_NEAR_RBP && !register_value(walk, UNWIND_RBP, &base))
		return false;
	else if (rule->where[number] == UNWIND_LOST || rule->where[number] == UNWIND_SAME)
		return false;
	return read_word(walk, base + (uint64_t)(int64_t)rule->at[number], value);
}

static bool canonical_address(const struct parked_walk *walk, const struct unwind_rule *rule,
			      uint64_t *cfa)
{
	if (!register_value(walk, rule->cfa_register, cfa))
		return false;
	*cfa += (uint64_t)(int64_t)rule->cfa_offset;
	if (!(rule->flags & UNWIND_DEREF))
		return true;
	if (!read_word(walk, *cfa, cfa))
		return false;
	*cfa += (uint64_t)(int64_t)rule->cfa_after;
	return true;
}

/* From a frame to its caller: `pc` becomes the caller's. False: there is none, or none that can be
 * found. */
static bool step(struct parked_walk *walk, const struct unwind_rule *rule, uint64_t *pc)
{
	struct parked_walk next = *walk;

	if ((rule->flags & UNWIND_END) || !canonical_address(walk, rule, &next.sp) ||
	    (next.sp <= walk->sp && !(rule->flags & UNWIND_SIGNAL)) ||
	    !saved_value(walk, rule, UNWIND_PC, next.sp, pc))
		return false;
	for (unsigned i = 0; i < UNWIND_PRESERVED_COUNT; i++) {
		if (rule->where[i] == UNWIND_SAME)
			continue;
		next.known &= ~(UINT32_C(1) << i);
		if (saved_value(walk, rule, i, next.sp, &next.values[i]))
			next.known |= UINT32_C(1) << i;
	}
	*walk = next;
	return *pc != 0;
}

static bool is_still_there(uint32_t tid, const struct task_call *call)
{
	struct task_call now;

	return task_read_call((uint32_t)sys_getpid(), tid, &now) && now.number == call->number &&
	       now.sp == call->sp && now.pc == call->pc;
}

uint32_t parked_walk(uint32_t tid, const struct task_call *call, uint64_t *pcs, uint32_t max)
{
	struct parked_walk walk = { .sp = call->sp,
				    .base = call->sp & -(uint64_t)sizeof(uint64_t) };
	uint64_t pc = call->pc;
	bool is_call = false; /* of the frame above, so that the frame is before its address */
	union rule_copy found;
	uint32_t count = 0;
	uint32_t sure = 0;

	walk.bytes = task_read_memory((uint32_t)sys_getpid(), walk.base, copy, sizeof(copy));
	if (!is_still_there(tid, call))
		return 0;
	do {
		pcs[count++] = pc;
		if (count == max || !stack_rule_find(is_call ? pc - 1 : pc, &found, NULL))
			break;
		if (!stack_rule_admits(&found.rule, count, &sure))
			break;
		is_call = !(found.rule.flags & UNWIND_SIGNAL);
	} while (step(&walk, &found.rule, &pc));
	return sure ? sure : count;
}

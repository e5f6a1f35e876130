/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks up a stack by unwind rules, a few nanoseconds a frame.
 *
 * Every read is bounded. The thread's own stack (own_stack.h) is just read. Elsewhere (on an
 * alternate signal stack, a coroutine's) each page is tried by a system call first, in every
 * walk. A walk that has followed a frame pointer on trial stays on the thread's own stack.
 *
 * A walk notes which words it read. Registers other than rbp and the stack pointer are known only
 * from where a frame saved them. They are read only when a rule needs them. So the result depends
 * on these words and the hook's frame alone.
 *
 * Threads: any; a walk belongs to one. Never here: a read of a stack that is not in read_word().
 */
#include "stack_walk.h"

#include <assert.h>
#include <string.h>

#include "own_stack.h"

#include "in_target.h"

enum {
	PAGE_BYTES = 4096,
	TRIAL_FRAMES_MAX = 256 /* an interpreter's recursion, at some 100 ns a frame */
};

/* --- The walk --- */

/* Moves or widens the readable window to include the address. */
static bool walk_reach(struct stack_walk *walk, uint64_t address)
{
	uint64_t page = address & -(uint64_t)PAGE_BYTES;

	if (address >= own_stack.low && address < own_stack.top) {
		walk->low = own_stack.low;
		walk->high = own_stack.top;
		return own_stack.top - address >= sizeof(uint64_t);
	}
	if (walk->stays || !stack_is_readable(address))
		return false;
	if (page != walk->high)
		walk->low = page;
	walk->high = page + PAGE_BYTES;
	return true;
}

READS_STACKS static inline bool read_word(struct stack_walk *walk, uint64_t address,
					  uint64_t *value)
{
	uint64_t index = (address - walk->frame) / sizeof(uint64_t);

	if (address % sizeof(uint64_t))
		return false;
	if (UNLIKELY(address < walk->low || address >= walk->high) && !walk_reach(walk, address))
		return false;
	*value = *(const uint64_t *)(uintptr_t)address;
	if (UNLIKELY(index > UINT16_MAX || walk->read_count == WALK_READS_MAX)) {
		walk->repeatable = false;
		return true;
	}
	walk->reads[walk->read_count++] = (uint16_t)index;
	walk->digest += stack_digest_word(*value, index);
	return true;
}

/* The value of a register in the frame that the walk has reached. */
static bool register_value(struct stack_walk *walk, unsigned number, uint64_t *value)
{
	assert(number < UNWIND_REGISTER_COUNT && number != UNWIND_PC);
	if (number == UNWIND_SP) {
		*value = walk->sp;
		return true;
	}
	return walk->saved[number] && read_word(walk, walk->saved[number], value);
}

static bool saved_address(struct stack_walk *walk, const struct unwind_rule *rule, unsigned number,
			  uint64_t cfa, uint64_t *address)
{
	uint64_t base;

	switch ((enum unwind_where)rule->where[number]) {
	case UNWIND_NEAR_CFA:
		*address = cfa + (uint64_t)(int64_t)rule->at[number];
		return true;
	case UNWIND_NEAR_SP:
		*address = walk->sp + (uint64_t)(int64_t)rule->at[number];
		return true;
	case UNWIND_NEAR_RBP:
		if (!register_value(walk, UNWIND_RBP, &base))
			return false;
		*address = base + (uint64_t)(int64_t)rule->at[number];
		return true;
	case UNWIND_SAME:
		*address = number == UNWIND_PC ? 0 : walk->saved[number];
		return true;
	case UNWIND_LOST:
		break;
	}
	*address = 0;
	return true;
}

static bool canonical_address(struct stack_walk *walk, const struct unwind_rule *rule,
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

/* From here on, an address may be any number. Of the memory that can be read now, only the thread's
 * own stack is sure to be there in a moment. */
static void walk_stay(struct stack_walk *walk)
{
	walk->stays = true;
	walk->low = walk->high = 0;
}

/* Stacks grow downwards, so a caller's frame lies higher, unless a signal moved the thread to
 * another. */
static bool walk_step_odd(struct stack_walk *walk, const struct unwind_rule *rule, uint64_t *pc)
{
	uint64_t *saved = walk->saved_next;
	uint64_t return_address_at;
	uint64_t cfa;

	if (rule->flags & UNWIND_TRIAL)
		walk_stay(walk);
	if ((rule->flags & UNWIND_END) || !canonical_address(walk, rule, &cfa))
		return false;
	if (cfa <= walk->sp && !(rule->flags & UNWIND_SIGNAL))
		return false;
	for (unsigned i = 0; i < UNWIND_PRESERVED_COUNT; i++)
		if (!saved_address(walk, rule, i, cfa, &saved[i]))
			return false;
	if (!saved_address(walk, rule, UNWIND_PC, cfa, &return_address_at) ||
	    !read_word(walk, return_address_at, pc))
		return false;
	memcpy(walk->saved, saved, sizeof(walk->saved));
	walk->sp = cfa;
	return *pc != 0;
}

static bool walk_step_plain(struct stack_walk *walk, const struct unwind_rule *rule, uint64_t *pc)
{
	uint64_t cfa;

	if (!register_value(walk, rule->cfa_register, &cfa))
		return false;
	cfa += (uint64_t)(int64_t)rule->cfa_offset;
	if (cfa <= walk->sp)
		return false;
	for (unsigned left = rule->saved; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctz(left);

		walk->saved[i] = cfa + (uint64_t)(int64_t)rule->at[i];
	}
	walk->sp = cfa;
	return read_word(walk, cfa + (uint64_t)(int64_t)rule->at[UNWIND_PC], pc) && *pc != 0;
}

/* From a frame to its caller: `pc` becomes the caller's. False: there is none. */
static bool walk_step(struct stack_walk *walk, const struct unwind_rule *rule, uint64_t *pc)
{
	return LIKELY(rule->flags & UNWIND_PLAIN) ? walk_step_plain(walk, rule, pc)
						  : walk_step_odd(walk, rule, pc);
}

/* The hook has pushed rbp below its return address, so that its caller's rbp is at `frame`. The
 * caller's other registers are not known: the hook may have put them anywhere. */
static void walk_begin(struct stack_walk *walk, uint64_t frame, uint64_t sp)
{
	walk->frame = frame;
	walk->low = walk->high = 0;
	walk->stays = false;
	walk->sp = sp;
	memset(walk->saved, 0, sizeof(walk->saved));
	walk->saved[UNWIND_RBP] = frame;
	walk->digest = 0;
	walk->count = 0;
	walk->read_count = 0;
	walk->repeatable = own_stack_has(frame);
}

/* `called`: pc is a return address, so the frame is in the instruction before. A trial goes on
 * beyond what is kept, so that a deep stack of code without tables has its frames. */
static void walk_up(struct stack_walk *walk, uint64_t pc, bool called, uint32_t depth)
{
	union rule_copy *found = &walk->found;
	uint32_t sure = 0;

	assert(depth > 0 && depth <= STACK_FRAMES_MAX);
	for (uint32_t frames = 1;; frames++) {
		if (frames <= depth) {
			walk->pcs[frames - 1] = pc;
			walk->count = frames;
			if (walk->tops)
				walk->tops[frames - 1] = 0;
		}
		if (frames >= depth && (!sure || frames == TRIAL_FRAMES_MAX))
			break;
		if (!stack_rule_find(called ? pc - 1 : pc, found, walk->borrowed)) {
			walk->repeatable = false;
			break;
		}
		if (!stack_rule_admits(&found->rule, walk->count, &sure) ||
		    !walk_step(walk, &found->rule, &pc))
			break;
		if (walk->tops && frames <= depth)
			walk->tops[frames - 1] = walk->sp;
		called = !(found->rule.flags & UNWIND_SIGNAL);
	}
	if (sure)
		walk->count = sure;
}

void stack_walk(struct stack_walk *walk, uint64_t pc, uint64_t frame, uint64_t sp, uint32_t depth,
		uint64_t *tops)
{
	walk_begin(walk, frame, sp);
	walk->tops = tops;
	walk->borrowed = walk;
	walk_up(walk, pc, true, depth);
}

void stack_walk_interrupted(struct stack_walk *walk, const gregset_t registers, uint32_t depth)
{
	static const int numbers[UNWIND_PRESERVED_COUNT] = {
		[UNWIND_RBP] = REG_RBP, [UNWIND_RBX] = REG_RBX, [UNWIND_R12] = REG_R12,
		[UNWIND_R13] = REG_R13, [UNWIND_R14] = REG_R14, [UNWIND_R15] = REG_R15,
	};
	uint64_t sp = (uint64_t)registers[REG_RSP];

	walk_begin(walk, sp & -(uint64_t)sizeof(uint64_t), sp);
	walk->borrowed = NULL;
	walk->tops = NULL;
	for (int i = 0; i < UNWIND_PRESERVED_COUNT; i++)
		walk->saved[i] = (uint64_t)(uintptr_t)&registers[numbers[i]];
	walk->repeatable = false;
	walk_up(walk, (uint64_t)registers[REG_RIP], false, depth);
}

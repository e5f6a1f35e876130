/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk up a stack, from frame to frame by unwind rules, and which memory it may read.
 */
#ifndef WCPROF_STACK_WALK_H
#define WCPROF_STACK_WALK_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "stack_rules.h"
#include "unwind.h"

enum { WALK_READS_MAX = 77 }; /* words of a walk that can be remembered: 64 pcs and some rbp */

/* A stack is data of many functions: the sanitizers' view of whose it is does not apply. */
#define READS_STACKS __attribute__((no_sanitize("address", "thread")))

/* One capture. Larger than the room that is left on many a program's stack. */
struct stack_walk {
	void *borrowed; /* on which to learn; see unwind_learn() */
	uint64_t frame; /* of the hook */
	uint64_t low;   /* [low, high) can be read now */
	uint64_t high;
	uint64_t sp;     /* of the frame that the walk has reached */
	uint64_t digest; /* of all words read, and where */
	/* Where the reached frame's registers are in memory; 0 = nowhere known. */
	uint64_t saved[UNWIND_PRESERVED_COUNT];
	uint64_t saved_next[UNWIND_PRESERVED_COUNT]; /* of its caller, while that is looked for */
	union rule_copy found;                       /* the reached frame's */
	uint64_t pcs[STACK_FRAMES_MAX];
	uint64_t *tops; /* where the frames end, above each; NULL: not wanted */
	uint32_t count;
	uint32_t read_count;
	uint16_t reads[WALK_READS_MAX]; /* words read, counted from frame */
	bool stays;                     /* nothing but the thread's own stack is read */
	bool repeatable;                /* the reads tell all that the result depends on */
};

/* Walks from a hook's frame; `pc` is the hook's return address, `sp` the stack pointer after its
 * return. At least `pc` is in pcs[] then. The walk lies at the beginning of what the thread has
 * borrowed. `tops` has room for `depth` addresses, or is NULL; the last frame's is 0 if it is not
 * known. */
void stack_walk(struct stack_walk *, uint64_t pc, uint64_t frame, uint64_t sp, uint32_t depth,
		uint64_t *tops) HIDDEN;

/* The same from where a signal interrupted the thread; the registers stay where they are until it
 * returns. pcs[0] is the interrupted address itself. On a stack of ours. */
void stack_walk_interrupted(struct stack_walk *, const gregset_t registers, uint32_t depth) HIDDEN;

/* One word's part of a digest: a sum, so that the processor can work on several at a time. */
static inline uint64_t stack_digest_word(uint64_t value, uint64_t index)
{
	unsigned __int128 product =
		(unsigned __int128)(value ^ UINT64_C(0xa0761d6478bd642f)) *
		(index * UINT64_C(0xe7037ed1a0b428db) + UINT64_C(0x8ebc6af09c88c6e3));

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind rules: for one address in the code, where its frame's caller is, as the tables have it.
 *
 * A rule is learnt once per address (microseconds) and then followed by stack.c (nanoseconds). It
 * holds no pointers and no addresses of a stack: it is good for every thread, until the module is
 * unloaded.
 */
#ifndef WCPROF_UNWIND_H
#define WCPROF_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder.h"

/* The registers that survive a call, and the two that every step yields. */
enum unwind_register {
	UNWIND_RBP = 0,
	UNWIND_RBX,
	UNWIND_R12,
	UNWIND_R13,
	UNWIND_R14,
	UNWIND_R15,
	UNWIND_PRESERVED_COUNT,
	UNWIND_PC = UNWIND_PRESERVED_COUNT, /* return address */
	UNWIND_SAVED_COUNT,
	UNWIND_SP = UNWIND_SAVED_COUNT,
	UNWIND_REGISTER_COUNT
};

/* Where the caller's value of a register is. */
enum unwind_where {
	UNWIND_SAME = 0, /* nowhere: the register itself still has it */
	UNWIND_NEAR_CFA, /* in memory, at the frame's canonical address + at[] */
	UNWIND_NEAR_SP,  /* in memory, at the frame's stack pointer + at[] */
	UNWIND_NEAR_RBP, /* in memory, at the frame's rbp + at[] */
	UNWIND_LOST      /* it cannot be known */
};

enum unwind_flag {
	UNWIND_END = 1,    /* no caller, or none that the tables can find */
	UNWIND_DEREF = 2,  /* the canonical address is read from memory */
	UNWIND_SIGNAL = 4, /* a signal handler's return: the next pc was interrupted */
	UNWIND_PLAIN = 8,  /* none of these, and what is saved is near the CFA: see `saved` */
	UNWIND_TRIAL = 16  /* there are no tables: where a frame pointer would lead */
};

/*
 * The canonical frame address (CFA) is the stack pointer after the frame's return. It is the value
 * of `cfa_register` + `cfa_offset`; with UNWIND_DEREF, the word at that address + `cfa_after`.
 */
struct unwind_rule {
	int32_t cfa_offset;
	int32_t cfa_after;
	int32_t at[UNWIND_SAVED_COUNT];
	uint8_t where[UNWIND_SAVED_COUNT]; /* enum unwind_where */
	uint8_t cfa_register;              /* enum unwind_register, not UNWIND_PC */
	uint8_t flags;                     /* enum unwind_flag */
	uint8_t saved;        /* UNWIND_PLAIN: bit per preserved register, UNWIND_NEAR_CFA */
	uint8_t follows_call; /* there are tables, and the instruction at the address is a call */
	uint8_t unused;
};
_Static_assert(sizeof(struct unwind_rule) == 48, "a rule is six words, copied as such");

/* Sets up libunwind. Once, before the first learning, from a thread that no one waits for. Leaves
 * no descriptor behind if no other thread opens descriptors at the same time, or in a table of its
 * own. */
void unwind_warm_up(void) HIDDEN;

/* Learns the rule at `pc`, an address inside an instruction of the frame: for a frame that made a
 * call, its return address - 1. At work on the stack that the caller has borrowed (spare.h); NULL:
 * there is room on its own. False: not now (being set up, or a fork is under way); ask again
 * another time. */
bool unwind_learn(uint64_t pc, struct unwind_rule *, void *borrowed) HIDDEN;

/* Around fork(), so that a child does not inherit a lock of libunwind's that nobody will release.
 * */
void unwind_fork_prepare(void) HIDDEN;
void unwind_fork_parent(void) HIDDEN;
void unwind_fork_child(void) HIDDEN; /* also for a child whose fork could not be prepared */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks with a quantum, as that of Python's interpreter. They are made of a mutex, a condition and
 * a flag. A thread that has waited for so long asks for the lock. The one that has it hands it over
 * at its next look, in the midst of its work.
 *
 * Built once from a recording and its monitors, read-only afterwards.
 */
#ifndef WCPROF_QUANTA_H
#define WCPROF_QUANTA_H

#include "monitors.h"

/* How often a thread that has such a lock looks in a quantum whether another one asks for it. */
enum { LOOKS_A_QUANTUM = 10 };

struct quanta {
	/* The rest is NULL if there are no such locks. By section index: the condition whose token
	 * its thread takes, or puts; NO_INDEX = neither. */
	uint32_t *takes;
	uint32_t *puts;
	/* By section index, of one that puts as it was asked to: the section in which its thread
	 * takes the token again. NO_INDEX = it puts because it is done. */
	uint32_t *retakes;
	bool *is_switch; /* by condition: a signal says there that another thread has the lock */
};

/* Conditions of such locks get their quantum, and those of the switches have no tokens. */
void quanta_build(struct quanta *, const struct recording *, const struct timeline *,
		  struct monitors *);
void quanta_free(struct quanta *);

#endif

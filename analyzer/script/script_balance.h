/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks, tokens and permits that a thread takes and gives back in some of its steps.
 *
 * Steps after which it has as much as before may be left out, or done again. One thread.
 */
#ifndef WCPROF_SCRIPT_BALANCE_H
#define WCPROF_SCRIPT_BALANCE_H

#include "script.h"

enum { SCRIPT_BALANCE_MAX = 16 };

/* How many of each sort were taken, less those that were given back; those of which it is none are
 * not there. Begins empty. */
struct script_balance {
	uint32_t sorts[SCRIPT_BALANCE_MAX];
	int counts[SCRIPT_BALANCE_MAX];
	size_t size;
};

/* Counts a step. False: it may neither be left out nor done again. */
bool script_balances(struct script_balance *, const struct script *, const struct step *);
bool script_is_even(const struct script_balance *);
/* The same, but that a permit of one semaphore was given for that of another. Either may be
 * NO_INDEX. */
bool script_is_even_but(const struct script_balance *, const struct script *, uint32_t given,
			uint32_t taken);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that wait for work to arrive: that it came sooner would be no change of the program. */
#ifndef WCPROF_ARRIVALS_H
#define WCPROF_ARRIVALS_H

#include "contexts.h"
#include "recording/classes.h"

enum arrival_sort {
	ARRIVAL_NONE,
	ARRIVAL_CONNECTION, /* on one that a client has opened, or of the next such one */
	ARRIVAL_ANY         /* on any of several descriptors */
};

/* Of each class what most of its time is; to be freed. */
enum arrival_sort *arrivals_find(const struct recording *, const struct class_table *);

/*
 * By string id: for how long the function of that name waited for work, with all that it calls.
 * UINT64_MAX: it polls several descriptors, so that it is an event loop. To be freed.
 */
uint64_t *arrivals_under(const struct recording *, const struct class_table *,
			 const enum arrival_sort *arrivals, const struct stack_functions *);

#endif

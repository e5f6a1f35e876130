/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that wait for work to arrive: that it came sooner would be no change of the program. */
#ifndef WCPROF_ARRIVALS_H
#define WCPROF_ARRIVALS_H

#include "recording/classes.h"

enum arrival_sort {
	ARRIVAL_NONE,
	ARRIVAL_CONNECTION, /* on one that a client has opened, or of the next such one */
	ARRIVAL_ANY         /* on any of several descriptors */
};

/* Of each class what most of its time is; to be freed. */
enum arrival_sort *arrivals_find(const struct recording *, const struct class_table *);

#endif

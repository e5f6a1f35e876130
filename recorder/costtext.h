/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of what recording has cost, and of its budget: members of the process in a dump.
 */
#ifndef WCPROF_COSTTEXT_H
#define WCPROF_COSTTEXT_H

#include "dump.h"

/* Drainer, or reader of a dead process's arena. */
void costtext_put(struct dump *, struct text *) HIDDEN;

#endif

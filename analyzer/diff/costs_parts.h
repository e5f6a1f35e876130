/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files costs*.c alone. One thread.
 */
#ifndef WCPROF_COSTS_PARTS_H
#define WCPROF_COSTS_PARTS_H

#include "costs.h"

/* To be freed. */
char *costs_copy(const char *text);

/* The order of classes, for qsort() and bsearch(). */
int costs_compare_names(const void *left, const void *right);

/* The shortest first. */
void costs_sort_requests(struct costs *costs);

#endif

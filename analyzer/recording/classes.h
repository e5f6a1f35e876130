/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The class of every op: its kind and its name. A poll that a timer ended is in a class of sleeps.
 *
 * Built once, read-only afterwards. Classes are numbered from 0 in the order in which ops first use
 * them. The names of ops are given from outside, so that a dump can be classified anew.
 */
#ifndef WCPROF_CLASSES_H
#define WCPROF_CLASSES_H

#include "recording.h"

struct class
{
	uint32_t name; /* string id */
	uint16_t kind; /* word id */
	uint8_t work;  /* enum work, of the first op */
	uint32_t op_count;
};

struct class_table {
	struct class *classes;
	uint32_t count;
	uint32_t *of_op; /* class index per op */
};

/* `op_name` has a string id per op; NULL takes each op's own name. */
void class_table_build(struct class_table *table, const struct recording *recording,
		       const uint32_t *op_name);
void class_table_free(struct class_table *table);

#endif

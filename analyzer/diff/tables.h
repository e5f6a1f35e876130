/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints a comparison: what a unit takes, which classes differ, and how much is left out.
 *
 * Text or JSON, by the emit. One thread.
 */
#ifndef WCPROF_TABLES_H
#define WCPROF_TABLES_H

#include "base/emit.h"
#include "compare.h"

enum { TABLES_VALUE_BYTES = 40 };

/* `top`: classes in each table. */
void tables_print(const struct comparison *comparison, struct emit *emit, size_t top);

/* "4.40 ms" or "2.00", with its sign if that is wanted; returns `text`. */
const char *tables_value(char text[TABLES_VALUE_BYTES], enum diff_figure figure, double value,
			 bool has_sign);

#endif

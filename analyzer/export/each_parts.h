/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of --each: the rows of a dump. */
#ifndef WCPROF_EACH_PARTS_H
#define WCPROF_EACH_PARTS_H

#include <stdio.h>

#include "base/options.h"

/* How a row of a dump begins, up to the answer; allocated. */
char *each_row_begin(const char *dump, const char *question);

/* Analyses the dump, and writes its rows. `of_each` are the options of --each. */
void each_row_write(FILE *file, const struct options *of_each, char *dump, bool is_table);

/* A row that is an error. */
void each_row_fail(FILE *file, const char *dump, const char *question, const char *why,
		   bool is_table);

/* The line above a table. */
void each_row_head(FILE *file);

#endif

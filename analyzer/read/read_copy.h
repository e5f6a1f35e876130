/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies a dump as it is, decompressed, with something put in behind its header.
 */
#ifndef WCPROF_READ_COPY_H
#define WCPROF_READ_COPY_H

#include <stdbool.h>
#include <stdio.h>

#include "read.h"

/*
 * `insert`, if there is one, is called behind the first line. The last dump keeps an end that is
 * cut off in the middle of a line; other dumps lose it, as more lines follow. 0, or -errno and
 * `error` filled.
 */
int read_copy(FILE *to, const char *path, bool is_last, void (*insert)(void *context, FILE *to),
	      void *context, struct read_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of what can be probed: functions, marks, variables at a place, lines that have code. One
 * thread.
 */
#ifndef WCPROF_PROBE_LIST_H
#define WCPROF_PROBE_LIST_H

#include <stdio.h>

#include "probe_spec.h"

/*
 * Each prints a line for each thing: 0, or as probe_find(), *error says why.
 *
 * Functions by a pattern, as "parse_*" or "libfoo.so:*". NULL: all of the program's own.
 */
int probe_list_functions(struct probe_target *target, const char *pattern, FILE *to,
			 char error[PROBE_ERROR_BYTES]);
/* All marks, as they are written in a text of a probe, with the number of their arguments. */
int probe_list_marks(struct probe_target *target, FILE *to, char error[PROBE_ERROR_BYTES]);
/* Of a function's entry, or a line: names, types, and why one cannot be read. */
int probe_list_variables(struct probe_target *target, const char *place, FILE *to,
			 char error[PROBE_ERROR_BYTES]);
/* Of a function, or from a line on: those with code have their number. */
int probe_list_lines(struct probe_target *target, const char *place, FILE *to,
		     char error[PROBE_ERROR_BYTES]);

#endif

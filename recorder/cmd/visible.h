/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that others chose, for a terminal and for JSON: whatever this command prints of names,
 * paths and answers goes through here.
 *
 * A terminal obeys control characters (C0, DEL, C1) and those that change the direction of writing.
 * Bytes that are no UTF-8 may be such to some terminals, and a newline makes two lines of one.
 */
#ifndef WCPROF_VISIBLE_H
#define WCPROF_VISIBLE_H

#include <stdarg.h>
#include <stdio.h>

/* Those characters as \x1b or \u202e, bytes that are no UTF-8 as U+FFFD. The text is good until
 * eight more were made; it is cut off where it is very long. */
const char *visible(const char *text);
/* In quotes, as JSON. */
const char *visible_json(const char *text);
/* A line of any length, with its end. */
void visible_vputs(FILE *stream, const char *format, va_list arguments)
	__attribute__((format(printf, 2, 0)));
/* An object that another process wrote: such characters as escapes of JSON, and one line. */
void visible_puts_object(const char *object);

#endif

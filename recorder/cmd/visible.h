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
#include <stddef.h>
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

/* Columns of a terminal that a text takes: characters may have none, one or two. Bytes that are no
 * UTF-8 have one each. */
size_t visible_columns(const char *text);
/* Bytes of the longest beginning of `text` that has at most so many columns. */
size_t visible_bytes_in(const char *text, size_t columns);
/* The text in just so many columns, cut off or with spaces behind it; returns `to`, whose size is
 * above the columns. Where it is too small for all of the text, there are more spaces. */
char *visible_fit(const char *text, size_t columns, char *to, size_t size);

#endif

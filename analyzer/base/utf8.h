/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names as characters: one after the other, and how wide they are on a terminal.
 */
#ifndef WCPROF_UTF8_H
#define WCPROF_UTF8_H

#include <stddef.h>
#include <stdint.h>

enum { UTF8_INVALID = 0xFFFD };

/* The character at `text`, which is not at its end; *length says how many bytes it takes, at
 * least 1. */
uint32_t utf8_next(const char *text, size_t *length);

/* Columns on a terminal. */
size_t utf8_columns(const char *text);

/* Bytes of the longest beginning of `text` that has at most `columns` columns. */
size_t utf8_bytes_in(const char *text, size_t columns);

/* Allocated: `text` in at most `columns` columns, with ".." in its middle if it had to be cut. */
char *utf8_shorten(const char *text, size_t columns);

/* Allocated: control characters as \xNN, marks of the direction of writing as \uNNNN, bytes that
 * are no UTF-8 as U+FFFD. */
char *utf8_printable(const char *text);

#endif
